//! `grep`.

use std::io;

use claw::tool;
use claw::tool::{ToolContext, ToolError};
use grep_regex::RegexMatcherBuilder;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};

use crate::PAGE;
use crate::beneath::{Root, shown};
use crate::walk::{Pattern, Walk};

/// Characters of a line that are shown.
const MAX_LINE: usize = 300;
/// Bytes a line may have; files with longer ones are skipped.
const MAX_LINE_BYTES: usize = 4 << 20;
/// Bytes the compiled expression, and what it caches while it searches, may take each.
const MAX_EXPRESSION: usize = 10 << 20;

/// Finds lines by a regular expression. The lines of a file stand below its path, `12:` before a match, `12-` before context.
/// Binary files and files named in `.gitignore` are left out.
#[tool(effect = read, group = "search", reads(path))]
#[expect(clippy::too_many_arguments, reason = "each is a parameter of the tool")]
pub fn grep(
    ctx: &ToolContext,
    /// A regular expression in Rust syntax, without look-around and back references, for example `fn \w+_id`.
    #[arg(len = 1..=1000)]
    pattern: &str,
    /// The folder or file to search.
    #[arg(default = ".")]
    path: &str,
    /// Only files like this, for example `*.rs` or `src/**/*.{ts,tsx}`.
    glob: Option<&str>,
    /// Take upper and lower case as equal.
    #[arg(default = false)]
    ignore_case: bool,
    /// Lines to show around each match.
    #[arg(range = 0..=20, default = 0)]
    context: u32,
    /// The most matches to show.
    #[arg(range = 1.., default = 100)]
    limit: u32,
    /// Search hidden files too.
    #[arg(default = false)]
    hidden: bool,
) -> Result<String, ToolError> {
    let root = Root::of(ctx)?;
    let from = root.relative(path)?;
    let matcher = RegexMatcherBuilder::new()
        .case_insensitive(ignore_case)
        .line_terminator(Some(b'\n'))
        .size_limit(MAX_EXPRESSION)
        .dfa_size_limit(MAX_EXPRESSION)
        .build(pattern)
        .map_err(|err| {
            ToolError::new(format!(
                "`{pattern}` is not a regular expression: {err}; write literal punctuation with `\\` before it"
            ))
        })?;
    let filter = glob.map(Pattern::of_names).transpose()?;
    let context = context.min(20) as usize;
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_LINE_BYTES))
        .build();
    let mut found = Found::new(ctx, limit.max(1) as usize);
    let walk = Walk::new(ctx, root, path, hidden)?;
    let mut skipped = 0_usize;
    for file in walk {
        let file = file?;
        let inside = file.strip_prefix(&from).unwrap_or(&file);
        if filter
            .as_ref()
            .is_some_and(|filter| !filter.matches(&file) && !filter.matches(inside))
        {
            continue;
        }
        // A link is not followed unless it is what was asked for.
        let open = match file == from {
            true => root.file(path).ok(),
            false => root.found(&file),
        };
        let Some(open) = open else {
            continue;
        };
        found.begin(&shown(&file));
        if searcher.search_file(&matcher, &open, &mut found).is_err() {
            skipped += 1;
        }
    }
    Ok(found.finish(pattern, skipped))
}

/// The lines found so far.
struct Found<'a> {
    ctx: &'a ToolContext,
    limit: usize,
    out: String,
    shown: usize,
    more: usize,
    /// The current file: its lines are kept only if it turns out to be text.
    heading: String,
    lines: String,
    matches: usize,
    hidden: usize,
}

impl<'a> Found<'a> {
    fn new(ctx: &'a ToolContext, limit: usize) -> Self {
        Self {
            ctx,
            limit,
            out: String::new(),
            shown: 0,
            more: 0,
            heading: String::new(),
            lines: String::new(),
            matches: 0,
            hidden: 0,
        }
    }

    fn begin(&mut self, path: &str) {
        self.heading = path.to_owned();
        self.lines.clear();
        (self.matches, self.hidden) = (0, 0);
    }

    fn is_full(&self) -> bool {
        self.shown + self.matches >= self.limit || self.out.len() + self.lines.len() > PAGE - 500
    }

    fn line(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let mut line: String = text.chars().take(MAX_LINE).collect();
        if line.len() < text.len() {
            line.push('…');
        }
        self.lines
            .push_str(&format!("{}{mark} {line}\n", number.unwrap_or(0)));
    }

    fn finish(mut self, pattern: &str, skipped: usize) -> String {
        if self.shown == 0 {
            self.out = format!("[no line matches `{pattern}`]\n");
        }
        if self.more > 0 {
            self.out.push_str(&format!(
                "[{} more matches; narrow the pattern, `path` or `glob`]\n",
                self.more
            ));
        }
        if skipped > 0 {
            self.out.push_str(&format!(
                "[{skipped} files skipped: unreadable, or a line is too long]\n"
            ));
        }
        self.out
    }
}

impl Sink for Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.is_full() {
            self.hidden += 1;
        } else {
            self.line(found.line_number(), ':', found.bytes());
            self.matches += 1;
        }
        Ok(!self.ctx.cancellation().is_cancelled())
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        // Context behind the last match that is shown belongs to it; once matches are left out, so is their context.
        if self.hidden == 0 && self.out.len() + self.lines.len() <= PAGE - 500 {
            self.line(context.line_number(), '-', context.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if self.hidden == 0 && !self.is_full() {
            self.lines.push_str("--\n");
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        if end.binary_byte_offset().is_some() {
            return Ok(());
        }
        if self.matches > 0 {
            self.out
                .push_str(&format!("{}\n{}", self.heading, self.lines));
        }
        self.shown += self.matches;
        self.more += self.hidden;
        Ok(())
    }
}

//! Long outputs, part by part: `read_output`.

use claw::tool;
use claw::tool::{ToolContext, ToolError};

use crate::PAGE;

/// Part of a long output that was cut or put aside, by the digest that stands in its place.
///
/// It goes by lines; with `chars` it goes by characters, for outputs of few long lines.
#[tool(effect = read, group = "output", title = "Read output", tags("large-models"))]
pub async fn read_output(
    ctx: &ToolContext,
    /// The digest, as it stands in the result.
    #[arg(len = 1..=100)]
    digest: &str,
    /// The first line to read, from 1; with `chars` the first character.
    #[arg(range = 1.., default = 1)]
    start: u64,
    /// How many lines to read; without it, as many as one answer holds.
    #[arg(range = 1..)]
    lines: Option<u64>,
    /// How many characters to read.
    #[arg(range = 1..)]
    chars: Option<u64>,
) -> Result<String, ToolError> {
    let digest = digest.trim().to_ascii_lowercase();
    let Some(bytes) = ctx.output(&digest).await? else {
        return Err(ToolError::new(
            "this session keeps no output of that digest; copy the 64 letters and digits as they stand in the result",
        ));
    };
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return Err(ToolError::new(format!(
            "this output is {} bytes that are no text; it cannot be shown",
            bytes.len()
        )));
    };
    match (lines, chars) {
        (Some(_), Some(_)) => Err(ToolError::new(
            "give `lines` or `chars`, not both: `start` counts what you give",
        )),
        (None, Some(chars)) => by_chars(text, start, chars),
        (lines, None) => by_lines(text, start, lines),
    }
}

fn by_chars(text: &str, start: u64, chars: u64) -> Result<String, ToolError> {
    let total = text.chars().count() as u64;
    if start > total {
        return Err(past_end(start, total, "characters"));
    }
    let count = chars.min(PAGE as u64).min(total - start + 1);
    let part: String = text
        .chars()
        .skip(index(start - 1))
        .take(index(count))
        .collect();
    let end = start + count - 1;
    let next = match end < total {
        true => format!("; go on with start = {} and `chars`", end + 1),
        false => String::new(),
    };
    Ok(format!(
        "[Characters {start} to {end} of {total}{next}]\n{part}"
    ))
}

fn by_lines(text: &str, start: u64, lines: Option<u64>) -> Result<String, ToolError> {
    let total = text.lines().count() as u64;
    if start > total {
        return Err(past_end(start, total, "lines"));
    }
    let mut part = String::new();
    let mut room = PAGE;
    let mut end = start - 1;
    let wanted = text
        .split_inclusive('\n')
        .skip(index(start - 1))
        .take(index(lines.unwrap_or(u64::MAX)));
    for line in wanted {
        let length = line.chars().count();
        if length > room {
            if end < start {
                // Where this line begins, in characters.
                let before: String = text.split_inclusive('\n').take(index(start - 1)).collect();
                let at = before.chars().count() + 1;
                return Err(ToolError::new(format!(
                    "line {start} has {length} characters, too many for one answer; read it with start = {at} and chars = \
                     {PAGE}"
                )));
            }
            break;
        }
        room -= length;
        part.push_str(line);
        end += 1;
    }
    let next = match end < total {
        true => format!("; go on with start = {}", end + 1),
        false => String::new(),
    };
    Ok(format!("[Lines {start} to {end} of {total}{next}]\n{part}"))
}

fn past_end(start: u64, total: u64, what: &str) -> ToolError {
    ToolError::new(format!(
        "the output has {total} {what}, so nothing begins at {start}"
    ))
}

fn index(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use claw::tool::{CallInfo, OutputRead, Services};
    use futures_util::future::BoxFuture;

    use super::*;

    fn context() -> ToolContext {
        let long = format!("first\n{}\nlast line", "漢".repeat(12_000));
        let kept: Vec<(&'static str, Vec<u8>)> = vec![
            ("aa", b"one\ntwo\nthree\n".to_vec()),
            ("bb", vec![0xff, 0x00, 0x80]),
            ("cc", long.into_bytes()),
            ("dd", "x\n".repeat(9_000).into_bytes()),
            ("ee", Vec::new()),
        ];
        ToolContext::new(CallInfo {
            services: Some(Arc::new(Kept(kept))),
            ..CallInfo::default()
        })
    }

    /// What a session keeps, by its digest.
    struct Kept(Vec<(&'static str, Vec<u8>)>);

    impl Services for Kept {
        fn output<'a>(&'a self, _call: &'a CallInfo, digest: &'a str) -> BoxFuture<'a, OutputRead> {
            let found = self.0.iter().find(|(name, _)| *name == digest);
            let bytes = found.map(|(_, bytes)| Arc::from(bytes.as_slice()));
            Box::pin(async move { Ok(bytes) })
        }
    }

    async fn read(
        digest: &str,
        start: u64,
        lines: Option<u64>,
        chars: Option<u64>,
    ) -> Result<String, String> {
        let given = read_output(&context(), digest, start, lines, chars).await;
        given.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn lines_are_counted_from_one_and_say_how_to_go_on() {
        let all = "[Lines 1 to 3 of 3]\none\ntwo\nthree\n";
        assert_eq!(read("aa", 1, None, None).await.unwrap(), all);
        assert_eq!(read(" AA ", 1, None, None).await.unwrap(), all);
        assert_eq!(
            read("aa", 2, Some(1), None).await.unwrap(),
            "[Lines 2 to 2 of 3; go on with start = 3]\ntwo\n"
        );
        let page = read("dd", 1, None, None).await.unwrap();
        assert!(page.starts_with("[Lines 1 to 5000 of 9000; go on with start = 5001]\n"));
        assert_eq!(page.lines().count(), 5_001);
    }

    #[tokio::test]
    async fn a_long_line_is_read_by_characters_and_never_cut_within_one() {
        let asked = read("cc", 2, None, None).await.unwrap_err();
        assert!(asked.contains("start = 7 and chars = 10000"), "{asked}");
        let part = read("cc", 7, None, Some(50_000)).await.unwrap();
        let (head, body) = part.split_once('\n').unwrap();
        assert_eq!(
            head,
            "[Characters 7 to 10006 of 12016; go on with start = 10007 and `chars`]"
        );
        assert_eq!(body, "漢".repeat(10_000));
        assert_eq!(
            read("cc", 12_013, None, Some(9)).await.unwrap(),
            "[Characters 12013 to 12016 of 12016]\nline"
        );
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_said_kindly() {
        for (digest, start, lines, chars, said) in [
            ("zz", 1, None, None, "keeps no output of that digest"),
            ("bb", 1, None, None, "3 bytes that are no text"),
            ("aa", 4, None, None, "has 3 lines, so nothing begins at 4"),
            ("aa", 99, None, Some(1), "has 14 characters"),
            ("ee", 1, None, None, "has 0 lines"),
            ("aa", 1, Some(1), Some(1), "not both"),
        ] {
            let error = read(digest, start, lines, chars).await.unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        let alone = read_output(&ToolContext::detached(), "aa", 1, None, None).await;
        assert!(alone.is_err());
    }
}

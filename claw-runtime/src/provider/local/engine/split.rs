//! Cuts a text into the words that tokens are joined within.
//!
//! The makers of a vocabulary cut by a regular expression that looks ahead (`\s+(?!\S)`: spaces before a word leave it
//! the last one). Ours has no look-ahead and takes linear time whatever the text; what the look-ahead does is done to
//! its matches.

use regex::Regex;

use super::gguf::{Fault, fault};

/// A way to cut.
pub(super) struct Split {
    words: Regex,
    /// Whether each digit stands alone before anything else is cut.
    digits: bool,
    /// Whether spaces that end with a line break are a word of their own.
    breaks: bool,
    whole: bool,
}

const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+";
const LLAMA3: &str = r"'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+";
const QWEN2: &str = r"'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+";

impl Split {
    /// Returns the way with this name, `tokenizer.ggml.pre`.
    pub(super) fn of(name: Option<&str>) -> Result<Self, Fault> {
        let (words, digits, breaks) = match name {
            None | Some("gpt-2" | "gpt2") => (GPT2, false, false),
            Some("smollm") => (GPT2, true, false),
            Some("llama-bpe" | "llama3" | "llama-v3" | "smaug-bpe") => (LLAMA3, false, true),
            Some("qwen2" | "deepseek-r1-qwen") => (QWEN2, false, true),
            Some(other) => {
                return Err(fault!(
                    "`tokenizer.ggml.pre` is `{other}`; expected `gpt-2`, `smollm`, `llama-bpe` or `qwen2`"
                ));
            }
        };
        Ok(Self {
            words: Regex::new(words).map_err(|err| fault!("words cannot be cut: {err}"))?,
            digits,
            breaks,
            whole: words == LLAMA3 && name != Some("smaug-bpe"),
        })
    }

    /// Tells whether a word that is a token as a whole is taken as it.
    pub(super) fn whole_words(&self) -> bool {
        self.whole
    }

    /// Calls `take` with each word; together they are the text.
    pub(super) fn each<'t>(&self, text: &'t str, mut take: impl FnMut(&'t str)) {
        if !self.digits {
            return self.words(text, &mut take);
        }
        let mut rest = text;
        while let Some((at, digit)) = rest.char_indices().find(|(_, c)| c.is_numeric()) {
            self.words(&rest[..at], &mut take);
            let end = at + digit.len_utf8();
            take(&rest[at..end]);
            rest = &rest[end..];
        }
        self.words(rest, &mut take);
    }

    fn words<'t>(&self, text: &'t str, take: &mut impl FnMut(&'t str)) {
        let mut at = 0;
        while let Some(found) = self.words.find_at(text, at) {
            let word = found.as_str();
            let own = self.breaks && word.ends_with(['\r', '\n']);
            let mut end = found.end();
            if end < text.len()
                && !own
                && let Some((last, _)) = word
                    .char_indices()
                    .next_back()
                    .filter(|(last, _)| *last > 0)
                && word.chars().all(char::is_whitespace)
            {
                end = found.start() + last;
            }
            take(&text[found.start()..end]);
            at = end;
        }
    }
}

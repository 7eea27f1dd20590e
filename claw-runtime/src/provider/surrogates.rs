//! Half characters: services that cut text by UTF-16 units send `"\ud83c"` in one chunk and `"\udf27"` in the next.
//!
//! Such JSON has no Rust string. The halves are joined in the JSON text, before it is read.

/// Joins halves over the chunks of one stream.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    high: Option<u32>,
}

impl Joiner {
    /// Tells whether a half is waiting for its other half.
    pub(crate) fn is_waiting(&self) -> bool {
        self.high.is_some()
    }

    /// Returns `json` without half characters: a high half at the end of a string waits for the next chunk, a low half
    /// at the beginning of one completes it, and any other becomes U+FFFD.
    pub(crate) fn mend(&mut self, json: &str) -> String {
        let mut out = String::with_capacity(json.len());
        let mut rest = json;
        while let Some(at) = rest.find('\\') {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            match unit(rest) {
                Some(high @ 0xD800..=0xDBFF) => match unit(&rest[6..]) {
                    Some(0xDC00..=0xDFFF) => {
                        out.push_str(&rest[..12]);
                        rest = &rest[12..];
                    }
                    _ => {
                        rest = &rest[6..];
                        if rest.starts_with('"') {
                            self.high = Some(high);
                        } else {
                            out.push(char::REPLACEMENT_CHARACTER);
                        }
                    }
                },
                Some(low @ 0xDC00..=0xDFFF) => {
                    let high = if out.ends_with('"') {
                        self.high.take()
                    } else {
                        None
                    };
                    let whole = high.and_then(|high| {
                        char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
                    });
                    out.push(whole.unwrap_or(char::REPLACEMENT_CHARACTER));
                    rest = &rest[6..];
                }
                _ => {
                    // An escape of another kind; what follows the backslash is no beginning of one.
                    let len = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                    out.push_str(&rest[..len]);
                    rest = &rest[len..];
                }
            }
        }
        out.push_str(rest);
        out
    }
}

/// Returns the UTF-16 unit that `text` begins with as `\uXXXX`.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn halves_of_two_chunks_are_joined() {
        let mut joiner = Joiner::default();
        assert_eq!(joiner.mend(r#"{"a":"x\ud83c"}"#), r#"{"a":"x"}"#);
        assert!(joiner.is_waiting());
        assert_eq!(joiner.mend(r#"{"a":"\udf27y"}"#), r#"{"a":"🌧y"}"#);
        assert!(!joiner.is_waiting());
    }

    #[test]
    fn whole_pairs_and_other_escapes_stay() {
        let text = r#"{"a":"\ud83c\udf27 \\ud83c \n \" \\\\"}"#;
        assert_eq!(Joiner::default().mend(text), text);
    }

    #[test]
    fn lost_halves_are_replaced() {
        assert_eq!(
            Joiner::default().mend(r#""\ud83cx\udf27\udf27""#),
            "\"\u{fffd}x\u{fffd}\u{fffd}\""
        );
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in r#"(\\u(d8|dc|00)[0-9a-f]{0,2}|\\|"|u|é|[a-z]){0,20}"#) {
            let mut joiner = Joiner::default();
            let once = joiner.mend(&text);
            prop_assert_eq!(joiner.mend(&once), once);
        }
    }
}

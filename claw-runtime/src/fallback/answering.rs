//! The answer in a reply that is held to the form, read while it is written, so that it can be shown as it comes.

/// What an answer begins with, blanks aside.
const OPENING: [&str; 4] = ["{", "\"answer\"", ":", "\""];
/// Letters of the longest escape: a pair of halves.
const LONGEST_ESCAPE: usize = 12;

/// Reads the pieces of a reply in the order they come.
#[derive(Debug, Default)]
pub struct Answering {
    /// What is not read yet.
    rest: String,
    /// How many parts of the opening were read.
    opened: usize,
    /// Whether something was given out.
    begun: bool,
    /// Whether the answer has ended, or the reply is no answer.
    over: bool,
}

impl Answering {
    /// Takes the next piece and returns what of the answer is new in it: nothing of a call or of any other reply.
    pub fn push(&mut self, piece: &str) -> String {
        if self.over {
            return String::new();
        }
        self.rest.push_str(piece);
        while let Some(part) = OPENING.get(self.opened) {
            let rest = self.rest.trim_start();
            let Some(rest) = rest.strip_prefix(part) else {
                self.over = !part.starts_with(rest);
                return String::new();
            };
            self.rest = rest.to_owned();
            self.opened += 1;
        }
        let (written, ends) = readable(&self.rest);
        self.over = ends;
        let text = serde_json::from_str::<String>(&format!("\"{}\"", &self.rest[..written]));
        let Ok(text) = text else {
            self.over = true;
            return String::new();
        };
        // An answer of blanks is none.
        if !self.begun && text.trim().is_empty() {
            return String::new();
        }
        self.begun = true;
        self.rest.drain(..written);
        text
    }
}

/// Returns how many bytes of a string's text can be read already, and whether it ends there.
fn readable(text: &str) -> (usize, bool) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return (at, true),
            b'\\' => {
                let length = match bytes.get(at + 1) {
                    None => return (at, false),
                    Some(b'u') => 6,
                    Some(_) => 2,
                };
                let is_half = length == 6
                    && matches!(bytes.get(at + 2), Some(b'd' | b'D'))
                    && matches!(
                        bytes.get(at + 3),
                        Some(b'8' | b'9' | b'a' | b'A' | b'b' | b'B')
                    );
                let length = if is_half { LONGEST_ESCAPE } else { length };
                if at + length > bytes.len() {
                    return (at, false);
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    (at, false)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&str]) -> String {
        let mut answering = Answering::default();
        pieces.iter().map(|piece| answering.push(piece)).collect()
    }

    #[test]
    fn an_answer_is_read_while_it_is_written() {
        let mut answering = Answering::default();
        let pieces = [
            "{\"ans",
            "wer\" : \"",
            " ",
            "It",
            " is\\",
            "n \\u00",
            "e9!",
            "\", \"x\": \"y\"}",
        ];
        let shown: Vec<_> = pieces.iter().map(|piece| answering.push(piece)).collect();
        assert_eq!(shown, ["", "", "", " It", " is", "\n ", "é!", ""]);
    }

    #[test]
    fn nothing_else_is_shown() {
        for other in [
            r#"{"name": "add", "arguments": {"answer": "x"}}"#,
            "Sure! {\"answer\": \"x\"}",
            r#"{"answer": 1}"#,
            r#"{"answer": "  "}"#,
            r#"{"answers": "x"}"#,
            "",
        ] {
            assert_eq!(read(&[other]), "", "{other}");
        }
        // What cannot be read ends it.
        assert_eq!(read(&[r#"{"answer": "a"#, r"\x", "b"]), "a");
        assert_eq!(read(&["{\"answer\": \"a", "\n", "b"]), "a");
    }

    proptest! {
        /// Cut anywhere, an answer is shown as it was said.
        #[test]
        fn cuts_change_nothing(text in "[a\"\\\\é😀\n\\PC]{1,12}[x😀]", at in 0..60_usize, next in 0..60_usize) {
            let reply = serde_json::json!({ "answer": text }).to_string();
            let escaped: String = reply
                .encode_utf16()
                .map(|unit| if unit < 128 { char::from(unit as u8).to_string() } else { format!("\\u{unit:04x}") })
                .collect();
            for reply in [reply, escaped] {
                let border = |mut at: usize| {
                    at = at.min(reply.len());
                    while !reply.is_char_boundary(at) {
                        at -= 1;
                    }
                    at
                };
                let (at, next) = (border(at.min(next)), border(at.max(next)));
                prop_assert_eq!(read(&[&reply[..at], &reply[at..next], &reply[next..]]), text.clone());
            }
        }
    }
}

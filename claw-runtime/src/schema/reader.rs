//! The JSON reader of the slow path: exact, bounded in depth, and its faults say what to write instead.

use std::borrow::Cow;

use super::json::Json;
use super::number;

/// Deepest nesting of arguments.
pub(crate) const DEPTH: usize = 128;

/// What reading gave besides the value.
#[derive(Debug)]
pub(crate) struct Read<'a> {
    pub(crate) json: Json<'a>,
    /// Whether some object repeats a key or some number is too large for a float.
    pub(crate) odd: bool,
}

/// Where and why text is not JSON.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Byte offset, on a character border.
    pub(super) at: usize,
    /// What was expected there.
    pub(super) expected: &'static str,
}

/// Reads one JSON value.
pub(crate) fn read(text: &str) -> Result<Read<'_>, Fault> {
    let mut reader = Reader {
        text,
        at: 0,
        odd: false,
    };
    let json = reader.value(0)?;
    reader.blanks();
    if reader.at < text.len() {
        return Err(reader.fault("nothing after the arguments"));
    }
    Ok(Read {
        json,
        odd: reader.odd,
    })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    odd: bool,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Result<Json<'a>, Fault> {
        self.blanks();
        match self.peek() {
            Some(b'{' | b'[') if depth == DEPTH => Err(self.fault("at most 128 levels of nesting")),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            _ => Err(self.fault("a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, Fault> {
        self.at += 1;
        let mut entries: Vec<(Cow<'a, str>, Json<'a>)> = Vec::new();
        self.blanks();
        if self.take(b'}') {
            return Ok(Json::Object(entries));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return Err(self.fault("a name in double quotes"));
            }
            let key = self.string()?;
            self.blanks();
            if !self.take(b':') {
                return Err(self.fault("`:`"));
            }
            let value = self.value(depth + 1)?;
            entries.push((key, value));
            self.blanks();
            if self.take(b',') {
                continue;
            }
            if self.take(b'}') {
                break;
            }
            return Err(self.fault("`,` or `}`"));
        }
        self.odd = self.odd || repeats(&entries);
        Ok(Json::Object(entries))
    }

    fn array(&mut self, depth: usize) -> Result<Json<'a>, Fault> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if self.take(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.blanks();
            if self.take(b',') {
                continue;
            }
            if self.take(b']') {
                return Ok(Json::Array(items));
            }
            return Err(self.fault("`,` or `]`"));
        }
    }

    fn number(&mut self) -> Result<Json<'a>, Fault> {
        let start = self.at;
        match number::scan(&self.text.as_bytes()[start..]) {
            Ok(length) => self.at += length,
            Err(length) => {
                self.at += length;
                return Err(self.fault("a number as JSON writes it"));
            }
        }
        let text = &self.text[start..self.at];
        // Anything shorter and without an exponent is below 1e300.
        if (text.len() > 300 || text.contains(['e', 'E'])) && !number::is_finite(text) {
            self.odd = true;
        }
        Ok(Json::Number(Cow::Borrowed(text)))
    }

    fn word(&mut self, word: &str, json: Json<'a>) -> Result<Json<'a>, Fault> {
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(json);
        }
        Err(self.fault("a value"))
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        self.at += 1;
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut owned: Option<String> = None;
        let mut from = start;
        loop {
            match bytes.get(self.at) {
                None => return Err(self.fault("`\"` at the end of the string")),
                Some(b'"') => {
                    let rest = &self.text[from..self.at];
                    self.at += 1;
                    return Ok(match owned {
                        None => Cow::Borrowed(rest),
                        Some(mut owned) => {
                            owned.push_str(rest);
                            Cow::Owned(owned)
                        }
                    });
                }
                Some(b'\\') => {
                    let owned = owned.get_or_insert_default();
                    owned.push_str(&self.text[from..self.at]);
                    let letter = self.escape()?;
                    owned.push(letter);
                    from = self.at;
                }
                Some(0..0x20) => {
                    return Err(self
                        .fault("control characters in a string as escapes, `\\n` for a new line"));
                }
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let letter = match self.text.as_bytes().get(self.at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => return Err(self.fault("an escape that JSON has (`\\\\` for a backslash)")),
        };
        self.at += 2;
        Ok(letter)
    }

    fn unicode(&mut self) -> Result<char, Fault> {
        let first = self.hex(self.at)?;
        let (code, length) = match first {
            0xD800..0xDC00 => match self.hex(self.at + 6) {
                Ok(second @ 0xDC00..0xE000) => {
                    (0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00), 12)
                }
                _ => return Err(self.fault("both halves of a surrogate pair")),
            },
            _ => (first, 6),
        };
        let letter =
            char::from_u32(code).ok_or_else(|| self.fault("both halves of a surrogate pair"))?;
        self.at += length;
        Ok(letter)
    }

    /// Reads `\uXXXX` at `at`.
    fn hex(&self, at: usize) -> Result<u32, Fault> {
        let digits = self
            .text
            .as_bytes()
            .get(at..at + 6)
            .and_then(|escape| escape.strip_prefix(b"\\u"))
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        match digits.and_then(|digits| std::str::from_utf8(digits).ok()) {
            Some(digits) => Ok(u32::from_str_radix(digits, 16).expect("four hexadecimal digits")),
            None => Err(self.fault("four hexadecimal digits after `\\u`")),
        }
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn fault(&self, expected: &'static str) -> Fault {
        Fault {
            at: self.at,
            expected,
        }
    }
}

fn repeats(entries: &[(Cow<'_, str>, Json<'_>)]) -> bool {
    if entries.len() <= 16 {
        return entries
            .iter()
            .enumerate()
            .any(|(at, (key, _))| entries[..at].iter().any(|(before, _)| before == key));
    }
    let mut keys: Vec<&str> = entries.iter().map(|(key, _)| key.as_ref()).collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn names_place_and_expectation() {
        for (text, at, expected) in [
            ("", 0, "a value"),
            ("{\"a\": ", 6, "a value"),
            ("{\"a\": 1", 7, "`,` or `}`"),
            ("{\"a\" 1}", 5, "`:`"),
            ("{a: 1}", 1, "a name in double quotes"),
            ("{\"a\": 1,}", 8, "a name in double quotes"),
            ("[1 2]", 3, "`,` or `]`"),
            ("{} x", 3, "nothing after the arguments"),
            ("01", 1, "a number as JSON writes it"),
            ("\"a", 2, "`\"` at the end of the string"),
            (
                "\"\\q\"",
                1,
                "an escape that JSON has (`\\\\` for a backslash)",
            ),
            ("\"\\ud800\"", 1, "both halves of a surrogate pair"),
            ("\"\\u12\"", 1, "four hexadecimal digits after `\\u`"),
            (
                "\"a\nb\"",
                2,
                "control characters in a string as escapes, `\\n` for a new line",
            ),
            ("NaN", 0, "a value"),
            ("\u{feff}{}", 0, "a value"),
        ] {
            let fault = read(text).expect_err(text);
            assert_eq!((fault.at, fault.expected), (at, expected), "{text}");
        }
    }

    #[test]
    fn stops_at_128_levels() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(read(&nested(128)).is_ok());
        assert!(read(&nested(129)).is_err());
        assert!(read(&"[".repeat(1_000_000)).is_err());
    }

    #[test]
    fn keeps_repeated_keys_and_number_text() {
        let read =
            read(r#"{"n":1,"n":1.0,"big":123456789012345678901234567890,"e":1e400}"#).unwrap();
        assert!(read.odd);
        let mut text = String::new();
        read.json.write(&mut text);
        assert_eq!(
            text,
            r#"{"n":1,"n":1.0,"big":123456789012345678901234567890,"e":1e400}"#
        );
    }

    proptest::proptest! {
        #[test]
        fn agrees_with_serde_json_on_any_text(text in "[\\[\\]{}:,\"\\\\ntrue0-9.eE+a-fu \u{e9}\u{1F600}-]{0,40}") {
            let ours = read(&text);
            match serde_json::from_str::<Value>(&text) {
                Ok(theirs) => proptest::prop_assert_eq!(ours.unwrap().json.to_value(), theirs),
                // Numbers beyond a float are read, and reported with their place later.
                Err(_) => proptest::prop_assert!(ours.is_err() || ours.is_ok_and(|read| read.odd)),
            }
        }

        #[test]
        fn writes_what_it_read(value in crate::schema::tests::json_strategy()) {
            let text = value.to_string();
            let read = read(&text).unwrap();
            let mut written = String::new();
            read.json.write(&mut written);
            proptest::prop_assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value.clone());
            proptest::prop_assert_eq!(Json::from_value(&value).to_value(), value);
        }
    }
}

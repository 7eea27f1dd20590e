//! Text files as they are: decoding keeps what is needed to write every byte back.

use claw::tool::ToolError;

/// How many bytes decide whether a file is text.
const SNIFF: usize = 8 * 1024;

/// A text whose every byte can be written back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// The text; a byte order mark of UTF-8 stays in it.
    pub(crate) text: String,
    /// How it was stored.
    pub(crate) encoding: Encoding,
}

/// How a text is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    /// UTF-16 with its byte order mark, least significant byte first.
    Utf16Le,
    /// UTF-16 with its byte order mark, most significant byte first.
    Utf16Be,
    /// Something else that extends ASCII (Latin-1, GBK…): one character stands for one byte, only ASCII can be trusted.
    Other,
}

impl Encoding {
    /// Tells by the byte order mark whether this is UTF-16.
    pub(crate) fn utf16(bytes: &[u8]) -> Option<Self> {
        match bytes {
            // The mark of UTF-32 begins the same way.
            [0xff, 0xfe, 0, 0, ..] => None,
            [0xff, 0xfe, ..] => Some(Self::Utf16Le),
            [0xfe, 0xff, ..] => Some(Self::Utf16Be),
            _ => None,
        }
    }
}

impl Text {
    /// Decodes a file, or returns `None` when it is not text.
    pub(crate) fn decode(bytes: Vec<u8>) -> Option<Self> {
        if let Some(encoding) = Encoding::utf16(&bytes) {
            let (pairs, []) = bytes[2..].as_chunks::<2>() else {
                return None;
            };
            let units = pairs.iter().map(|pair| match encoding {
                Encoding::Utf16Le => u16::from_le_bytes(*pair),
                _ => u16::from_be_bytes(*pair),
            });
            let text = char::decode_utf16(units).collect::<Result<_, _>>().ok()?;
            return Some(Self { text, encoding });
        }
        if is_binary(&bytes) {
            return None;
        }
        Some(match String::from_utf8(bytes) {
            Ok(text) => Self {
                text,
                encoding: Encoding::Utf8,
            },
            Err(err) => Self {
                text: err.into_bytes().into_iter().map(char::from).collect(),
                encoding: Encoding::Other,
            },
        })
    }

    /// Returns the bytes of `text` in the encoding of the file it came from.
    pub(crate) fn encode(text: &str, encoding: Encoding) -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        match encoding {
            Encoding::Utf8 => text.as_bytes().to_vec(),
            Encoding::Utf16Le => units.flat_map(u16::to_le_bytes).collect(),
            Encoding::Utf16Be => units.flat_map(u16::to_be_bytes).collect(),
            // Every character of such a text was made from one byte, or is ASCII.
            Encoding::Other => text.chars().map(|c| c as u8).collect(),
        }
    }
}

/// Tells whether bytes are something else than text: a NUL, or many control characters near the beginning.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(SNIFF)];
    let controls = head
        .iter()
        .filter(|byte| byte.is_ascii_control() && !matches!(byte, 8..=13 | 27))
        .count();
    bytes.contains(&0) || controls * 10 > head.len()
}

/// Says that a file is not text.
pub(crate) fn binary(path: &str) -> ToolError {
    ToolError::new(format!("`{path}` is a binary file, not text"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoding(bytes: &[u8]) -> Option<Encoding> {
        Text::decode(bytes.to_vec()).map(|text| text.encoding)
    }

    #[test]
    fn encodings_are_told_apart() {
        assert_eq!(encoding(b"plain"), Some(Encoding::Utf8));
        assert_eq!(encoding(b""), Some(Encoding::Utf8));
        assert_eq!(encoding("\u{feff}é".as_bytes()), Some(Encoding::Utf8));
        assert_eq!(encoding(b"\xff\xfea\0"), Some(Encoding::Utf16Le));
        assert_eq!(encoding(b"\xfe\xff\0a"), Some(Encoding::Utf16Be));
        assert_eq!(encoding(b"caf\xe9\n"), Some(Encoding::Other));
        assert_eq!(encoding(b"\x7fELF\0\0"), None);
        assert_eq!(encoding(b"\xff\xfea"), None, "half a unit");
        assert_eq!(encoding(b"\xff\xfe\0\xd8"), None, "half a surrogate pair");
        assert_eq!(encoding(b"\xff\xfe\0\0a\0\0\0"), None, "UTF-32");
    }

    proptest! {
        #[test]
        fn what_decodes_is_written_back_to_the_byte(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..200),
                proptest::collection::vec(32u8.., 0..200),
                "\\PC*".prop_map(|text| Text::encode(&text, Encoding::Utf16Be)),
            ],
        ) {
            if let Some(Text { text, encoding }) = Text::decode(bytes.clone()) {
                prop_assert_eq!(Text::encode(&text, encoding), bytes);
            }
        }
    }
}

//! A page of lines out of a file of any size, in bounded memory.

use std::io::{self, BufRead};

/// Bytes that are read at most to count the lines behind the page.
const MAX_COUNTED: u64 = 256 << 20;

/// What is wanted.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// The first line, from 1.
    pub(super) offset: u64,
    /// How many lines.
    pub(super) limit: u64,
    /// How many characters.
    pub(super) chars: usize,
}

/// Lines of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// The bytes of the lines.
    pub(super) bytes: Vec<u8>,
    /// The number of the last line in it; 0 when there is none.
    pub(super) last: u64,
    /// Whether the last line is longer than a page and its end is missing.
    pub(super) is_cut: bool,
    /// The number of lines in the file, unless it is huge.
    pub(super) total: Option<u64>,
}

/// Reads the wanted lines; `None` when `stop` says so.
pub(super) fn page(
    mut reader: impl BufRead,
    wanted: Wanted,
    stop: impl Fn() -> bool,
) -> io::Result<Option<Page>> {
    let mut page = Page::default();
    let mut line = 1_u64;
    let mut line_is_open = false;
    let mut is_full = wanted.limit == 0;
    let (mut kept_chars, mut line_start) = (0, 0);
    let mut seen = 0_u64;
    loop {
        if stop() {
            return Ok(None);
        }
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            page.total = Some(line - u64::from(!line_is_open));
            break;
        }
        for piece in buffer.split_inclusive(|byte| *byte == b'\n') {
            if line >= wanted.offset && !is_full {
                let chars = count(piece);
                if kept_chars + chars <= wanted.chars {
                    page.bytes.extend_from_slice(piece);
                    kept_chars += chars;
                    page.last = line;
                } else {
                    is_full = true;
                    if line_start == 0 {
                        page.bytes
                            .extend_from_slice(clip(piece, wanted.chars - kept_chars));
                        page.last = line;
                        page.is_cut = true;
                    } else {
                        page.bytes.truncate(line_start);
                        page.last = line - 1;
                    }
                }
            }
            line_is_open = !piece.ends_with(b"\n");
            if !line_is_open {
                line += 1;
                line_start = page.bytes.len();
                is_full |= line >= wanted.offset.saturating_add(wanted.limit);
            }
        }
        let length = buffer.len();
        reader.consume(length);
        seen += length as u64;
        if is_full && seen > MAX_COUNTED {
            break;
        }
    }
    Ok(Some(page))
}

/// Counts characters: bytes that do not continue one.
fn count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| starts_char(**byte)).count()
}

/// Returns the first `chars` characters.
fn clip(bytes: &[u8], chars: usize) -> &[u8] {
    let starts = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| starts_char(**byte));
    match starts.map(|(at, _)| at).nth(chars) {
        Some(end) => &bytes[..end],
        None => bytes,
    }
}

fn starts_char(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str, offset: u64, limit: u64, chars: usize, buffer: usize) -> Page {
        let reader = io::BufReader::with_capacity(buffer, text.as_bytes());
        let wanted = Wanted {
            offset,
            limit,
            chars,
        };
        page(reader, wanted, || false).unwrap().unwrap()
    }

    #[test]
    fn lines_are_counted_with_and_without_a_last_newline() {
        for (text, total) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            assert_eq!(read(text, 1, 9, 99, 4).total, Some(total), "{text:?}");
        }
    }

    #[test]
    fn a_page_ends_before_the_line_that_does_not_fit() {
        let got = read("aaaa\nbbbb\ncccc\n", 1, 9, 12, 3);
        assert_eq!(got.bytes, b"aaaa\nbbbb\n");
        assert_eq!((got.last, got.is_cut, got.total), (2, false, Some(3)));
    }

    #[test]
    fn a_line_longer_than_a_page_is_cut_between_characters() {
        let got = read("ééééé\nb\n", 1, 9, 3, 2);
        assert_eq!(got.bytes, "ééé".as_bytes());
        assert_eq!((got.last, got.is_cut, got.total), (1, true, Some(2)));
    }

    proptest! {
        #[test]
        fn pages_put_together_are_the_file(
            text in "([a-zé]{0,5}\n){0,20}[a-z]{0,3}", limit in 1_u64..6, chars in 7_usize..40, buffer in 1_usize..30,
        ) {
            let mut all = Vec::new();
            let mut offset = 1;
            loop {
                let got = read(&text, offset, limit, chars, buffer);
                prop_assert!(!got.is_cut);
                prop_assert!(String::from_utf8_lossy(&got.bytes).chars().count() <= chars);
                all.extend_from_slice(&got.bytes);
                if got.last == 0 || Some(got.last) == got.total {
                    break;
                }
                offset = got.last + 1;
            }
            prop_assert_eq!(all, text.into_bytes());
        }
    }
}

//! Server-sent events from bytes, wherever the network cuts them.
//!
//! Bytes are kept until a line ends and decoded only then, so a character split over two chunks stays whole. LF, CRLF
//! and CR end a line; U+2028 does not. Reconnection (`id`, `retry`) is not done here: a model's reply cannot be resumed.

use super::lenient;

/// The longest event taken, in bytes.
pub(crate) const MAX_EVENT: usize = 8 << 20;

/// One event: its data lines joined with line feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event<'a> {
    /// The data; bytes that are no UTF-8 are replaced.
    pub(crate) data: &'a str,
    /// Whether the event is named `error`.
    pub(crate) is_error: bool,
    /// The HTTP status that a comment names (DashScope: `:HTTP_STATUS/400`).
    pub(crate) status: Option<u16>,
}

/// An event grew past its limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Reads events from bytes as they come.
#[derive(Debug)]
pub(crate) struct Reader {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    is_error: bool,
    status: Option<u16>,
    after_cr: bool,
    first_line: bool,
    max: usize,
}

impl Reader {
    /// Returns a reader that takes events of at most `max` bytes.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            is_error: false,
            status: None,
            after_cr: false,
            first_line: true,
            max,
        }
    }

    /// Takes the next bytes and hands over each event that they complete.
    pub(crate) fn feed(
        &mut self,
        mut bytes: &[u8],
        each: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), TooLong> {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + self.data.len() + piece.len() > self.max {
                return Err(TooLong);
            }
            let Some(end) = end else {
                self.line.extend_from_slice(piece);
                return Ok(());
            };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if self.line.is_empty() {
                self.end_line(piece, each);
            } else {
                self.line.extend_from_slice(piece);
                let mut line = std::mem::take(&mut self.line);
                self.end_line(&line, each);
                line.clear();
                self.line = line;
            }
        }
        Ok(())
    }

    /// Ends the stream: an event without its closing blank line counts.
    pub(crate) fn finish(&mut self, each: &mut dyn FnMut(Event<'_>)) {
        let line = std::mem::take(&mut self.line);
        self.end_line(&line, each);
        self.dispatch(each);
    }

    fn end_line(&mut self, line: &[u8], each: &mut dyn FnMut(Event<'_>)) {
        let mut line = line;
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(each);
        }
        if let Some(status) = line.strip_prefix(b":HTTP_STATUS/") {
            self.status = std::str::from_utf8(status)
                .ok()
                .and_then(|status| status.trim().parse().ok());
            return;
        }
        // Some gateways break off with a bare JSON error where an event belongs.
        if line.starts_with(b"{\"error\"") {
            return self.append(line);
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.append(value),
            b"event" => self.is_error = value == b"error",
            // llama.cpp sends a failure in a field of its own: `error: {…}`.
            b"error" => {
                self.is_error = true;
                self.append(value);
            }
            _ => {}
        }
    }

    fn append(&mut self, value: &[u8]) {
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
    }

    fn dispatch(&mut self, each: &mut dyn FnMut(Event<'_>)) {
        let is_error = std::mem::take(&mut self.is_error);
        let status = self.status.take();
        if std::mem::take(&mut self.has_data) {
            each(Event {
                data: &lenient::utf8(&self.data),
                is_error,
                status,
            });
            self.data.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, bool) {
        let mut reader = Reader::new(64);
        let mut events = Vec::new();
        let mut each = |event: Event<'_>| events.push(event.data.to_owned());
        for chunk in chunks {
            if reader.feed(chunk, &mut each).is_err() {
                return (events, false);
            }
        }
        reader.finish(&mut each);
        (events, true)
    }

    fn whole(text: &str) -> Vec<String> {
        read([text.as_bytes()]).0
    }

    #[test]
    fn lines_end_with_lf_crlf_and_cr() {
        assert_eq!(
            whole("data: a\n\ndata: b\r\n\r\ndata: c\r\r"),
            ["a", "b", "c"]
        );
    }

    #[test]
    fn a_crlf_may_be_cut_in_the_middle() {
        let chunks: [&[u8]; 4] = [b"data: a\r", b"\n\r", b"\ndata: b\r\n", b"\r\n"];
        assert_eq!(read(chunks).0, ["a", "b"]);
    }

    #[test]
    fn data_lines_are_joined_and_the_blank_after_the_colon_is_optional() {
        assert_eq!(whole("data:a\ndata:  b\ndata\n\n"), ["a\n b\n"]);
    }

    #[test]
    fn a_crlf_is_one_line_end() {
        assert_eq!(whole("data: a\r\ndata: b\r\n\r\n"), ["a\nb"]);
    }

    #[test]
    fn comments_and_other_fields_are_skipped() {
        assert_eq!(
            whole(": hi\nid: 1\nretry: 2\nevent: x\n\ndata: a\n: no\n\n"),
            ["a"]
        );
    }

    #[test]
    fn the_last_event_needs_no_blank_line_nor_line_end() {
        assert_eq!(whole("data: a"), ["a"]);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_field() {
        assert_eq!(whole("\u{feff}data: a\n\n"), ["a"]);
    }

    #[test]
    fn a_line_separator_is_text() {
        assert_eq!(whole("data: a\u{2028}b\n\n"), ["a\u{2028}b"]);
    }

    #[test]
    fn errors_outside_of_data_are_not_lost() {
        assert_eq!(
            whole("error: {\"code\":500}\n\n{\"error\":\"x\"}\n\n"),
            ["{\"code\":500}", "{\"error\":\"x\"}"]
        );
    }

    #[test]
    fn an_event_is_bounded() {
        let long = "x".repeat(65);
        assert_eq!(read([long.as_bytes()]), (vec![], false));
        let lines = "data: 0123456789\n".repeat(9);
        assert_eq!(read([lines.as_bytes()]), (vec![], false));
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_events(
            bytes in prop::collection::vec(
                prop_oneof![
                    Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), Just(b'a'), Just(b't'), any::<u8>(),
                ],
                0..60,
            ),
            cuts in prop::collection::vec(0usize..60, 0..6),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let chunks = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            prop_assert_eq!(read(chunks), read([&bytes[..]]));
        }
    }
}

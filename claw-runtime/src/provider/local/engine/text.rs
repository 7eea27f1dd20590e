//! Bytes of tokens to text: whole characters only, and nothing of a stop text.

/// Gathers a reply's bytes and gives out what can no longer change.
pub(super) struct Text {
    held: Vec<u8>,
    stops: Vec<String>,
}

impl Text {
    pub(super) fn new(stops: Vec<String>) -> Self {
        let stops = stops.into_iter().filter(|stop| !stop.is_empty()).collect();
        Self {
            held: Vec::new(),
            stops,
        }
    }

    /// Takes a token's bytes; returns the text that is certain by now, and whether a stop text came after it.
    pub(super) fn push(&mut self, bytes: &[u8]) -> (String, bool) {
        self.held.extend_from_slice(bytes);
        let stops = self.stops.iter().map(String::as_bytes);
        let found = stops
            .clone()
            .filter_map(|stop| find(&self.held, stop))
            .min();
        if let Some(at) = found {
            self.held.truncate(at);
            return (self.finish(), true);
        }
        let begun = stops.map(|stop| begun(&self.held, stop)).max();
        let safe = self.held.len() - begun.unwrap_or(0).max(unfinished(&self.held));
        let text = String::from_utf8_lossy(&self.held[..safe]).into_owned();
        self.held.drain(..safe);
        (text, false)
    }

    /// Returns what is left; part of a character becomes U+FFFD.
    pub(super) fn finish(&mut self) -> String {
        let text = String::from_utf8_lossy(&self.held).into_owned();
        self.held.clear();
        text
    }
}

fn find(bytes: &[u8], stop: &[u8]) -> Option<usize> {
    bytes.windows(stop.len()).position(|window| window == stop)
}

/// Returns how many bytes at the end may be the beginning of `stop`.
fn begun(bytes: &[u8], stop: &[u8]) -> usize {
    let most = bytes.len().min(stop.len() - 1);
    let mut lengths = (1..=most).rev();
    lengths
        .find(|length| bytes.ends_with(&stop[..*length]))
        .unwrap_or(0)
}

/// Returns how many bytes at the end are the beginning of a character.
fn unfinished(bytes: &[u8]) -> usize {
    let Some(last) = bytes.utf8_chunks().last() else {
        return 0;
    };
    let tail = last.invalid();
    // Of what is no UTF-8, only a beginning becomes valid by another byte.
    let begins = std::str::from_utf8(tail).is_err_and(|err| err.error_len().is_none());
    if begins { tail.len() } else { 0 }
}

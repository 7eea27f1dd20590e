//! The ways in which a text is read at once: as it stands, and with each of the usual escapes undone.

use std::collections::VecDeque;
use std::ops::Range;

use super::automaton::{Automaton, START, State};

/// What is undone before patterns are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escapes {
    /// Nothing.
    None,
    /// `%2F`, as in addresses and forms.
    Percent,
    /// `\/`, `\"`, `\u002f`, as in JSON.
    Json,
    /// Line breaks within, as a terminal or `base64` makes them.
    Lines,
}

impl Escapes {
    pub(super) const ALL: [Self; 4] = [Self::None, Self::Percent, Self::Json, Self::Lines];

    /// Tells whether a byte may begin an escape.
    fn begin(self, byte: u8) -> bool {
        match self {
            Self::None | Self::Lines => false,
            Self::Percent => byte == b'%',
            Self::Json => byte == b'\\',
        }
    }

    /// Returns the ways in which a text may read otherwise than in the others: in most there is nothing to undo.
    pub(super) fn in_text(text: &str) -> impl Iterator<Item = Self> {
        let mut occur = [true, false, false, false];
        for byte in text.bytes() {
            occur[1] |= byte == b'%';
            occur[2] |= byte == b'\\';
            occur[3] |= byte == b'\n' || byte == b'\r';
        }
        std::iter::zip(Self::ALL, occur).filter_map(|(escapes, occurs)| occurs.then_some(escapes))
    }
}

/// Reads a text in one of these ways, byte by byte.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    escapes: Escapes,
    state: State,
    /// An escape that is not whole yet, and where it begins.
    escape: Vec<u8>,
    escape_at: usize,
    /// Where each of the bytes begins that may be the beginning of a pattern.
    starts: VecDeque<usize>,
}

impl Reader {
    pub(super) fn new(escapes: Escapes) -> Self {
        Self {
            escapes,
            state: START,
            escape: Vec::new(),
            escape_at: 0,
            starts: VecDeque::new(),
        }
    }

    /// Reads the byte at `at`, and adds what ends there to `hits`.
    pub(super) fn read(
        &mut self,
        automaton: &Automaton,
        byte: u8,
        at: usize,
        hits: &mut Vec<Range<usize>>,
    ) {
        if self.escape.is_empty() {
            // Most text is nothing to look at.
            if self.state == START && !automaton.begins(byte) && !self.escapes.begin(byte) {
                return;
            }
            if self.escapes.begin(byte) {
                self.escape_at = at;
                self.escape.push(byte);
            } else if self.escapes != Escapes::Lines || !matches!(byte, b'\n' | b'\r') {
                self.take(automaton, byte, at, at, hits);
            }
            return;
        }
        self.escape.push(byte);
        let Some(undone) = undo(self.escapes, &self.escape) else {
            return;
        };
        let escape = std::mem::take(&mut self.escape);
        match undone {
            Undone::Char(c) => {
                let (from, mut utf8) = (self.escape_at, [0; 4]);
                for byte in c.encode_utf8(&mut utf8).bytes() {
                    self.take(automaton, byte, from, at, hits);
                }
            }
            Undone::Byte(byte) => self.take(automaton, byte, self.escape_at, at, hits),
            // It was none: the mark stood for itself.
            Undone::Nothing => {
                let from = self.escape_at;
                self.take(automaton, escape[0], from, from, hits);
                for (index, byte) in escape.iter().enumerate().skip(1) {
                    self.read(automaton, *byte, from + index, hits);
                }
            }
        }
    }

    fn take(
        &mut self,
        automaton: &Automaton,
        byte: u8,
        from: usize,
        to: usize,
        hits: &mut Vec<Range<usize>>,
    ) {
        self.state = automaton.step(self.state, byte);
        let depth = automaton.depth(self.state);
        let found = automaton.found(self.state);
        self.starts.push_back(from);
        while self.starts.len() > depth {
            self.starts.pop_front();
        }
        if found > 0 {
            hits.push(self.starts[depth - found]..to + 1);
        }
    }

    /// Returns where that begins which the next byte may make a pattern of; `end` where nothing is open.
    pub(super) fn open(&self, end: usize) -> usize {
        let escape = if self.escape.is_empty() {
            end
        } else {
            self.escape_at
        };
        self.starts.front().copied().unwrap_or(end).min(escape)
    }

    /// Returns how many bytes of a pattern stand at the end, escapes undone.
    pub(super) fn begun(&self, automaton: &Automaton) -> usize {
        automaton.depth(self.state)
    }
}

enum Undone {
    Char(char),
    Byte(u8),
    Nothing,
}

/// Undoes an escape; `None` while it is not whole.
fn undo(escapes: Escapes, escape: &[u8]) -> Option<Undone> {
    let hex = |digits: &[u8]| {
        let text = std::str::from_utf8(digits).ok()?;
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u32::from_str_radix(text, 16).ok().filter(|_| is_hex)
    };
    let (digits, wanted) = match (escapes, escape) {
        (Escapes::Percent, [_, digits @ ..]) => (digits, 2),
        (Escapes::Json, [_, b'u', digits @ ..]) => (digits, 4),
        (Escapes::Json, [_, byte]) => {
            return Some(match byte {
                b'"' | b'\\' | b'/' => Undone::Byte(*byte),
                b'n' => Undone::Byte(b'\n'),
                b't' => Undone::Byte(b'\t'),
                b'r' => Undone::Byte(b'\r'),
                _ => Undone::Nothing,
            });
        }
        _ => return Some(Undone::Nothing),
    };
    if digits.is_empty() {
        return None;
    }
    let Some(code) = hex(digits) else {
        return Some(Undone::Nothing);
    };
    if digits.len() < wanted {
        return None;
    }
    Some(match (escapes, u8::try_from(code)) {
        (Escapes::Percent, Ok(byte)) => Undone::Byte(byte),
        // Half of a pair is no character, and no pattern has one.
        _ => Undone::Char(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)),
    })
}

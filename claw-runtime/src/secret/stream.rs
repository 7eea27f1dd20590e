//! Text that comes in pieces: what may be the beginning of a secret waits for the next piece.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::read::{Escapes, Reader};
use super::{Finder, Known, MASK};

/// Masks a text that comes in pieces, however it is cut. All that comes out is what [`Secrets::mask`](super::Secrets::mask)
/// gives of the whole.
#[derive(Debug)]
pub struct Pieces {
    known: Arc<Known>,
    readers: [Reader; 4],
    /// What came and was not given out, and where it begins in the whole.
    held: String,
    begin: usize,
    hits: Vec<Range<usize>>,
}

impl Pieces {
    pub(super) fn new(known: Arc<Known>) -> Self {
        Self {
            known,
            readers: Escapes::ALL.map(Reader::new),
            held: String::new(),
            begin: 0,
            hits: Vec::new(),
        }
    }

    /// Takes the next piece, and returns what can be shown by now; it may be empty.
    pub fn push(&mut self, piece: &str) -> String {
        let Some(Finder { automaton, .. }) = self.known.finder() else {
            return piece.to_owned();
        };
        let mut end = self.begin + self.held.len();
        for byte in piece.bytes() {
            for reader in &mut self.readers {
                reader.read(automaton, byte, end, &mut self.hits);
            }
            end += 1;
        }
        self.held.push_str(piece);
        let open = self.readers.iter().map(|reader| reader.open(end)).min();
        self.give(open.unwrap_or(end))
    }

    /// Returns the rest: nothing more comes, so what is held is no secret's beginning.
    pub fn finish(&mut self) -> String {
        let rest = self.give(self.begin + self.held.len());
        self.readers = Escapes::ALL.map(Reader::new);
        rest
    }

    /// Returns another text, which is not one of the pieces, masked.
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.known.mask(text, 0)
    }

    fn give(&mut self, until: usize) -> String {
        let merged = merge(std::mem::take(&mut self.hits));
        // A secret is not cut: it may yet be part of a longer one.
        let crossing = merged
            .iter()
            .find(|hit| hit.start < until && until < hit.end);
        let until = crossing.map_or(until, |hit| hit.start);
        let (given, kept): (Vec<_>, Vec<_>) = merged.into_iter().partition(|hit| hit.end <= until);
        self.hits = kept;
        let rest = self.held.split_off(until - self.begin);
        let text = std::mem::replace(&mut self.held, rest);
        let text = replace(&text, self.begin, &given);
        self.begin = until;
        text
    }
}

/// Returns the ranges in order, those that overlap as one.
pub(super) fn merge(mut hits: Vec<Range<usize>>) -> Vec<Range<usize>> {
    hits.sort_by_key(|hit| (hit.start, hit.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(hits.len());
    for hit in hits {
        match merged.last_mut() {
            Some(last) if hit.start < last.end => last.end = last.end.max(hit.end),
            _ => merged.push(hit),
        }
    }
    merged
}

/// Returns `text`, which begins at `begin` of a whole, with a mask in the place of each of these ranges of the whole.
pub(super) fn replace(text: &str, begin: usize, hits: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for hit in hits {
        out.push_str(&text[done..hit.start - begin]);
        out.push_str(MASK);
        done = hit.end - begin;
    }
    out.push_str(&text[done..]);
    out
}

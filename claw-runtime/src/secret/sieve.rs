//! Tells at a glance that a text holds no pattern, which is nearly always so (Wu and Manber's way).
//!
//! Each look is at two bytes and says how far no pattern can end: with patterns of no less than eight bytes, seven more. The
//! automaton, which looks at every byte, reads what is left.

use super::automaton::Automaton;

/// How many pairs of bytes are told apart.
const SLOTS: usize = 4096;

/// The beginnings of some patterns, all as long as the shortest of them.
pub(super) struct Sieve {
    /// How long that is.
    length: usize,
    /// How many bytes after a pair a beginning ends at the earliest.
    skips: Box<[u8; SLOTS]>,
}

impl Sieve {
    pub(super) fn new<'p>(patterns: impl IntoIterator<Item = &'p [u8]> + Clone) -> Self {
        let shortest = patterns.clone().into_iter().map(<[u8]>::len).min();
        let length = shortest.unwrap_or(0).min(usize::from(u8::MAX));
        let furthest = u8::try_from(length.saturating_sub(1)).unwrap_or(u8::MAX);
        let mut skips = Box::new([furthest; SLOTS]);
        for pattern in patterns {
            for (pair, skip) in pattern[..length].windows(2).zip((0..furthest).rev()) {
                let slot = &mut skips[slot(pair[0], pair[1])];
                *slot = skip.min(*slot);
            }
        }
        Self { length, skips }
    }

    /// Tells whether a pattern may be in the text; `false` is certain.
    pub(super) fn may_find(&self, automaton: &Automaton, text: &[u8]) -> bool {
        if self.length < 2 {
            return true;
        }
        let mut last = self.length - 1;
        while last < text.len() {
            match self.skips[slot(text[last - 1], text[last])] {
                0 if automaton.begins_with(&text[last + 1 - self.length..=last]) => return true,
                skip => last += usize::from(skip).max(1),
            }
        }
        false
    }
}

fn slot(first: u8, second: u8) -> usize {
    (usize::from(first) << 4 ^ usize::from(second)) % SLOTS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_there_may_be_found(
            patterns in proptest::collection::vec("[ab]{1,6}", 1..4),
            text in "[abc]{0,30}",
        ) {
            let of = || patterns.iter().map(String::as_bytes);
            let (sieve, automaton) = (Sieve::new(of()), Automaton::new(of()));
            let found = sieve.may_find(&automaton, text.as_bytes());
            // One that is as long as the shortest is found only where it is.
            let length = patterns.iter().map(String::len).min().unwrap_or(0);
            let begins = patterns.iter().any(|pattern| text.contains(&pattern[..length]));
            prop_assert!(found == begins || length < 2, "{:?} in {}", patterns, text);
        }
    }
}

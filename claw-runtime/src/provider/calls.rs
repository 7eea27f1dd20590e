//! Which pieces make one tool call.
//!
//! Services tell calls apart by index, by id, by position or not at all, repeat ids and names in every piece, or use one
//! index for all. In that order: a known index, a known id, a new id, the call that is open.

use std::collections::BTreeSet;

use crate::message::ToolCall;

use super::assemble::Outcome;

/// A piece of a tool call as the wire has it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallPiece<'a> {
    /// The call's number, where the wire numbers calls.
    pub(crate) index: Option<u64>,
    /// The call's id; empty for none.
    pub(crate) id: &'a str,
    /// The tool's name; empty for none.
    pub(crate) name: &'a str,
    /// The arguments.
    pub(crate) arguments: Arguments<'a>,
}

/// Arguments as the wire has them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arguments<'a> {
    /// The next piece of the JSON text.
    Text(&'a str),
    /// All of them, as JSON text.
    Whole(&'a str),
}

impl Default for Arguments<'_> {
    fn default() -> Self {
        Self::Text("")
    }
}

/// What a piece did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The place of its call.
    pub(crate) slot: usize,
    /// Whether it began the call.
    pub(crate) opened: bool,
    /// The tool's name, if this piece brought it.
    pub(crate) named: Option<String>,
}

/// The calls of one reply, in order of appearance.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    slots: Vec<Slot>,
    // Sorted lists: a reply has few calls, and to make a table or a tree takes as long as all else here.
    by_index: Vec<(u64, usize)>,
    /// The first call of each id.
    by_id: Vec<usize>,
    open: Option<usize>,
}

#[derive(Debug, Default)]
struct Slot {
    id: String,
    name: String,
    arguments: String,
    extent: Extent,
}

impl Calls {
    /// Takes a piece.
    pub(crate) fn push(&mut self, piece: CallPiece<'_>) -> Taken {
        let found = self.find(&piece);
        let slot = found.unwrap_or(self.slots.len());
        if found.is_none() {
            self.slots.push(Slot::default());
        }
        if let Some(index) = piece.index {
            match self.by_index.binary_search_by_key(&index, |known| known.0) {
                Ok(at) => self.by_index[at].1 = slot,
                Err(at) => self.by_index.insert(at, (index, slot)),
            }
        }
        if !piece.id.is_empty()
            && self.slots[slot].id.is_empty()
            && let Err(at) = self.place_of(piece.id)
        {
            self.by_id.insert(at, slot);
        }
        self.open = Some(slot);
        let Slot {
            id,
            name,
            arguments,
            extent,
        } = &mut self.slots[slot];
        if id.is_empty() && !piece.id.is_empty() {
            piece.id.clone_into(id);
        }
        let named = (name.is_empty() && !piece.name.is_empty()).then(|| piece.name.to_owned());
        if !piece.name.is_empty() {
            piece.name.clone_into(name);
        }
        match piece.arguments {
            // Sent in pieces, then once more as a whole.
            Arguments::Text(text) if extent.is_closed() && text == arguments.as_str() => {}
            Arguments::Text(text) => {
                arguments.push_str(text);
                extent.read(text);
            }
            Arguments::Whole(text) => {
                text.clone_into(arguments);
                *extent = Extent::default();
                extent.read(text);
            }
        }
        Taken {
            slot,
            opened: found.is_none(),
            named,
        }
    }

    /// Returns where the first call of an id stands in the list of those, or would.
    fn place_of(&self, id: &str) -> Result<usize, usize> {
        let known = |slot: &usize| self.slots[*slot].id.as_str().cmp(id);
        self.by_id.binary_search_by(known)
    }

    fn find(&self, piece: &CallPiece<'_>) -> Option<usize> {
        let by_id = self.place_of(piece.id).ok().map(|at| self.by_id[at]);
        if let Some(index) = piece.index {
            let at = self.by_index.binary_search_by_key(&index, |known| known.0);
            return match at.ok().map(|at| &self.by_index[at].1) {
                // One index for all, and pieces of several calls by turns.
                Some(&slot) if self.is_elsewhere(slot, by_id, piece.id) => by_id,
                Some(&slot) => (!self.slots[slot].is_left_by(piece)).then_some(slot),
                // A counter that runs with the pieces, not with the calls.
                None => by_id
                    .filter(|&slot| piece.name.is_empty() && !self.slots[slot].extent.is_closed()),
            };
        }
        if !piece.id.is_empty() {
            return by_id.or_else(|| {
                self.open.filter(|&slot| {
                    // The id comes after its call was begun.
                    self.slots[slot].id.is_empty() && !self.slots[slot].is_left_by(piece)
                })
            });
        }
        self.open
            .filter(|&slot| !self.slots[slot].is_left_by(piece))
    }

    /// Tells whether a piece with the index of `slot` belongs to the open call that has its id.
    fn is_elsewhere(&self, slot: usize, by_id: Option<usize>, id: &str) -> bool {
        let own = &self.slots[slot].id;
        let is_open = |slot: usize| !self.slots[slot].extent.is_closed();
        !own.is_empty() && own != id && by_id.is_some_and(is_open)
    }

    /// Returns how many calls there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Tells whether there are calls and each of them is whole.
    pub(crate) fn are_whole(&self) -> bool {
        !self.slots.is_empty()
            && self
                .slots
                .iter()
                .all(|slot| !slot.name.is_empty() && !slot.extent.is_open())
    }

    /// Returns what became of each call, or `None` when one has arguments and no name. A call with neither is nothing.
    ///
    /// `at_limit` says that the model was stopped: then a last call without arguments may have been about to get some.
    pub(crate) fn finish(mut self, at_limit: bool) -> Option<Vec<Option<Outcome>>> {
        let mut used: BTreeSet<String> = BTreeSet::new();
        let last = self.slots.len().wrapping_sub(1);
        for at in 0..self.slots.len() {
            let slot = &self.slots[at];
            if slot.is_nameless() {
                if !slot.arguments.trim().is_empty() {
                    return None;
                }
                continue;
            }
            if slot.id.is_empty() || used.contains(&slot.id) {
                let is_used = |id: &str| used.contains(id) || self.place_of(id).is_ok();
                // The first call of an id keeps it, so the list of those stays sorted.
                self.slots[at].id = fresh_id(at, slot, is_used);
            }
            if at < last {
                used.insert(self.slots[at].id.clone());
            }
        }
        let slots = self.slots.into_iter().enumerate();
        Some(
            slots
                .map(|(at, slot)| (!slot.is_nameless()).then(|| slot.end(at_limit && at == last)))
                .collect(),
        )
    }
}

impl Slot {
    fn is_nameless(&self) -> bool {
        self.name.trim().is_empty()
    }

    /// Returns what became of the call; `at_limit` says that the model was stopped at it.
    fn end(self, at_limit: bool) -> Outcome {
        let blank = matches!(self.arguments.trim(), "" | "null");
        let cut = self.extent.is_open() || (at_limit && blank);
        let name = self.name.trim();
        let call = ToolCall {
            id: self.id,
            name: match name.len() == self.name.len() {
                true => self.name,
                false => name.to_owned(),
            },
            arguments: match blank {
                true => "{}".to_owned(),
                false => self.arguments,
            },
        };
        match cut {
            true => Outcome::Cut(call),
            false => Outcome::Whole(call),
        }
    }

    /// Tells whether a piece with this slot's index, or with none, belongs to a new call.
    fn is_left_by(&self, piece: &CallPiece<'_>) -> bool {
        let brings_arguments = match piece.arguments {
            Arguments::Text(text) => !text.trim().is_empty() && text != self.arguments,
            Arguments::Whole(text) => text != self.arguments,
        };
        let other_id = !piece.id.is_empty() && !self.id.is_empty() && piece.id != self.id;
        if self.extent.is_closed() {
            other_id || (piece.id.is_empty() && !piece.name.is_empty() && brings_arguments)
        } else {
            // Two calls without arguments, or of two tools; a new id alone may be a service that makes one up for each
            // piece.
            other_id
                && (self.arguments.trim().is_empty() || self.name != piece.name)
                && !self.name.is_empty()
                && !piece.name.is_empty()
        }
    }
}

/// Returns an id of nine letters and digits (Mistral takes no other) that depends on the call and its place alone.
fn fresh_id(at: usize, slot: &Slot, is_used: impl Fn(&str) -> bool) -> String {
    (0u32..)
        .map(|salt| {
            let seed = format!("{at}\n{salt}\n{}\n{}", slot.name, slot.arguments);
            crate::digest::of(seed.as_bytes())[..9].to_owned()
        })
        .find(|id| !is_used(id))
        .expect("a reply has fewer calls than there are ids")
}

/// Where a JSON text stands, read piece by piece: what [`serde_json`] would have to read anew each time.
#[derive(Debug, Default)]
struct Extent {
    depth: usize,
    in_string: bool,
    escaped: bool,
    closed: bool,
}

impl Extent {
    fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => {
                        self.in_string = false;
                        self.closed = self.depth == 0;
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => {
                    self.in_string = true;
                    self.closed = false;
                }
                b'{' | b'[' => {
                    self.depth += 1;
                    self.closed = false;
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.closed = self.depth == 0;
                }
                _ => {}
            }
        }
    }

    /// Tells whether an object, array or string came to its end.
    fn is_closed(&self) -> bool {
        self.closed
    }

    /// Tells whether one was begun and not ended.
    fn is_open(&self) -> bool {
        self.in_string || self.depth > 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn piece<'a>(
        index: impl Into<Option<u64>>,
        id: &'a str,
        name: &'a str,
        arguments: &'a str,
    ) -> CallPiece<'a> {
        CallPiece {
            index: index.into(),
            id,
            name,
            arguments: Arguments::Text(arguments),
        }
    }

    /// Renders calls as `id name arguments`, with a `~` behind a cut one and `*` for a made id.
    fn calls(pieces: &[CallPiece<'_>]) -> Vec<String> {
        let mut calls = Calls::default();
        for piece in pieces {
            calls.push(*piece);
        }
        let known = |id: &str| pieces.iter().any(|piece| piece.id == id);
        let mut seen = HashSet::new();
        calls
            .finish(false)
            .expect("every call of these tests has a name")
            .into_iter()
            .flatten()
            .map(|outcome| {
                let (call, mark) = match outcome {
                    Outcome::Whole(call) => (call, ""),
                    Outcome::Cut(call) => (call, "~"),
                };
                assert!(seen.insert(call.id.clone()), "ids are unique");
                let id = if known(&call.id) {
                    call.id
                } else {
                    assert_eq!(call.id.len(), 9);
                    "*".to_owned()
                };
                format!("{id} {} {}{mark}", call.name, call.arguments)
            })
            .collect()
    }

    #[test]
    fn calls_of_one_index_are_told_apart_by_turns() {
        let pieces = [
            piece(0, "a", "f", "{\"x\":"),
            piece(0, "b", "g", "{\"y\":"),
            piece(0, "a", "", "1}"),
            piece(0, "b", "", "2}"),
        ];
        assert_eq!(calls(&pieces), ["a f {\"x\":1}", "b g {\"y\":2}"]);
        // An id that is made up for each piece, the name said again with it.
        let pieces = [piece(0, "a", "f", "{\"x\":"), piece(0, "b", "f", "1}")];
        assert_eq!(calls(&pieces), ["a f {\"x\":1}"]);
    }

    #[test]
    fn the_open_call_takes_pieces_without_any_mark() {
        let pieces = [
            piece(None, "a", "f", ""),
            piece(None, "", "", "{\"x\""),
            piece(None, "", "", ":1}"),
        ];
        assert_eq!(calls(&pieces), ["a f {\"x\":1}"]);
    }

    #[test]
    fn ids_alone_tell_interleaved_calls_apart() {
        let pieces = [
            piece(None, "a", "f", "{"),
            piece(None, "b", "g", "{"),
            piece(None, "a", "", "}"),
            piece(None, "b", "", "}"),
        ];
        assert_eq!(calls(&pieces), ["a f {}", "b g {}"]);
    }

    #[test]
    fn calls_of_one_index_without_ids_are_two() {
        let pieces = [
            piece(0, "", "f", "{\"x\":1}"),
            piece(0, "", "f", "{\"x\":2}"),
        ];
        assert_eq!(calls(&pieces), ["* f {\"x\":1}", "* f {\"x\":2}"]);
    }

    #[test]
    fn calls_without_arguments_under_one_index_are_two() {
        let pieces = [piece(0, "a", "f", ""), piece(0, "b", "f", "")];
        assert_eq!(calls(&pieces), ["a f {}", "b f {}"]);
    }

    #[test]
    fn an_id_made_up_for_every_piece_does_not_split_a_call() {
        let pieces = [
            piece(0, "a", "f", ""),
            piece(0, "b", "", "{\"x\":"),
            piece(0, "c", "", "1}"),
        ];
        assert_eq!(calls(&pieces), ["a f {\"x\":1}"]);
    }

    #[test]
    fn an_index_that_counts_pieces_does_not_split_a_call() {
        let pieces = [piece(0, "a", "f", "{\"x\":"), piece(1, "a", "", "1}")];
        assert_eq!(calls(&pieces), ["a f {\"x\":1}"]);
    }

    #[test]
    fn arguments_sent_again_as_a_whole_count_once() {
        let pieces = [
            piece(0, "a", "f", "{\"x\""),
            piece(0, "", "", ":1}"),
            piece(0, "a", "f", "{\"x\":1}"),
        ];
        assert_eq!(calls(&pieces), ["a f {\"x\":1}"]);
    }

    #[test]
    fn an_open_string_or_object_is_a_cut_call_and_a_wrong_one_is_not() {
        let cases = [
            ("{\"x\":\"}", "a f {\"x\":\"}~"),
            ("{\"x\":[1,2", "a f {\"x\":[1,2~"),
            ("{\"x\":\"\\\"", "a f {\"x\":\"\\\"~"),
            ("{x:1}", "a f {x:1}"),
            (" null ", "a f {}"),
        ];
        for (arguments, expected) in cases {
            assert_eq!(calls(&[piece(0, "a", "f", arguments)]), [expected]);
        }
    }

    #[test]
    fn a_made_id_is_the_same_each_time_and_never_a_sent_one() {
        let first = calls(&[piece(0, "", "f", "{}")]);
        assert_eq!(first, calls(&[piece(0, "", "f", "{}")]));
        let slot = Slot {
            name: "f".into(),
            arguments: "{}".into(),
            ..Slot::default()
        };
        let sent = fresh_id(0, &slot, |_| false);
        let both = calls(&[piece(0, "", "f", "{}"), piece(1, &sent, "g", "{}")]);
        assert_eq!(both, ["* f {}".to_owned(), format!("{sent} g {{}}")]);
    }

    #[test]
    fn a_call_without_name_is_a_fault_and_one_without_anything_is_nothing() {
        let mut nameless = Calls::default();
        nameless.push(piece(0, "a", "", "{}"));
        assert!(nameless.finish(false).is_none());
        assert_eq!(calls(&[piece(0, "a", "", "")]), [""; 0]);
    }
}

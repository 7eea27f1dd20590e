//! Call ids: unique within a session, whatever the provider sends.

use std::collections::BTreeSet;

use super::stable::Likeness;
use crate::session::View;

/// An id longer than this is replaced.
const LONGEST: usize = 128;

/// Gives ids to the calls of one reply.
#[derive(Debug)]
pub(super) struct Ids<'v> {
    view: &'v View,
    /// Those given so far. Two that are taken for the same only have the second replaced.
    given: BTreeSet<Likeness>,
}

impl<'v> Ids<'v> {
    pub(super) fn new(view: &'v View) -> Self {
        Self {
            view,
            given: BTreeSet::new(),
        }
    }

    /// Returns the provider's id where it is usable and unused, else one derived from the call's place in the session:
    /// nine letters and digits, which every service takes.
    pub(super) fn next(&mut self, sent: String) -> String {
        let usable = !sent.is_empty()
            && sent.len() <= LONGEST
            && sent.bytes().all(|byte| byte.is_ascii_graphic());
        let id = if usable && self.is_free(&sent) {
            sent
        } else {
            let place = self.view.calls() + self.given.len();
            (0_u64..)
                .map(|salt| made(place, salt))
                .find(|id| self.is_free(id))
                .expect("a session has fewer calls than there are ids")
        };
        self.given.insert(Likeness::of(&id));
        id
    }

    fn is_free(&self, id: &str) -> bool {
        !self.view.has_call(id) && !self.given.contains(&Likeness::of(id))
    }
}

fn made(place: usize, salt: u64) -> String {
    let mut id = crate::digest::of(format!("call {place} {salt}").as_bytes());
    id.truncate(9);
    id
}

#[cfg(test)]
mod tests {
    use super::Ids;
    use crate::session::View;

    #[test]
    fn ids_are_kept_when_unused_and_replaced_when_not() {
        let view = View::default();
        let mut ids = Ids::new(&view);
        assert_eq!(
            ids.next("functions.weather:0".to_owned()),
            "functions.weather:0"
        );
        let long = "x".repeat(500);
        let mut made = Vec::new();
        for sent in ["functions.weather:0", "", "", "two words", "é", &long] {
            let id = ids.next(sent.to_owned());
            assert_eq!(id.len(), 9, "{id}");
            assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            assert!(!made.contains(&id));
            made.push(id);
        }
        let mut again = Ids::new(&view);
        again.next("functions.weather:0".to_owned());
        assert_eq!(again.next("functions.weather:0".to_owned()), made[0]);
    }
}

//! Calls and their results: each answered once, in order, before anything else is said.

use std::collections::{HashSet, VecDeque};

use super::Fault;

#[derive(Default)]
pub(super) struct Pairs {
    open: VecDeque<(String, String)>,
    ids: HashSet<String>,
}

impl Pairs {
    /// Notes a call; one without an id is known by its name alone.
    pub(super) fn call(&mut self, place: &str, id: &str, name: &str) -> Result<(), Fault> {
        if !id.is_empty() && !self.ids.insert(id.to_owned()) {
            return Err(Fault::new(place, format!("the id `{id}` is used twice")));
        }
        self.open.push_back((id.to_owned(), name.to_owned()));
        Ok(())
    }

    /// Notes a result, which must be that of the first open call.
    pub(super) fn result(
        &mut self,
        place: &str,
        id: Option<&str>,
        name: Option<&str>,
    ) -> Result<(), Fault> {
        let Some((open, tool)) = self.open.pop_front() else {
            return Err(Fault::new(place, "a result without a call"));
        };
        if id.is_some_and(|id| id != open) || name.is_some_and(|name| name != tool) {
            return Err(Fault::new(
                place,
                format!("the result of another call, where that of `{open}` ({tool}) is due"),
            ));
        }
        Ok(())
    }

    /// Tells whether a call waits for its result.
    pub(super) fn waits(&self) -> bool {
        !self.open.is_empty()
    }

    /// Checks that no call waits any more.
    pub(super) fn end(&self, place: &str) -> Result<(), Fault> {
        match self.open.front() {
            None => Ok(()),
            Some((id, name)) => Err(Fault::new(
                place,
                format!("the call `{id}` ({name}) has no result before this"),
            )),
        }
    }
}

//! The program against peers that were not written by us: two scripted services, and a small real model.
//!
//! Each test says that it skipped where its peer is not at hand. `.ci/run` installs them under `target`.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, missing_docs)]

mod aimock;
mod llmock;
mod model;
mod process;
mod run;

/// A wire format, at the addresses where a peer speaks it.
#[derive(Clone, Copy)]
struct Format<'s> {
    /// The provider's name in the settings.
    name: &'static str,
    /// Its settings beside the address.
    settings: &'s str,
    /// What stands behind the peer's root in the address.
    base: &'static str,
    /// The path of a streamed request below the root, with the model `m`.
    streamed: &'static str,
    /// The path of one that is not.
    whole: &'static str,
}

impl<'s> Format<'s> {
    const fn new(name: &'static str, settings: &'s str) -> Self {
        Self {
            name,
            settings,
            base: "",
            streamed: "",
            whole: "",
        }
    }

    const fn at(mut self, base: &'static str, streamed: &'static str, whole: &'static str) -> Self {
        (self.base, self.streamed, self.whole) = (base, streamed, whole);
        self
    }
}

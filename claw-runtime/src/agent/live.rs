//! What an observer sees of a reply while it comes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Observer;
use crate::dialect::Offer;
use crate::provider::{Delta, DeltaSink};

/// The observer, shared between the turn and the running request: both live on one task, so the lock is never waited
/// for.
pub(super) struct Watch<'o> {
    observer: Mutex<&'o mut dyn Observer>,
    pub(super) shown: AtomicBool,
}

impl<'o> Watch<'o> {
    pub(super) fn new(observer: &'o mut dyn Observer) -> Self {
        Self {
            observer: Mutex::new(observer),
            shown: AtomicBool::new(false),
        }
    }

    pub(super) fn observer(&self) -> MutexGuard<'_, &'o mut dyn Observer> {
        self.observer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows the pieces of a reply as they come, tools by the names we know them by.
pub(super) struct Shown<'r> {
    pub(super) watch: &'r Watch<'r>,
    /// Whether text is among what is shown.
    pub(super) live: bool,
    pub(super) offer: Option<Arc<Offer>>,
}

impl DeltaSink for Shown<'_> {
    fn delta(&mut self, mut delta: Delta) {
        if matches!(delta, Delta::Text { .. }) {
            if !self.live {
                return;
            }
            self.watch.shown.store(true, Ordering::Relaxed);
        }
        if let (Delta::CallStarted { name, .. }, Some(offer)) = (&mut delta, &self.offer) {
            *name = offer.name(name).to_owned();
        }
        self.watch.observer().delta(&delta);
    }
}

/// Takes the pieces of a reply that nobody sees yet: the request streams all the same, for its idle timer.
pub(super) struct Unseen;

impl DeltaSink for Unseen {
    fn delta(&mut self, _: Delta) {}
}

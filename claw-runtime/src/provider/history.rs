//! What a provider already wrote of a conversation, so that a round costs what is new in it and not all that was said.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// Room for one provider's encoding of a conversation, kept between the requests of one session. Cheap to clone.
///
/// What is in it is the provider's own business, and only ever a copy of what it could write anew. Whoever changes a
/// message that was [settled](History::settled) starts a new one.
#[derive(Clone, Default)]
pub struct Kept(Arc<Mutex<Option<Box<dyn Any + Send>>>>);

impl Kept {
    /// Takes out what a provider of this type left; what another one left is dropped.
    pub fn take<T: Any + Send>(&self) -> Option<T> {
        let kept = self.slot().take()?;
        kept.downcast().ok().map(|kept| *kept)
    }

    /// Leaves something for the next request.
    pub fn keep<T: Any + Send>(&self, kept: T) {
        *self.slot() = Some(Box::new(kept));
    }

    /// Forgets what is kept: a settled message changed.
    pub fn clear(&self) {
        *self.slot() = None;
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Box<dyn Any + Send>>> {
        // A slot is replaced as a whole, so a poisoned one is whole too.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Kept").field(&self.slot().is_some()).finish()
    }
}

/// How a request relates to the earlier ones of its session.
#[derive(Clone, Copy, Debug)]
pub struct History<'a> {
    /// How many messages, from the first, are the same in every later request of the session.
    pub settled: usize,
    /// What the provider kept.
    pub kept: &'a Kept,
}

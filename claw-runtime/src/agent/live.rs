//! What an observer sees of a reply while it comes, and of calls while they run.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use futures_util::future::poll_fn;
use futures_util::task::AtomicWaker;

use super::Observer;
use crate::dialect::Offer;
use crate::fallback::Answering;
use crate::provider::{Delta, DeltaSink};
use crate::secret::Pieces;

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

/// Shows the pieces of a reply as they come, tools by the names we know them by, secrets masked.
pub(super) struct Shown<'r> {
    watch: &'r Watch<'r>,
    /// Whether text is among what is shown.
    live: bool,
    offer: Option<Arc<Offer>>,
    /// Finds the answer in a reply that is held to the form.
    answering: Option<Answering>,
    /// The text that grows, and whether it is reasoning.
    pieces: Pieces,
    reasons: bool,
}

impl<'r> Shown<'r> {
    pub(super) fn new(
        watch: &'r Watch<'r>,
        live: bool,
        offer: Option<Arc<Offer>>,
        answering: Option<Answering>,
        pieces: Pieces,
    ) -> Self {
        Self {
            watch,
            live,
            offer,
            answering,
            pieces,
            reasons: false,
        }
    }

    fn show(&self, text: String, reasons: bool) {
        if text.is_empty() {
            return;
        }
        let delta = if reasons {
            Delta::Reasoning { text }
        } else {
            self.watch.shown.store(true, Ordering::Relaxed);
            Delta::Text { text }
        };
        self.watch.observer().delta(&delta);
    }

    /// Shows what waited for a next piece.
    fn show_rest(&mut self) {
        let rest = self.pieces.finish();
        self.show(rest, self.reasons);
    }
}

impl DeltaSink for Shown<'_> {
    fn delta(&mut self, delta: Delta) {
        let (text, reasons) = match delta {
            Delta::Text { .. } if !self.live => return,
            Delta::Text { text } => match &mut self.answering {
                Some(answering) => (answering.push(&text), false),
                None => (text, false),
            },
            Delta::Reasoning { text } => (text, true),
            Delta::CallStarted { index, name } => {
                self.show_rest();
                let name = match &self.offer {
                    Some(offer) => offer.name(&name).to_owned(),
                    None => name,
                };
                let name = self.pieces.mask(&name).into_owned();
                return self
                    .watch
                    .observer()
                    .delta(&Delta::CallStarted { index, name });
            }
        };
        if reasons != self.reasons {
            self.show_rest();
            self.reasons = reasons;
        }
        let text = self.pieces.push(&text);
        self.show(text, reasons);
    }
}

impl Drop for Shown<'_> {
    /// The reply ended, or broke off: its last letters are no secret's beginning.
    fn drop(&mut self) {
        self.show_rest();
    }
}

/// Takes the pieces of a reply that nobody sees yet: the request streams all the same, for its idle timer.
pub(super) struct Unseen;

impl DeltaSink for Unseen {
    fn delta(&mut self, _: Delta) {}
}

/// A progress line: the call's id and the text.
pub(super) type Line = (String, String);

/// How many progress lines may wait; more are dropped, for they only inform.
const MOST_LINES: usize = 64;

/// The progress lines of running calls.
#[derive(Default)]
pub(super) struct Lines {
    waiting: Mutex<VecDeque<Line>>,
    reader: AtomicWaker,
}

impl Lines {
    pub(super) fn push(&self, call: String, text: String) {
        let mut waiting = self.waiting();
        if waiting.len() < MOST_LINES {
            waiting.push_back((call, text));
        }
        drop(waiting);
        self.reader.wake();
    }

    /// Waits for the next line. One task reads.
    pub(super) async fn next(&self) -> Line {
        poll_fn(|cx| {
            // Before the look, so that a line that comes meanwhile is not missed.
            self.reader.register(cx.waker());
            match self.waiting().pop_front() {
                Some(line) => Poll::Ready(line),
                None => Poll::Pending,
            }
        })
        .await
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Line>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

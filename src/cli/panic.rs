//! What a panic prints: a tool that panics is told to the model and in its line of the turn, and need not spray the
//! terminal.

use std::panic::{set_hook, take_hook};
use std::{env, thread};

use super::terminal::{DIM, Screen};

/// Keeps panics of tools to one line, or a log entry where logs are on. Panics of the program itself, and all of them
/// with `RUST_BACKTRACE`, are reported as before.
///
/// The message of a tool's panic is left out: it may hold what it was called with.
pub(crate) fn install() {
    let before = take_hook();
    let main = thread::current().id();
    let in_full =
        env::var_os("RUST_BACKTRACE").is_some_and(|value| !value.is_empty() && value != "0");
    set_hook(Box::new(move |panic| {
        // Tools run as tasks, on the main thread too, or on threads of their own making.
        let is_ours = tokio::task::try_id().is_none() && thread::current().id() == main;
        if is_ours || in_full {
            return before(panic);
        }
        let place = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        if tracing::enabled!(tracing::Level::ERROR) {
            tracing::error!(place, "a tool panicked");
        } else {
            let hint = "a tool panicked; `--log error` tells where, `RUST_BACKTRACE=1` all";
            Screen::new(false).note(DIM, hint);
        }
    }));
}

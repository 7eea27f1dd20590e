//! What a panic prints: a tool that panics is told to the model and in its line of the turn, and need not spray the
//! terminal.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{Write, stderr};
use std::panic::{PanicHookInfo, set_hook};
use std::{env, thread};

use super::secrets::masked_message;
use super::terminal::{DIM, Screen};

/// Keeps panics of tools to one line, or a log entry where logs are on. Panics of the program itself, and all of them
/// with `RUST_BACKTRACE`, are reported as any program does, without secrets.
///
/// The message of a tool's panic is left out: it may hold what it was called with.
pub(crate) fn install() {
    let main = thread::current().id();
    let in_full =
        env::var_os("RUST_BACKTRACE").is_some_and(|value| !value.is_empty() && value != "0");
    set_hook(Box::new(move |panic| {
        // Tools run as tasks, on the main thread too, or on threads of their own making.
        let is_ours = tokio::task::try_id().is_none() && thread::current().id() == main;
        if is_ours || in_full {
            return report(panic);
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

/// Prints a panic; whatever keeps it from being printed, the process must not end for it.
fn report(panic: &PanicHookInfo<'_>) {
    let thread = thread::current();
    let mut text = format!(
        "\nthread '{}' {panic}\n",
        thread.name().unwrap_or("<unnamed>")
    );
    let trace = Backtrace::capture();
    if trace.status() == BacktraceStatus::Captured {
        text.push_str(&format!("stack backtrace:\n{trace}"));
    }
    let _ = stderr().write_all(masked_message(&text).as_bytes());
}

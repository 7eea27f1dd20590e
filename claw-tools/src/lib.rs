//! The built-in tools of claw.
//!
//! Each is an ordinary `#[tool]` function that uses nothing but what every user of claw has. One module is one subject and one
//! feature:
//!
//! - `fs`: [`fs::read_file`], [`fs::read_many`], [`fs::write_file`], [`fs::edit_file`], [`fs::list_dir`].
//! - `search`: [`search::glob`], [`search::grep`].
//! - `exec`: [`exec::exec`].
//! - `output`: [`output::read_output`].
//! - `sessions`: [`sessions::session_spawn`].
//! - `time`: [`time::now`].
//!
//! Paths resolve beneath the workspace of the call and never leave it, whatever the model writes and wherever links point.
//! Every output is bounded and says how to go on. Errors are written for the model.
#![cfg_attr(test, allow(clippy::unwrap_used))]

// The same path as in a user's crate.
extern crate claw_runtime as claw;

#[cfg(feature = "exec")]
pub mod exec;
#[cfg(feature = "fs")]
pub mod fs;
#[cfg(feature = "output")]
pub mod output;
#[cfg(feature = "search")]
pub mod search;
#[cfg(feature = "sessions")]
pub mod sessions;
#[cfg(feature = "time")]
pub mod time;

#[cfg(feature = "fs")]
mod beneath;
#[cfg(feature = "fs")]
mod walk;

/// How many characters of output a call gives at most; below the limit at which the runtime would cut it unseen.
#[cfg(any(feature = "fs", feature = "output"))]
const PAGE: usize = 10_000;

/// Says that the turn was cancelled.
#[cfg(feature = "fs")]
fn cancelled() -> claw::tool::ToolError {
    claw::tool::ToolError::new("cancelled")
}

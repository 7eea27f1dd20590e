//! Run time of claw: registry, providers, the turn.
#![cfg_attr(test, allow(clippy::unwrap_used))]

// One path works everywhere: in users' crates, in ours and here.
extern crate self as claw;

pub mod agent;
pub mod digest;
mod dispatch;
pub mod event;
pub mod fallback;
pub mod limits;
pub mod message;
pub mod nearest;
pub mod policy;
pub mod provider;
pub mod registry;
pub mod schema;
pub mod session;
pub mod tool;
pub mod turn;

pub use claw_macros::{ToolInput, tool};
pub use schema::{State, ToolInput};

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
use __private as private;

//! Turns ordinary functions into an AI agent.

extern crate self as claw;

pub use claw_runtime::*;

#[doc(hidden)]
pub use claw_runtime::__private;

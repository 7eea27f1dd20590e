//! Services that misbehave, in every wire format: how a fault is read, what is waited, who is asked next.
//!
//! Time is paused: it moves on when client and server both wait, so that a wait of minutes is exact and takes none.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used)]

mod chain;
mod fault;
mod faults;
mod format;
mod odd;
mod reuse;
mod schemas;
mod shapes;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "not every server of the module is needed here")]
mod support;

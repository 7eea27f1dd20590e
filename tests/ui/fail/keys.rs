//! What the keys of `#[tool]` say must mean something together.
#![allow(unused)]

use claw::tool;
use claw::tool::{Approve, ToolContext};
use serde_json::Value;

fn judges(call: &str) -> bool {
    true
}

/// Says what it cannot mean.
#[tool(effect = once, poll, version = 0, max_output = "much", tags(1), meta(cost = 1 + price, cost = 2, 3), alias("keys", "a b"), approve = alway)]
fn keys() {}

/// Is pure and reaches out.
#[tool(effect = pure, open_world, reconcile = found, stream, blocking, hidden = maybe, approve = 5)]
fn pure() {}

/// Takes a predicate of another form.
#[tool(approve = judges)]
fn predicate() {}

/// Takes the context twice, and a reader of its own.
#[tool(effect = read)]
fn contexts(first: &ToolContext, second: &ToolContext) {}

fn main() {}

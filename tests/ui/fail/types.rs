//! A type that is no argument is one error, on the type.
#![allow(unused)]

use claw::{ToolInput, tool};

struct Nope;

/// Takes what has no schema.
#[tool]
fn nope(
    /// The thing.
    thing: Nope,
) {
}

/// Takes a reference to what must be taken by value.
#[tool]
async fn reference(
    /// The number.
    number: &u8,
) {
}

/// Holds what has no schema.
#[derive(ToolInput)]
struct Holder {
    /// The thing.
    thing: Vec<Nope>,
}

fn main() {}

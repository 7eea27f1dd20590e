//! What a declaration says must fit together.
#![allow(unused)]

use claw::tool;

/// Writes without an effect.
#[tool(effect = pure, destructive, writes(path), reads(path), blocking)]
fn pure(
    /// The path.
    path: &str,
) {
}

/// Blocks a thread that is not its own.
#[tool(blocking)]
async fn both() {}

/// Has a default that does not fit.
#[tool]
fn defaults(
    /// A number.
    #[arg(range = 1..=5, default = 9)]
    number: u8,
    /// A word.
    #[arg(one_of("a", "b"), default = "c")]
    word: String,
    /// A text.
    #[arg(len = 2.., default = "x")]
    text: &str,
    /// A step.
    #[arg(multiple_of = 5, default = 7)]
    step: u8,
) {
}

fn main() {}

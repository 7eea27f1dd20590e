//! Examples and defaults are values of their parameters.
#![allow(unused)]

use claw::tool;
use claw::tool::ToolContext;

const MOST: u8 = 5;
const TWO: usize = 2;

/// Has examples that no call could be.
#[tool(
    effect = read,
    example(path = "a", limt = 3),
    example(path = "a", limit = 9),
    example(path, limit = 3),
)]
fn unread(
    /// The file.
    path: &str,
    /// How many lines.
    #[arg(range = 1..=5, example = 6)]
    limit: u8,
) {
}

/// Has examples that the types refuse.
#[tool(
    effect = read,
    example(path = 5),
    example(path = "a", limit = "3"),
    example(limit = 3),
    example(path = "a", limit = MOST + 1, ctx = 1),
    example(path = "a", tags = ["a", 1]),
    example(path = "a", tags = [true]),
)]
fn refused(
    ctx: &ToolContext,
    /// The file.
    path: &str,
    /// How many lines.
    #[arg(range = 1..=MOST, default = 6)]
    limit: u8,
    /// Words.
    #[arg(default = ["a"], len = TWO)]
    tags: Vec<String>,
) {
}

/// Has an example of another type.
#[tool(effect = read, example(path = String::from("a").len()))]
fn typed(
    /// The file.
    path: String,
) {
}

fn main() {}

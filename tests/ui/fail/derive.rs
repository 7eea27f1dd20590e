//! Every fault of a derive at once.
#![allow(unused)]

use claw::{ToolInput, tool};

#[derive(ToolInput)]
#[serde(tag = "t", rename_all = "Snake")]
struct Tagged {
    #[serde(flatten)]
    rest: Vec<u8>,
    #[serde(alias = "rest")]
    #[arg(rang = 1..)]
    other: u8,
}

#[derive(ToolInput)]
struct Generic<'a, T> {
    text: &'a str,
    value: T,
}

#[derive(ToolInput)]
struct Pair(u8, u8);

#[derive(ToolInput)]
struct Unit;

#[derive(ToolInput)]
enum Empty {}

#[derive(ToolInput)]
#[serde(untagged, content = "c")]
enum Untagged {
    A,
    #[serde(rename = "A")]
    B,
}

#[derive(ToolInput)]
#[serde(tag = "t")]
enum Internal {
    A(u8),
    B { t: u8 },
}

/// Takes one of them: no further error.
#[tool]
fn takes(
    /// The value.
    value: Internal,
) {
}

fn main() {}

//! Every fault of a derive at once.
#![allow(unused)]

use claw::{ToolInput, tool};

#[derive(ToolInput)]
#[serde(tag = "t", rename_all = "Snake")]
struct Tagged {
    #[serde(with = "hex", skip_if = "never")]
    rest: Vec<u8>,
    #[serde(alias = "rest")]
    #[arg(rang = 1..)]
    other: u8,
}

#[derive(ToolInput)]
struct Borrowing<'a, T> {
    text: &'a str,
    value: T,
}

#[derive(ToolInput)]
struct Pair(#[serde(default)] u8, #[arg(secret, rename = "b")] u8);

#[derive(ToolInput)]
#[serde(transparent)]
struct Two {
    a: u8,
    b: u8,
}

#[derive(ToolInput)]
enum Empty {}

#[derive(ToolInput)]
#[serde(default, content = "c")]
#[arg(range = 1..)]
enum Contained {
    #[arg(len = 1..)]
    A(u8),
    #[serde(rename = "A", other)]
    B,
    #[serde(rename = "c d")]
    C(u8),
}

#[derive(ToolInput)]
#[serde(tag = "t")]
enum Internal {
    A(u8, u8),
    B { t: u8 },
}

#[derive(ToolInput)]
#[serde(untagged, tag = "t")]
enum Either {
    #[serde(alias = "one")]
    One(u8),
}

#[derive(ToolInput)]
struct Outer {
    #[serde(flatten, rename = "rest")]
    rest: Both,
    #[serde(flatten)]
    #[arg(len = 1..)]
    more: Both,
}

/// Takes one of them: no further error.
#[tool]
fn takes(
    /// The value.
    value: Internal,
) {
}

fn main() {}

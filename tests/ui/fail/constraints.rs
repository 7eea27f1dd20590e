//! Constraints fit their types, and every parameter is described.
#![allow(unused)]

use claw::tool;
use claw::tool::ToolContext;

/// Has constraints that mean nothing, and a parameter without a description.
#[tool]
fn constraints(
    ctx: &ToolContext,
    bare: u8,
    /// Text.
    #[arg(range = 1..=5)]
    text: &str,
    /// A flag.
    #[arg(len = 1..)]
    flag: bool,
    /// A number.
    #[arg(one_of("a"))]
    number: Option<u8>,
    /// Lists of lists.
    deep: Vec<Vec<Vec<Vec<Vec<Vec<Vec<Vec<Vec<Vec<u8>>>>>>>>>>,
) {
    let _ = ctx;
}

fn main() {}

//! Text is borrowed from a call in three forms, and within no other type.
#![allow(unused)]

use std::collections::BTreeMap;

use claw::tool;

/// Takes a list that may be missing.
#[tool]
fn optional(
    /// The names.
    names: Option<Vec<&str>>,
) {
}

/// Takes a map and a pair.
#[tool]
async fn others<'a>(
    /// Texts by name.
    map: BTreeMap<String, &'a str>,
    /// A number and its unit.
    #[arg(default = (1, "m"))]
    pair: (u8, &str),
) {
}

fn main() {}

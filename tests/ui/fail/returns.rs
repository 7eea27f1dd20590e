//! What a tool returns must be something a model can read.
#![allow(unused)]

use claw::tool;

struct Silent;

/// Returns what has no JSON form.
#[tool]
fn value() -> Silent {
    Silent
}

/// Fails without words.
#[tool]
async fn error() -> Result<String, Silent> {
    Err(Silent)
}

fn main() {}

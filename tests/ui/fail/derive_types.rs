//! What only the types can tell: what can be flattened, and what a constraint means.
#![allow(unused)]

use std::collections::BTreeMap;

use claw::ToolInput;

#[derive(ToolInput)]
enum Mode {
    Fast,
    Slow(u8),
}

#[derive(ToolInput)]
struct Bounds {
    low: u8,
    high: u8,
}

#[derive(ToolInput)]
struct FlatEnum {
    #[serde(flatten)]
    mode: Mode,
}

#[derive(ToolInput)]
struct FlatOption {
    #[serde(flatten)]
    bounds: Option<Bounds>,
}

#[derive(ToolInput)]
#[serde(tag = "kind")]
enum Tagged {
    Held(u8),
}

#[derive(ToolInput)]
struct Clash {
    high: u8,
    #[serde(flatten)]
    bounds: Bounds,
}

#[derive(ToolInput)]
#[serde(tag = "low")]
enum ClashingTag {
    Held(Bounds),
}

#[derive(ToolInput)]
struct TwoMaps {
    #[serde(flatten)]
    one: BTreeMap<String, u8>,
    #[serde(flatten)]
    two: BTreeMap<String, u8>,
}

#[derive(ToolInput)]
struct Constrained {
    #[arg(range = 1..=5)]
    text: String,
}

fn main() {}

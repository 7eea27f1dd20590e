//! Every fault of a signature at once, each where it can be mended.
#![allow(unused)]

use claw::tool;

#[tool(timout = "10s", effect = reed, group = 5, name = "no spaces", timeout = "soon", approve, approve = ask)]
fn nothing_right(
    &self,
    /// A pair.
    (a, b): (u8, u8),
    /// A buffer.
    buffer: &mut String,
    /// A name.
    #[arg(rang = 1..=5, len = 5..=1, rename = "1st")]
    name: String,
    /// Another.
    #[arg(rename = "1st")]
    other: String,
    /// Anything.
    any: impl Sized,
) {
}

/// Generic.
#[tool(reads(pathh), writes = path)]
unsafe fn generic<T, const N: usize>(
    /// The path.
    path: &str,
) {
}

/// Not a function.
#[tool]
struct Thing;

fn main() {
    let _ = claw::tools![generic];
}

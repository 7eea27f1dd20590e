//! `# Arguments` names arguments, and each of them once.
#![allow(unused)]

use claw::tool;

/// Reads a file.
///
/// # Arguments
///
/// Some words first.
/// - `pth`: the file
/// - limit: how many lines
/// - `limit`
#[tool(effect = read)]
fn described(
    path: &str,
    /// How many lines.
    limit: u8,
) {
}

/// Reads a file.
///
/// # Argumnets
///
/// - path: the file
#[tool(effect = read)]
fn misspelt(#[arg(description = "")] path: &str) {}

fn main() {}

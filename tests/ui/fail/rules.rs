//! Constraints that mean nothing, here or to the services that read the schema.
#![allow(unused)]

use claw::tool;

const LEAST: u32 = 10;

/// Has rules that cannot be read.
#[tool]
fn unread(
    /// A text.
    #[arg(pattern = "[a-")]
    broken: &str,
    /// A text.
    #[arg(pattern = "^(?!a)")]
    ahead: &str,
    /// A text.
    #[arg(pattern = "(?i)^a$")]
    flagged: &str,
    /// A text.
    #[arg(format = "e-mail")]
    mail: &str,
    /// A size.
    #[arg(one_of(1, "a"))]
    mixed: u8,
    /// A size.
    #[arg(one_of("a", "a"))]
    twice: &str,
    /// Words.
    #[arg(items(lenn = 1..=3))]
    words: Vec<String>,
    /// A number.
    #[arg(multiple_of = 0)]
    step: u8,
    /// A number.
    #[arg(range = "a".."b")]
    letters: char,
    /// A number.
    #[arg(rename = "kebab-case")]
    kebab: u8,
) {
}

/// Has rules that do not fit their types.
#[tool]
fn unfit(
    /// A number.
    #[arg(pattern = "a")]
    number: u8,
    /// An address.
    #[arg(format = "email")]
    address: std::net::Ipv4Addr,
    /// Words.
    #[arg(items(range = 1..=3))]
    words: Vec<String>,
    /// One word.
    #[arg(unique)]
    word: String,
    /// A word.
    #[arg(one_of(1, 2))]
    choice: String,
    /// A number that is too great for its type.
    #[arg(range = 300..=400)]
    small: u8,
    /// A number.
    #[arg(range = LEAST..=5)]
    turned: u32,
) {
}

fn main() {}

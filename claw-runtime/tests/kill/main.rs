//! Processes killed with SIGKILL: at every journal boundary, between effect and outcome, and at any moment.
//!
//! The parent starts this program again as a child that runs a turn over SQLite and stops where it is told; the parent
//! kills it there and starts the next, until one ends the turn. Tools note their start in a file that is synced, so the
//! world knows of each whatever the journal says. `CLAW_TEST_CASES` sets how many random runs there are.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[macro_use]
#[path = "../support/pass_on.rs"]
mod pass_on;

mod child;
mod parent;

use std::path::PathBuf;

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [role, folder, script, halt] if role == "child" => {
            child::live(PathBuf::from(folder), script, child::Halt::parse(halt));
        }
        // What a runner asks of a test program.
        arguments if arguments.iter().any(|argument| argument == "--list") => {
            println!("killed_anywhere: test");
        }
        arguments => {
            let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
            if filter.is_none_or(|filter| "killed_anywhere".contains(filter.as_str())) {
                parent::watch();
            }
        }
    }
}

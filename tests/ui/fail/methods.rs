//! `#[tools]` on an `impl` block.
#![allow(unused)]

use claw::prelude::*;

struct Shelf;

macro_rules! more {
    () => {};
}

#[tools(grop = "notes")]
impl Shelf {
    more!();

    /// Takes itself.
    #[tool]
    fn owned(self) {}

    /// Changes itself.
    #[tool(timout = "1s")]
    fn changes(&mut self) {}

    #[tool]
    fn undescribed(&self) {}
}

struct Bare;

#[tools]
impl Bare {
    fn quiet(&self) {}
}

struct Of<T>(T);

#[tools]
impl<T: Send + Sync + 'static> Of<T> {
    /// Reads.
    #[tool]
    fn read(&self) {}
}

#[tools]
impl Clone for Bare {
    /// Copies.
    #[tool]
    fn clone(&self) -> Self {
        Self
    }
}

#[tools]
struct Thing;

struct Alone;

impl Alone {
    /// Stands outside.
    #[tool]
    fn outside(&self) {}
}

fn main() {
    let _ = claw::agent::Agent::builder().toolset(Alone);
}

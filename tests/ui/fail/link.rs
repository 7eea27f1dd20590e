//! `claw::link!` on what is no crate of tools.

claw::link!(not_there);
claw::link!(serde_json);

fn main() {}

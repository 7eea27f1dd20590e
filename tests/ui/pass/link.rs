//! `claw::link!` brings the tools of a crate that nothing else names.
#![deny(warnings, missing_docs, unused_qualifications)]

claw::link!(claw_fixture_tools);

fn main() {
    let tools = claw::registry::Toolset::linked().expect("the crate brings a tool");
    assert!(tools.get("fixture").is_some());
    assert!(claw::registry::linked_crates().any(|package| package == "claw-fixture-tools"));
}

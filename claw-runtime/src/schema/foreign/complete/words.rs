//! What the complete check found, in the words of the report.

use serde_json::Value;

use super::program::{Id, Node, Program};
use crate::schema::expected::{alternatives_of, expected_of};
use crate::schema::report::{clip_to, counted};

/// Longest pattern that is shown, in characters.
const SHOWN: usize = 200;

/// Returns what a schema expects.
pub(super) fn expected(program: &Program, id: Id) -> String {
    expected_of(&asking(program, &program.nodes[id]))
}

/// Says what all of a schema object expects, when one of its keywords does not hold.
pub(super) fn all(program: &Program, node: &Node) -> String {
    format!("expected {}", expected_of(&asking(program, node)))
}

/// Returns what the branches of `anyOf` or `oneOf` expect.
pub(super) fn alternatives(program: &Program, node: &Node, keyword: &str) -> String {
    alternatives_of(&asking(program, node), keyword)
}

pub(super) fn matching(pattern: &str) -> String {
    let mut text = "expected string matching `".to_owned();
    clip_to(pattern, SHOWN, &mut text);
    text.push('`');
    text
}

pub(super) fn members(few: bool, least: usize, most: usize) -> String {
    match few {
        true => format!("expected at least {}", counted(least, "member")),
        false => format!("expected at most {}", counted(most, "member")),
    }
}

pub(super) fn name(program: &Program, names: Id) -> String {
    format!(
        "unfit name; expected a name that is {}",
        expected(program, names)
    )
}

pub(super) fn contains(program: &Program, item: Id, node: &Node) -> String {
    let item = expected(program, item);
    let asking = asking(program, node);
    let bound = |name: &str| asking.get(name).and_then(Value::as_u64);
    match (bound("minContains"), bound("maxContains")) {
        (None, None) => format!("expected at least 1 item that is {item}"),
        (least, Some(most)) => {
            let least = least.unwrap_or(1);
            format!("expected {least}..={most} items that are {item}")
        }
        (Some(least), None) => {
            let least = counted(usize::try_from(least).unwrap_or(usize::MAX), "item");
            format!("expected at least {least} of {item}")
        }
    }
}

/// Returns a schema object as a document of its own, with what its references refer to.
fn asking(program: &Program, node: &Node) -> Value {
    let (document, pointer) = &node.place;
    let document = &program.documents[*document];
    let mut part = document.pointer(pointer).cloned().unwrap_or_default();
    if let Value::Object(members) = &mut part {
        for name in ["$defs", "definitions"] {
            if let Some(definitions) = document.get(name)
                && !members.contains_key(name)
            {
                members.insert(name.to_owned(), definitions.clone());
            }
        }
    }
    part
}

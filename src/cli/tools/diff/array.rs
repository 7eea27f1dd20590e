//! Lists and tuples compared.

use serde_json::Value;

use super::change::Kind;
use super::range;
use super::schema::{Comparison, step};
use super::view::{ANYTHING, View};

/// Compares the rules for arrays.
pub(super) fn compare<'a>(
    comparison: &mut Comparison<'a>,
    old: &View<'a>,
    new: &View<'a>,
    at: &str,
) {
    range::counts(comparison, old, new, at, ["minItems", "maxItems"]);
    let unique = |view: &View<'_>| view.get("uniqueItems") == Some(&Value::Bool(true));
    match (unique(old), unique(new)) {
        (false, true) => comparison
            .changes
            .add(Kind::Breaking, at, "no item may come twice"),
        (true, false) => comparison
            .changes
            .add(Kind::Additive, at, "items may come twice"),
        _ => {}
    }
    let (before, after) = (places(old), places(new));
    let (old_rest, new_rest) = (rest(old), rest(new));
    for place in 0..before.len().max(after.len()) {
        // Behind its places, a tuple has the items of a list.
        let old = before.get(place).unwrap_or(old_rest);
        let new = after.get(place).unwrap_or(new_rest);
        comparison.schemas(old, new, &step(at, &place.to_string()));
    }
    comparison.schemas(old_rest, new_rest, &step(at, "*"));
}

/// Returns the schemas of the first items, in the words of this draft or the one before.
fn places<'a>(view: &View<'a>) -> &'a [Value] {
    let prefix = view.get("prefixItems").or(view.get("items"));
    prefix.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Returns the schema of the others.
fn rest<'a>(view: &View<'a>) -> &'a Value {
    let rest = match view.get("items") {
        Some(Value::Array(_)) => view.get("additionalItems"),
        items => items,
    };
    rest.unwrap_or(&ANYTHING)
}

//! Objects compared: which properties there are, under which names, and which must be there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::change::Kind;
use super::range;
use super::schema::{Comparison, step};
use super::view::{ANYTHING, View};

/// What one side says of its properties.
struct Properties<'a> {
    named: BTreeMap<&'a str, &'a Value>,
    required: BTreeSet<&'a str>,
    rest: Rest<'a>,
}

/// What may stand beside the properties.
enum Rest<'a> {
    Open,
    Closed,
    Of(&'a Value),
}

impl<'a> Properties<'a> {
    fn of(view: &View<'a>) -> Self {
        let named = view.get("properties").and_then(Value::as_object);
        let required = view.get("required").and_then(Value::as_array);
        Self {
            named: named
                .into_iter()
                .flatten()
                .map(|(name, schema)| (name.as_str(), schema))
                .collect(),
            required: required
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect(),
            rest: match view.get("additionalProperties") {
                Some(Value::Bool(false)) => Rest::Closed,
                Some(schema @ Value::Object(_)) => Rest::Of(schema),
                _ => Rest::Open,
            },
        }
    }
}

/// Compares the rules for objects.
pub(super) fn compare<'a>(
    comparison: &mut Comparison<'a>,
    old: &View<'a>,
    new: &View<'a>,
    at: &str,
) {
    range::counts(comparison, old, new, at, ["minProperties", "maxProperties"]);
    let (before, after) = (Properties::of(old), Properties::of(new));
    let mut inherited = BTreeSet::new();
    for (name, schema) in &before.named {
        if let Some(heir) = kept(comparison, &before, &after, name, schema, at) {
            inherited.insert(heir);
        }
    }
    for (name, schema) in &after.named {
        if !before.named.contains_key(name) && !inherited.contains(name) {
            let at = step(at, name);
            let required = after.required.contains(name);
            match before.rest {
                Rest::Of(rest) => comparison.schemas(rest, schema, &at),
                _ if required => {}
                // Readers pass over what they do not know.
                _ => {
                    let kind = comparison.either_way(Kind::Additive);
                    comparison.changes.add(kind, &at, "new, optional");
                }
            }
            if required {
                let what = "new, and required";
                comparison.changes.add(Kind::Breaking, &at, what);
            }
        }
    }
    undeclared(comparison, &before, &after, at);
    rest(comparison, &before.rest, &after.rest, at);
}

/// Compares a property of the old side with what became of it; returns the new name it has, if another.
fn kept<'a>(
    comparison: &mut Comparison<'a>,
    before: &Properties<'a>,
    after: &Properties<'a>,
    name: &'a str,
    schema: &'a Value,
    at: &str,
) -> Option<&'a str> {
    let here = step(at, name);
    let was_required = before.required.contains(name);
    let required = |comparison: &mut Comparison<'a>, at: &str, is_required: bool| {
        let changes = &mut comparison.changes;
        match (was_required, is_required) {
            (false, true) => changes.add(Kind::Breaking, at, "required now"),
            (true, false) => changes.add(Kind::Additive, at, "optional now"),
            _ => {}
        }
    };
    if let Some(new) = after.named.get(name) {
        required(comparison, &here, after.required.contains(name));
        aliases(comparison, schema, new, &here);
        comparison.schemas(schema, new, &here);
        return None;
    }
    let fresh = || {
        let is_fresh = |(name, _): &(&&'a str, &&'a Value)| !before.named.contains_key(**name);
        after.named.iter().filter(is_fresh)
    };
    if let Some((heir, new)) = fresh().find(|(_, new)| other_names(new).contains(name)) {
        let what = format!("now named `{heir}`, and still read as `{name}`");
        comparison.changes.add(Kind::Additive, &here, what);
        let there = step(at, heir);
        required(comparison, &there, after.required.contains(heir));
        comparison.schemas(schema, new, &there);
        return Some(heir);
    }
    if let Rest::Of(rest) = after.rest {
        required(comparison, &here, false);
        comparison.schemas(schema, rest, &here);
        return None;
    }
    let mut heirs = fresh().filter(|(_, new)| nameless(new) == nameless(schema));
    let what = match (heirs.next(), heirs.next()) {
        (Some((heir, _)), None) => format!("removed; `{heir}` looks like it under a new name"),
        _ => "removed".to_owned(),
    };
    let kind = comparison.either_way(Kind::Breaking);
    comparison.changes.add(kind, &here, what);
    None
}

/// Compares the other names a property is read under.
fn aliases<'a>(comparison: &mut Comparison<'a>, old: &'a Value, new: &'a Value, at: &str) {
    let (before, after) = (other_names(old), other_names(new));
    for name in before.difference(&after) {
        let what = format!("no longer read as `{name}`");
        comparison.changes.add(Kind::Breaking, at, what);
    }
    for name in after.difference(&before) {
        let what = format!("also read as `{name}`");
        comparison.changes.add(Kind::Additive, at, what);
    }
}

/// Returns a property without the names it is read under.
fn nameless(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(keywords) = schema.as_object_mut() {
        keywords.remove("x-aliases");
    }
    schema
}

fn other_names(schema: &Value) -> BTreeSet<&str> {
    let names = schema.get("x-aliases").and_then(Value::as_array);
    names
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Compares names that must be there without being declared.
fn undeclared<'a>(
    comparison: &mut Comparison<'a>,
    before: &Properties<'a>,
    after: &Properties<'a>,
    at: &str,
) {
    let declared =
        |name: &&&str| before.named.contains_key(**name) || after.named.contains_key(**name);
    for name in after.required.difference(&before.required) {
        if !declared(&name) {
            comparison
                .changes
                .add(Kind::Breaking, &step(at, name), "required now");
        }
    }
    for name in before.required.difference(&after.required) {
        if !declared(&name) {
            comparison
                .changes
                .add(Kind::Additive, &step(at, name), "optional now");
        }
    }
}

/// Compares what may stand beside the properties.
fn rest<'a>(comparison: &mut Comparison<'a>, before: &Rest<'a>, after: &Rest<'a>, at: &str) {
    let at = step(at, "*");
    match (before, after) {
        (Rest::Open, Rest::Open) | (Rest::Closed, Rest::Closed) => {}
        (Rest::Closed, _) => comparison
            .changes
            .add(Kind::Additive, &at, "other names are taken"),
        (_, Rest::Closed) => {
            let what = "other names are refused";
            comparison.changes.add(Kind::Breaking, &at, what);
        }
        (Rest::Open, Rest::Of(after)) => comparison.schemas(&ANYTHING, after, &at),
        (Rest::Of(before), Rest::Open) => comparison.schemas(before, &ANYTHING, &at),
        (Rest::Of(before), Rest::Of(after)) => comparison.schemas(before, after, &at),
    }
}

//! Unions compared: which forms a value may have. `oneOf` is read as `anyOf`, as the forms of a tool exclude each other.

use serde_json::Value;

use super::change::Kind;
use super::schema::Comparison;
use super::view::{Types, View};

/// Compares two schemas of which one is a union and the other one of its forms, or several types; tells whether they are.
pub(super) fn compare_whole<'a>(
    comparison: &mut Comparison<'a>,
    old: &View<'a>,
    new: &View<'a>,
    at: &str,
) -> bool {
    match (old.union(), new.union()) {
        (Some(branches), None) if old.is_only_union() => {
            let before = old_views(comparison, branches);
            forms(comparison, before, new.by_type(), at);
            true
        }
        (None, Some(branches)) if new.is_only_union() => {
            let after = new_views(comparison, branches);
            forms(comparison, old.by_type(), after, at);
            true
        }
        _ => false,
    }
}

/// Compares the unions that two schemas hold among other things, and the schemas they are made of.
pub(super) fn compare_parts<'a>(
    comparison: &mut Comparison<'a>,
    old: &View<'a>,
    new: &View<'a>,
    at: &str,
) {
    if let (Some(before), Some(after)) = (old.union(), new.union()) {
        let before = old_views(comparison, before);
        let after = new_views(comparison, after);
        forms(comparison, before, after, at);
    }
    let parts = |view: &View<'a>| {
        let parts = view.get("allOf").and_then(Value::as_array);
        parts.map_or(&[][..], Vec::as_slice)
    };
    let (before, after) = (parts(old), parts(new));
    for (old, new) in before.iter().zip(after) {
        comparison.schemas(old, new, at);
    }
    if before.len() != after.len() {
        let kind = if before.len() < after.len() {
            Kind::Breaking
        } else {
            Kind::Additive
        };
        let what = "schemas in `allOf`";
        comparison
            .changes
            .between(kind, at, what, before.len(), after.len());
    }
}

fn old_views<'a>(comparison: &Comparison<'a>, branches: &'a [Value]) -> Vec<View<'a>> {
    branches
        .iter()
        .map(|branch| comparison.old_view(branch))
        .collect()
}

fn new_views<'a>(comparison: &Comparison<'a>, branches: &'a [Value]) -> Vec<View<'a>> {
    branches
        .iter()
        .map(|branch| comparison.new_view(branch))
        .collect()
}

/// Pairs the forms that are the same or go by the same name, and compares each pair.
fn forms<'a>(
    comparison: &mut Comparison<'a>,
    before: Vec<View<'a>>,
    after: Vec<View<'a>>,
    at: &str,
) {
    let mut after: Vec<Option<View<'a>>> = after.into_iter().map(Some).collect();
    let mut take = |fits: &dyn Fn(&View<'a>) -> bool| {
        let form = after
            .iter_mut()
            .find(|form| form.as_ref().is_some_and(fits));
        form.and_then(Option::take)
    };
    let mut pairs = Vec::new();
    let mut left = Vec::new();
    for old in before {
        let same = |new: &View<'a>| new.types == old.types && new.keywords == old.keywords;
        match take(&same) {
            Some(new) => pairs.push((old, new)),
            None => left.push(old),
        }
    }
    let mut gone = Vec::new();
    for old in left {
        let name = name(&old);
        match take(&|new| self::name(new) == name) {
            Some(new) => pairs.push((old, new)),
            None => gone.push(name),
        }
    }
    for (old, new) in &pairs {
        comparison.views(old, new, at);
    }
    for name in gone {
        let what = format!("no longer takes {name}");
        comparison.changes.add(Kind::Breaking, at, what);
    }
    for new in after.into_iter().flatten() {
        let what = format!("also takes {}", name(&new));
        comparison.changes.add(Kind::Additive, at, what);
    }
}

/// Returns what tells a form from the others: its value, its tag, its only key, or its types.
fn name(form: &View<'_>) -> String {
    if let Some([only]) = form.values().as_deref() {
        return only.to_string();
    }
    let properties = form.get("properties").and_then(Value::as_object);
    if form.types == Types::OBJECT
        && let Some(properties) = properties
    {
        let tag = properties.iter().find_map(|(name, schema)| {
            let values = schema.get("enum").and_then(Value::as_array);
            let only = schema.get("const").or(match values.map(Vec::as_slice) {
                Some([only]) => Some(only),
                _ => None,
            })?;
            Some(format!("{name}: {only}"))
        });
        if let Some(tag) = tag {
            return tag;
        }
        if let (1, Some(key)) = (properties.len(), properties.keys().next()) {
            return format!("`{key}`");
        }
    }
    form.types.to_string()
}

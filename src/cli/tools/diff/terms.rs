//! Two contracts compared, tool by tool.

use std::collections::{BTreeMap, BTreeSet};

use claw_runtime::limits::Limits;
use claw_runtime::tool::Effect;

use super::change::{Change, Changes, Kind};
use super::schema;
use crate::cli::tools::contract::{Contract, Terms};

/// Returns the tools that differ, each with its changes, the gravest first.
pub(in crate::cli::tools) fn compare(
    before: &Contract,
    after: &Contract,
) -> BTreeMap<String, Vec<Change>> {
    let mut differing = BTreeMap::new();
    let mut note = |name: &str, mut changes: Vec<Change>| {
        changes.sort_by_key(|change| change.kind);
        if !changes.is_empty() {
            differing.insert(name.to_owned(), changes);
        }
    };
    let mut renamed = BTreeSet::new();
    for (name, old) in &before.tools {
        if let Some(new) = after.tools.get(name) {
            note(name, tool(old, new));
        } else if let Some((heir, new)) = heir(name, before, after) {
            let mut changes = Changes::default();
            let what = format!("now named `{heir}`, and still called as `{name}`");
            changes.add(Kind::Additive, "", what);
            changes.0.extend(tool(old, new));
            note(name, changes.0);
            renamed.insert(heir);
        } else {
            note(name, removed(old, before, after));
        }
    }
    for name in after.tools.keys() {
        if !before.tools.contains_key(name) && !renamed.contains(name) {
            let mut changes = Changes::default();
            changes.add(Kind::Additive, "", "new tool");
            note(name, changes.0);
        }
    }
    differing
}

/// Returns the new tool that is still called by the name of a former one.
fn heir<'c>(name: &str, before: &Contract, after: &'c Contract) -> Option<(&'c String, &'c Terms)> {
    let is_new = |heir: &str| !before.tools.contains_key(heir);
    let mut tools = after.tools.iter();
    tools.find(|(heir, new)| is_new(heir) && new.aliases.contains(name))
}

/// Tells that a tool is gone, and which new one looks like it.
fn removed(old: &Terms, before: &Contract, after: &Contract) -> Vec<Change> {
    let is_it = |new: &Terms| new.effect == old.effect && new.input_schema == old.input_schema;
    let mut heirs = after
        .tools
        .iter()
        .filter(|(name, new)| !before.tools.contains_key(*name) && is_it(new));
    let mut changes = Changes::default();
    match (heirs.next(), heirs.next()) {
        (Some((name, _)), None) => {
            changes.add(
                Kind::Breaking,
                "",
                format!("tool removed; `{name}` looks like it under a new name"),
            );
        }
        _ => changes.add(Kind::Breaking, "", "tool removed"),
    }
    changes.0
}

fn tool(old: &Terms, new: &Terms) -> Vec<Change> {
    let mut changes = Changes::default();
    words(old, new, &mut changes);
    effects(old, new, &mut changes);
    rules(old, new, &mut changes);
    let arguments = schema::compare(&old.input_schema, &new.input_schema);
    changes.0.extend(arguments);
    match (&old.output_schema, &new.output_schema) {
        (None, None) => {}
        (None, Some(_)) => changes.add(Kind::Additive, "result", "has a schema"),
        (Some(_), None) => changes.add(Kind::Breaking, "result", "has no schema any more"),
        (Some(old), Some(new)) => changes.0.extend(schema::compare_results(old, new)),
    }
    changes.0
}

fn words(old: &Terms, new: &Terms, changes: &mut Changes) {
    for (what, before, after) in [
        ("title", &old.title, &new.title),
        ("description", &old.description, &new.description),
    ] {
        if before != after {
            changes.between(Kind::Wording, "", what, before, after);
        }
    }
    if old.version != new.version {
        changes.between(Kind::Wording, "", "version", old.version, new.version);
    }
    let list = |tags: &BTreeSet<String>| tags.iter().cloned().collect::<Vec<_>>().join(", ");
    if old.tags != new.tags {
        let (before, after) = (list(&old.tags), list(&new.tags));
        changes.between(Kind::Wording, "", "tags", before, after);
    }
    if old.group != new.group {
        // A profile or a rule that names the group covers other tools than it did.
        changes.between(Kind::Breaking, "", "group", &old.group, &new.group);
    }
    for name in old.aliases.difference(&new.aliases) {
        let what = format!("no longer called as `{name}`");
        changes.add(Kind::Breaking, "", what);
    }
    for name in new.aliases.difference(&old.aliases) {
        changes.add(Kind::Additive, "", format!("also called as `{name}`"));
    }
}

/// Compares what a call does to the world: more of it is breaking.
fn effects(old: &Terms, new: &Terms, changes: &mut Changes) {
    let strength = |effect| match effect {
        Effect::Pure => 0,
        Effect::Read => 1,
        Effect::Idempotent => 2,
        Effect::Once => 3,
    };
    if let Some(kind) = more(strength(old.effect), strength(new.effect)) {
        let (before, after) = (old.effect.as_str(), new.effect.as_str());
        changes.between(kind, "", "effect", before, after);
    }
    for (before, after, yes, no) in [
        (
            old.destructive,
            new.destructive,
            "may destroy something",
            "destroys nothing any more",
        ),
        (
            old.open_world,
            new.open_world,
            "reaches the open world",
            "keeps to its own world",
        ),
        (
            old.hidden,
            new.hidden,
            "hidden from models",
            "shown to models",
        ),
    ] {
        if let Some(kind) = more(before, after) {
            changes.add(kind, "", if after { yes } else { no });
        }
    }
    for (what, before, after) in [
        ("reads", &old.reads, &new.reads),
        ("writes", &old.writes, &new.writes),
        ("net", &old.net, &new.net),
        ("secrets", &old.secrets, &new.secrets),
    ] {
        names(changes, what, before, after, Kind::Breaking);
    }
    // Masking one more argument takes nothing from anybody.
    names(changes, "secret", &old.secret, &new.secret, Kind::Additive);
}

fn names(
    changes: &mut Changes,
    what: &str,
    before: &BTreeSet<String>,
    after: &BTreeSet<String>,
    added: Kind,
) {
    let removed = match added {
        Kind::Breaking => Kind::Additive,
        _ => Kind::Breaking,
    };
    for name in after.difference(before) {
        changes.add(added, "", format!("declares `{what}({name})`"));
    }
    for name in before.difference(after) {
        changes.add(removed, "", format!("no longer declares `{what}({name})`"));
    }
}

/// Compares what decides whether a call runs, and for how long.
fn rules(old: &Terms, new: &Terms, changes: &mut Changes) {
    if let Some(kind) = more(old.approve, new.approve) {
        let (before, after) = (old.approve.as_str(), new.approve.as_str());
        changes.between(kind, "", "approval", before, after);
    }
    if let Some(kind) = more(old.coerce, new.coerce) {
        let (before, after) = (old.coerce.as_str(), new.coerce.as_str());
        changes.between(kind, "", "coercion", before, after);
    }
    let usual = Limits::default().call_timeout.as_millis();
    let millis = |timeout: Option<u64>| timeout.map_or(usual, u128::from);
    let (before, after) = (millis(old.timeout_ms), millis(new.timeout_ms));
    if let Some(kind) = more(after, before) {
        let ms = |millis: u128| format!("{millis} ms");
        changes.between(kind, "", "timeout", ms(before), ms(after));
    }
}

/// Returns what it means that `before` became `after`, where more is breaking; `None` when they are alike.
fn more<T: PartialOrd>(before: T, after: T) -> Option<Kind> {
    if after > before {
        Some(Kind::Breaking)
    } else if after < before {
        Some(Kind::Additive)
    } else {
        None
    }
}

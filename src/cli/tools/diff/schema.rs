//! Two JSON Schemas of arguments compared: may a call that fitted the older one be refused by the newer?
//!
//! Keywords of a schema bind together, so they are compared one by one: where each asks the same or less, every call that
//! fitted fits. What cannot be told (a changed pattern, a keyword nobody knows) counts as breaking.

use std::collections::HashSet;

use serde_json::Value;

use super::change::{Change, Changes, Kind, listed};
use super::view::{DOCUMENTATION, Types, View};
use super::{array, object, range, union};

/// Deepest nesting that is compared.
const DEPTH: usize = 100;
/// Most pairs of schemas that are compared.
const PAIRS: usize = 100_000;

/// Keywords that are compared for what they mean; others can only be told to be the same.
const UNDERSTOOD: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "allOf",
    "const",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "prefixItems",
    "properties",
    "required",
    "type",
    "uniqueItems",
    "x-aliases",
];

/// Returns what changed from one schema of arguments to a later one.
pub(super) fn compare(old: &Value, new: &Value) -> Vec<Change> {
    compare_as(false, old, new)
}

/// Returns what changed from one schema of results to a later one. Callers read results, so more values are breaking.
pub(super) fn compare_results(old: &Value, new: &Value) -> Vec<Change> {
    let mut changes = compare_as(true, old, new);
    for change in &mut changes {
        change.kind = change.kind.mirrored();
        change.at.insert_str(0, "result");
    }
    changes
}

fn compare_as(results: bool, old: &Value, new: &Value) -> Vec<Change> {
    let mut comparison = Comparison {
        results,
        old,
        new,
        met: HashSet::new(),
        depth: 0,
        pairs: PAIRS,
        cut: false,
        changes: Changes::default(),
    };
    comparison.schemas(old, new, "");
    comparison.changes.0
}

/// A comparison of two documents.
pub(super) struct Comparison<'a> {
    /// Whether the kinds are mirrored in the end.
    results: bool,
    old: &'a Value,
    new: &'a Value,
    /// Pairs that were reached by a reference.
    met: HashSet<((usize, Types), (usize, Types))>,
    depth: usize,
    /// How many more pairs are compared.
    pairs: usize,
    /// Whether a part was left out.
    cut: bool,
    pub(super) changes: Changes,
}

impl<'a> Comparison<'a> {
    /// Compares a schema of the old document with one of the new.
    pub(super) fn schemas(&mut self, old: &'a Value, new: &'a Value, at: &str) {
        let (old, new) = (self.old_view(old), self.new_view(new));
        self.views(&old, &new, at);
    }

    /// Returns what comes out as `kind` for arguments and results alike.
    pub(super) fn either_way(&self, kind: Kind) -> Kind {
        if self.results { kind.mirrored() } else { kind }
    }

    pub(super) fn old_view(&self, schema: &'a Value) -> View<'a> {
        View::of(self.old, schema)
    }

    pub(super) fn new_view(&self, schema: &'a Value) -> View<'a> {
        View::of(self.new, schema)
    }

    /// The same for schemas that have been read.
    pub(super) fn views(&mut self, old: &View<'a>, new: &View<'a>, at: &str) {
        if old.asks_nothing() && new.asks_nothing() {
            return;
        }
        if old.referred || new.referred {
            let key = |view: &View<'_>| (view.place, view.types);
            if !self.met.insert((key(old), key(new))) {
                return;
            }
        }
        if self.depth == DEPTH || self.pairs == 0 {
            if !std::mem::replace(&mut self.cut, true) {
                let what = "too deep or too large to be compared further";
                self.changes.add(Kind::Breaking, at, what);
            }
            return;
        }
        self.pairs -= 1;
        self.depth += 1;
        self.documentation(old, new, at);
        if !union::compare_whole(self, old, new, at) {
            self.rules(old, new, at);
        }
        self.depth -= 1;
    }

    fn documentation(&mut self, old: &View<'a>, new: &View<'a>, at: &str) {
        for keyword in DOCUMENTATION {
            let (before, after) = (old.get(keyword), new.get(keyword));
            // Stated or not, it is what the tool did anyhow; another value is another deed.
            let kind = match keyword {
                "default" if before.is_some() && after.is_some() => Kind::Breaking,
                _ => Kind::Wording,
            };
            self.changes.maybe(kind, at, keyword, before, after);
        }
    }

    fn rules(&mut self, old: &View<'a>, new: &View<'a>, at: &str) {
        let (lost, gained) = (old.types.without(new.types), new.types.without(old.types));
        if !lost.is_empty() || !gained.is_empty() {
            let kind = if lost.is_empty() {
                Kind::Additive
            } else {
                Kind::Breaking
            };
            self.changes.between(kind, at, "type", old.types, new.types);
        }
        let common = old.types.both(new.types);
        if common.is_empty() {
            return;
        }
        self.values(old, new, at);
        if !common.both(Types::STRING).is_empty() {
            range::counts(self, old, new, at, ["minLength", "maxLength"]);
        }
        if !common.both(Types::NUMBER).is_empty() {
            range::numbers(self, old, new, at, common);
        }
        if !common.both(Types::ARRAY).is_empty() {
            array::compare(self, old, new, at);
        }
        if !common.both(Types::OBJECT).is_empty() {
            object::compare(self, old, new, at);
        }
        union::compare_parts(self, old, new, at);
        self.others(old, new, at, common);
    }

    /// Compares the values that are listed.
    fn values(&mut self, old: &View<'a>, new: &View<'a>, at: &str) {
        let changes = &mut self.changes;
        match (old.values(), new.values()) {
            (None, None) => {}
            (None, Some(after)) => {
                changes.add(Kind::Breaking, at, format!("takes only {}", listed(after)));
            }
            (Some(before), None) => {
                let what = format!("takes more than {}", listed(before));
                changes.add(Kind::Additive, at, what);
            }
            (Some(before), Some(after)) => {
                let removed = before.iter().filter(|value| !after.contains(value));
                let added = after.iter().filter(|value| !before.contains(value));
                let (removed, added) = (listed(removed.copied()), listed(added.copied()));
                if !removed.is_empty() {
                    let what = format!("no longer takes {removed}");
                    changes.add(Kind::Breaking, at, what);
                }
                if !added.is_empty() {
                    changes.add(Kind::Additive, at, format!("also takes {added}"));
                }
            }
        }
    }

    /// Compares what can only be told to be the same.
    fn others(&mut self, old: &View<'a>, new: &View<'a>, at: &str, common: Types) {
        let unions = old.union().is_some() && new.union().is_some();
        let names: HashSet<&str> = old
            .keywords
            .keys()
            .chain(new.keywords.keys())
            .copied()
            .collect();
        let mut names: Vec<&str> = names.into_iter().collect();
        names.sort_unstable();
        for name in names {
            // A format of numbers says how they are kept; their bounds say which ones there are.
            let is_rule = match name {
                "anyOf" | "oneOf" => !unions,
                "format" => !common.both(Types::STRING).is_empty(),
                name => !UNDERSTOOD.contains(&name) && !DOCUMENTATION.contains(&name),
            };
            if is_rule {
                let (before, after) = (old.get(name), new.get(name));
                let kind = if after.is_none() {
                    Kind::Additive
                } else {
                    Kind::Breaking
                };
                self.changes.maybe(kind, at, name, before, after);
            }
        }
    }
}

/// Returns `at` with one more step.
pub(super) fn step(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

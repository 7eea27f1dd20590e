//! Schemas that others wrote: whole JSON Schema, drafts 4 to 2020-12, where the tree reads a part of it.
//!
//! The tree goes first, because it coerces and because its report is written for models. Where the schema asks more than
//! the tree reads (`not`, `if`, `contains`, `unevaluatedProperties`, …), a complete validator has the last word, and what it
//! finds enters the same report. Schemas are compiled when they arrive, never at a call; one that does not compile is
//! refused with its place. Nothing is ever fetched: a reference out of the schema is looked up in the documents that came
//! with it, or refused.
//!
//! Without the feature `jsonschema` there is the tree alone, and what it does not read is let through.

use std::any::TypeId;
use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::json::Json;
use super::node::{Kind, Node, Property};
use super::pattern::Engine;
use super::report::{Invalid, PROBLEMS, Problem, clip_to, shown};
use super::tree::{Schema, Tree};

#[cfg(feature = "jsonschema")]
mod complete;

#[cfg(feature = "jsonschema")]
pub(super) use complete::Complete;
#[cfg(not(feature = "jsonschema"))]
pub(super) use without::Complete;

/// Deepest nesting of a schema that is taken.
const DEPTH: usize = 128;
/// Longest explanation of a fault in a schema, in characters.
const EXPLAINED: usize = 300;

/// Why a JSON Schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a JSON Schema that can be checked, at {}: {problem}", if pointer.is_empty() { "its root" } else { pointer })]
pub struct SchemaError {
    /// JSON pointer to the place in the schema.
    pub pointer: String,
    /// What is wrong there.
    pub problem: String,
}

impl SchemaError {
    fn new(pointer: &str, problem: &str) -> Self {
        let clipped = |text: &str| {
            let mut out = String::new();
            clip_to(text, EXPLAINED, &mut out);
            out
        };
        Self {
            pointer: clipped(pointer),
            problem: clipped(problem),
        }
    }
}

impl Schema {
    /// Compiles a schema that somebody else wrote, to be checked in full.
    ///
    /// # Errors
    ///
    /// Fails when it is not a valid schema, refers to a document that it does not hold, or nests deeper than 128
    /// levels.
    pub fn foreign(json: &Value) -> Result<Self, SchemaError> {
        Self::foreign_by(json, &BTreeMap::new(), Some(Engine::REGEX))
    }

    /// Compiles a schema that somebody else wrote, with the documents it may refer to by their URI.
    ///
    /// # Errors
    ///
    /// Fails as [`Schema::foreign`] does.
    pub fn foreign_with(
        json: &Value,
        documents: &BTreeMap<String, Value>,
    ) -> Result<Self, SchemaError> {
        Self::foreign_by(json, documents, Some(Engine::REGEX))
    }

    /// The same, with the tree's patterns compiled by this engine.
    pub(crate) fn foreign_by(
        json: &Value,
        documents: &BTreeMap<String, Value>,
        engine: Option<Engine>,
    ) -> Result<Self, SchemaError> {
        let all = || std::iter::once(json).chain(documents.values());
        if all().any(|json| is_deeper(json, DEPTH)) {
            return Err(SchemaError::new("", "nested deeper than 128 levels"));
        }
        let mut schema = Self::of(&Json::from_value(json), engine);
        if schema.tree.overfull {
            let problem =
                "its patterns are too large to be checked together; use fewer or smaller ones";
            return Err(SchemaError::new("", problem));
        }
        schema.complete = Complete::new(json, documents)?.map(Into::into);
        Ok(schema)
    }

    /// Adds to what the tree found what it does not read.
    pub(super) fn completed<T>(
        &self,
        json: &Json<'_>,
        found: Result<T, Invalid>,
    ) -> Result<T, Invalid> {
        let Some(complete) = &self.complete else {
            return found;
        };
        let (sound, mut problems) = match found {
            Ok(sound) => (Some(sound), Vec::new()),
            Err(invalid) => (None, invalid.problems),
        };
        // The tree explains better what both understand.
        for fault in complete.faults(json, sound.is_none()) {
            let problem = fault.problem(&self.tree, json);
            let told = problems
                .iter()
                .any(|other| other.pointer == problem.pointer);
            if !told && problems.len() < PROBLEMS {
                problems.push(problem);
            }
        }
        match sound {
            Some(sound) if problems.is_empty() => Ok(sound),
            _ => Err(Invalid { problems }),
        }
    }
}

/// What the complete check found, before it is known what may be shown.
#[derive(Clone)]
pub(super) struct Fault {
    /// The steps to the value.
    steps: Vec<String>,
    text: String,
    /// Whether the value belongs behind the text.
    shows: bool,
    /// Whether a keyword said so that the tree does not read.
    #[cfg(feature = "jsonschema")]
    unread: bool,
}

impl Fault {
    fn problem(self, tree: &Tree, json: &Json<'_>) -> Problem {
        let Self {
            steps,
            mut text,
            shows,
            ..
        } = self;
        let value = steps.iter().try_fold(json, |value, step| match value {
            Json::Array(items) => items.get(step.parse::<usize>().ok()?),
            _ => value.member(step),
        });
        if let Some(value) = value.filter(|_| shows) {
            let holds = tree.secrets && matches!(value, Json::Array(_) | Json::Object(_));
            let hidden = holds || tree.hides(steps.iter().map(String::as_str));
            text.push_str(", got ");
            text.push_str(&shown(value, hidden));
        }
        Problem {
            pointer: super::report::pointer(steps.iter().map(String::as_str)),
            text,
        }
    }
}

/// Tells whether a part of these schemas is made at run time, by schemars.
pub(crate) fn holds_foreign(properties: &'static [Property]) -> bool {
    any_foreign(properties, &mut HashSet::new())
}

fn any_foreign(properties: &'static [Property], seen: &mut HashSet<TypeId>) -> bool {
    properties.iter().any(|property| {
        let flat = property.flat.is_some_and(|flat| {
            any_foreign(flat.fields, seen) || flat.rest.is_some_and(|rest| is_foreign(rest, seen))
        });
        flat || property.node.is_some_and(|node| is_foreign(node, seen))
    })
}

fn is_foreign(node: &'static Node, seen: &mut HashSet<TypeId>) -> bool {
    match node.kind {
        Kind::Foreign(_) => true,
        Kind::Optional(inner) | Kind::Array(inner) | Kind::Set(inner) | Kind::Map(inner) => {
            is_foreign(inner, seen)
        }
        Kind::Union(shapes) => shapes.iter().any(|shape| is_foreign(shape, seen)),
        Kind::Tuple(properties) | Kind::Object(properties) => any_foreign(properties, seen),
        Kind::Named(named) => seen.insert((named.id)()) && is_foreign((named.node)(), seen),
        _ => false,
    }
}

fn is_deeper(json: &Value, levels: usize) -> bool {
    match json {
        Value::Array(items) => levels == 0 || items.iter().any(|item| is_deeper(item, levels - 1)),
        Value::Object(members) => {
            levels == 0 || members.values().any(|member| is_deeper(member, levels - 1))
        }
        _ => false,
    }
}

/// Stands in where the feature is off.
#[cfg(not(feature = "jsonschema"))]
mod without {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::{Fault, SchemaError};
    use crate::schema::json::Json;

    /// No complete validator exists.
    #[derive(Debug)]
    pub(in crate::schema) enum Complete {}

    impl Complete {
        pub(super) fn new(
            _: &Value,
            _: &BTreeMap<String, Value>,
        ) -> Result<Option<Self>, SchemaError> {
            Ok(None)
        }

        pub(super) fn faults(&self, _: &Json<'_>, _: bool) -> Vec<Fault> {
            match *self {}
        }
    }
}

//! One JSON Schema as the comparison reads it: references followed, types as a set.

use std::collections::BTreeMap;

use serde_json::Value;

/// The schema that asks nothing.
pub(super) static ANYTHING: Value = Value::Bool(true);

/// Most references followed at one place.
const REFERENCES: usize = 16;

/// Keywords for readers: they ask nothing of a value.
pub(super) const DOCUMENTATION: [&str; 7] = [
    "default",
    "deprecated",
    "description",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];

/// Keywords of the document itself.
const FRAME: [&str; 7] = [
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$ref",
    "$schema",
    "definitions",
];

/// A set of JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const INTEGER: Self = Self(1);
    /// Integers and the rest.
    pub(super) const NUMBER: Self = Self(3);
    pub(super) const STRING: Self = Self(4);
    pub(super) const BOOLEAN: Self = Self(8);
    pub(super) const ARRAY: Self = Self(16);
    pub(super) const OBJECT: Self = Self(32);
    pub(super) const NULL: Self = Self(64);
    pub(super) const NONE: Self = Self(0);
    pub(super) const ANY: Self = Self(127);

    const NAMES: [(&'static str, Self); 7] = [
        ("string", Self::STRING),
        ("number", Self::NUMBER),
        ("integer", Self::INTEGER),
        ("boolean", Self::BOOLEAN),
        ("array", Self::ARRAY),
        ("object", Self::OBJECT),
        ("null", Self::NULL),
    ];

    fn named(name: &str) -> Self {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        // What nobody knows asks nothing.
        found.map_or(Self::ANY, |(_, types)| *types)
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_f64() => Self::NUMBER,
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    pub(super) const fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn either(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the types of this set that `other` lacks.
    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns each type as a set of its own.
    pub(super) fn each(self) -> impl Iterator<Item = Self> {
        Self::NAMES
            .into_iter()
            .map(|(_, types)| types)
            .filter(move |types| {
                self.both(*types) == *types
                    && !(*types == Self::INTEGER && self.both(Self::NUMBER) == Self::NUMBER)
            })
    }
}

/// Writes `string or null`.
impl std::fmt::Display for Types {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if *self == Self::ANY {
            return f.write_str("anything");
        }
        if self.is_empty() {
            return f.write_str("nothing");
        }
        for (at, types) in self.each().enumerate() {
            let name = Self::NAMES.iter().find(|(_, known)| *known == types);
            let name = name.map_or("", |(name, _)| name);
            write!(f, "{}{name}", if at > 0 { " or " } else { "" })?;
        }
        Ok(())
    }
}

/// One schema of a document.
#[derive(Clone, Debug)]
pub(super) struct View<'a> {
    pub(super) keywords: BTreeMap<&'a str, &'a Value>,
    pub(super) types: Types,
    /// Where it stands, as an address.
    pub(super) place: usize,
    /// Whether a reference led here, so that the way may be a circle.
    pub(super) referred: bool,
}

impl<'a> View<'a> {
    /// Reads a schema of `document`. What stands beside a reference counts before what it refers to.
    pub(super) fn of(document: &'a Value, schema: &'a Value) -> Self {
        let mut view = Self {
            keywords: BTreeMap::new(),
            types: Types::ANY,
            place: std::ptr::from_ref(schema).addr(),
            referred: false,
        };
        let mut never = false;
        let mut next = Some(schema);
        for _ in 0..REFERENCES {
            match next {
                Some(Value::Bool(false)) => {
                    never = true;
                    break;
                }
                Some(Value::Object(keywords)) => {
                    for (name, value) in keywords {
                        view.keywords.entry(name).or_insert(value);
                    }
                    let reference = keywords.get("$ref").and_then(Value::as_str);
                    view.referred |= reference.is_some();
                    next = reference.and_then(|reference| resolve(document, reference));
                }
                _ => break,
            }
        }
        view.keywords.retain(|name, _| !FRAME.contains(name));
        view.types = if never {
            Types::NONE
        } else {
            view.declared_types()
        };
        view
    }

    /// Tells whether any value fits and nothing is said about it.
    pub(super) fn asks_nothing(&self) -> bool {
        self.keywords.is_empty() && self.types == Types::ANY
    }

    /// Returns what a keyword holds.
    pub(super) fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.keywords.get(keyword).copied()
    }

    /// Returns the values of `enum` or `const`; `None` when any will do.
    pub(super) fn values(&self) -> Option<Vec<&'a Value>> {
        let mut values: Vec<&Value> = match (self.get("const"), self.get("enum")) {
            (Some(only), _) => vec![only],
            (None, Some(Value::Array(values))) => values.iter().collect(),
            _ => return None,
        };
        values.retain(|value| !Types::of(value).both(self.types).is_empty());
        Some(values)
    }

    /// Returns the branches of a union, when there is one.
    pub(super) fn union(&self) -> Option<&'a [Value]> {
        match (self.get("anyOf"), self.get("oneOf")) {
            (Some(Value::Array(branches)), None) | (None, Some(Value::Array(branches))) => {
                Some(branches)
            }
            _ => None,
        }
    }

    /// Tells whether it is a union and nothing else but documentation.
    pub(super) fn is_only_union(&self) -> bool {
        let is_union = |name: &&str| matches!(*name, "anyOf" | "oneOf");
        self.keywords
            .keys()
            .all(|name| is_union(name) || DOCUMENTATION.contains(name))
    }

    /// Returns the same without documentation, one view a type.
    pub(super) fn by_type(&self) -> Vec<Self> {
        let mut bare = self.clone();
        bare.keywords
            .retain(|name, _| !DOCUMENTATION.contains(name));
        if self.types == Types::ANY {
            return vec![bare];
        }
        self.types
            .each()
            .map(|types| Self {
                types,
                ..bare.clone()
            })
            .collect()
    }

    fn declared_types(&self) -> Types {
        let union = |types: &mut dyn Iterator<Item = Types>| types.fold(Types::NONE, Types::either);
        let declared = match self.get("type") {
            Some(Value::String(name)) => Types::named(name),
            Some(Value::Array(names)) if !names.is_empty() => union(
                &mut names
                    .iter()
                    .map(|name| Types::named(name.as_str().unwrap_or(""))),
            ),
            _ => Types::ANY,
        };
        match self.values() {
            Some(values) => declared.both(union(&mut values.into_iter().map(Types::of))),
            None => declared,
        }
    }
}

/// Follows a reference inside the document: `#` or `#/a/b`.
fn resolve<'a>(document: &'a Value, reference: &str) -> Option<&'a Value> {
    document.pointer(reference.strip_prefix('#')?)
}

//! A JSON Schema read into a typed tree, so that checking a call reads no schema.
//!
//! A subset of draft 2020-12: what tools use. Keywords it does not know are ignored, as are references out of the
//! document and patterns that the regex engine does not have (look-around, back references): what cannot be checked is
//! let through, since a server that sent the schema checks again. Shapes stand in one list and refer to each other by
//! place, so a recursive schema is an ordinary one.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use regex::Regex;
use serde_json::Value;

use super::json::Json;
use super::number::Decimal;
use super::reader;

mod parse;

pub(crate) use parse::resolve;

/// A JSON Schema read into a tree. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(super) tree: Arc<Tree>,
}

impl Schema {
    /// Reads a JSON Schema. Keywords it does not know are ignored.
    pub fn parse(json: &Value) -> Self {
        Self::of(&Json::from_value(json))
    }

    /// Reads a JSON Schema from text, which keeps the order of properties and the exact bounds of 128-bit integers.
    /// Text that is not JSON asks nothing.
    pub fn parse_text(text: &str) -> Self {
        Self::of(&reader::read(text).map_or(Json::Bool(true), |read| read.json))
    }

    fn of(json: &Json<'_>) -> Self {
        Self {
            tree: Arc::new(parse::tree(json)),
        }
    }

    /// Returns the schema with these parameters marked as secret: their values show in no report and no note.
    #[must_use]
    pub fn with_secret(self, names: &[&str]) -> Self {
        if names.is_empty() {
            return self;
        }
        let mut tree = Arc::unwrap_or_clone(self.tree);
        tree.secrets = true;
        // The parameters may stand in parts of the root.
        let mut parts = vec![tree.root];
        let mut seen = HashSet::new();
        while let Some(id) = parts.pop() {
            if !seen.insert(id) {
                continue;
            }
            let shape = &mut tree.shapes[id];
            for part in [&shape.all, &shape.any, &shape.one] {
                parts.extend_from_slice(part);
            }
            for property in shape
                .object
                .iter_mut()
                .flat_map(|object| &mut object.properties)
            {
                property.secret |= names.contains(&property.name.as_str());
            }
        }
        Self {
            tree: Arc::new(tree),
        }
    }

    /// Returns the parameters as one compact typed line: `path: string, limit?: integer`.
    pub fn signature(&self) -> String {
        self.line().to_owned()
    }

    pub(super) fn line(&self) -> &str {
        self.tree
            .signature
            .get_or_init(|| super::signature::line(&self.tree))
    }
}

/// The shapes of one schema.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    pub(super) shapes: Vec<Shape>,
    pub(super) root: Id,
    /// Whether any property has another name.
    pub(super) aliases: bool,
    /// Whether any property is secret.
    pub(super) secrets: bool,
    pub(super) signature: OnceLock<String>,
}

impl Tree {
    pub(super) fn shape(&self, id: Id) -> &Shape {
        &self.shapes[id]
    }

    /// Returns the shape itself or, when it only refers to another one, that.
    pub(super) fn resolve(&self, mut id: Id) -> Id {
        // A reference to itself ends here as an empty shape; checking it runs into the depth limit.
        for _ in 0..16 {
            match self.shapes[id].all.as_slice() {
                [target] if self.shapes[id].is_bare() => id = *target,
                _ => break,
            }
        }
        id
    }
}

/// The place of a shape in its [`Tree`].
pub(super) type Id = usize;

/// What one schema object asks of a value.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    /// Fits nothing: the schema `false`.
    pub(super) never: bool,
    pub(super) types: Types,
    /// The values of `enum` or `const`; `None` when any will do.
    pub(super) members: Option<Vec<Json<'static>>>,
    pub(super) text: Option<Box<Text>>,
    pub(super) number: Option<Box<Bounds>>,
    pub(super) array: Option<Box<Array>>,
    pub(super) object: Option<Box<Object>>,
    /// `allOf` and `$ref`.
    pub(super) all: Vec<Id>,
    pub(super) any: Vec<Id>,
    pub(super) one: Vec<Id>,
    pub(super) docs: Docs,
}

impl Shape {
    /// Tells whether there is nothing but references and documentation.
    fn is_bare(&self) -> bool {
        !self.never
            && self.types == Types::ANY
            && self.members.is_none()
            && self.text.is_none()
            && self.number.is_none()
            && self.array.is_none()
            && self.object.is_none()
            && self.any.is_empty()
            && self.one.is_empty()
    }

    /// Tells whether any value fits.
    pub(super) fn is_plain(&self) -> bool {
        self.is_bare() && self.all.is_empty()
    }

    /// Tells whether the properties and types are all there is, so that writing them out says everything.
    pub(super) fn is_closed_form(&self) -> bool {
        let map = self.object.as_deref().is_some_and(|object| {
            matches!(object.rest, Rest::Of(_)) || !object.patterns.is_empty()
        });
        !map && self.members.is_none() && self.all.is_empty() && self.branches().is_empty()
    }

    /// Returns the branches of `anyOf` or else of `oneOf`.
    pub(super) fn branches(&self) -> &[Id] {
        if self.any.is_empty() {
            &self.one
        } else {
            &self.any
        }
    }
}

/// What a schema says to readers.
#[derive(Clone, Debug, Default)]
pub(super) struct Docs {
    pub(super) description: Option<String>,
    /// JSON text.
    pub(super) default: Option<String>,
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    /// Integers too.
    pub(super) const NUMBER: Self = Self(8 | 4);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);
    pub(super) const NONE: Self = Self(0);
    pub(super) const ANY: Self = Self(127);

    /// Each type with its name, as a signature lists them.
    pub(super) const NAMES: [(&'static str, Self); 7] = [
        ("string", Self::STRING),
        ("integer", Self::INTEGER),
        ("number", Self::NUMBER),
        ("boolean", Self::BOOLEAN),
        ("array", Self::ARRAY),
        ("object", Self::OBJECT),
        ("null", Self::NULL),
    ];

    /// Tells whether every type of `other` is in the set.
    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the names of the types; an integer that is any number is not named twice.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .into_iter()
            .filter(move |(_, kind)| {
                self.has(*kind) && !(*kind == Self::INTEGER && self.has(Self::NUMBER))
            })
            .map(|(name, _)| name)
    }
}

impl Default for Types {
    fn default() -> Self {
        Self::ANY
    }
}

/// Rules for strings; lengths in characters.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    pub(super) shortest: Option<usize>,
    pub(super) longest: Option<usize>,
    pub(super) pattern: Option<Regex>,
    /// The format that is checked; `format` alone only describes.
    pub(super) format: Option<String>,
}

/// Rules for numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    pub(super) least: Option<Bound>,
    pub(super) most: Option<Bound>,
    pub(super) step: Option<Bound>,
}

/// A bound of a number.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub(super) text: String,
    pub(super) value: Decimal,
    pub(super) exclusive: bool,
}

/// Rules for arrays.
#[derive(Clone, Debug, Default)]
pub(super) struct Array {
    pub(super) prefix: Vec<Id>,
    pub(super) items: Option<Id>,
    pub(super) shortest: Option<usize>,
    pub(super) longest: Option<usize>,
    pub(super) unique: bool,
}

/// Rules for objects.
#[derive(Clone, Debug, Default)]
pub(super) struct Object {
    /// In declaration order.
    pub(super) properties: Vec<Property>,
    /// The property read under each name.
    places: HashMap<String, usize>,
    pub(super) patterns: Vec<(Regex, Id)>,
    pub(super) rest: Rest,
    pub(super) fewest: Option<usize>,
    pub(super) most: Option<usize>,
}

/// Most properties that are looked through one by one.
const FEW: usize = 16;

impl Object {
    /// Returns the place of the property that is read under `key`.
    pub(super) fn find(&self, key: &str) -> Option<usize> {
        if self.properties.len() > FEW {
            return self.places.get(key).copied();
        }
        let properties = || self.properties.iter();
        properties()
            .position(|property| property.name == key)
            .or_else(|| {
                properties().position(|property| property.aliases.iter().any(|name| name == key))
            })
    }

    /// Returns the names of the properties, in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.properties
            .iter()
            .map(|property| property.name.as_str())
    }

    /// Fills the map from names, and then from other names that are not a name themselves, to properties.
    fn index(&mut self) {
        for (place, property) in self.properties.iter().enumerate() {
            self.places.insert(property.name.clone(), place);
        }
        for (place, property) in self.properties.iter().enumerate() {
            for alias in &property.aliases {
                self.places.entry(alias.clone()).or_insert(place);
            }
        }
    }
}

/// One property.
#[derive(Clone, Debug)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) aliases: Vec<String>,
    pub(super) shape: Id,
    pub(super) required: bool,
    pub(super) secret: bool,
}

/// What may stand in an object beside its properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rest {
    #[default]
    Open,
    Closed,
    Of(Id),
}

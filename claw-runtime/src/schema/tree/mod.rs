//! A JSON Schema read into a typed tree, so that checking a call reads no schema.
//!
//! A subset of draft 2020-12: what tools use. Keywords it does not know are ignored, as are references out of the
//! document and patterns that the regex engine does not have (look-around, back references) or has no room for; the tree then says that it
//! is [partial](Tree::partial), and what it refuses is wrong for sure, while [`foreign`](super::foreign) has the last
//! word. Shapes stand in one list and refer to each other by place, so a recursive schema is an ordinary one.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::coerce::Coerce;
use super::foreign::Complete;
use super::json::Json;
use super::number::Decimal;
use super::pattern::{Engine, Matcher};
use super::reader;

mod parse;
mod secret;

#[cfg(feature = "jsonschema")]
pub(super) use parse::percent_decoded;
pub(crate) use parse::resolve;

/// A JSON Schema read into a tree. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(super) tree: Arc<Tree>,
    /// The check of what the tree does not read.
    pub(super) complete: Option<Arc<Complete>>,
}

impl Schema {
    /// Reads a JSON Schema. Keywords it does not know are ignored.
    pub fn parse(json: &Value) -> Self {
        Self::of(&Json::from_value(json), Some(Engine::REGEX))
    }

    /// Reads a JSON Schema from text, which keeps the order of properties and the exact bounds of 128-bit integers.
    /// Text that is not JSON asks nothing.
    pub fn parse_text(text: &str) -> Self {
        Self::parse_with(text, Some(Engine::REGEX))
    }

    /// The same, with patterns compiled by this engine; without one they are not read.
    pub(crate) fn parse_with(text: &str, engine: Option<Engine>) -> Self {
        let read = reader::read(text);
        Self::of(&read.map_or(Json::Bool(true), |read| read.json), engine)
    }

    pub(super) fn of(json: &Json<'_>, engine: Option<Engine>) -> Self {
        Self {
            tree: Arc::new(parse::tree(json, engine)),
            complete: None,
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
    /// Whether anything is secret.
    pub(super) secrets: bool,
    /// Whether the schema asks something that is not read: a value that fits the tree may still not fit the schema.
    pub(super) partial: bool,
    /// Whether there are more patterns than are compiled.
    pub(super) overfull: bool,
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
    /// Whether the value is shown to nobody.
    pub(super) secret: bool,
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

    fn parts(&self) -> impl Iterator<Item = Id> {
        [&self.all, &self.any, &self.one]
            .into_iter()
            .flatten()
            .copied()
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
    /// A number with a part that is not whole.
    #[cfg(feature = "jsonschema")]
    pub(super) const FRACTION: Self = Self(8);
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
    pub(super) pattern: Option<Arc<dyn Matcher>>,
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
    pub(super) patterns: Vec<(Arc<dyn Matcher>, Id)>,
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
    /// How far its value may be coerced, where that was said of it alone.
    pub(super) coerce: Option<Coerce>,
}

/// What may stand in an object beside its properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Rest {
    #[default]
    Open,
    Closed,
    Of(Id),
}

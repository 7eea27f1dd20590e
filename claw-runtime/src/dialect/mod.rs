//! Provider dialects: one canonical JSON Schema a tool, lowered to what a service takes, and its arguments lifted back.
//!
//! A [`Dialect`] is a record of data; [`DIALECTS`] is the table. Lowering never asks more of a value than the canonical
//! schema does (the one exception, objects that are open without saying so, is reported), and what validates is always
//! the canonical schema. So a wrong cell of the table costs a worse hint to the model or a refused request, never a wrong
//! call.
//!
//! What a service cannot say takes another form on the wire, which [`Lowered::lift`] undoes: an optional property is
//! required and `null`, a map is a list of entries, any value is a string of JSON text, a property has another name.
//! Lowering makes that plan once, as it goes; a tool's arguments are then carried over in either direction by it.

mod census;
mod keywords;
mod lift;
mod lower;
mod names;
mod offer;
mod plan;
mod shape;
mod table;
mod view;
mod words;

use std::borrow::Cow;

use serde_json::Value;

pub use census::{Census, Limits, Refused};
pub use keywords::Keywords;
pub use names::{Names, WireNames};
pub use offer::{Offer, Offered};
pub use table::DIALECTS;

/// What one service takes of JSON Schema, and how it wants the rest said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Its name, as it stands in a journal.
    pub name: &'static str,
    /// Whose it is, for people.
    pub about: &'static str,
    /// Whether the service holds the model to the schema.
    pub strict: bool,
    /// The dialect to fall back to when a service refuses a schema of this one.
    pub laxer: Option<&'static str>,
    /// The keywords that may be sent. Of the others those that limit a value move to the description.
    pub keeps: Keywords,
    /// Whether every schema names its type, so that only the forms below are sent; else a schema is sent as it is
    /// written, without the keywords that are not kept.
    pub typed: bool,
    /// Whether the root may be a union.
    pub root_unions: bool,
    /// How a value that may be `null` is declared.
    pub null: Null,
    /// How a property that may be left out is declared.
    pub optional: Optional,
    /// When `additionalProperties: false` is written.
    pub closed: Closed,
    /// How objects with free keys are declared.
    pub maps: Maps,
    /// How a value of any type is declared.
    pub any: Any,
    /// What may stand in `enum`.
    pub enums: Enums,
    /// Whether references are kept; else what they refer to is put in their place.
    pub refs: Refs,
    /// The formats that may be sent; `None` for all.
    pub formats: Option<&'static [&'static str]>,
    /// Whether patterns may look around.
    pub lookaround: bool,
    /// Whether bounds of numbers that are no integers may be sent.
    pub float_bounds: bool,
    /// The largest `minItems`, `maxItems`, `minLength` or `maxLength` that may be sent.
    pub largest_count: usize,
    /// The largest `minItems` that may be sent.
    pub largest_min_items: usize,
    /// What the name of a tool may be.
    pub tool_names: Names,
    /// What the name of a property may be.
    pub property_names: Names,
    /// How large schemas may be.
    pub limits: Limits,
}

/// How a value that may be `null` is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Null {
    /// `"type": ["string", "null"]`, whatever the type.
    Types,
    /// The same, but as a union where the value may be an object or a list.
    ScalarTypes,
    /// `"anyOf": [{…}, {"type": "null"}]`.
    Union,
    /// `"nullable": true`.
    Nullable,
}

/// How a property that may be left out is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optional {
    /// It is not among the required ones.
    LeftOut,
    /// It is required, and may be `null`.
    Null,
}

/// When `additionalProperties: false` is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// Where the tool declares it.
    AsDeclared,
    /// In every object.
    Always,
    /// Nowhere.
    Never,
}

/// How objects with free keys are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maps {
    /// By `additionalProperties`.
    Kept,
    /// As a list of objects with `key` and `value`.
    Listed,
    /// As an object of which no more is said.
    Plain,
}

/// How a value of any type is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Any {
    /// By an empty schema.
    Untyped,
    /// As a string that holds its JSON text.
    Text,
}

/// What may stand in `enum`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enums {
    /// Any values.
    Any,
    /// Values that are no objects and no lists.
    Scalars,
    /// Strings and numbers.
    StringsAndNumbers,
    /// Strings.
    Strings,
}

/// Whether references are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refs {
    /// They are, with keywords beside them.
    Kept,
    /// They are, with nothing beside them.
    Alone,
    /// What they refer to is put in their place; where that would not end, JSON text.
    Inlined,
}

impl Dialect {
    /// JSON Schema itself: nothing is lowered but the root, which is an object.
    pub const CANONICAL: &'static Self = &table::WRITTEN;

    /// Returns the dialect of this name, or `None` when there is none.
    pub fn named(name: &str) -> Option<&'static Self> {
        DIALECTS.iter().find(|dialect| dialect.name == name)
    }

    /// Returns the next laxer dialect: what to try when a service refuses a schema of this one.
    pub fn laxer(&self) -> Option<&'static Self> {
        self.laxer.and_then(Self::named)
    }

    /// Lowers the canonical schema of a tool's arguments.
    ///
    /// Any text gives an answer, in time linear in its length: what is no schema asks nothing.
    ///
    /// # Errors
    ///
    /// Fails when what comes out is larger than the service takes; [`Dialect::laxer`] may do.
    pub fn lower(&self, schema: &str) -> Result<Lowered, Refused> {
        lower::lower(self, schema)
    }

    /// Lowers a canonical schema that is at hand as a value; the order of properties is then the value's.
    ///
    /// # Errors
    ///
    /// As [`Dialect::lower`].
    pub fn lower_value(&self, schema: &Value) -> Result<Lowered, Refused> {
        self.lower(&schema.to_string())
    }
}

/// A schema in a dialect, with what was lost on the way there.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The schema, as JSON text.
    pub schema: String,
    /// What the dialect cannot say, in document order.
    pub lost: Vec<Loss>,
    /// How large it is.
    pub census: Census,
    plan: plan::Plan,
}

impl Lowered {
    fn unchanged(schema: &str) -> Self {
        Self {
            schema: schema.to_owned(),
            lost: Vec::new(),
            census: Census::default(),
            plan: plan::Plan::default(),
        }
    }

    /// Returns the schema as a value.
    pub fn to_value(&self) -> Value {
        serde_json::from_str(&self.schema).unwrap_or_default()
    }

    /// Tells whether arguments look the same on the wire as they do in the canonical schema.
    pub fn is_same(&self) -> bool {
        self.plan.is_same()
    }

    /// Turns arguments as a model wrote them into canonical ones. What does not have the form that was asked for stays as
    /// it is, for validation to report.
    pub fn lift<'t>(&self, arguments: &'t str) -> Cow<'t, str> {
        self.plan.carry(arguments, lift::Way::Lift)
    }

    /// Turns canonical arguments into what the model would have written: for the calls in a conversation's history.
    pub fn encode<'t>(&self, arguments: &'t str) -> Cow<'t, str> {
        self.plan.carry(arguments, lift::Way::Encode)
    }
}

/// Something a dialect cannot say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// JSON pointer into the canonical schema, through references.
    pub pointer: String,
    /// The keyword, or `type` for a whole schema.
    pub keyword: String,
    /// What became of it.
    pub change: Change,
}

/// What became of something a dialect cannot say. Validation checks it all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// It stands in the description.
    Described,
    /// The model does not hear of it.
    Dropped,
    /// The value is sent as JSON text, and read back.
    Text,
    /// It is declared as an object or a list, though the schema only says so by its other keywords.
    Guessed,
    /// The branches of a union of objects are one object with the properties of all.
    Merged,
    /// The object is closed, though the schema does not say so: what it does not name cannot be sent.
    Closed,
}

impl Change {
    /// Returns it in words, after "`pattern`:".
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Described => "moved to the description",
            Self::Dropped => "dropped",
            Self::Text => "sent as JSON text",
            Self::Guessed => "guessed from the other keywords",
            Self::Merged => "merged into one object",
            Self::Closed => "other properties cannot be sent",
        }
    }
}

/// Writes ``/properties/a: `pattern` moved to the description``.
impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pointer = match self.pointer.as_str() {
            "" => "/",
            pointer => pointer,
        };
        write!(f, "{pointer}: `{}` {}", self.keyword, self.change.as_str())
    }
}

//! The const schema tree: what the compiler knows of an argument type.

use std::any::TypeId;
use std::borrow::Cow;

use serde_json::Value;

use super::bounds::Bounds;
use super::flatten::Flat;
use super::pattern::Engine;
use crate::tool::Need;

/// What the compiler knows of a type: its kind and the bounds the type itself brings.
///
/// Bounds stand apart, so that a constraint on a parameter tightens those of its type.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The kind of value.
    pub kind: Kind,
    /// The bounds that the type itself brings.
    pub bounds: Bounds,
}

impl Node {
    /// Returns a node of this kind without bounds.
    pub const fn new(kind: Kind) -> Self {
        Self {
            kind,
            bounds: Bounds::NONE,
        }
    }

    /// Returns the node with bounds declared on it, which win where they say something.
    pub const fn within(node: &Self, over: Bounds) -> Self {
        Self {
            kind: node.kind,
            bounds: node.bounds.tightened(over),
        }
    }

    /// Returns a node of this kind and these bounds.
    pub const fn bounded(kind: Kind, bounds: Bounds) -> Self {
        Self { kind, bounds }
    }
}

/// The kind of value a [`Node`] describes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// Text; the word of JSON Schema's `format`, or empty.
    String(&'static str),
    /// A whole number.
    Integer,
    /// Any finite number.
    Number,
    /// True or false.
    Boolean,
    /// Absent, null, or the inner kind.
    Optional(&'static Node),
    /// An array of the inner kind.
    Array(&'static Node),
    /// An array of the inner kind in which no value comes twice.
    Set(&'static Node),
    /// Null.
    Null,
    /// An array with one property a place; their names say nothing.
    Tuple(&'static [Property]),
    /// An object with free keys.
    Map(&'static Node),
    /// An object with declared keys.
    Object(&'static [Property]),
    /// One of a list of words.
    Words(Words),
    /// One of several shapes.
    Union(&'static [Node]),
    /// A declared type. It is reached through a function, so that types may contain themselves.
    Named(&'static Named),
    /// Anything.
    Any,
    /// Known only at run time: schemars fills it once, when a toolset is built.
    Foreign(&'static Foreign),
}

/// The words of a unit enum.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Those a model is told.
    pub shown: &'static [&'static str],
    /// Those that are read too: other names of variants.
    pub aliases: &'static [&'static str],
}

/// A type that was declared with `#[derive(ToolInput)]`.
#[derive(Debug)]
pub struct Named {
    /// Its name, for `$defs` when it contains itself.
    pub name: &'static str,
    /// What tells it from others of that name.
    pub id: fn() -> TypeId,
    /// What it is.
    pub node: fn() -> &'static Node,
}

/// A type that schemars and serde know.
#[derive(Debug)]
pub struct Foreign {
    /// Makes its schema.
    pub schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
    /// Tells whether it may be left out.
    pub optional: fn() -> bool,
    /// What compiles the patterns in its schema.
    pub engine: Engine,
}

/// One parameter of a tool, or one field of a declared type.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// Its name on the wire.
    pub name: &'static str,
    /// Other names it is read under.
    pub aliases: &'static [&'static str],
    /// What it is, for the model.
    pub description: &'static str,
    /// Its schema; `None` when its value is injected.
    pub node: Option<&'static Node>,
    /// The state it is injected from.
    pub need: Option<Need>,
    /// The bounds declared on it.
    pub bounds: Option<&'static Bounds>,
    /// What stands in for it when it is left out.
    pub default: Preset,
    /// Whether its value is secret.
    pub secret: bool,
    /// How far its value may be coerced: `strict`, `safe` or `lenient`; empty for what the tool says.
    pub coerce: &'static str,
    /// Whether it must be there, be it as `null`.
    pub always: bool,
    /// The members that stand in its place; the property itself has no name then.
    pub flat: Option<&'static Flat>,
    /// A value to learn from.
    pub example: Preset,
}

/// What stands in for an argument that is left out.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Preset {
    /// Nothing.
    None,
    /// A value with this JSON text.
    Json(&'static str),
    /// A value that is known at run time, as JSON where it has such a form.
    Made(fn() -> Option<Value>),
}

impl Preset {
    /// Returns the JSON text, where there is a value with such a form.
    pub(crate) fn json(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::None => None,
            Self::Json(json) => Some(Cow::Borrowed(json)),
            Self::Made(make) => make().map(|value| Cow::Owned(value.to_string())),
        }
    }
}

/// One call to learn from: argument by argument.
pub type Example = &'static [(&'static str, Preset)];

/// Where a parameter's value comes from, as its type says.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The arguments.
    pub node: Option<&'static Node>,
    /// The agent's state.
    pub need: Option<Need>,
}

impl Property {
    /// Returns a property without constraints and default.
    pub const fn new(name: &'static str, description: &'static str, source: Source) -> Self {
        Self {
            name,
            aliases: &[],
            description,
            node: source.node,
            need: source.need,
            bounds: None,
            default: Preset::None,
            example: Preset::None,
            secret: false,
            coerce: "",
            always: false,
            flat: None,
        }
    }

    /// Returns a property whose members stand among those of the object that declares it.
    pub const fn flat(flat: &'static Flat) -> Self {
        let source = Source {
            node: None,
            need: None,
        };
        Self {
            flat: Some(flat),
            ..Self::new("", "", source)
        }
    }

    /// Marks its value as secret.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Sets how far its value may be coerced.
    #[must_use]
    pub const fn coerce(mut self, level: &'static str) -> Self {
        self.coerce = level;
        self
    }

    /// Marks it as one that must be there, be it as `null`.
    #[must_use]
    pub const fn always(mut self) -> Self {
        self.always = true;
        self
    }

    /// Adds other names it is read under.
    #[must_use]
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Adds the bounds declared on it.
    #[must_use]
    pub const fn bounds(mut self, bounds: &'static Bounds) -> Self {
        self.bounds = Some(bounds);
        self
    }

    /// Adds what stands in for it when it is left out.
    #[must_use]
    pub const fn default(mut self, default: Preset) -> Self {
        self.default = default;
        self
    }

    /// Adds a value to learn from.
    #[must_use]
    pub const fn example(mut self, example: Preset) -> Self {
        self.example = example;
        self
    }

    pub(crate) const fn has_default(&self) -> bool {
        !matches!(self.default, Preset::None)
    }

    /// Tells whether a call must bring it.
    pub(crate) fn is_required(&self) -> bool {
        let optional = match self.node.map(|node| &node.kind) {
            None | Some(Kind::Optional(_)) => true,
            Some(Kind::Foreign(foreign)) => (foreign.optional)(),
            Some(_) => false,
        };
        self.always || (!optional && !self.has_default())
    }
}

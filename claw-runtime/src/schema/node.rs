//! The const schema tree: what the compiler knows of an argument type.

use std::any::TypeId;

use serde_json::Value;

use super::flatten::Flat;
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
    /// Whether it must be there, be it as `null`.
    pub always: bool,
    /// The members that stand in its place; the property itself has no name then.
    pub flat: Option<&'static Flat>,
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
            secret: false,
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

/// A number of a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Num {
    /// Whole.
    Int(i128),
    /// With a fraction.
    Float(f64),
}

impl Num {
    #[expect(
        clippy::cast_precision_loss,
        reason = "bounds of floats are compared as floats"
    )]
    pub(crate) const fn as_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }
}

/// What limits a value beyond its kind. The same data is schema and check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The least number.
    pub min: Option<Num>,
    /// The greatest number.
    pub max: Option<Num>,
    /// Whether `max` itself is out.
    pub below_max: bool,
    /// What a whole number must be a multiple of.
    pub multiple_of: Option<u64>,
    /// The least count of characters, items or members.
    pub min_len: Option<usize>,
    /// The greatest count of characters, items or members.
    pub max_len: Option<usize>,
    /// The texts allowed; empty for any.
    pub one_of: &'static [&'static str],
}

impl Bounds {
    /// No limits.
    pub const NONE: Self = Self {
        min: None,
        max: None,
        below_max: false,
        multiple_of: None,
        min_len: None,
        max_len: None,
        one_of: &[],
    };

    /// Returns the bounds of whole numbers.
    pub const fn integers(min: Option<i128>, max: Option<i128>) -> Self {
        let mut bounds = Self::NONE;
        if let Some(min) = min {
            bounds.min = Some(Num::Int(min));
        }
        if let Some(max) = max {
            bounds.max = Some(Num::Int(max));
        }
        bounds
    }

    /// Returns the bounds of a count.
    pub const fn len(min: usize, max: usize) -> Self {
        let mut bounds = Self::NONE;
        bounds.min_len = Some(min);
        bounds.max_len = Some(max);
        bounds
    }

    /// Returns both bounds together.
    pub const fn tightened(self, over: Self) -> Self {
        let min = match (self.min, over.min) {
            (Some(own), Some(over)) if own.as_f64() > over.as_f64() => Some(own),
            (own, None) => own,
            (_, over) => over,
        };
        let (max, below_max) = match (self.max, over.max) {
            (Some(own), Some(max)) if own.as_f64() < max.as_f64() => (Some(own), self.below_max),
            (own, None) => (own, self.below_max),
            (_, max) => (max, over.below_max),
        };
        let min_len = match (self.min_len, over.min_len) {
            (Some(own), Some(over)) if own > over => Some(own),
            (own, None) => own,
            (_, over) => over,
        };
        let max_len = match (self.max_len, over.max_len) {
            (Some(own), Some(over)) if own < over => Some(own),
            (own, None) => own,
            (_, over) => over,
        };
        let multiple_of = match over.multiple_of {
            Some(step) => Some(step),
            None => self.multiple_of,
        };
        Self {
            min,
            max,
            below_max,
            multiple_of,
            min_len,
            max_len,
            one_of: if over.one_of.is_empty() {
                self.one_of
            } else {
                over.one_of
            },
        }
    }

    pub(crate) fn allows_len(&self, count: impl FnOnce() -> usize) -> bool {
        if self.min_len.is_none() && self.max_len.is_none() {
            return true;
        }
        let count = count();
        self.min_len.is_none_or(|min| count >= min) && self.max_len.is_none_or(|max| count <= max)
    }

    pub(crate) fn allows_text(&self, text: &str) -> bool {
        self.allows_len(|| text.chars().count())
            && (self.one_of.is_empty() || self.one_of.contains(&text))
    }

    pub(crate) fn allows_int(&self, value: i128) -> bool {
        let at_least = |min| match min {
            Num::Int(min) => value >= min,
            Num::Float(_) => Num::Int(value).as_f64() >= min.as_f64(),
        };
        let at_most = |max| match max {
            Num::Int(max) if self.below_max => value < max,
            Num::Int(max) => value <= max,
            Num::Float(_) => self.below(Num::Int(value).as_f64(), max.as_f64()),
        };
        self.min.is_none_or(at_least)
            && self.max.is_none_or(at_most)
            && self
                .multiple_of
                .is_none_or(|step| step != 0 && value % i128::from(step) == 0)
    }

    pub(crate) fn allows_float(&self, value: f64) -> bool {
        self.min.is_none_or(|min| value >= min.as_f64())
            && self.max.is_none_or(|max| self.below(value, max.as_f64()))
            && self.multiple_of.is_none_or(|step| {
                let step = Num::Int(i128::from(step)).as_f64();
                step != 0.0 && value % step == 0.0
            })
    }

    fn below(&self, value: f64, max: f64) -> bool {
        value < max || (value <= max && !self.below_max)
    }
}

/// Tells whether a declared bound means something for values of `source`.
///
/// `#[tool]` asserts it at compile time for every constraint it sees.
pub const fn takes(source: Source, what: Constraint) -> bool {
    let Some(mut node) = source.node else {
        return false;
    };
    while let Kind::Optional(inner) = node.kind {
        node = inner;
    }
    match what {
        Constraint::Range => matches!(node.kind, Kind::Integer | Kind::Number),
        Constraint::MultipleOf => matches!(node.kind, Kind::Integer | Kind::Number),
        Constraint::Len => matches!(
            node.kind,
            Kind::String(_) | Kind::Array(_) | Kind::Set(_) | Kind::Map(_)
        ),
        Constraint::OneOf => matches!(node.kind, Kind::String(_)),
    }
}

/// A kind of constraint on a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// Least and greatest number.
    Range,
    /// What a number must be a multiple of.
    MultipleOf,
    /// Least and greatest count.
    Len,
    /// The texts allowed.
    OneOf,
}

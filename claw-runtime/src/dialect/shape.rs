//! The outline of a schema: enough to tell which branch of a union a value belongs to.
//!
//! Not a validator. A value that fits a schema fits its shape; the reverse need not hold.

use std::cell::Cell;
use std::sync::Arc;

use super::plan::Defined;
use super::view::View;
use crate::schema::json::Json;

/// A set of JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const NONE: Self = Self(0);
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    /// Integers too.
    pub(super) const NUMBER: Self = Self(8 | 4);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);
    pub(super) const ALL: Self = Self(127);

    const NAMES: [(&'static str, Self); 7] = [
        ("string", Self::STRING),
        ("number", Self::NUMBER),
        ("integer", Self::INTEGER),
        ("boolean", Self::BOOLEAN),
        ("object", Self::OBJECT),
        ("array", Self::ARRAY),
        ("null", Self::NULL),
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        let mut names = Self::NAMES.iter();
        names
            .find(|(known, _)| *known == name)
            .map(|(_, kind)| *kind)
    }

    /// Iterates over the single types, `number` for both kinds of number.
    pub(super) fn each(self) -> impl Iterator<Item = (&'static str, Self)> {
        let mut left = self;
        Self::NAMES.into_iter().filter(move |(_, kind)| {
            let there = left.has(*kind);
            if there {
                left = left.without(*kind);
            }
            there
        })
    }

    pub(super) fn of(value: &Json<'_>) -> Self {
        match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOLEAN,
            // `1.0` is an integer to JSON Schema, so a number cannot be told from one by its look.
            Json::Number(_) => Self::INTEGER,
            Json::String(_) => Self::STRING,
            Json::Array(_) => Self::ARRAY,
            Json::Object(_) => Self::OBJECT,
        }
    }

    pub(super) const fn and(self, more: Self) -> Self {
        Self(self.0 | more.0)
    }

    pub(super) const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn without(self, less: Self) -> Self {
        Self(self.0 & !less.0)
    }

    pub(super) const fn has(self, those: Self) -> bool {
        self.0 & those.0 == those.0
    }
}

/// The outline of a schema.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) kinds: Kinds,
    /// The only values there are, as canonical text.
    pub(super) members: Option<Vec<String>>,
    pub(super) fields: Vec<Field>,
    /// Whether an object has no other fields.
    pub(super) closed: bool,
    /// What the other fields are, where they are anything in particular.
    pub(super) others: Option<Arc<Shape>>,
    pub(super) items: Option<Arc<Shape>>,
    /// What the first items of a list are, where each place has its own.
    pub(super) places: Vec<Arc<Shape>>,
    /// The least and the most items of a list, or properties of an object.
    pub(super) counts: (usize, usize),
    /// Whether a list stands for a map.
    pub(super) is_map: bool,
    /// The branches of a union; a value fits one of them.
    pub(super) any: Vec<Arc<Shape>>,
    /// Stands for a definition.
    pub(super) defined: Option<usize>,
}

/// A property of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) shape: Arc<Shape>,
}

impl Shape {
    pub(super) fn of(kinds: Kinds) -> Self {
        Self {
            kinds,
            members: None,
            fields: Vec::new(),
            closed: false,
            others: None,
            items: None,
            places: Vec::new(),
            counts: (0, usize::MAX),
            is_map: false,
            any: Vec::new(),
            defined: None,
        }
    }

    pub(super) fn anything() -> Arc<Self> {
        Arc::new(Self::of(Kinds::ALL))
    }

    pub(super) fn is_anything(&self) -> bool {
        *self == Self::of(Kinds::ALL)
    }

    pub(super) fn any(branches: Vec<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self {
            any: branches,
            ..Self::of(Kinds::ALL)
        })
    }

    pub(super) fn defined(at: usize) -> Arc<Self> {
        Arc::new(Self {
            defined: Some(at),
            ..Self::of(Kinds::ALL)
        })
    }

    /// Returns it with the counts that these keywords set.
    pub(super) fn counted(self: Arc<Self>, view: &View<'_>, [least, most]: [&str; 2]) -> Arc<Self> {
        let counts = (
            view.count(least).unwrap_or(0),
            view.count(most).unwrap_or(usize::MAX),
        );
        if counts == self.counts {
            return self;
        }
        Arc::new(Self {
            counts,
            ..(*self).clone()
        })
    }

    pub(super) fn or_null(self: &Arc<Self>) -> Arc<Self> {
        if self.any.is_empty() && self.defined.is_none() && self.members.is_none() {
            let kinds = self.kinds.and(Kinds::NULL);
            return Arc::new(Self {
                kinds,
                ..(**self).clone()
            });
        }
        Self::any(vec![self.clone(), Arc::new(Self::of(Kinds::NULL))])
    }
}

/// Which of two forms of a definition is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The canonical one.
    Own,
    /// The one on the wire.
    Wire,
}

/// Looks through shapes, for a bounded time.
pub(super) struct Look<'p> {
    pub(super) defs: &'p [Defined],
    pub(super) side: Side,
    /// Steps left; without any, everything fits and nothing is apart.
    pub(super) fuel: Cell<usize>,
}

/// How far two shapes are compared.
const DEPTH: usize = 6;

impl<'p> Look<'p> {
    fn burn(&self, steps: usize) -> bool {
        let left = self.fuel.get();
        self.fuel.set(left.saturating_sub(steps));
        left > 0
    }

    fn resolve(&self, mut shape: &'p Shape) -> Option<&'p Shape> {
        for _ in 0..DEPTH {
            let Some(at) = shape.defined else {
                return Some(shape);
            };
            let defined = self.defs.get(at)?;
            shape = match self.side {
                Side::Own => defined.own.as_deref()?,
                Side::Wire => defined.wire.as_deref()?,
            };
        }
        None
    }

    /// Tells whether a value may fit.
    pub(super) fn fits(&self, shape: &'p Shape, value: &Json<'_>) -> bool {
        let (true, Some(shape)) = (self.burn(1), self.resolve(shape)) else {
            return true;
        };
        if !shape.any.is_empty() {
            return shape.any.iter().any(|branch| self.fits(branch, value));
        }
        if !shape.kinds.has(Kinds::of(value)) {
            return false;
        }
        if let Some(members) = &shape.members {
            return members.contains(&canonical(value));
        }
        match value {
            Json::Array(items) => {
                let (least, most) = shape.counts;
                let of = |at: usize| shape.places.get(at).or(shape.items.as_ref());
                (least..=most).contains(&items.len())
                    && (0..)
                        .zip(items)
                        .all(|(at, item)| of(at).is_none_or(|of| self.fits(of, item)))
            }
            Json::Object(_) => self.fits_object(shape, value),
            _ => true,
        }
    }

    fn fits_object(&self, shape: &'p Shape, value: &Json<'_>) -> bool {
        let count = value.entries().count();
        let (least, most) = shape.counts;
        if !(least..=most).contains(&count) {
            return false;
        }
        let mut known = 0;
        for field in &shape.fields {
            if !self.burn(count) {
                return true;
            }
            match value.member(&field.name) {
                Some(value) => {
                    known += 1;
                    if !self.fits(&field.shape, value) {
                        return false;
                    }
                }
                None if field.required => return false,
                None => {}
            }
        }
        if let Some(others) = &shape.others {
            let mut entries = value.entries();
            return entries.all(|(name, value)| {
                let is_declared = shape.fields.iter().any(|field| field.name == name);
                is_declared || self.fits(others, value)
            });
        }
        !shape.closed || count <= known
    }

    /// Tells whether no value fits both; two lists that are no maps may share the empty one, which is the same in both.
    pub(super) fn apart(&self, left: &'p Shape, right: &'p Shape, depth: usize) -> bool {
        if depth == DEPTH || !self.burn(1) {
            return false;
        }
        let (Some(left), Some(right)) = (self.resolve(left), self.resolve(right)) else {
            return false;
        };
        if !left.any.is_empty() {
            let mut branches = left.any.iter();
            return branches.all(|branch| self.apart(branch, right, depth + 1));
        }
        if !right.any.is_empty() {
            return self.apart(right, left, depth);
        }
        let common = left.kinds.common(right.kinds);
        if let (Some(members), Some(others)) = (&left.members, &right.members) {
            return !members.iter().any(|member| others.contains(member));
        }
        if common == Kinds::OBJECT {
            return self.objects_apart(left, right, depth)
                || self.objects_apart(right, left, depth);
        }
        if common == Kinds::ARRAY && !left.is_map && !right.is_map {
            return match (&left.items, &right.items) {
                (Some(left), Some(right)) => self.apart(left, right, depth + 1),
                _ => false,
            };
        }
        common == Kinds::NONE
    }

    /// Tells whether something the left one requires is not to be had in the right one.
    fn objects_apart(&self, left: &'p Shape, right: &'p Shape, depth: usize) -> bool {
        let required = left.fields.iter().filter(|field| field.required);
        required.into_iter().any(|field| {
            self.burn(right.fields.len());
            let other = right.fields.iter().find(|other| other.name == field.name);
            match other {
                Some(other) => self.apart(&field.shape, &other.shape, depth + 1),
                None => right.closed,
            }
        })
    }
}

/// Returns a text that is equal for equal values.
pub(super) fn canonical(value: &Json<'_>) -> String {
    let mut text = String::new();
    value.write_canonical(&mut text);
    text
}

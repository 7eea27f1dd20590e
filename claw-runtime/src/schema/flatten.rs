//! `#[serde(flatten)]`: the members of one type among those of another.
//!
//! The object is read once a type that takes part: each reads the members it declares and leaves those of the others.
//! So nothing is buffered, and a member that nobody declares is still refused.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;

use serde_json::{Map, Value};

use super::input::ToolInput;
use super::literal::equal;
use super::node::{Node, Property};

/// A type whose members may stand among those of another type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be flattened",
    label = "its members cannot stand among those of another type",
    note = "flatten a struct with named fields that has `#[derive(ToolInput)]`, or a map with text as keys; give anything else a field of its own"
)]
pub trait Flatten: ToolInput {
    /// The members.
    #[doc(hidden)]
    const FLAT: &'static Flat;
}

/// The members of an object.
#[derive(Clone, Copy, Debug)]
pub struct Flat {
    /// Those with names.
    pub fields: &'static [Property],
    /// What all others are; `None` when there are no others.
    pub rest: Option<&'static Node>,
}

impl<T: Flatten> Flatten for Box<T> {
    const FLAT: &'static Flat = T::FLAT;
}

macro_rules! maps {
    ($(($($generics:tt)*) $t:ty: $node:expr;)*) => {$(
        impl<$($generics)*> Flatten for $t {
            const FLAT: &'static Flat = &Flat { fields: &[], rest: Some($node) };
        }
    )*};
}

maps! {
    (V: ToolInput) BTreeMap<String, V>: V::NODE;
    (V: ToolInput, S: BuildHasher + Default) HashMap<String, V, S>: V::NODE;
    () Map<String, Value>: Value::NODE;
}

/// Tells whether a member is declared by name.
pub(crate) const fn declares(fields: &[Property], name: &str) -> bool {
    let mut at = 0;
    while at < fields.len() {
        if is_read_as(&fields[at], name) {
            return true;
        }
        at += 1;
    }
    false
}

/// Tells whether members that are not declared have a place.
pub(crate) const fn is_open(fields: &[Property]) -> bool {
    rests(fields) > 0
}

/// Tells whether no member is declared by two parts of an object.
pub const fn distinct(fields: &[Property]) -> bool {
    let mut at = 0;
    while at < fields.len() {
        let mut earlier = 0;
        while earlier < at {
            if clash(&fields[earlier], &fields[at]) {
                return false;
            }
            earlier += 1;
        }
        at += 1;
    }
    true
}

/// Returns how many maps are flattened into an object.
pub const fn rests(fields: &[Property]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < fields.len() {
        if let Some(flat) = fields[at].flat {
            count += flat.rest.is_some() as usize + rests(flat.fields);
        }
        at += 1;
    }
    count
}

const fn clash(one: &Property, other: &Property) -> bool {
    let mut at = 0;
    if let Some(flat) = other.flat {
        while at < flat.fields.len() {
            if clash(one, &flat.fields[at]) {
                return true;
            }
            at += 1;
        }
        return false;
    }
    while at < other.aliases.len() {
        if is_read_as(one, other.aliases[at]) {
            return true;
        }
        at += 1;
    }
    is_read_as(one, other.name)
}

const fn is_read_as(property: &Property, name: &str) -> bool {
    if let Some(flat) = property.flat {
        return declares(flat.fields, name);
    }
    if property.node.is_some() && equal(property.name.as_bytes(), name.as_bytes()) {
        return true;
    }
    let mut at = 0;
    while at < property.aliases.len() {
        if equal(property.aliases[at].as_bytes(), name.as_bytes()) {
            return true;
        }
        at += 1;
    }
    false
}

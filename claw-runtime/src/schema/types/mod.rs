//! Argument types of the standard library.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::schema::bounds::{Bounds, Num};
use crate::schema::cursor::Cursor;
use crate::schema::input::ToolInput;
use crate::schema::node::{Kind, Node, Property, Source};
use crate::tool::Reject;

mod numbers;

#[cold]
fn out_of_range(cursor: &mut Cursor<'_>, start: usize) -> Reject {
    cursor.rewind(start);
    cursor.reject("out of range")
}

impl ToolInput for bool {
    const NODE: &'static Node = &Node::new(Kind::Boolean);

    #[inline]
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        cursor.boolean()
    }

    fn to_json(&self) -> Option<Value> {
        Some(Value::from(*self))
    }
}

impl ToolInput for char {
    const NODE: &'static Node = &Node::bounded(Kind::String(""), Bounds::len(1, 1));

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        let start = cursor.position();
        let text = cursor.string()?;
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(char), None) => Ok(char),
            _ => {
                cursor.rewind(start);
                Err(cursor.reject("expected one character"))
            }
        }
    }

    fn fits(&self, bounds: &Bounds) -> bool {
        bounds.allows_text(self.encode_utf8(&mut [0; 4]))
    }

    fn to_json(&self) -> Option<Value> {
        Some(Value::from(self.to_string()))
    }
}

macro_rules! texts {
    ($($t:ty),*) => {$(
        impl ToolInput for $t {
            const NODE: &'static Node = &Node::new(Kind::String(""));

            fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
                cursor.string().map(|text| text.into_owned().into())
            }

            fn fits(&self, bounds: &Bounds) -> bool {
                bounds.allows_text(self)
            }

            fn to_json(&self) -> Option<Value> {
                Some(Value::from(&**self))
            }
        }
    )*};
}

texts!(String, Box<str>, Arc<str>, Rc<str>);

/// A path, as text: only paths that are UTF-8 have a JSON form.
impl ToolInput for PathBuf {
    const NODE: &'static Node = &Node::new(Kind::String(""));

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        String::read(cursor).map(Self::from)
    }

    fn fits(&self, bounds: &Bounds) -> bool {
        self.to_str().is_some_and(|text| bounds.allows_text(text))
    }

    fn to_json(&self) -> Option<Value> {
        self.to_str().map(Value::from)
    }
}

macro_rules! addresses {
    ($($t:ty: $format:literal;)*) => {$(
        impl ToolInput for $t {
            const NODE: &'static Node = &Node::new(Kind::String($format));

            fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
                let start = cursor.position();
                cursor.string()?.parse().map_err(|_| {
                    cursor.rewind(start);
                    cursor.reject("expected an address")
                })
            }

            fn fits(&self, bounds: &Bounds) -> bool {
                bounds.allows_text(&self.to_string())
            }

            fn to_json(&self) -> Option<Value> {
                Some(Value::from(self.to_string()))
            }
        }
    )*};
}

addresses! {
    Ipv4Addr: "ipv4";
    Ipv6Addr: "ipv6";
    IpAddr: "";
    SocketAddr: "";
}

/// A span of time in seconds, fractions allowed: `1.5`. The parameter's description must say so, as the schema says only
/// that it is a number.
impl ToolInput for Duration {
    const NODE: &'static Node = &Node::bounded(
        Kind::Number,
        Bounds {
            min: Some(Num::Int(0)),
            // Seconds are counted in 64 bits.
            max: Some(Num::Int(1 << 64)),
            below_max: true,
            ..Bounds::NONE
        },
    );

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        let start = cursor.position();
        Self::try_from_secs_f64(cursor.float()?).map_err(|_| out_of_range(cursor, start))
    }

    fn fits(&self, bounds: &Bounds) -> bool {
        bounds.allows_float(self.as_secs_f64())
    }

    fn to_json(&self) -> Option<Value> {
        if self.subsec_nanos() == 0 {
            return Some(Value::from(self.as_secs()));
        }
        Some(Value::from(self.as_secs_f64()))
    }
}

impl ToolInput for Value {
    const NODE: &'static Node = &Node::new(Kind::Any);

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        match cursor.peek() {
            Some(b'{') => Map::read(cursor).map(Self::Object),
            Some(b'[') => Vec::read(cursor).map(Self::Array),
            Some(b'"') => String::read(cursor).map(Self::String),
            _ => {
                let start = cursor.position();
                serde_json::from_str(cursor.skip()?).map_err(|_| out_of_range(cursor, start))
            }
        }
    }

    fn to_json(&self) -> Option<Value> {
        Some(self.clone())
    }
}

impl<T: ToolInput> ToolInput for Option<T> {
    const NODE: &'static Node = &Node::new(Kind::Optional(T::NODE));

    #[inline]
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        if cursor.null() {
            Ok(None)
        } else {
            T::read(cursor).map(Some)
        }
    }

    #[inline]
    fn absent() -> Option<Self> {
        Some(None)
    }

    fn fits(&self, bounds: &Bounds) -> bool {
        self.as_ref().is_none_or(|value| value.fits(bounds))
    }

    fn to_json(&self) -> Option<Value> {
        match self {
            Some(value) => value.to_json(),
            None => Some(Value::Null),
        }
    }
}

macro_rules! pointers {
    ($($t:ident),*) => {$(
        impl<T: ToolInput> ToolInput for $t<T> {
            const NODE: &'static Node = T::NODE;

            fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
                T::read(cursor).map(Self::new)
            }

            fn absent() -> Option<Self> {
                T::absent().map(Self::new)
            }

            fn fits(&self, bounds: &Bounds) -> bool {
                (**self).fits(bounds)
            }

            fn to_json(&self) -> Option<Value> {
                (**self).to_json()
            }
        }
    )*};
}

pointers!(Box, Arc, Rc);

impl<T: ToolInput> ToolInput for Vec<T> {
    const NODE: &'static Node = &Node::new(Kind::Array(T::NODE));

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        let mut items = Self::new();
        cursor.array(|cursor| {
            items.push(T::read(cursor)?);
            Ok(())
        })?;
        Ok(items)
    }

    fn fits(&self, bounds: &Bounds) -> bool {
        bounds.allows_len(|| self.len()) && bounds.allows_items(self)
    }

    fn to_json(&self) -> Option<Value> {
        self.iter().map(T::to_json).collect()
    }
}

impl<T: ToolInput, const N: usize> ToolInput for [T; N] {
    const NODE: &'static Node = &Node::bounded(Kind::Array(T::NODE), Bounds::len(N, N));

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        let start = cursor.position();
        Self::try_from(Vec::read(cursor)?).map_err(|_| {
            cursor.rewind(start);
            cursor.reject("an array of another length")
        })
    }

    fn fits(&self, bounds: &Bounds) -> bool {
        bounds.allows_len(|| N) && bounds.allows_items(self)
    }

    fn to_json(&self) -> Option<Value> {
        self.iter().map(T::to_json).collect()
    }
}

macro_rules! sets {
    ($(($($generics:tt)*) $t:ty;)*) => {$(
        impl<$($generics)*> ToolInput for $t {
            const NODE: &'static Node = &Node::new(Kind::Set(T::NODE));

            fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
                let mut items = Self::default();
                cursor.array(|cursor| {
                    let start = cursor.position();
                    if items.insert(T::read(cursor)?) {
                        return Ok(());
                    }
                    cursor.rewind(start);
                    Err(cursor.reject("a value given twice"))
                })?;
                Ok(items)
            }

            fn fits(&self, bounds: &Bounds) -> bool {
                bounds.allows_len(|| self.len()) && bounds.allows_items(self)
            }

            fn to_json(&self) -> Option<Value> {
                self.iter().map(T::to_json).collect()
            }
        }
    )*};
}

sets! {
    (T: ToolInput + Ord) BTreeSet<T>;
    (T: ToolInput + Hash + Eq, S: BuildHasher + Default) HashSet<T, S>;
}

macro_rules! maps {
    ($(($($generics:tt)*) $t:ty: $v:ty;)*) => {$(
        impl<$($generics)*> ToolInput for $t {
            const NODE: &'static Node = &Node::new(Kind::Map(<$v>::NODE));

            fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
                let mut members = Self::default();
                cursor.object(|cursor, key| {
                    if members.contains_key(key) {
                        return Err(cursor.reject("a name given twice"));
                    }
                    members.insert(key.to_owned(), <$v>::read(cursor)?);
                    Ok(())
                })?;
                Ok(members)
            }

            fn fits(&self, bounds: &Bounds) -> bool {
                bounds.allows_len(|| self.len())
            }

            fn to_json(&self) -> Option<Value> {
                let member = |(name, value): (&String, &$v)| Some((name.clone(), value.to_json()?));
                self.iter().map(member).collect::<Option<Map<_, _>>>().map(Value::Object)
            }
        }
    )*};
}

maps! {
    (V: ToolInput) BTreeMap<String, V>: V;
    (V: ToolInput, S: BuildHasher + Default) HashMap<String, V, S>: V;
    () Map<String, Value>: Value;
}

impl ToolInput for () {
    const NODE: &'static Node = &Node::new(Kind::Null);

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        if cursor.null() {
            Ok(())
        } else {
            Err(cursor.reject("expected null"))
        }
    }

    fn to_json(&self) -> Option<Value> {
        Some(Value::Null)
    }
}

/// Returns a place of a tuple.
const fn place(node: &'static Node) -> Property {
    let source = Source {
        node: Some(node),
        need: None,
    };
    Property::new("", "", source)
}

macro_rules! tuples {
    ($(($($t:ident),*);)*) => {$(
        impl<$($t: ToolInput),*> ToolInput for ($($t,)*) {
            const NODE: &'static Node = &Node::new(Kind::Tuple(&[$(place($t::NODE)),*]));

            fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
                cursor.enter(b'[', "expected an array")?;
                let mut first = true;
                let tuple = ($({
                    cursor.place(std::mem::take(&mut first))?;
                    $t::read(cursor)?
                },)*);
                cursor.close(first)?;
                Ok(tuple)
            }

            fn to_json(&self) -> Option<Value> {
                #[allow(non_snake_case)]
                let ($($t,)*) = self;
                Some(Value::Array(vec![$($t.to_json()?),*]))
            }
        }
    )*};
}

tuples! {
    (A);
    (A, B);
    (A, B, C);
    (A, B, C, D);
    (A, B, C, D, E);
    (A, B, C, D, E, F);
}

#[cfg(test)]
mod tests;

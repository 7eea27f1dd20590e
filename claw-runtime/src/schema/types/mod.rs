//! Argument types of the standard library.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, Hash};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::{NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::schema::bounds::{Bounds, Num};
use crate::schema::cursor::Cursor;
use crate::schema::input::ToolInput;
use crate::schema::node::{Kind, Node};
use crate::tool::Reject;

macro_rules! integers {
    ($($t:ty: $min:expr, $max:expr;)*) => {$(
        impl ToolInput for $t {
            const NODE: &'static Node = &Node::bounded(Kind::Integer, Bounds::integers($min, $max));

            #[inline]
            fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
                let start = cursor.position();
                let value = match cursor.short_integer() {
                    Some(value) => Self::try_from(value).ok(),
                    None => match cursor.integer()? {
                        (false, size) => Self::try_from(size).ok(),
                        (true, size) => negated(size).and_then(|value| Self::try_from(value).ok()),
                    },
                };
                value.ok_or_else(|| out_of_range(cursor, start))
            }

            fn fits(&self, bounds: &Bounds) -> bool {
                // What is beyond an `i128` is beyond every bound that can be written, but for "at least".
                bounds.allows_int(i128::try_from(*self).unwrap_or(i128::MAX))
            }

            fn to_json(&self) -> Option<Value> {
                serde_json::to_value(self).ok()
            }
        }
    )*};
}

fn negated(size: u128) -> Option<i128> {
    0_i128.checked_sub_unsigned(size)
}

#[cold]
fn out_of_range(cursor: &mut Cursor<'_>, start: usize) -> Reject {
    cursor.rewind(start);
    cursor.reject("out of range")
}

// Providers choke on bounds beyond 2^53, so wide types carry only what says something: no negative numbers.
integers! {
    i8: Some(-0x80), Some(0x7f);
    i16: Some(-0x8000), Some(0x7fff);
    i32: Some(-0x8000_0000), Some(0x7fff_ffff);
    i64: None, None;
    i128: None, None;
    isize: None, None;
    u8: Some(0), Some(0xff);
    u16: Some(0), Some(0xffff);
    u32: Some(0), Some(0xffff_ffff);
    u64: Some(0), None;
    u128: Some(0), None;
    usize: Some(0), None;
}

macro_rules! non_zero {
    ($($t:ty: $int:ty, $max:expr;)*) => {$(
        impl ToolInput for $t {
            const NODE: &'static Node = &Node::bounded(Kind::Integer, Bounds::integers(Some(1), $max));

            fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
                let start = cursor.position();
                Self::new(<$int>::read(cursor)?).ok_or_else(|| out_of_range(cursor, start))
            }

            fn fits(&self, bounds: &Bounds) -> bool {
                self.get().fits(bounds)
            }

            fn to_json(&self) -> Option<Value> {
                self.get().to_json()
            }
        }
    )*};
}

non_zero! {
    NonZeroU8: u8, Some(0xff);
    NonZeroU16: u16, Some(0xffff);
    NonZeroU32: u32, Some(0xffff_ffff);
    NonZeroU64: u64, None;
    NonZeroU128: u128, None;
    NonZeroUsize: usize, None;
}

impl ToolInput for f64 {
    const NODE: &'static Node = &Node::new(Kind::Number);

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        cursor.float()
    }

    fn fits(&self, bounds: &Bounds) -> bool {
        bounds.allows_float(*self)
    }

    fn to_json(&self) -> Option<Value> {
        Some(Value::from(*self))
    }
}

impl ToolInput for f32 {
    const NODE: &'static Node = &Node::new(Kind::Number);

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        let start = cursor.position();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the nearest `f32` is meant"
        )]
        let value = cursor.float()? as Self;
        if value.is_finite() {
            Ok(value)
        } else {
            Err(out_of_range(cursor, start))
        }
    }

    fn fits(&self, bounds: &Bounds) -> bool {
        bounds.allows_float(f64::from(*self))
    }

    fn to_json(&self) -> Option<Value> {
        Some(Value::from(*self))
    }
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
            Some(b'{') => {
                let mut members = serde_json::Map::new();
                cursor.object(|cursor, key| {
                    if members.contains_key(key) {
                        return Err(cursor.reject("a name given twice"));
                    }
                    members.insert(key.to_owned(), Self::read(cursor)?);
                    Ok(())
                })?;
                Ok(Self::Object(members))
            }
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
    ($(($($generics:tt)*) $t:ty;)*) => {$(
        impl<$($generics)*> ToolInput for $t {
            const NODE: &'static Node = &Node::new(Kind::Map(V::NODE));

            fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
                let mut members = Self::default();
                cursor.object(|cursor, key| {
                    if members.contains_key(key) {
                        return Err(cursor.reject("a name given twice"));
                    }
                    members.insert(key.to_owned(), V::read(cursor)?);
                    Ok(())
                })?;
                Ok(members)
            }

            fn fits(&self, bounds: &Bounds) -> bool {
                bounds.allows_len(|| self.len())
            }

            fn to_json(&self) -> Option<Value> {
                let member = |(name, value): (&String, &V)| Some((name.clone(), value.to_json()?));
                self.iter().map(member).collect::<Option<serde_json::Map<_, _>>>().map(Value::Object)
            }
        }
    )*};
}

maps! {
    (V: ToolInput) BTreeMap<String, V>;
    (V: ToolInput, S: BuildHasher + Default) HashMap<String, V, S>;
}

macro_rules! tuples {
    ($(($($t:ident),*);)*) => {$(
        impl<$($t: ToolInput),*> ToolInput for ($($t,)*) {
            const NODE: &'static Node = &Node::new(Kind::Tuple(&[$($t::NODE),*]));

            fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
                cursor.enter(b'[', "expected an array")?;
                let mut first = true;
                let tuple = ($(
                    {
                        if !cursor.more(b']', std::mem::take(&mut first))? {
                            return Err(cursor.reject("an array that is too short"));
                        }
                        $t::read(cursor)?
                    },
                )*);
                if cursor.more(b']', first)? {
                    return Err(cursor.reject("an array that is too long"));
                }
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

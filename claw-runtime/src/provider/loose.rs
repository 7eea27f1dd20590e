//! Documents that are not what their format says: a name that stands twice counts once, the last; what should be an object
//! and is none is an empty one.
//!
//! A document that is right is read as it stands, without any of this.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserializer, IntoDeserializer, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::Error;
use serde_json::value::RawValue;

use super::lenient::MOST;

/// Reads a document, strictly or else loosely; `None` when it is not JSON, or larger than an answer gets.
pub(crate) fn read<'t, T: Deserialize<'t>>(json: &'t str) -> Option<T> {
    let strict = serde_json::from_str(json);
    strict.ok().or_else(|| {
        let raw: &RawValue = serde_json::from_str(json).ok()?;
        T::deserialize(Loose(raw)).ok()
    })
}

/// A value that is read loosely. What a format keeps as it came is not looked into.
#[derive(Clone, Copy)]
struct Loose<'t>(&'t RawValue);

impl<'t> Loose<'t> {
    fn is_null(self) -> bool {
        self.0.get() == "null"
    }

    /// Reads the members of an object; of anything else there are none.
    fn members(self) -> Result<Vec<(Cow<'t, str>, Loose<'t>)>, Error> {
        let mut members = Members::default();
        if self.0.get().starts_with('{') {
            members = serde_json::from_str(self.0.get())?;
        }
        Ok(members.0.into_values().collect())
    }
}

impl<'t> IntoDeserializer<'t, Error> for Loose<'t> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'t> Deserializer<'t> for Loose<'t> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.get().as_bytes()[0] {
            b'{' => visitor.visit_map(MapDeserializer::new(self.members()?.into_iter())),
            b'[' => {
                let Items(items) = serde_json::from_str(self.0.get())?;
                visitor.visit_seq(SeqDeserializer::new(items.into_iter()))
            }
            _ => self.0.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.is_null() {
            true => visitor.visit_none(),
            false => visitor.visit_some(self),
        }
    }

    fn deserialize_bool<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Error> {
        let is_true = matches!(self.0.get(), "true" | "\"true\"" | "1");
        visitor.visit_bool(is_true)
    }

    fn deserialize_struct<V: Visitor<'t>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let members = MapDeserializer::new(self.members()?.into_iter());
        visitor.visit_map(members)
    }

    fn deserialize_newtype_struct<V: Visitor<'t>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map enum identifier
    }
}

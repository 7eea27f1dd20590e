//! Documents that are not what their format says: a name that stands twice counts once, the last; one thing in the place of a
//! list is a list of one; a text in the place of an object is what that says, where it says something; and what else should be
//! an object and is none is an empty one.
//!
//! A document that is right is read as it stands, without any of this.

use std::collections::HashMap;
use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::Error;
use serde_json::value::RawValue;

use super::lenient::{MOST, few};

/// Where an object says something: the members that a text, or a list, in its place is read as.
const SAYS: [&str; 3] = ["content", "parts", "text"];

/// Reads a document, strictly or else loosely; `None` when it is no JSON object, or larger than an answer gets.
pub(crate) fn read<'t, T: Deserialize<'t>>(json: &'t str) -> Option<T> {
    // A text may tell what went wrong, and a list is several or none, so the whole is not read as nothing.
    let is_object = json.trim_start().starts_with('{');
    let strict = || serde_json::from_str(json).ok();
    is_object.then(|| {
        strict().or_else(|| T::deserialize(Loose(serde_json::from_str(json).ok()?)).ok())
    })?
}

/// Reads a part of a document, strictly or else loosely.
pub(crate) fn part<'t, T: Deserialize<'t>>(raw: &'t RawValue) -> Option<T> {
    read(raw.get()).or_else(|| T::deserialize(Loose(raw)).ok())
}

/// A value that is read loosely. What a format keeps as it came is not looked into.
#[derive(Clone, Copy)]
struct Loose<'t>(&'t RawValue);

impl<'t> Loose<'t> {
    fn is_null(self) -> bool {
        self.0.get() == "null"
    }

    /// Reads the members of an object; of anything else there are none.
    fn members(self) -> Result<Vec<(String, Loose<'t>)>, Error> {
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

impl<'de> Deserializer<'de> for Loose<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0.get().as_bytes()[0] {
            b'{' => visitor.visit_map(MapDeserializer::new(self.members()?.into_iter())),
            b'[' => self.deserialize_seq(visitor),
            _ => self.0.deserialize_any(visitor),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let items = match self.0.get() {
            list if list.starts_with('[') => {
                let Items(items) = serde_json::from_str(list)?;
                items.unwrap_or_default()
            }
            one if one.starts_with(['{', '"']) && one != "\"\"" => vec![self.0],
            _ => return visitor.visit_none(),
        };
        visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(Loose)))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.is_null() {
            true => visitor.visit_none(),
            false => visitor.visit_some(self),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let is_true = matches!(self.0.get(), "true" | "\"true\"" | "1");
        visitor.visit_bool(is_true)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let members = match self.0.get().as_bytes()[0] {
            b'"' | b'[' => {
                let says = SAYS.into_iter().find(|name| fields.contains(name));
                says.map(|name| (name.to_owned(), self))
                    .into_iter()
                    .collect()
            }
            _ => self.members()?,
        };
        visitor.visit_map(MapDeserializer::new(members.into_iter()))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct
        tuple tuple_struct map enum identifier
    }
}

#[derive(Deserialize)]
struct Items<'t>(#[serde(borrow, deserialize_with = "few")] Option<Vec<&'t RawValue>>);

/// The members of an object by their names without what two spellings of a name differ in: of `toolCalls` and `tool_calls`
/// the last counts, too.
#[derive(Default)]
struct Members<'t>(HashMap<String, (String, Loose<'t>)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Of;
        impl<'de> Visitor<'de> for Of {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an object of at most {MOST} members")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
                let mut members = Members::default();
                while let Some((name, value)) = object.next_entry::<String, &'de RawValue>()? {
                    let plain = name.replace('_', "").to_ascii_lowercase();
                    members.0.insert(plain, (name, Loose(value)));
                    if members.0.len() > MOST {
                        return Err(de::Error::invalid_length(MOST + 1, &self));
                    }
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::lenient::{Count, number, text};

    #[derive(Default, Deserialize)]
    struct Outer<'a> {
        #[serde(borrow, default)]
        name: Option<&'a RawValue>,
        #[serde(borrow, default, alias = "one_inner")]
        inner: Option<Inner<'a>>,
        #[serde(borrow, default, deserialize_with = "few")]
        list: Option<Vec<Option<Inner<'a>>>>,
        #[serde(default)]
        count: Count,
        #[serde(default)]
        done: Option<bool>,
    }

    #[derive(Default, Deserialize)]
    struct Inner<'a> {
        #[serde(borrow, default)]
        n: Option<&'a RawValue>,
    }

    fn ns(json: &str) -> (String, Option<u64>, Vec<Option<u64>>) {
        let outer: Outer<'_> = read(json).unwrap_or_else(|| panic!("{json}"));
        let n = |inner: Inner<'_>| number(inner.n);
        let list = outer.list.into_iter().flatten().flatten();
        (
            text(outer.name).into_owned(),
            outer.inner.and_then(n),
            list.map(n).collect(),
        )
    }

    #[test]
    fn the_last_of_two_counts() {
        let name = |name: &str| name.to_owned();
        for (json, read) in [
            (r#"{"name":"a","name":"b"}"#, (name("b"), None, vec![])),
            (
                r#"{"inner":{"n":1},"inner":{"n":2}}"#,
                (name(""), Some(2), vec![]),
            ),
            (
                r#"{"inner":{"n":1,"n":2},"x":1,"x":2}"#,
                (name(""), Some(2), vec![]),
            ),
            (r#"{"name":"a","name":null}"#, (name(""), None, vec![])),
            (
                r#"{"list":[{"n":1,"n":3},null,{}]}"#,
                (name(""), None, vec![Some(3), None]),
            ),
        ] {
            assert_eq!(ns(json), read, "{json}");
        }
    }

    #[test]
    fn what_is_of_another_type_is_nothing() {
        for other in ["null", "1", "-1", "1.5", "true", "\"x\"", "[1]", "[]", "{}"] {
            let json = format!(
                r#"{{"name":"a","inner":{other},"count":{other},"done":{other},"extra":{other}}}"#
            );
            assert_eq!(ns(&json), ("a".to_owned(), None, vec![]), "{json}");
            let items = format!(r#"{{"name":"a","list":[{other}]}}"#);
            assert_eq!(ns(&items).0, "a", "{items}");
            if !other.starts_with(['[', '{', '"']) {
                let list = format!(r#"{{"name":"a","list":{other}}}"#);
                assert_eq!(ns(&list), ("a".to_owned(), None, vec![]), "{list}");
            }
        }
        assert_eq!(ns(r#"{"list":""}"#).2, vec![]);
        assert_eq!(ns(r#"{"list":{"n":1}}"#).2, vec![Some(1)]);
        let done = |json| read::<Outer<'_>>(json).and_then(|outer| outer.done);
        assert_eq!(done(r#"{"done":"true"}"#), Some(true));
        assert_eq!(done(r#"{"done":"no"}"#), Some(false));
        let count = read::<Outer<'_>>(r#"{"count":"7","count":3.0}"#)
            .unwrap()
            .count;
        assert_eq!(count, Count(Some(3)));
    }

    #[test]
    fn a_text_in_the_place_of_an_object_is_what_that_says() {
        #[derive(Default, Deserialize)]
        struct Said<'a> {
            #[serde(borrow, default)]
            role: Option<&'a RawValue>,
            #[serde(borrow, default)]
            content: Option<&'a RawValue>,
        }
        #[derive(Deserialize)]
        struct Answer<'a> {
            #[serde(borrow, default)]
            said: Option<Said<'a>>,
        }
        for json in [
            r#""Hi""#,
            r#"{"content":"Hi"}"#,
            r#"{"content":"Ho","content":"Hi"}"#,
        ] {
            let json = format!(r#"{{"said":{json},"x":1,"x":2}}"#);
            let said = read::<Answer<'_>>(&json).and_then(|answer| answer.said);
            let said = said.unwrap_or_default();
            assert_eq!(
                (text(said.content), said.role.is_none()),
                ("Hi".into(), true),
                "{json}"
            );
        }
        let raw: &RawValue = serde_json::from_str(r#"[{"text":"Hi"}]"#).unwrap();
        let said: Said<'_> = part(raw).unwrap();
        assert_eq!(said.content.unwrap().get(), raw.get());
        assert!(read::<Said<'_>>(raw.get()).is_none() && read::<Said<'_>>("\"Hi\"").is_none());
    }

    #[test]
    fn what_is_kept_as_it_came_keeps_its_doubled_names() {
        let json = r#"{"name":"a","name":{"k":1,"k":2}}"#;
        let outer: Outer<'_> = read(json).unwrap();
        assert_eq!(outer.name.unwrap().get(), r#"{"k":1,"k":2}"#);
    }

    #[test]
    fn neither_what_is_no_json_nor_what_is_too_large_is_read() {
        let many = (0..=MOST)
            .map(|n| format!("\"k{n}\":0"))
            .collect::<Vec<_>>();
        let many = format!("{{\"name\":1,\"name\":2,{}}}", many.join(","));
        let long = format!("{{\"inner\":1,\"list\":[{}0]}}", "0,".repeat(MOST));
        for json in ["", "{", r#"{"name":"a","name":}"#, &many, &long] {
            assert!(read::<Outer<'_>>(json).is_none());
        }
    }
}

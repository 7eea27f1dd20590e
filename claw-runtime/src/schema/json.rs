//! JSON as it was written: numbers keep their text, objects their order and their repeated keys.

use std::borrow::Cow;

use serde_json::Value;

use super::number::{self, Decimal};
use super::reader::DEPTH;

/// A JSON value that loses nothing of its text but blanks.
#[derive(Clone, Debug)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    Number(Cow<'a, str>),
    String(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Returns the same as `value`; what lies deeper than the reader would go becomes `true`.
    pub(crate) fn from_value(value: &Value) -> Json<'static> {
        Self::from_levels(value, DEPTH)
    }

    fn from_levels(value: &Value, levels: usize) -> Json<'static> {
        match value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(number) => Json::Number(Cow::Owned(number.to_string())),
            Value::String(text) => Json::String(Cow::Owned(text.clone())),
            _ if levels == 0 => Json::Bool(true),
            Value::Array(items) => {
                let items = items.iter();
                Json::Array(
                    items
                        .map(|item| Self::from_levels(item, levels - 1))
                        .collect(),
                )
            }
            Value::Object(entries) => {
                let entries = entries.iter().map(|(key, value)| {
                    let value = Self::from_levels(value, levels - 1);
                    (Cow::Owned(key.clone()), value)
                });
                Json::Object(entries.collect())
            }
        }
    }

    /// Returns the same as a [`Value`]; integers of more than 64 bits become the nearest float.
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(text) => number_value(text),
            Json::String(text) => Value::String(text.clone().into_owned()),
            Json::Array(items) => Value::Array(items.iter().map(Json::to_value).collect()),
            Json::Object(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone().into_owned(), value.to_value()))
                    .collect(),
            ),
        }
    }

    pub(crate) fn into_owned(self) -> Json<'static> {
        match self {
            Json::Null => Json::Null,
            Json::Bool(value) => Json::Bool(value),
            Json::Number(text) => Json::Number(Cow::Owned(text.into_owned())),
            Json::String(text) => Json::String(Cow::Owned(text.into_owned())),
            Json::Array(items) => Json::Array(items.into_iter().map(Json::into_owned).collect()),
            Json::Object(entries) => Json::Object(
                entries
                    .into_iter()
                    .map(|(key, value)| (Cow::Owned(key.into_owned()), value.into_owned()))
                    .collect(),
            ),
        }
    }

    /// Appends the value as JSON text.
    pub(crate) fn write(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Number(text) => out.push_str(text),
            Json::String(text) => write_string(text, out),
            Json::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Json::Object(entries) => {
                out.push('{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    write_string(key, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// Tells whether two values are equal in JSON's sense: `1` is `1.0`, and the order of keys does not count.
    pub(crate) fn same(&self, other: &Json<'_>) -> bool {
        match (self, other) {
            (Json::Null, Json::Null) => true,
            (Json::Bool(left), Json::Bool(right)) => left == right,
            (Json::Number(left), Json::Number(right)) => {
                left == right || Decimal::new(left) == Decimal::new(right)
            }
            (Json::String(left), Json::String(right)) => left == right,
            (Json::Array(left), Json::Array(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(l, r)| l.same(r))
            }
            (Json::Object(left), Json::Object(right)) => {
                left.len() == right.len() && {
                    let mut left: Vec<_> = left.iter().collect();
                    let mut right: Vec<_> = right.iter().collect();
                    left.sort_by(|a, b| a.0.cmp(&b.0));
                    right.sort_by(|a, b| a.0.cmp(&b.0));
                    left.iter()
                        .zip(&right)
                        .all(|(l, r)| l.0 == r.0 && l.1.same(&r.1))
                }
            }
            _ => false,
        }
    }

    /// Appends a text that is equal for [same](Self::same) values and only for those.
    pub(crate) fn write_canonical(&self, out: &mut String) {
        match self {
            Json::Number(text) => out.push_str(&Decimal::new(text).to_string()),
            Json::Array(items) => {
                out.push('[');
                for item in items {
                    item.write_canonical(out);
                    out.push(',');
                }
                out.push(']');
            }
            Json::Object(entries) => {
                let mut entries: Vec<_> = entries.iter().collect();
                entries.sort_by(|a, b| a.0.cmp(&b.0));
                out.push('{');
                for (key, value) in entries {
                    write_string(key, out);
                    out.push(':');
                    value.write_canonical(out);
                    out.push(',');
                }
                out.push('}');
            }
            _ => self.write(out),
        }
    }

    /// Returns the value as JSON text.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&[Json<'a>]> {
        match self {
            Json::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Iterates over the members of an object.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &Json<'a>)> {
        let entries = match self {
            Json::Object(entries) => entries.as_slice(),
            _ => &[],
        };
        entries.iter().map(|(key, value)| (key.as_ref(), value))
    }

    /// Returns how many values this one consists of.
    pub(crate) fn weight(&self) -> usize {
        1 + match self {
            Json::Array(items) => items.iter().map(Json::weight).sum(),
            Json::Object(entries) => entries.iter().map(|(_, value)| value.weight()).sum(),
            _ => 0,
        }
    }

    /// Returns the member named `key`; of repeated ones the first.
    pub(crate) fn member(&self, key: &str) -> Option<&Json<'a>> {
        match self {
            Json::Object(entries) => entries
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value),
            _ => None,
        }
    }
}

fn number_value(text: &str) -> Value {
    if number::is_plain_integer(text) {
        if let Ok(integer) = text.parse::<i64>() {
            return integer.into();
        }
        if let Ok(integer) = text.parse::<u64>() {
            return integer.into();
        }
    }
    // A number too large for a float has been refused before.
    text.parse::<f64>().map_or(Value::Null, Value::from)
}

/// Appends `text` as a JSON string.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[from..at]);
        from = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ => {
                out.push_str("\\u00");
                out.push(char::from(b'0' + (byte >> 4)));
                out.push(char::from(b"0123456789abcdef"[usize::from(byte & 15)]));
            }
        }
    }
    out.push_str(&text[from..]);
    out.push('"');
}

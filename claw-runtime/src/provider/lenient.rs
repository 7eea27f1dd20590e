//! Fields of a service's JSON, read as they come: absent, null or of another type is nothing, never a failure.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The most items that a list of one document may hold.
pub(crate) const MOST: usize = 4096;

/// Reads a list; `null` is none, and what else is none a [loose](super::loose) reader tells. A list of millions of empty objects
/// is small on the wire and gigabytes in memory, so a long one is no answer.
pub(crate) fn few<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Few<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Few<T> {
        type Value = Option<Vec<T>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {MOST} or null")
        }

        fn visit_none<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_some<D: Deserializer<'de>>(self, list: D) -> Result<Self::Value, D::Error> {
            list.deserialize_seq(self)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut items = Vec::new();
            while let Some(item) = list.next_element()? {
                // One is what most have, and what is read here is large.
                if items.is_empty() {
                    items.reserve_exact(1);
                }
                if items.len() == MOST {
                    return Err(de::Error::invalid_length(MOST + 1, &self));
                }
                items.push(item);
            }
            Ok(Some(items))
        }
    }
    deserializer.deserialize_option(Few(PhantomData))
}

/// Returns a string's text, a number's digits, and nothing for everything else.
pub(crate) fn text(raw: Option<&RawValue>) -> Cow<'_, str> {
    let Some(raw) = raw else {
        return Cow::Borrowed("");
    };
    match raw.get().as_bytes()[0] {
        // Without an escape the text stands there as it is.
        b'"' if !raw.get().contains('\\') => Cow::Borrowed(raw.get().trim_matches('"')),
        b'"' => Cow::Owned(unescaped(raw.get())),
        b'0'..=b'9' => Cow::Borrowed(raw.get()),
        _ => Cow::Borrowed(""),
    }
}

/// Returns a JSON string, which is whole, without its escapes; nothing where one of them is no character.
fn unescaped(json: &str) -> String {
    let Some(inner) = json.strip_prefix('"').and_then(|it| it.strip_suffix('"')) else {
        return String::new();
    };
    let bytes = inner.as_bytes();
    let mut text = String::with_capacity(inner.len());
    let mut plain = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if *byte != b'\\' {
            at += 1;
            continue;
        }
        text.push_str(&inner[plain..at]);
        at += 2;
        plain = at;
        text.push(match bytes.get(at - 1) {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            // It stands for itself, in front of what follows.
            Some(b'"' | b'\\' | b'/') => {
                plain = at - 1;
                continue;
            }
            // Whether halves of characters make one, their own reader knows.
            _ => return serde_json::from_str(json).unwrap_or_default(),
        });
    }
    text.push_str(&inner[plain..]);
    text
}

/// Returns what a value stands for as arguments of a call: a string's text, nothing for `null`, and all else as it is
/// written. What is no object is so refused, and never taken for a call without arguments.
pub(crate) fn written(raw: Option<&RawValue>) -> Cow<'_, str> {
    match raw.map_or("null", RawValue::get) {
        "null" => Cow::Borrowed(""),
        json if json.starts_with('"') => text(raw),
        json => Cow::Borrowed(json),
    }
}

/// Returns bytes as text, with a mark in the place of what is none.
pub(crate) fn utf8(bytes: &[u8]) -> Cow<'_, str> {
    // Checked at once: `from_utf8_lossy` takes several times as long over a text that is whole.
    match str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// Returns a whole number, also one written as a string.
pub(crate) fn number(raw: Option<&RawValue>) -> Option<u64> {
    text(raw).parse().ok()
}

/// Returns the value, unless it nests too deep to be one.
pub(crate) fn value(raw: &RawValue) -> Option<Value> {
    serde_json::from_str(raw.get()).ok()
}

/// Returns the parts of what should be a list: one thing in its place is a list of one.
pub(crate) fn parts(value: &Value) -> &[Value] {
    match value {
        Value::Array(parts) => parts,
        Value::Null => &[],
        one => std::slice::from_ref(one),
    }
}

/// Returns the text of a part, which may be nothing but that.
pub(crate) fn text_of(part: &Value) -> &str {
    part.as_str().or(part["text"].as_str()).unwrap_or("")
}

/// Returns the documents of a body that is one list of them; `None` where there is none.
pub(crate) fn documents(json: &str) -> Option<Vec<&RawValue>> {
    #[derive(Deserialize)]
    struct List<'a>(#[serde(borrow, deserialize_with = "few")] Option<Vec<&'a RawValue>>);
    let List(documents) = serde_json::from_str(json).ok()?;
    let mut documents = documents?;
    documents.retain(|raw| raw.get().starts_with('{'));
    (!documents.is_empty()).then_some(documents)
}

/// The longest document read into a tree, in bytes.
const MOST_BYTES: usize = 8 << 20;

/// Returns a document as a tree; one beyond a bound is none, because a tree is many times as large as its text.
pub(crate) fn document(json: &str) -> Option<Value> {
    if json.len() > MOST_BYTES {
        return None;
    }
    serde_json::from_str(json).ok()
}

/// A count where a document has one: absent where something else stands there.
///
/// A count beyond 2^40 is no count; sums over a session stay far from overflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) Option<u64>);

impl Count {
    fn of(number: f64) -> Self {
        Self((number >= 0.0).then_some((number as u64).min(1 << 40)))
    }

    /// Reads a number that some gateways write as a string.
    fn written(text: &str) -> Self {
        let is_number = text.starts_with(|c: char| c.is_ascii_digit());
        let number = is_number.then(|| text.parse().ok()).flatten();
        number.map_or_else(Self::default, Self::of)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a count or anything else")
            }

            fn visit_u64<E>(self, number: u64) -> Result<Count, E> {
                Ok(Count(Some(number.min(1 << 40))))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Count, E> {
                Ok(Count::default())
            }

            fn visit_f64<E>(self, number: f64) -> Result<Count, E> {
                Ok(Count::of(number))
            }

            fn visit_unit<E>(self) -> Result<Count, E> {
                Ok(Count::default())
            }

            fn visit_bool<E>(self, _: bool) -> Result<Count, E> {
                Ok(Count::default())
            }

            fn visit_str<E>(self, text: &str) -> Result<Count, E> {
                Ok(Count::written(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Count, A::Error> {
                IgnoredAny.visit_seq(list).map(|_| Count::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Count, A::Error> {
                IgnoredAny.visit_map(object).map(|_| Count::default())
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// Returns the first count found at `paths` (JSON pointers through objects, without escapes).
///
/// See [`Count`].
pub(crate) fn count(value: &Value, paths: &[&str]) -> Option<u64> {
    paths.iter().find_map(|path| {
        // None of our paths has an escape, and looking for them is most of what `Value::pointer` costs.
        let mut names = path.split('/').skip(1);
        let count = names.try_fold(value, |value, name| value.get(name))?;
        match count {
            Value::String(text) => Count::written(text).0,
            count => Count::of(count.as_f64()?).0,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_read_the_same_with_and_without_a_tree() {
        for (json, read) in [
            ("7", Some(7)),
            ("7.9", Some(7)),
            ("-0.0", Some(0)),
            ("-1", None),
            ("-1.5", None),
            ("1e300", Some(1 << 40)),
            ("18446744073709551615", Some(1 << 40)),
            ("\"7\"", Some(7)),
            ("\"7.0\"", Some(7)),
            ("\"-7\"", None),
            ("\"inf\"", None),
            ("\"\"", None),
            ("null", None),
            ("true", None),
            ("[7]", None),
            ("{\"n\":7}", None),
        ] {
            let whole = format!("{{\"a\":{{\"n\":{json}}}}}");
            let tree: Value = serde_json::from_str(&whole).unwrap();
            assert_eq!(count(&tree, &["/b/n", "/a/n"]), read, "{json}");
            assert_eq!(
                serde_json::from_str::<Count>(json).unwrap().0,
                read,
                "{json}"
            );
        }
    }

    #[test]
    fn arguments_are_never_lost() {
        for (json, read) in [
            (r#""{\"a\":1}""#, r#"{"a":1}"#),
            (r#"{"a":1}"#, r#"{"a":1}"#),
            ("[1]", "[1]"),
            ("5", "5"),
            ("true", "true"),
            ("null", ""),
        ] {
            let raw: &RawValue = serde_json::from_str(json).unwrap();
            assert_eq!(written(Some(raw)), read, "{json}");
        }
        assert_eq!(written(None), "");
    }

    #[test]
    fn text_is_read_with_and_without_escapes() {
        for (json, read) in [
            ("\"\"", ""),
            ("\"plain\"", "plain"),
            (r#""a\"b\n""#, "a\"b\n"),
            (r#""\"""#, "\""),
            (r#""\\\/\b\f\r\t\\n""#, "\\/\u{8}\u{c}\r\t\\n"),
            (r#""\u00e9\ud83c\udf27\"é""#, "é🌧\"é"),
            (r#""a\"\ud83c""#, ""),
            ("12", "12"),
            ("null", ""),
            ("[1]", ""),
        ] {
            let raw: &RawValue = serde_json::from_str(json).unwrap();
            assert_eq!(text(Some(raw)), read, "{json}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_string_loses_its_escapes_as_in_any_json_reader(
            pieces in r#"([a-zé天🌧]|\\["\\/bfnrt]|\\u(00e9|d83c|df27|D83C\\uDF27)){0,12}"#
        ) {
            let json = format!("\"{pieces}\"");
            let read: String = serde_json::from_str(&json).unwrap_or_default();
            proptest::prop_assert_eq!(unescaped(&json), read);
        }
    }
}

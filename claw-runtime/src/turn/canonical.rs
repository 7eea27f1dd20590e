//! One name for one call: a digest of the tool and its arguments that does not depend on spelling.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// Nesting below this is left as it is spelt: two spellings then count as two calls, which only asks once more.
const DEPTH: u32 = 64;

/// Returns the digest of a call. Key order, white space and escapes do not matter; numbers stay as they are spelt, for
/// two of them may differ where a float would not show it.
pub(super) fn digest(tool: &str, arguments: &str) -> String {
    let mut text = String::with_capacity(tool.len() + 1 + arguments.len());
    text.push_str(tool);
    text.push('\n');
    write(arguments.trim(), DEPTH, &mut text);
    crate::digest::of(text.as_bytes())
}

fn write(json: &str, depth: u32, out: &mut String) {
    let nested = depth > 0;
    match json.as_bytes().first() {
        Some(b'{') if nested => {
            if let Ok(members) = members(json) {
                out.push('{');
                for (key, value) in members {
                    string(&key, out);
                    out.push(':');
                    write(value.get(), depth - 1, out);
                    out.push(',');
                }
                out.push('}');
                return;
            }
        }
        Some(b'[') if nested => {
            if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(json) {
                out.push('[');
                for item in items {
                    write(item.get(), depth - 1, out);
                    out.push(',');
                }
                out.push(']');
                return;
            }
        }
        // Without an escape a string has one spelling.
        Some(b'"') if !json.contains('\\') => {}
        Some(b'"') => {
            if let Ok(text) = serde_json::from_str::<String>(json) {
                return string(&text, out);
            }
        }
        _ => {}
    }
    out.push_str(json);
}

/// Reads an object, refusing one that names a key twice: which value counts is the reader's choice, so it has no
/// canonical form.
fn members(json: &str) -> Result<BTreeMap<String, &RawValue>, serde_json::Error> {
    struct Members;
    impl<'de> serde::de::Visitor<'de> for Members {
        type Value = BTreeMap<String, &'de RawValue>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut map: A,
        ) -> Result<Self::Value, A::Error> {
            let mut members = BTreeMap::new();
            while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                if members.insert(key, value).is_some() {
                    return Err(serde::de::Error::custom("duplicate key"));
                }
            }
            Ok(members)
        }
    }
    serde::Deserializer::deserialize_map(&mut serde_json::Deserializer::from_str(json), Members)
}

fn string(text: &str, out: &mut String) {
    // Writing a string into a string cannot fail; an unescaped one would still be unambiguous enough to ask about.
    match serde_json::to_string(text) {
        Ok(escaped) => out.push_str(&escaped),
        Err(_) => out.push_str(text),
    }
}

#[cfg(test)]
mod tests {
    use super::digest;

    #[test]
    fn spelling_does_not_matter() {
        let one = digest("t", r#"{"a":1,"b":["xA",{"d":null,"c":2}]}"#);
        let other = digest(
            "t",
            " { \"b\" : [ \"x\\u0041\", {\"c\":2,\"d\":null}],\n\"a\":1 } ",
        );
        assert_eq!(one, other);
    }

    #[test]
    fn another_value_or_tool_is_another_call() {
        let base = digest("t", r#"{"a":1}"#);
        for (tool, arguments) in [
            ("u", r#"{"a":1}"#),
            ("t", r#"{"a":"1"}"#),
            ("t", r#"{"a":12345678901234567890123}"#),
            ("t", r#"{"a":1,"b":null}"#),
            ("t", r#"{"a":[1]}"#),
            ("t", ""),
        ] {
            assert_ne!(base, digest(tool, arguments), "{tool} {arguments}");
        }
        assert_ne!(
            digest("t", r#"{"a":12345678901234567890123}"#),
            digest("t", r#"{"a":12345678901234567890124}"#)
        );
        assert_ne!(
            digest("t", r#"{"a":1,"a":2}"#),
            digest("t", r#"{"a":2,"a":1}"#)
        );
    }

    #[test]
    fn deep_nesting_ends() {
        let deep = "[".repeat(100_000);
        assert_eq!(digest("t", &deep).len(), 64);
        let closed = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        assert_eq!(digest("t", &closed).len(), 64);
    }
}

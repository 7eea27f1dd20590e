//! One name for one call: a digest of the tool and its arguments that does not depend on spelling.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::paths;
use super::stable::Likeness;
use crate::tool::Tool;

/// Nesting below this is left as it is spelt: two spellings then count as two calls, which only asks once more.
const DEPTH: u32 = 64;

/// Returns the digest of a call. Key order, white space and escapes do not matter; numbers stay as they are spelt, for
/// two of them may differ where a float would not show it.
pub(super) fn digest(tool: &str, arguments: &str) -> String {
    let mut writer = Writer::new(tool, arguments);
    writer.write(arguments.trim(), DEPTH);
    crate::digest::of(writer.out.as_bytes())
}

/// Returns what is equal for calls that mean the same: as [`digest`], but `1.0` is `1`, and of paths that are declared as
/// read or written `./a/` is `a`. Good enough to see a loop, not to let a call run.
pub(super) fn signature(tool: &Tool, arguments: &str) -> Likeness {
    names(tool, arguments).1
}

/// Returns the digest of a call and its signature. For most calls both are of the same text, written once.
pub(super) fn names(tool: &Tool, arguments: &str) -> (String, Likeness) {
    let spec = tool.spec();
    let mut exact = Writer::new(tool.name(), arguments);
    exact.write(arguments.trim(), DEPTH);
    let digest = crate::digest::of(exact.out.as_bytes());
    if !exact.has_fractions && spec.reads.is_empty() && spec.writes.is_empty() {
        return (digest, Likeness::of(exact.out));
    }
    let mut loose = Writer::new(tool.name(), arguments);
    loose.loose = true;
    loose.paths = [spec.reads, spec.writes];
    loose.write(arguments.trim(), DEPTH);
    (digest, Likeness::of(loose.out))
}

struct Writer<'a> {
    out: String,
    /// Whether numbers are written by their value.
    loose: bool,
    /// Whether there are numbers that a loose writer writes otherwise.
    has_fractions: bool,
    /// Names of arguments that are paths.
    paths: [&'a [&'a str]; 2],
}

impl Writer<'_> {
    fn new(tool: &str, arguments: &str) -> Self {
        let mut out = String::with_capacity(tool.len() + 1 + arguments.len());
        out.push_str(tool);
        out.push('\n');
        Self {
            out,
            loose: false,
            has_fractions: false,
            paths: [&[], &[]],
        }
    }

    fn write(&mut self, json: &str, depth: u32) {
        let nested = depth > 0;
        match json.as_bytes().first() {
            Some(b'{') if nested => {
                if let Ok(members) = members(json) {
                    self.out.push('{');
                    for (Key(key), value) in members {
                        string(&key, &mut self.out);
                        self.out.push(':');
                        self.member(&key, value.get(), depth);
                        self.out.push(',');
                    }
                    self.out.push('}');
                    return;
                }
            }
            Some(b'[') if nested => {
                if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(json) {
                    self.out.push('[');
                    for item in items {
                        self.write(item.get(), depth - 1);
                        self.out.push(',');
                    }
                    self.out.push(']');
                    return;
                }
            }
            // Without an escape a string has one spelling.
            Some(b'"') if !json.contains('\\') => {}
            Some(b'"') => {
                if let Ok(text) = serde_json::from_str::<String>(json) {
                    return string(&text, &mut self.out);
                }
            }
            Some(b'-' | b'0'..=b'9') if json.contains(['.', 'e', 'E']) => {
                self.has_fractions = true;
                if self.loose
                    && let Ok(number) = json.parse::<f64>()
                {
                    return self.out.push_str(&number.to_string());
                }
            }
            _ => {}
        }
        self.out.push_str(json);
    }

    /// Writes the value of a key; of the outermost object it may be a path.
    fn member(&mut self, key: &str, value: &str, depth: u32) {
        let is_path = depth == DEPTH && self.paths.iter().any(|names| names.contains(&key));
        if is_path && let Ok(path) = serde_json::from_str::<String>(value) {
            return string(&paths::plain(&path), &mut self.out);
        }
        if is_path && let Ok(paths) = serde_json::from_str::<Vec<String>>(value) {
            self.out.push('[');
            for path in paths {
                string(&paths::plain(&path), &mut self.out);
                self.out.push(',');
            }
            return self.out.push(']');
        }
        self.write(value, depth - 1);
    }
}

/// Reads an object, refusing one that names a key twice: which value counts is the reader's choice, so it has no
/// canonical form.
fn members(json: &str) -> Result<Vec<(Key<'_>, &RawValue)>, serde_json::Error> {
    struct Members;
    impl<'de> serde::de::Visitor<'de> for Members {
        type Value = Vec<(Key<'de>, &'de RawValue)>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut map: A,
        ) -> Result<Self::Value, A::Error> {
            let mut members: Self::Value = Vec::with_capacity(8);
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            members.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            if members.windows(2).any(|two| two[0].0 == two[1].0) {
                return Err(serde::de::Error::custom("duplicate key"));
            }
            Ok(members)
        }
    }
    serde::Deserializer::deserialize_map(&mut serde_json::Deserializer::from_str(json), Members)
}

/// The name of a member, borrowed where it has no escape.
#[derive(PartialEq, Eq, PartialOrd, Ord, serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

fn string(text: &str, out: &mut String) {
    if text
        .bytes()
        .all(|byte| byte >= b' ' && !matches!(byte, b'"' | b'\\'))
    {
        out.push('"');
        out.push_str(text);
        return out.push('"');
    }
    // Writing a string into a string cannot fail; an unescaped one would still be unambiguous enough to ask about.
    match serde_json::to_string(text) {
        Ok(escaped) => out.push_str(&escaped),
        Err(_) => out.push_str(text),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{digest, names, signature};
    use crate::tool::{Spec, Tool, ToolOutput};

    #[test]
    fn what_means_the_same_has_one_signature() {
        let mut spec = Spec::new("t".into(), "A tool.".into());
        (spec.reads, spec.writes) = (&["from"], &["to"]);
        let schema = serde_json::json!({"type": "object"});
        let tool = Tool::dynamic(
            spec,
            schema,
            Arc::new(|_, _| Box::pin(std::future::ready(Ok(ToolOutput::default())))),
        );
        let of = |arguments: &str| signature(&tool, arguments);
        for (one, two) in [
            (r#"{"n":1.0,"m":2}"#, r#"{ "m": 2, "n": 1 }"#),
            (r#"{"n":[1e2,-0.50]}"#, r#"{"n":[100,-0.5]}"#),
            (r#"{"from":"src/"}"#, r#"{"from":"./src"}"#),
            (r#"{"to":["a//b/","/c"]}"#, r#"{"to":["a/b","/c/"]}"#),
        ] {
            assert_eq!(of(one), of(two), "{one} {two}");
        }
        for (one, two) in [
            (r#"{"n":1.0}"#, r#"{"n":1.5}"#),
            (r#"{"n":"1.0"}"#, r#"{"n":"1"}"#),
            // Not declared as a path: a trailing slash may mean something.
            (r#"{"url":"a/"}"#, r#"{"url":"a"}"#),
            (r#"{"x":{"from":"a/"}}"#, r#"{"x":{"from":"a"}}"#),
            (r#"{"from":"/a"}"#, r#"{"from":"a"}"#),
            (r#"{"from":"a/../b"}"#, r#"{"from":"b"}"#),
            (
                r#"{"n":12345678901234567890123}"#,
                r#"{"n":12345678901234567890124}"#,
            ),
        ] {
            assert_ne!(of(one), of(two), "{one} {two}");
        }
    }

    #[test]
    fn a_digest_is_the_same_with_and_without_a_signature() {
        let ready = || Box::pin(std::future::ready(Ok(ToolOutput::default())));
        let spec = Spec::new("t".into(), "A tool.".into());
        let schema = serde_json::json!({"type": "object"});
        let tool = Tool::dynamic(spec, schema, Arc::new(move |_, _| ready()));
        for arguments in [r#"{"b":[1,"x\u0041"],"a":null}"#, r#"{"n":1.50}"#] {
            assert_eq!(names(&tool, arguments).0, digest("t", arguments));
        }
    }

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

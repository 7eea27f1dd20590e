//! One name for one call: a digest of the tool and its arguments that does not depend on spelling.

use std::borrow::Cow;
use std::ops::Range;

use super::paths;
use super::stable::Likeness;
use crate::tool::Tool;

/// Nesting below this is left as it is spelt: two spellings then count as two calls, which only asks once more.
const DEPTH: u32 = 64;

/// Returns the digest of a call. Key order, white space and escapes do not matter; numbers stay as they are spelt, for
/// two of them may differ where a float would not show it.
pub(super) fn digest(tool: &str, arguments: &str) -> String {
    crate::digest::of(Writer::exact(tool, arguments).out.as_bytes())
}

/// Returns what is equal for calls that mean the same: as [`digest`], but `1.0` is `1`, and of paths that are declared as
/// read or written `./a/` is `a`. Good enough to see a loop, not to let a call run.
pub(super) fn signature(tool: &Tool, arguments: &str) -> Likeness {
    names(tool, arguments).1
}

/// Returns the digest of a call and its signature. For most calls both are of the same text, written once.
pub(super) fn names(tool: &Tool, arguments: &str) -> (String, Likeness) {
    let spec = tool.spec();
    let exact = Writer::exact(tool.name(), arguments);
    let digest = crate::digest::of(exact.out.as_bytes());
    if !exact.has_fractions && spec.reads.is_empty() && spec.writes.is_empty() {
        return (digest, Likeness::of(exact.out));
    }
    let paths = [spec.reads, spec.writes];
    let loose = Writer::written(tool.name(), arguments, true, paths);
    (digest, Likeness::of(loose.out))
}

/// Reads JSON once, and writes it in its canonical form as it goes.
struct Writer<'a> {
    json: &'a str,
    at: usize,
    out: String,
    /// Whether numbers are written by their value.
    loose: bool,
    /// Whether there are numbers that a loose writer writes otherwise.
    has_fractions: bool,
    /// Names of arguments that are paths.
    paths: [&'a [&'a str]; 2],
}

/// What is read is no JSON.
struct NoJson;

/// A member as it was written: its name, and where in the output name and value are.
struct Member<'a> {
    name: Cow<'a, str>,
    written: Range<usize>,
}

impl<'a> Writer<'a> {
    fn exact(tool: &str, arguments: &'a str) -> Self {
        Self::written(tool, arguments, false, [&[], &[]])
    }

    /// Writes a call. What is no JSON stands as it is spelt.
    fn written(tool: &str, arguments: &'a str, loose: bool, paths: [&'a [&'a str]; 2]) -> Self {
        let json = arguments.trim();
        // Members end with a comma each.
        let mut out = String::with_capacity(tool.len() + json.len() + 16);
        out.push_str(tool);
        out.push('\n');
        let begin = out.len();
        let mut writer = Self {
            json,
            at: 0,
            out,
            loose,
            has_fractions: false,
            paths,
        };
        if writer.value(DEPTH).is_err() || writer.at < json.len() {
            writer.out.truncate(begin);
            writer.out.push_str(json);
        }
        writer
    }

    fn value(&mut self, depth: u32) -> Result<(), NoJson> {
        let begin = self.at;
        match self.peek().ok_or(NoJson)? {
            b'{' if depth > 0 => return self.object(depth),
            b'[' if depth > 0 => return self.array(depth),
            b'{' | b'[' => self.skip_nested()?,
            b'"' => return self.string(),
            b'-' | b'0'..=b'9' => return self.number(),
            _ => {
                let word = ["true", "false", "null"]
                    .into_iter()
                    .find(|word| self.json[begin..].starts_with(word));
                self.at += word.ok_or(NoJson)?.len();
            }
        }
        self.out.push_str(&self.json[begin..self.at]);
        Ok(())
    }

    /// Writes an object with its members in order. One that names a key twice has no canonical form, for which value counts
    /// is the reader's choice; nor has one with half a character in a name.
    fn object(&mut self, depth: u32) -> Result<(), NoJson> {
        let (begin, written) = (self.at, self.out.len());
        self.at += 1;
        self.out.push('{');
        let first = self.out.len();
        let mut members: Vec<Member<'a>> = Vec::new();
        while !self.ends(b'}', members.is_empty())? {
            let start = self.out.len();
            let Some(name) = self.text()? else {
                self.at = begin;
                self.skip_nested()?;
                self.out.truncate(written);
                self.out.push_str(&self.json[begin..self.at]);
                return Ok(());
            };
            string(&name, &mut self.out);
            self.out.push(':');
            self.space();
            self.take(b':')?;
            self.space();
            if depth < DEPTH || !self.path(&name)? {
                self.value(depth - 1)?;
            }
            self.out.push(',');
            let written = start..self.out.len();
            members.push(Member { name, written });
        }
        if !members.is_sorted_by(|one, other| one.name < other.name) {
            members.sort_by(|one, other| one.name.cmp(&other.name));
            if members.windows(2).any(|two| two[0].name == two[1].name) {
                self.out.truncate(written);
                self.out.push_str(&self.json[begin..self.at]);
                return Ok(());
            }
            let sorted: String = members
                .iter()
                .map(|member| &self.out[member.written.clone()])
                .collect();
            self.out.truncate(first);
            self.out.push_str(&sorted);
        }
        self.out.push('}');
        Ok(())
    }

    fn array(&mut self, depth: u32) -> Result<(), NoJson> {
        self.at += 1;
        self.out.push('[');
        let mut is_first = true;
        while !self.ends(b']', is_first)? {
            is_first = false;
            self.value(depth - 1)?;
            self.out.push(',');
        }
        self.out.push(']');
        Ok(())
    }

    /// Takes what stands before the next part, or the end of the whole; tells whether it was the end.
    fn ends(&mut self, end: u8, is_first: bool) -> Result<bool, NoJson> {
        self.space();
        if self.peek() == Some(end) {
            self.at += 1;
            return Ok(true);
        }
        if !is_first {
            self.take(b',')?;
            self.space();
        }
        Ok(false)
    }

    fn string(&mut self) -> Result<(), NoJson> {
        let begin = self.at;
        let is_plain = self.skip_string()?;
        let json = &self.json[begin..self.at];
        // Without an escape a string has one spelling.
        if is_plain {
            self.out.push_str(json);
            return Ok(());
        }
        // One that holds half a character has no other.
        match serde_json::from_str::<String>(json) {
            Ok(text) => string(&text, &mut self.out),
            Err(_) => self.out.push_str(json),
        }
        Ok(())
    }

    /// Reads a string, borrowed where it has no escape; `None` for one that holds half a character.
    fn text(&mut self) -> Result<Option<Cow<'a, str>>, NoJson> {
        let begin = self.at;
        if self.skip_string()? {
            let text = &self.json[begin + 1..self.at - 1];
            return Ok(Some(Cow::Borrowed(text)));
        }
        let text = serde_json::from_str(&self.json[begin..self.at]);
        Ok(text.ok().map(Cow::Owned))
    }

    /// Skips a string, and tells whether it has no escape.
    fn skip_string(&mut self) -> Result<bool, NoJson> {
        self.take(b'"')?;
        let mut is_plain = true;
        loop {
            let byte = self.peek().ok_or(NoJson)?;
            self.at += 1;
            match byte {
                b'"' => return Ok(is_plain),
                b'\\' => {
                    is_plain = false;
                    self.peek().filter(u8::is_ascii).ok_or(NoJson)?;
                    self.at += 1;
                }
                0..b' ' => return Err(NoJson),
                _ => {}
            }
        }
    }

    fn number(&mut self) -> Result<(), NoJson> {
        let begin = self.at;
        let rest = &self.json.as_bytes()[begin..];
        let of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        self.at += rest.iter().take_while(|byte| of_number(byte)).count();
        let number = &self.json[begin..self.at];
        if number.contains(['.', 'e', 'E']) {
            self.has_fractions = true;
            if self.loose
                && let Ok(number) = number.parse::<f64>()
            {
                self.out.push_str(&number.to_string());
                return Ok(());
            }
        }
        self.out.push_str(number);
        Ok(())
    }

    /// Writes the value of a member of the outermost object as a path, or as several, where it is that.
    fn path(&mut self, name: &str) -> Result<bool, NoJson> {
        if !self.paths.iter().any(|names| names.contains(&name)) {
            return Ok(false);
        }
        let (begin, written) = (self.at, self.out.len());
        let are_paths = match self.peek() {
            Some(b'[') => self.list_of_paths()?,
            _ => self.plain_path()?,
        };
        if !are_paths {
            self.at = begin;
            self.out.truncate(written);
        }
        Ok(are_paths)
    }

    fn list_of_paths(&mut self) -> Result<bool, NoJson> {
        self.at += 1;
        self.out.push('[');
        let mut is_first = true;
        while !self.ends(b']', is_first)? {
            is_first = false;
            if !self.plain_path()? {
                return Ok(false);
            }
            self.out.push(',');
        }
        self.out.push(']');
        Ok(true)
    }

    fn plain_path(&mut self) -> Result<bool, NoJson> {
        if self.peek() != Some(b'"') {
            return Ok(false);
        }
        let path = self.text()?;
        if let Some(path) = &path {
            string(&paths::plain(path), &mut self.out);
        }
        Ok(path.is_some())
    }

    /// Skips what is nested too deep to be read, up to the bracket that ends it.
    fn skip_nested(&mut self) -> Result<(), NoJson> {
        let mut open = 0_usize;
        loop {
            match self.peek().ok_or(NoJson)? {
                b'"' => {
                    self.skip_string()?;
                    continue;
                }
                b'{' | b'[' => open += 1,
                b'}' | b']' => open -= 1,
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return Ok(());
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.json.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Result<(), NoJson> {
        if self.peek() != Some(byte) {
            return Err(NoJson);
        }
        self.at += 1;
        Ok(())
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }
}

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

    use proptest::prelude::*;
    use serde_json::Value;

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

    /// The canonical text, from a tree.
    fn canonical(value: &Value) -> String {
        match value {
            Value::Array(items) => {
                let items: String = items.iter().map(|item| canonical(item) + ",").collect();
                format!("[{items}]")
            }
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by_key(|(name, _)| *name);
                let member = |(name, value)| format!("{}:{},", Value::from(name), canonical(value));
                let members: String = members
                    .into_iter()
                    .map(|(name, value): (&String, _)| member((name.as_str(), value)))
                    .collect();
                format!("{{{members}}}")
            }
            value => value.to_string(),
        }
    }

    /// JSON of the same value, spelt with white space, escapes and members in reverse.
    fn spelt(value: &Value) -> String {
        let text = |text: &str| {
            let units = text.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
            format!("\"{}\"", units.collect::<String>())
        };
        match value {
            Value::String(value) => text(value),
            Value::Array(items) => {
                let items: Vec<_> = items.iter().map(spelt).collect();
                format!("[\n{} ]", items.join("\t, "))
            }
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                members.sort_by_key(|(name, _)| *name);
                let member =
                    |(name, value): (&String, _)| format!("{} :{}", text(name), spelt(value));
                let members: Vec<_> = members.into_iter().rev().map(member).collect();
                format!("{{ {}\r\n}}", members.join(" ,"))
            }
            value => value.to_string(),
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(".{0,4}", inner, 0..6)
                    .prop_map(|members| members.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_spelling_has_the_digest_of_the_canonical_one(value in values()) {
            let expected = crate::digest::of(format!("t\n{}", canonical(&value)).as_bytes());
            prop_assert_eq!(digest("t", &value.to_string()), expected.clone());
            prop_assert_eq!(digest("t", &spelt(&value)), expected);
        }

        #[test]
        fn what_is_no_json_stands_as_it_is_spelt(text in r#"[{}\[\],:]?(["a\\u:, {}\[\]0-9.e-]|true){0,16}"#) {
            let found = digest("t", &text);
            if serde_json::from_str::<&serde_json::value::RawValue>(&text).is_err() {
                let spelt = crate::digest::of(format!("t\n{}", text.trim()).as_bytes());
                // A number that is none is taken for one, within what is JSON otherwise.
                if found != spelt {
                    prop_assert!(text.contains(|c: char| c.is_ascii_digit() || c == '-'), "{}", text);
                }
            }
        }
    }

    #[test]
    fn a_member_that_is_named_twice_leaves_its_object_as_it_is_spelt() {
        let of = |text: &str| crate::digest::of(format!("t\n{text}").as_bytes());
        for (json, canonical) in [
            (
                r#"{ "b":1, "a":{"x":1, "x":2} }"#,
                r#"{"a":{"x":1, "x":2},"b":1,}"#,
            ),
            (r#"{"a":1, "\u0061":2}"#, r#"{"a":1, "\u0061":2}"#),
            (r#"[ "\ud83c" , 1.50]"#, r#"["\ud83c",1.50,]"#),
            (
                r#"{ "b":{"\ud83c" :1, "a":2}, "a":1 }"#,
                r#"{"a":1,"b":{"\ud83c" :1, "a":2},}"#,
            ),
            (r#"{"a":1} x"#, r#"{"a":1} x"#),
            (r#"{"a":1,}"#, r#"{"a":1,}"#),
        ] {
            assert_eq!(digest("t", json), of(canonical), "{json}");
        }
    }
}

//! Parameters as a model reads them in one compact line: `path: string, limit?: integer`.

use super::report::{brief, clip};
use super::tree::{Id, Object, Property, Rest, Shape, Tree, Types};
use super::{expected, json};

/// Longest line, in bytes, before nested parts are left out.
const LINE: usize = 1_000;
/// Deepest part written out.
pub(super) const DEPTH: usize = 4;
/// Most members of an enumeration, and most branches of a union.
const MEMBERS: usize = expected::MEMBERS;
/// Most parts of a schema that are looked at: one that is given at run time may refer to its parts any number of times.
const PARTS: usize = 2_000;

/// Returns the parameters in one line, shallower and then cut when it gets long.
pub(super) fn line(tree: &Tree) -> String {
    let Some(object) = parameters(tree) else {
        return String::new();
    };
    let mut out = String::new();
    for depth in [0, DEPTH - 1, DEPTH] {
        out.clear();
        Writer::new(tree).properties(object, depth, &mut out);
        if out.len() <= LINE {
            break;
        }
    }
    out
}

/// Returns the object rules of the root, wherever a reference may have put them.
pub(super) fn parameters(tree: &Tree) -> Option<&Object> {
    tree.shape(tree.resolve(tree.root)).object.as_deref()
}

/// Writes types in the manner of TypeScript.
pub(super) struct Writer<'t> {
    pub(super) tree: &'t Tree,
    parts: usize,
}

impl<'t> Writer<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self { tree, parts: PARTS }
    }

    /// Counts a part; tells whether there was one left.
    pub(super) fn take(&mut self) -> bool {
        let left = self.parts > 0;
        self.parts -= usize::from(left);
        left
    }

    fn properties(&mut self, object: &Object, depth: usize, out: &mut String) {
        for (at, property) in object.properties.iter().enumerate() {
            if out.len() > LINE {
                let left = object.properties.len() - at;
                out.push_str(&format!(", … ({left} more)"));
                return;
            }
            if at > 0 {
                out.push_str(", ");
            }
            self.name(property, out);
            self.types(property.shape, depth, out);
        }
    }

    /// Writes `name: ` or `name?: `.
    pub(super) fn name(&self, property: &Property, out: &mut String) {
        let name = &property.name;
        let plain = name
            .chars()
            .all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '-'));
        if plain && !name.is_empty() {
            clip(name, out);
        } else {
            let mut quoted = String::new();
            json::write_string(name, &mut quoted);
            clip(&quoted, out);
        }
        out.push_str(if property.required { ": " } else { "?: " });
    }

    /// Writes a type, a union with bars.
    pub(super) fn types(&mut self, id: Id, depth: usize, out: &mut String) {
        let mut kinds = Vec::new();
        self.collect(id, depth, &mut kinds);
        if kinds.is_empty() {
            out.push_str("never");
        }
        out.push_str(&kinds.join(" | "));
    }

    /// Collects the types of a union; of a shape that is none, its one type.
    fn collect(&mut self, id: Id, depth: usize, kinds: &mut Vec<String>) {
        let shape = self.tree.shape(self.tree.resolve(id));
        if shape.never {
            return;
        }
        if !self.take() {
            return add(kinds, "any");
        }
        if let Some(members) = &shape.members {
            for member in members.iter().take(MEMBERS) {
                add(kinds, brief(member));
            }
            if members.len() > MEMBERS {
                add(kinds, "…");
            }
            return;
        }
        let branches = shape.branches();
        if !branches.is_empty() && depth <= DEPTH && shape.object.is_none() {
            for branch in branches.iter().take(MEMBERS) {
                self.collect(*branch, depth + 1, kinds);
            }
            return;
        }
        if shape.types == Types::ANY {
            let part = shape
                .all
                .iter()
                .find(|part| !self.tree.shape(**part).is_plain());
            return match part {
                Some(part) if depth <= DEPTH => self.collect(*part, depth + 1, kinds),
                // Rules for members are meant for an object.
                _ if shape.object.is_some() => add(kinds, self.object(shape, depth)),
                _ => add(kinds, "any"),
            };
        }
        for name in shape.types.names() {
            match name {
                "array" => add(kinds, self.array(shape, depth)),
                "object" => add(kinds, self.object(shape, depth)),
                name => add(kinds, name),
            }
        }
    }

    fn array(&mut self, shape: &Shape, depth: usize) -> String {
        let Some(array) = shape.array.as_deref().filter(|_| depth < DEPTH) else {
            return "any[]".to_owned();
        };
        let mut out = String::new();
        if !array.prefix.is_empty() {
            out.push('[');
            for (at, part) in array.prefix.iter().take(MEMBERS).enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                self.types(*part, depth + 1, &mut out);
            }
            out.push(']');
            return out;
        }
        match array.items {
            None => out.push_str("any"),
            Some(items) => self.types(items, depth + 1, &mut out),
        }
        // Inside quotes and braces it is no union, but brackets do no harm.
        if out.contains(" | ") {
            out = format!("({out})");
        }
        out.push_str("[]");
        out
    }

    fn object(&mut self, shape: &Shape, depth: usize) -> String {
        let Some(object) = shape.object.as_deref().filter(|_| depth < DEPTH) else {
            return "object".to_owned();
        };
        let mut out = String::from("{");
        self.properties(object, depth + 1, &mut out);
        let values = match object.rest {
            Rest::Of(id) => Some(id),
            Rest::Open | Rest::Closed => object.patterns.first().map(|(_, id)| *id),
        };
        if let Some(id) = values {
            if out.len() > 1 {
                out.push_str(", ");
            }
            out.push_str("[name: string]: ");
            self.types(id, depth + 1, &mut out);
        }
        if out == "{" {
            return "object".to_owned();
        }
        out.push('}');
        out
    }
}

fn add(kinds: &mut Vec<String>, kind: impl Into<String>) {
    let kind = kind.into();
    if !kinds.contains(&kind) {
        kinds.push(kind);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Schema;

    fn line_of(schema: serde_json::Value) -> String {
        Schema::parse(&schema).signature()
    }

    #[test]
    fn one_line_has_types_and_optionality() {
        let schema = Schema::parse_text(
            r##"{"type":"object","required":["path"],"properties":{
                "path":{"type":"string"},
                "limit":{"type":"integer"},
                "mode":{"enum":["fast","slow"]},
                "opts":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"boolean"}},"required":["a"]},
                "tags":{"type":"array","items":{"type":"string"}},
                "pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]},
                "env":{"type":"object","additionalProperties":{"type":"string"}},
                "ids":{"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"string"}]}},
                "unit":{"$ref":"#/$defs/Unit","description":"x"},
                "maybe":{"type":["number","null"]},
                "free":{}, "a b":{"type":"object"}, "none":false
            },"$defs":{"Unit":{"oneOf":[{"const":"c"},{"const":"f"}]}}}"##,
        );
        assert_eq!(
            schema.signature(),
            r#"path: string, limit?: integer, mode?: "fast" | "slow", opts?: {a: string, b?: boolean}, tags?: string[], pair?: [string, integer], env?: {[name: string]: string}, ids?: (integer | string)[], unit?: "c" | "f", maybe?: number | null, free?: any, "a b"?: object, none?: never"#
        );
    }

    #[test]
    fn required_parameters_come_first_in_their_order() {
        let line = line_of(json!({
            "properties": {"new": {"type": "string"}, "all": {"type": "boolean"}, "old": {"type": "string"}},
            "required": ["old", "new"],
        }));
        assert_eq!(line, "old: string, new: string, all?: boolean");
    }

    #[test]
    fn recursive_schemas_end() {
        let line = line_of(json!({
            "properties": {"tree": {"$ref": "#/$defs/Tree"}},
            "$defs": {"Tree": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}},
        }));
        assert_eq!(line, "tree?: {kids?: {kids?: object[]}[]}");
        assert_eq!(line_of(json!({"$ref": "#"})), "");
        assert_eq!(
            line_of(
                json!({"properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}, {"$ref": "#/properties/a"}]}}})
            ),
            "a?: any"
        );
    }

    #[test]
    fn long_lines_lose_depth_and_then_their_end() {
        let wide: serde_json::Map<String, serde_json::Value> = (0..500)
            .map(|at| (format!("parameter_{at:03}"), json!({"type": "string"})))
            .collect();
        let line =
            line_of(json!({"properties": {"a": {"type": "object", "properties": wide.clone()}}}));
        assert_eq!(line, "a?: object");
        let line = line_of(json!({"properties": wide}));
        assert!(line.len() < LINE + 60 && line.ends_with(" more)"), "{line}");
        assert!(line.starts_with("parameter_000?: string, parameter_001?: string, "));
    }
}

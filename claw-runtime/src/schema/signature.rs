//! Parameters as a model reads them: one compact line for reports, a commented declaration for the prompt protocol.

use super::expected::{array_rules, number_rules, text_rules};
use super::json;
use super::report::{brief, clip};
use super::tree::{Id, Object, Property, Rest, Schema, Shape, Tree, Types};

/// Longest line, in bytes, before nested parts are left out.
const LINE: usize = 1_000;
/// Deepest part written out.
const DEPTH: usize = 4;
/// Most members of an enumeration, and most branches of a union.
const MEMBERS: usize = 20;
/// Longest documentation of a parameter, in characters.
const DOCS: usize = 400;

/// Returns the parameters as one compact typed line: `path: string, limit?: integer`.
pub(super) fn line(tree: &Tree) -> String {
    let Some(object) = parameters(tree) else {
        return String::new();
    };
    let mut out = String::new();
    for depth in [0, DEPTH - 1, DEPTH] {
        out.clear();
        write_properties(tree, object, depth, &mut out);
        if out.len() <= LINE {
            return out;
        }
    }
    out.clear();
    for (at, property) in object.properties.iter().enumerate() {
        if out.len() > LINE {
            let left = object.properties.len() - at;
            out.push_str(&format!(", … ({left} more)"));
            break;
        }
        if at > 0 {
            out.push_str(", ");
        }
        write_property(tree, property, DEPTH, &mut out);
    }
    out
}

impl Schema {
    /// Returns a declaration in the manner of TypeScript: one line a parameter, with what is to be known of it behind it.
    ///
    /// ```text
    /// // Current weather for a city.
    /// weather(
    ///   city: string, // City name, 1..=80 characters
    ///   unit?: "celsius" | "fahrenheit", // Temperature unit, default "celsius"
    /// )
    /// ```
    pub fn declaration(&self, name: &str, description: &str) -> String {
        let tree = &*self.tree;
        let mut out = String::new();
        for line in description.trim().lines() {
            out.push_str(format!("// {}", line.trim_end()).trim_end());
            out.push('\n');
        }
        out.push_str(name);
        match parameters(tree).filter(|object| !object.properties.is_empty()) {
            None => out.push_str("()"),
            Some(object) => {
                out.push_str("(\n");
                write_block(tree, object, 1, &mut out);
                out.push(')');
            }
        }
        out
    }
}

/// Returns the object rules of the root, wherever a reference may have put them.
fn parameters(tree: &Tree) -> Option<&Object> {
    tree.shape(tree.resolve(tree.root)).object.as_deref()
}

fn write_properties(tree: &Tree, object: &Object, depth: usize, out: &mut String) {
    for (at, property) in object.properties.iter().enumerate() {
        if out.len() > LINE {
            out.push_str(", …");
            return;
        }
        if at > 0 {
            out.push_str(", ");
        }
        write_property(tree, property, depth, out);
    }
}

fn write_property(tree: &Tree, property: &Property, depth: usize, out: &mut String) {
    write_name(property, out);
    write_type(tree, property.shape, depth, out);
}

fn write_name(property: &Property, out: &mut String) {
    let name = &property.name;
    let plain = name
        .chars()
        .all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '-'));
    if plain && !name.is_empty() {
        out.push_str(name);
    } else {
        let mut quoted = String::new();
        json::write_string(name, &mut quoted);
        clip(&quoted, out);
    }
    out.push_str(if property.required { ": " } else { "?: " });
}

fn write_type(tree: &Tree, id: Id, depth: usize, out: &mut String) {
    let mut kinds = Vec::new();
    collect(tree, id, depth, &mut kinds);
    if kinds.is_empty() {
        out.push_str("never");
    }
    for (at, kind) in kinds.iter().enumerate() {
        if at > 0 {
            out.push_str(" | ");
        }
        out.push_str(kind);
    }
}

/// Collects the types of a union; of a shape that is none, its one type.
fn collect(tree: &Tree, id: Id, depth: usize, kinds: &mut Vec<String>) {
    let shape = tree.shape(tree.resolve(id));
    let mut add = |kind: String| {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    };
    if shape.never {
        return;
    }
    if let Some(members) = &shape.members {
        members
            .iter()
            .take(MEMBERS)
            .for_each(|member| add(brief(member)));
        if members.len() > MEMBERS {
            add("…".to_owned());
        }
        return;
    }
    let branches = shape.branches();
    if !branches.is_empty() && depth <= DEPTH && shape.object.is_none() {
        for branch in branches.iter().take(MEMBERS) {
            collect(tree, *branch, depth + 1, kinds);
        }
        return;
    }
    if shape.types == Types::ANY {
        let part = shape.all.iter().find(|part| !tree.shape(**part).is_plain());
        return match part {
            Some(part) if depth <= DEPTH => collect(tree, *part, depth + 1, kinds),
            // Rules for members are meant for an object.
            _ if shape.object.is_some() => add(object_type(tree, shape, depth)),
            _ => add("any".to_owned()),
        };
    }
    for name in shape.types.names() {
        add(match name {
            "array" => array_type(tree, shape, depth),
            "object" => object_type(tree, shape, depth),
            name => name.to_owned(),
        });
    }
}

fn array_type(tree: &Tree, shape: &Shape, depth: usize) -> String {
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
            write_type(tree, *part, depth + 1, &mut out);
        }
        out.push(']');
        return out;
    }
    match array.items {
        None => out.push_str("any"),
        Some(items) => write_type(tree, items, depth + 1, &mut out),
    }
    // Inside quotes and braces it is no union, but brackets do no harm.
    if out.contains(" | ") {
        out = format!("({out})");
    }
    out.push_str("[]");
    out
}

fn object_type(tree: &Tree, shape: &Shape, depth: usize) -> String {
    let Some(object) = shape.object.as_deref().filter(|_| depth < DEPTH) else {
        return "object".to_owned();
    };
    let mut out = String::from("{");
    write_properties(tree, object, depth + 1, &mut out);
    let values = match object.rest {
        Rest::Of(id) => Some(id),
        Rest::Open | Rest::Closed => object.patterns.first().map(|(_, id)| *id),
    };
    if let Some(id) = values {
        if out.len() > 1 {
            out.push_str(", ");
        }
        out.push_str("[name: string]: ");
        write_type(tree, id, depth + 1, &mut out);
    }
    out.push('}');
    if out == "{}" {
        "object".to_owned()
    } else {
        out
    }
}

/// Writes one line a property; an object with documented properties, or a list of them, becomes a block of its own.
fn write_block(tree: &Tree, object: &Object, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    for property in &object.properties {
        out.push_str(&indent);
        write_name(property, out);
        let comment = comment(tree, property.shape);
        match block(tree, property.shape).filter(|_| depth < DEPTH) {
            Some((inner, suffix)) => {
                out.push('{');
                if !comment.is_empty() {
                    out.push_str(" // ");
                    out.push_str(&comment);
                }
                out.push('\n');
                write_block(tree, inner, depth + 1, out);
                out.push_str(&indent);
                out.push('}');
                out.push_str(suffix);
                out.push_str(",\n");
            }
            None => {
                write_type(tree, property.shape, depth - 1, out);
                out.push(',');
                if !comment.is_empty() {
                    out.push_str(" // ");
                    out.push_str(&comment);
                }
                out.push('\n');
            }
        }
    }
}

/// Returns the object that a shape, or each item of it, is, when its properties say something; and what follows it.
fn block(tree: &Tree, id: Id) -> Option<(&Object, &'static str)> {
    let shape = tree.shape(tree.resolve(id));
    let (inner, suffix) = if shape.types == Types::ARRAY {
        let items = shape.array.as_deref()?.items?;
        (tree.shape(tree.resolve(items)), "[]")
    } else {
        (shape, "")
    };
    let object = inner.object.as_deref()?;
    let only = inner.types == Types::OBJECT && !matches!(object.rest, Rest::Of(_));
    let says = object
        .properties
        .iter()
        .any(|property| !comment(tree, property.shape).is_empty());
    (only && says).then_some((object, suffix))
}

/// Returns what is to be known of a parameter besides its type.
fn comment(tree: &Tree, id: Id) -> String {
    let (outer, shape) = (tree.shape(id), tree.shape(tree.resolve(id)));
    let mut parts = Vec::new();
    let description = outer
        .docs
        .description
        .as_ref()
        .or(shape.docs.description.as_ref());
    if let Some(description) = description {
        let mut words = description.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((end, _)) = words.char_indices().nth(DOCS) {
            words.truncate(end);
            words.push('…');
        }
        parts.push(words);
    }
    parts.extend(shape.text.as_deref().map(text_rules));
    parts.extend(shape.number.as_deref().map(number_rules));
    parts.extend(shape.array.as_deref().map(array_rules));
    let default = outer.docs.default.as_ref().or(shape.docs.default.as_ref());
    if let Some(default) = default.filter(|default| *default != "null") {
        let mut text = "default ".to_owned();
        clip(default, &mut text);
        parts.push(text);
    }
    parts.retain(|part| !part.is_empty());
    if parts.len() > 1
        && let Some(description) = description
        && description.trim_end().ends_with('.')
        && parts[0].ends_with('.')
    {
        parts[0].pop();
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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

    #[test]
    fn declarations_comment_each_parameter() {
        let schema = Schema::parse_text(
            r#"{"type":"object","required":["city"],"properties":{
                "city":{"type":"string","minLength":1,"maxLength":80,"description":"City name."},
                "unit":{"enum":["celsius","fahrenheit"],"default":"celsius","description":"Temperature\nunit."},
                "days":{"type":"integer","minimum":1,"maximum":14,"default":3},
                "place":{"type":"object","description":"Exact place.","properties":{
                    "lat":{"type":"number","minimum":-90,"maximum":90},"name":{"type":"string","description":"A label."}},
                    "required":["lat"],"additionalProperties":false},
                "tags":{"type":"array","items":{"type":"string"},"maxItems":3}
            }}"#,
        );
        assert_eq!(
            schema.declaration("weather", "Current weather for a city.\n\nFor today."),
            r#"// Current weather for a city.
//
// For today.
weather(
  city: string, // City name, 1..=80 characters
  unit?: "celsius" | "fahrenheit", // Temperature unit, default "celsius"
  days?: integer, // 1..=14, default 3
  place?: { // Exact place.
    lat: number, // -90..=90
    name?: string, // A label.
  },
  tags?: string[], // at most 3 items
)"#
        );
        let none = Schema::parse(&json!({"type": "object", "properties": {}}));
        assert_eq!(none.declaration("now", "The time."), "// The time.\nnow()");
    }
}

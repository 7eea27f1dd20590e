//! A tool written out for the prompt protocol: a typed declaration with a comment behind each parameter.

use super::expected::{array_rules, number_rules, text_rules};
use super::report::clip_to;
use super::signature::{DEPTH, Writer, parameters};
use super::tree::{Id, Object, Schema, Tree, Types};

/// Longest documentation of a parameter, in characters.
const DOCS: usize = 400;
/// Longest default shown, in characters.
const DEFAULT: usize = 80;
/// Longest line of a tool's own description, in characters.
const DESCRIPTION: usize = 2_000;

impl Schema {
    /// Returns a declaration in the manner of TypeScript: one line a parameter, and what is to be known of it behind it.
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
            let mut comment = "// ".to_owned();
            clip_to(line.trim_end(), DESCRIPTION, &mut comment);
            out.push_str(comment.trim_end());
            out.push('\n');
        }
        out.push_str(name);
        match parameters(tree).filter(|object| !object.properties.is_empty()) {
            None => out.push_str("()"),
            Some(object) => {
                out.push_str("(\n");
                write_block(&mut Writer::new(tree), object, 1, &mut out);
                out.push(')');
            }
        }
        out
    }
}

/// Writes one line a property; an object with documented properties, or a list of them, becomes a block of its own.
fn write_block(writer: &mut Writer<'_>, object: &Object, depth: usize, out: &mut String) {
    let tree = writer.tree;
    let indent = "  ".repeat(depth);
    for property in &object.properties {
        out.push_str(&indent);
        writer.name(property, out);
        let mut comment = comment(tree, property.shape);
        if !comment.is_empty() {
            comment.insert_str(0, " // ");
        }
        let block = block(tree, property.shape).filter(|_| depth < DEPTH && writer.take());
        if let Some((inner, suffix)) = block {
            out.push_str(&format!("{{{comment}\n"));
            write_block(writer, inner, depth + 1, out);
            out.push_str(&format!("{indent}}}{suffix},\n"));
        } else {
            writer.types(property.shape, depth - 1, out);
            out.push_str(&format!(",{comment}\n"));
        }
    }
}

/// Returns the object that a shape, or each item of it, is, when its properties say something; and what follows it.
fn block(tree: &Tree, id: Id) -> Option<(&Object, &'static str)> {
    let shape = tree.shape(tree.resolve(id));
    let (inner, suffix) = match shape
        .array
        .as_deref()
        .filter(|_| shape.types == Types::ARRAY)
    {
        Some(array) if array.prefix.is_empty() => (tree.shape(tree.resolve(array.items?)), "[]"),
        _ => (shape, ""),
    };
    let object = inner.object.as_deref()?;
    let documented = |id| !comment(tree, id).is_empty();
    let says = object
        .properties
        .iter()
        .any(|property| documented(property.shape));
    (inner.types == Types::OBJECT && inner.is_closed_form() && says).then_some((object, suffix))
}

/// Returns what is to be known of a parameter besides its type.
fn comment(tree: &Tree, id: Id) -> String {
    let (outer, shape) = (tree.shape(id), tree.shape(tree.resolve(id)));
    let mut parts = Vec::new();
    let described = outer.docs.description.as_ref();
    if let Some(description) = described.or(shape.docs.description.as_ref()) {
        let words: Vec<&str> = description.split_whitespace().collect();
        let mut text = String::new();
        clip_to(&words.join(" "), DOCS, &mut text);
        parts.push(text);
    }
    parts.extend(shape.text.as_deref().map(text_rules));
    parts.extend(shape.number.as_deref().map(number_rules));
    parts.extend(shape.array.as_deref().map(array_rules));
    let default = outer.docs.default.as_ref().or(shape.docs.default.as_ref());
    if let Some(default) = default.filter(|default| *default != "null") {
        let mut text = "default ".to_owned();
        clip_to(default, DEFAULT, &mut text);
        parts.push(text);
    }
    parts.retain(|part| !part.is_empty());
    if let [first, _, ..] = parts.as_mut_slice()
        && first.ends_with('.')
    {
        first.pop();
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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

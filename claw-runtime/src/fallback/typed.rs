//! What the schema says about arguments that were written without types.

use serde_json::Value;

use super::repair::{self, Json, Style};

/// Returns `text` as the schema wants it: as it is where text is allowed, as JSON where it is not.
pub(super) fn from_text(text: String, property: &Value, schema: &Value) -> Json {
    if takes_text(property, schema, 0) {
        return Json::Text(text);
    }
    let inner = text.trim();
    match repair::read(inner, 0, Style::Loose) {
        Ok(read) if read.end == inner.len() && !read.implied && !inner.starts_with(['"', '\'']) => {
            read.json
        }
        _ => Json::Text(text),
    }
}

/// Tells whether a schema takes a string; what is not understood takes one.
fn takes_text(property: &Value, schema: &Value, depth: usize) -> bool {
    if depth > 8 {
        return true;
    }
    if let Some(target) = property["$ref"]
        .as_str()
        .and_then(|at| at.strip_prefix('#'))
    {
        return schema
            .pointer(target)
            .is_none_or(|target| takes_text(target, schema, depth + 1));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(branches) = property[key].as_array() {
            return branches
                .iter()
                .any(|branch| takes_text(branch, schema, depth + 1));
        }
    }
    if let Some(members) = property["enum"].as_array() {
        return members.iter().any(Value::is_string);
    }
    match &property["type"] {
        Value::String(name) => name == "string",
        Value::Array(names) => names.iter().any(|name| name == "string"),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_stays_text_where_text_is_allowed() {
        let root = json!({"$defs": {"n": {"type": "integer"}}});
        for (property, expected) in [
            (json!({"type": "string"}), "\"5\""),
            (json!({"type": "integer"}), "5"),
            (json!({"type": ["string", "integer"]}), "\"5\""),
            (json!({"$ref": "#/$defs/n"}), "5"),
            (
                json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
                "5",
            ),
            (json!({"enum": ["5", "6"]}), "\"5\""),
            (json!({}), "\"5\""),
        ] {
            assert_eq!(
                from_text("5".into(), &property, &root).render(),
                expected,
                "{property}"
            );
        }
    }
}

//! Whose fault it is that a service cannot follow a form: no service says it in a way to rely on, and one tool's schema
//! must not cost the others theirs.

use std::collections::BTreeSet;

use crate::dialect::Dialect;
use crate::registry::Toolset;
use crate::schema::json::Json;
use crate::schema::reader;

/// Bytes of a schema that no grammar is too small for.
const PLAIN_BYTES: usize = 8_192;

/// What every converter of schemas to grammars takes.
const PLAIN: &[&str] = &[
    "type",
    "title",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "default",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
];

/// Returns the tools whose arguments a form is to leave open after a service refused it with this `message`, besides those
/// in `loose` that it leaves open already; none when no schema can be at fault.
///
/// At first they are those the message names, else all whose schemas have more than plain keywords; the second time all of
/// these. So a form is refused three times at most.
pub(crate) fn blamed(tools: &Toolset, loose: &BTreeSet<&str>, message: &str) -> Vec<String> {
    let dialect = Dialect::named("llamacpp").unwrap_or(Dialect::CANONICAL);
    let offer = tools.offer(dialect);
    let suspects = offer.iter().filter(|offered| {
        !loose.contains(offered.tool.name()) && !is_plain_text(&offered.lowered.schema)
    });
    let mut suspects: Vec<String> = suspects
        .map(|offered| offered.tool.name().to_owned())
        .collect();
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let words: BTreeSet<&str> = message.split(|c| !in_name(c)).collect();
    if loose.is_empty() && suspects.iter().any(|name| words.contains(&**name)) {
        suspects.retain(|name| words.contains(&**name));
    }
    suspects
}

fn is_plain_text(schema: &str) -> bool {
    schema.len() <= PLAIN_BYTES && reader::read(schema).is_ok_and(|read| is_plain(&read.json))
}

fn is_plain(schema: &Json<'_>) -> bool {
    let Json::Object(members) = schema else {
        return matches!(schema, Json::Bool(_));
    };
    members.iter().all(|(key, value)| match (&**key, value) {
        ("properties", Json::Object(named)) => named.iter().all(|(_, schema)| is_plain(schema)),
        ("items" | "additionalProperties", schema) => is_plain(schema),
        (key, _) => PLAIN.contains(&key),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fallback::constrained::tests::tools;

    #[test]
    fn who_is_named_is_blamed_and_then_all_who_ask_for_much() {
        let words = json!({"type": "array", "items": {"type": "string"}});
        let tree = json!({
            "type": "object",
            "properties": {"root": {"$ref": "#/$defs/node"}},
            "$defs": {"node": {"type": "object", "properties": {
                "below": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            }}},
        });
        let short = json!({"type": "object", "properties": {
            "code": {"type": "string", "maxLength": 5},
        }});
        let many: Vec<String> = (0..2_000).map(|n| format!("value{n}")).collect();
        let many = json!({"type": "object", "properties": {"one": {"enum": many}}});
        let plain = json!({"type": "object", "required": ["n"], "properties": {
            "n": {"type": "integer", "minimum": 1, "description": "How many."},
            "unit": {"type": "string", "enum": ["x", "y"]},
            "words": words,
            // A name, and no keyword.
            "format": {"type": "object", "properties": {}, "additionalProperties": {"type": "number"}},
        }});
        let tools = tools(&[
            ("count", plain),
            ("many", many),
            ("short", short),
            ("walk", tree),
        ]);
        let none = BTreeSet::new();
        let all = ["many", "short", "walk"];
        assert_eq!(blamed(&tools, &none, "failed to parse grammar"), all);
        let named = "error resolving ref #/$defs/walk.node: not in the schema";
        assert_eq!(blamed(&tools, &none, named), ["walk"]);
        // A name within another word names nobody, and neither does one that cannot be at fault.
        assert_eq!(blamed(&tools, &none, "shortly before `count`"), all);
        let walk = BTreeSet::from(["walk"]);
        assert_eq!(
            blamed(&tools, &walk, "`many`: too large"),
            ["many", "short"]
        );
        let loose = BTreeSet::from(all);
        assert_eq!(blamed(&tools, &loose, "`many`"), [""; 0]);
    }
}

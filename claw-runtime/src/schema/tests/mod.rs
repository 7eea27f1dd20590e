//! The slow path as a whole: texts in, reports and coerced texts out.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

mod cases;
#[cfg(feature = "jsonschema")]
mod foreign;
mod hostile;
mod levels;
mod random;
mod suite;

/// Returns the coerced text with its notes, or the problems, one line each.
fn outcome(schema: &Schema, text: &str, coerce: Coerce, unknown: Unknown) -> String {
    match validate(schema, text, coerce, unknown) {
        Ok(valid) => {
            let notes = valid.notes.iter();
            std::iter::once(valid.text.clone())
                .chain(notes.map(|note| format!("{}: {}", note.pointer, note.text)))
                .collect::<Vec<_>>()
                .join("\n")
        }
        Err(invalid) => invalid
            .problems
            .iter()
            .map(|problem| format!("! {}: {}", problem.pointer, problem.text))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}

fn edit_file() -> Schema {
    Schema::parse(&json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "old": {"type": "string"},
            "new": {"type": "string"},
            "replace_all": {"type": "boolean"},
        },
        "required": ["path", "old", "new"],
        "additionalProperties": false,
    }))
}

/// Any JSON value whose floats serde_json reads exactly.
pub(super) fn json_strategy() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i32>().prop_map(|number| Value::from(f64::from(number) / 4.0)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(".{0,4}", inner, 0..4)
                .prop_map(|entries| entries.into_iter().collect::<Value>()),
        ]
    })
}

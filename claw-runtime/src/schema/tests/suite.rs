//! The public JSON Schema test suite, as far as its keywords are ours. Skipped where the suite is not at hand.

use std::path::PathBuf;

use super::*;
use crate::schema::check::Checker;
use crate::schema::report::Path;

/// The files whose keywords are read.
const FILES: &[&str] = &[
    "additionalProperties",
    "allOf",
    "anyOf",
    "boolean_schema",
    "const",
    "default",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "infinite-loop-detection",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "ref",
    "required",
    "type",
    "uniqueItems",
];

/// Keywords that are ignored; a group that needs one is left out.
const IGNORED: &[&str] = &[
    "$id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "not",
    "if",
    "then",
    "contains",
    "dependentSchemas",
    "dependentRequired",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
];

/// Where claw differs on purpose: an integer is written as one.
const STRICTER: &[&str] = &["a float with zero fractional part is an integer"];

#[test]
fn the_public_suite_agrees() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/data/json-schema-test-suite/tests/draft2020-12");
    if !root.exists() {
        println!("skipped: ../shared/data/json-schema-test-suite is not there");
        return;
    }
    let (mut run, mut left_out, mut wrong) = (0, 0, Vec::new());
    for file in FILES {
        let content = std::fs::read_to_string(root.join(format!("{file}.json"))).unwrap();
        let groups: Vec<Value> = serde_json::from_str(&content).unwrap();
        for group in groups {
            let tests = group["tests"].as_array().unwrap();
            if uses_ignored(&group["schema"]) {
                left_out += tests.len();
                continue;
            }
            let schema = Schema::parse(&group["schema"]);
            for test in tests {
                if STRICTER.iter().any(|name| test["description"] == *name) {
                    left_out += 1;
                    continue;
                }
                run += 1;
                if fits(&schema, &test["data"]) != test["valid"].as_bool().unwrap() {
                    wrong.push(format!(
                        "{file}: {} / {}",
                        group["description"], test["description"]
                    ));
                }
            }
        }
    }
    println!("{run} run, {left_out} left out");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn fits(schema: &Schema, data: &Value) -> bool {
    let tree = &schema.tree;
    let text = data.to_string();
    let mut json = crate::schema::reader::read(&text).unwrap().json;
    let mut checker = Checker::new(tree, None, Unknown::Refuse, text.len());
    checker.check(tree.root, &mut json, &Path::root(false));
    checker.finish().is_ok()
}

fn uses_ignored(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(uses_ignored),
        Value::Object(entries) => entries.iter().any(|(key, value)| {
            IGNORED.contains(&key.as_str())
                || (key == "$ref" && !value.as_str().is_some_and(|at| at.starts_with('#')))
                || uses_ignored(value)
        }),
        _ => false,
    }
}

//! Comparisons with known answers; `random` has what must hold for any two schemas.

mod random;

use serde_json::{Value, json};

use super::change::{Change, Kind};
use super::schema::{compare, compare_results};

/// Returns the changes in the words of the report.
fn changes(old: &Value, new: &Value) -> Vec<String> {
    let mut changes = compare(old, new);
    changes.sort_by_key(|change| change.kind);
    changes.iter().map(shown).collect()
}

fn shown(change: &Change) -> String {
    let Change {
        kind,
        at,
        what,
        before,
        after,
    } = change;
    let mut out = format!("{} {at}: {what}", kind.as_str());
    for value in [before, after].into_iter().flatten() {
        out.push_str(&format!(" | {value}"));
    }
    out
}

/// Returns the schema of an object with these properties, all of them optional.
fn object(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// Compares two schemas of a parameter `a`.
#[track_caller]
fn parameter(old: &Value, new: &Value, expected: &[&str]) {
    let found = changes(&object(&json!({"a": old})), &object(&json!({"a": new})));
    assert_eq!(found, expected, "{old} against {new}");
}

#[test]
fn types_narrow_and_widen() {
    parameter(
        &json!({"type": "number"}),
        &json!({"type": "integer"}),
        &["breaking /a: type | number | integer"],
    );
    parameter(
        &json!({"type": "integer"}),
        &json!({"type": ["string", "number"]}),
        &["additive /a: type | integer | string or number"],
    );
    parameter(
        &json!({"type": "string", "minLength": 3}),
        &json!({"type": "boolean"}),
        &["breaking /a: type | string | boolean"],
    );
    parameter(
        &json!({}),
        &json!({"type": "string"}),
        &["breaking /a: type | anything | string"],
    );
    parameter(
        &json!(false),
        &json!({}),
        &["additive /a: type | nothing | anything"],
    );
}

#[test]
fn bounds_tighten_and_loosen() {
    let range = |range: Value| {
        let mut schema = json!({"type": "integer"});
        schema
            .as_object_mut()
            .unwrap()
            .extend(range.as_object().unwrap().clone());
        schema
    };
    for (old, new, expected) in [
        (
            json!({"minimum": 1, "maximum": 100}),
            json!({"minimum": 1, "maximum": 50}),
            &["breaking /a: maximum changed | 100 | 50"][..],
        ),
        (
            json!({"minimum": 1}),
            json!({"minimum": -5}),
            &["additive /a: minimum changed | 1 | -5"],
        ),
        (
            json!({}),
            json!({"minimum": 0}),
            &["breaking /a: minimum added | 0"],
        ),
        (
            json!({"maximum": 9}),
            json!({}),
            &["additive /a: maximum removed | 9"],
        ),
        // Of integers, above 0 and from 1 on are the same.
        (json!({"exclusiveMinimum": 0}), json!({"minimum": 1}), &[]),
        (
            json!({"minimum": 0, "exclusiveMinimum": 0}),
            json!({"minimum": 0}),
            &["additive /a: minimum changed | above 0 | 0"],
        ),
        (
            json!({"maximum": 18_446_744_073_709_551_615_u64}),
            json!({"maximum": 18_446_744_073_709_551_614_u64}),
            &["breaking /a: maximum changed | 18446744073709551615 | 18446744073709551614"],
        ),
        (
            json!({"multipleOf": 10}),
            json!({"multipleOf": 5}),
            &["additive /a: multipleOf changed | 10 | 5"],
        ),
        (
            json!({"multipleOf": 5}),
            json!({"multipleOf": 10}),
            &["breaking /a: multipleOf changed | 5 | 10"],
        ),
    ] {
        parameter(&range(old), &range(new), expected);
    }
    parameter(
        &json!({"type": "number", "exclusiveMaximum": 1}),
        &json!({"type": "number", "maximum": 1.0}),
        &["additive /a: maximum changed | below 1 | 1.0"],
    );
    parameter(
        &json!({"type": "string", "minLength": 0, "maxLength": 80}),
        &json!({"type": "string", "minLength": 1, "maxLength": 90}),
        &[
            "breaking /a: minLength added | 1",
            "additive /a: maxLength changed | 80 | 90",
        ],
    );
}

#[test]
fn values_come_and_go() {
    parameter(
        &json!({"type": "string", "enum": ["c", "f", "k"]}),
        &json!({"type": "string", "enum": ["f", "c", "r"]}),
        &[
            "breaking /a: no longer takes \"k\"",
            "additive /a: also takes \"r\"",
        ],
    );
    parameter(&json!({"const": "c"}), &json!({"enum": ["c"]}), &[]);
    parameter(
        &json!({"type": "string"}),
        &json!({"enum": ["c", "f"]}),
        &["breaking /a: takes only \"c\", \"f\""],
    );
    parameter(
        &json!({"enum": ["c"]}),
        &json!({"type": "string"}),
        &["additive /a: takes more than \"c\""],
    );
}

#[test]
fn patterns_and_unknown_rules_are_not_guessed_at() {
    parameter(
        &json!({"type": "string", "pattern": "^a"}),
        &json!({"type": "string", "pattern": "a"}),
        &["breaking /a: pattern changed | \"^a\" | \"a\""],
    );
    parameter(
        &json!({"type": "string", "pattern": "a"}),
        &json!({"type": "string"}),
        &["additive /a: pattern removed | \"a\""],
    );
    parameter(
        &json!({"type": "integer", "format": "int32"}),
        &json!({"type": "integer", "format": "int64"}),
        &[],
    );
    parameter(
        &json!({"type": "object", "dependentRequired": {"x": ["y"]}}),
        &json!({"type": "object", "dependentRequired": {"x": ["z"]}}),
        &[r#"breaking /a: dependentRequired changed | {"x":["y"]} | {"x":["z"]}"#],
    );
}

#[test]
fn parameters_come_go_and_get_other_names() {
    let old = json!({
        "type": "object", "additionalProperties": false, "required": ["path", "mode"],
        "properties": {
            "path": {"type": "string"}, "mode": {"type": "integer"}, "limit": {"type": "integer", "minimum": 1},
            "gone": {"type": "null"},
        },
    });
    let new = json!({
        "type": "object", "additionalProperties": false, "required": ["file", "limit", "force"],
        "properties": {
            "file": {"type": "string", "x-aliases": ["path"]}, "mode": {"type": "integer"},
            "limit": {"type": "integer", "minimum": 1}, "force": {"type": "boolean"},
            "dry_run": {"type": "boolean"},
        },
    });
    assert_eq!(
        changes(&old, &new),
        [
            "breaking /gone: removed",
            "breaking /limit: required now",
            "breaking /force: new, and required",
            "additive /mode: optional now",
            "additive /path: now named `file`, and still read as `path`",
            "additive /dry_run: new, optional",
        ]
    );
    assert_eq!(
        changes(
            &object(&json!({"a": {"type": "string"}})),
            &object(&json!({"b": {"type": "string"}}))
        ),
        [
            "breaking /a: removed; `b` looks like it under a new name",
            "additive /b: new, optional"
        ]
    );
    parameter(
        &json!({"type": "string", "x-aliases": ["x", "y"]}),
        &json!({"type": "string", "x-aliases": ["y", "z"]}),
        &[
            "breaking /a: no longer read as `x`",
            "additive /a: also read as `z`",
        ],
    );
}

#[test]
fn maps_lists_and_tuples_are_followed() {
    parameter(
        &json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        &json!({"type": "object", "additionalProperties": {"type": "number"}}),
        &["additive /a/*: type | integer | number"],
    );
    parameter(
        &json!({"type": "object", "additionalProperties": true}),
        &json!({"type": "object", "additionalProperties": false}),
        &["breaking /a/*: other names are refused"],
    );
    parameter(
        &json!({"type": "array", "items": {"type": "string"}, "maxItems": 3}),
        &json!({"type": "array", "items": {"type": "string", "maxLength": 9}, "maxItems": 3, "uniqueItems": true}),
        &[
            "breaking /a: no item may come twice",
            "breaking /a/*: maxLength added | 9",
        ],
    );
    let tuple = |count: usize| {
        json!({"type": "array", "prefixItems": vec![json!({"type": "number"}); count], "items": false,
            "minItems": count, "maxItems": count})
    };
    parameter(
        &tuple(2),
        &tuple(3),
        &[
            "breaking /a: minItems changed | 2 | 3",
            "additive /a: maxItems changed | 2 | 3",
            "additive /a/2: type | nothing | number",
        ],
    );
}

#[test]
fn unions_are_compared_form_by_form() {
    let form = |kind: &str, rest: Value| {
        json!({"type": "object", "required": ["kind"], "additionalProperties": false,
            "properties": {"kind": {"const": kind}, "rest": rest}})
    };
    parameter(
        &json!({"anyOf": [form("city", json!({"type": "string"})), form("zip", json!({"type": "string"}))]}),
        &json!({"anyOf": [form("point", json!({"type": "string"})), form("city", json!({"type": "integer"}))]}),
        &[
            "breaking /a/rest: type | string | integer",
            "breaking /a: no longer takes kind: \"zip\"",
            "additive /a: also takes kind: \"point\"",
        ],
    );
    parameter(
        &json!({"type": "string", "description": "Old."}),
        &json!({"description": "New.", "anyOf": [{"type": "null"}, {"type": "string", "minLength": 1}]}),
        &[
            "breaking /a: minLength added | 1",
            "additive /a: also takes null",
            "wording /a: description changed | \"Old.\" | \"New.\"",
        ],
    );
    parameter(
        &json!({"type": ["string", "null"]}),
        &json!({"oneOf": [{"type": "string"}, {"type": "null"}]}),
        &[],
    );
    parameter(
        &json!({"allOf": [{"type": "string"}]}),
        &json!({"allOf": [{"type": "string"}, {"minLength": 2}]}),
        &["breaking /a: schemas in `allOf` | 1 | 2"],
    );
}

#[test]
fn words_are_wording_and_another_default_is_not() {
    parameter(
        &json!({"type": "integer", "description": "One.", "title": "A", "default": 1}),
        &json!({"type": "integer", "description": "Two.", "examples": [3], "default": 2}),
        &[
            "breaking /a: default changed | 1 | 2",
            "wording /a: description changed | \"One.\" | \"Two.\"",
            "wording /a: examples added | [3]",
            "wording /a: title removed | \"A\"",
        ],
    );
    parameter(
        &json!({"type": "integer"}),
        &json!({"type": "integer", "default": 2}),
        &["wording /a: default added | 2"],
    );
}

#[test]
fn results_are_compared_from_the_other_side() {
    let result = |properties: Value, required: &[&str]| {
        json!({"type": "object", "properties": properties, "required": required,
            "additionalProperties": false})
    };
    let old = result(
        json!({"sky": {"enum": ["clear", "rain"]}, "celsius": {"type": "integer"}, "wind": {}, "old": {}}),
        &["sky", "celsius", "wind", "old"],
    );
    let new = result(
        json!({"sky": {"enum": ["clear"]}, "celsius": {"type": "number"}, "wind": {}, "new": {}, "more": {}}),
        &["sky", "celsius", "new"],
    );
    let mut changes = compare_results(&old, &new);
    changes.sort_by_key(|change| change.kind);
    let found: Vec<String> = changes.iter().map(shown).collect();
    assert_eq!(
        found,
        [
            "breaking result/celsius: type | integer | number",
            "breaking result/old: removed",
            "breaking result/wind: optional now",
            "additive result/sky: no longer takes \"rain\"",
            "additive result/more: new, optional",
            "additive result/new: new, and required",
        ]
    );
}

#[test]
fn references_are_followed_once_round() {
    let tree = |leaf: Value| {
        json!({
            "type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}},
            "$defs": {"Node": {"type": "object", "properties": {
                "leaf": leaf,
                "left": {"$ref": "#/$defs/Node", "description": "Left."},
                "more": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
            }}},
        })
    };
    assert_eq!(changes(&tree(json!({})), &tree(json!({}))), [""; 0]);
    let found = changes(
        &tree(json!({"type": "string"})),
        &tree(json!({"type": "null"})),
    );
    assert!(
        found.contains(&"breaking /root/leaf: type | string | null".to_owned()),
        "{found:?}"
    );
    assert!(found.len() <= 3, "{found:?}");
    // A schema that is written out is the one that is referred to.
    assert_eq!(
        changes(
            &json!({"properties": {"a": {"$ref": "#/$defs/~1x"}}, "$defs": {"/x": {"type": "string"}}}),
            &json!({"properties": {"a": {"type": "string"}}}),
        ),
        [""; 0]
    );
    let endless = json!({"$ref": "#"});
    assert_eq!(changes(&endless, &endless), [""; 0]);
}

#[test]
fn what_is_too_deep_is_said_once() {
    let deep = |depth: usize| {
        (0..depth).fold(
            json!({}),
            |inner, _| json!({"type": "array", "items": inner}),
        )
    };
    assert_eq!(compare(&deep(50), &deep(50)), []);
    let found = compare(&deep(400), &deep(400));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, Kind::Breaking);
}

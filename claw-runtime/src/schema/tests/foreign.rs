//! What the tree does not read, in the one report.

use std::collections::BTreeMap;

use super::*;

fn foreign(schema: Value) -> Schema {
    Schema::foreign(&schema).unwrap()
}

fn judged(schema: &Schema, text: &str) -> String {
    outcome(schema, text, Coerce::Safe, Unknown::Refuse)
}

#[test]
fn keywords_the_tree_does_not_read_are_told_as_the_others_are() {
    let part = json!({"type": "string", "minLength": 3});
    for (schema, value, expected) in [
        (
            json!({"not": {"type": "string"}}),
            r#""a""#,
            r#"! /v: expected anything but string, got string "a""#,
        ),
        (
            json!({"type": "array", "contains": {"type": "integer"}}),
            r#"["a"]"#,
            r#"! /v: expected at least 1 item that is integer, got array ["a"]"#,
        ),
        (
            json!({"contains": {"const": 1}, "minContains": 2, "maxContains": 3}),
            "[1]",
            "! /v: expected 2..=3 items that are 1, got array [1]",
        ),
        (
            json!({"propertyNames": {"maxLength": 3}}),
            r#"{"long":1}"#,
            "! /v/long: unfit name; expected a name that is string of at most 3 characters",
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            r#"{"a":1}"#,
            "! /v/b: required, missing",
        ),
        (
            json!({"dependentSchemas": {"a": {"minProperties": 2}}}),
            r#"{"a":1}"#,
            r#"! /v: expected at least 2 members, got object {"a":1}"#,
        ),
        (
            json!({"if": {"type": "integer"}, "then": {"minimum": 5}}),
            "3",
            "! /v: expected number >= 5, got 3",
        ),
        (
            json!({"properties": {"a": {}}, "unevaluatedProperties": false}),
            r#"{"a":1,"b":2}"#,
            "! /v/b: unknown parameter",
        ),
        (
            json!({"prefixItems": [{}], "unevaluatedItems": false}),
            "[1,2]",
            "! /v: expected fewer items, got array [1,2]",
        ),
        (
            json!({"type": "string", "pattern": "^(?!secret)"}),
            r#""secret""#,
            r#"! /v: expected string matching `^(?!secret)`, got string "secret""#,
        ),
        (
            json!({"anyOf": [{"type": "array", "contains": part}, {"type": "null"}]}),
            r#"["a"]"#,
            r#"! /v: expected at least 1 item that is string of at least 3 characters, got array ["a"]"#,
        ),
        (
            json!({"oneOf": [{"not": {"const": 1}}, {"type": "integer"}]}),
            "2",
            "! /v: expected only one form to fit (a value or integer), got 2",
        ),
        (
            json!({"$dynamicRef": "#n", "$defs": {"n": {"$dynamicAnchor": "n", "type": "null"}}}),
            "2",
            "! /v: expected null, got 2",
        ),
    ] {
        let schema = foreign(
            json!({"type": "object", "properties": {"v": schema}, "$defs": schema["$defs"].as_object().cloned().unwrap_or_default()}),
        );
        assert_eq!(judged(&schema, &format!(r#"{{"v":{value}}}"#)), expected);
    }
}

#[test]
fn both_validators_problems_stand_in_one_report() {
    let schema = foreign(json!({
        "type": "object",
        "properties": {
            "mode": {"enum": ["file", "text"]},
            "path": {"type": "string"},
            "limit": {"type": "integer", "not": {"const": 7}},
            "depth": {"type": "integer"},
        },
        "required": ["mode"],
        "if": {"properties": {"mode": {"const": "file"}}},
        "then": {"required": ["path"]},
    }));
    assert_eq!(
        judged(&schema, r#"{"mode":"file","limit":"7","depth":"deep"}"#),
        "! /depth: expected integer, got string \"deep\"\n\
         ! /limit: expected anything but 7, got 7\n\
         ! /path: required, missing"
    );
    // What one of them explains is not told twice.
    assert_eq!(
        judged(&schema, r#"{"limit":true}"#),
        "! /mode: required, missing (one of \"file\", \"text\")\n\
         ! /limit: expected integer, got true\n\
         ! /path: required, missing"
    );
    // The complete check sees what coercion made.
    assert_eq!(
        judged(&schema, r#"{"mode":"File","path":"a","limit":"8"}"#),
        "{\"mode\":\"file\",\"path\":\"a\",\"limit\":8}\n/mode: \"File\" became \"file\"\n/limit: \"8\" became 8"
    );
}

#[test]
fn a_schema_that_does_not_compile_is_refused_with_its_place() {
    for (schema, pointer, said) in [
        (json!({"type": "dict"}), "/type", "dict"),
        (
            json!({"properties": {"a": {"type": "string", "pattern": "["}}}),
            "/properties/a/pattern",
            "[",
        ),
        (
            json!({"properties": {"a": {"$ref": "https://example.com/x.json"}}}),
            "/properties/a/$ref",
            "https://example.com/x.json",
        ),
        (
            json!({"$ref": "file:///etc/passwd"}),
            "/$ref",
            "not followed",
        ),
        (json!({"$ref": "#/$defs/none"}), "/$ref", "/$defs/none"),
        (
            json!({"$schema": "https://example.com/dialect"}),
            "/$schema",
            "dialect",
        ),
        (json!({"required": "a"}), "/required", "a"),
    ] {
        let error = Schema::foreign(&schema).unwrap_err();
        assert_eq!(error.pointer, pointer, "{error}");
        assert!(error.problem.contains(said), "{error}");
    }
    let deep = (0..200).fold(json!(true), |inner, _| json!({"not": inner}));
    assert_eq!(
        Schema::foreign(&deep).unwrap_err().to_string(),
        "not a JSON Schema that can be checked, at its root: nested deeper than 128 levels"
    );
}

#[test]
fn documents_that_come_with_a_schema_are_followed() {
    let documents = BTreeMap::from([(
        "https://example.com/x.json".to_owned(),
        json!({"type": "integer", "maximum": 3}),
    )]);
    let schema = json!({"properties": {"a": {"$ref": "https://example.com/x.json"}}});
    let schema = Schema::foreign_with(&schema, &documents).unwrap();
    assert_eq!(judged(&schema, r#"{"a":3}"#), r#"{"a":3}"#);
    let told = judged(&schema, r#"{"a":4}"#);
    assert!(
        told.starts_with("! /a: ") && told.ends_with("got 4"),
        "{told}"
    );
}

#[test]
fn a_document_in_an_unknown_dialect_refuses_only_who_refers_to_it() {
    let documents = BTreeMap::from([(
        "https://example.com/old.json".to_owned(),
        json!({"$schema": "http://json-schema.org/draft-03/schema#", "type": "integer"}),
    )]);
    assert!(Schema::foreign_with(&json!({"type": "object"}), &documents).is_ok());
    let refers = json!({"properties": {"a": {"$ref": "https://example.com/old.json"}}});
    let error = Schema::foreign_with(&refers, &documents).unwrap_err();
    assert_eq!(error.pointer, "/properties/a/$ref");
}

#[test]
fn older_drafts_keep_their_meaning() {
    let schema = foreign(json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "definitions": {"n": {"type": "integer"}},
        "properties": {
            // Up to draft 7, what stands beside `$ref` says nothing.
            "n": {"$ref": "#/definitions/n", "maximum": 3, "description": "A number."},
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
        },
        "dependencies": {"pair": ["n"]},
    }));
    assert_eq!(
        judged(&schema, r#"{"n":"7"}"#),
        "{\"n\":7}\n/n: \"7\" became 7"
    );
    assert_eq!(
        judged(&schema, r#"{"n":1,"pair":["a","b"]}"#),
        "! /pair/1: expected integer, got string \"b\""
    );
    assert_eq!(
        judged(&schema, r#"{"pair":["a",1]}"#),
        "! /n: required, missing"
    );
}

/// What each draft alone has; schemas of the wild name an old one more often than the newest.
#[test]
fn each_draft_has_its_own_keywords() {
    let draft = |name: &str| format!("http://json-schema.org/{name}/schema#");
    let (four, seven) = (draft("draft-04"), draft("draft-07"));
    let nineteen = "https://json-schema.org/draft/2019-09/schema";
    let tree = json!({
        "$schema": nineteen, "$recursiveAnchor": true, "$id": "https://example.com/tree",
        "properties": {"next": {"$recursiveRef": "#"}, "n": {"type": "integer"}},
    });
    let closed = json!({
        "$schema": nineteen, "$recursiveAnchor": true, "$id": "https://example.com/closed",
        "$ref": "tree", "unevaluatedProperties": false, "$defs": {"tree": tree},
    });
    for (schema, value, fits) in [
        (
            json!({"$schema": four, "maximum": 3, "exclusiveMaximum": true}),
            json!(3),
            false,
        ),
        (
            json!({"$schema": four, "maximum": 3, "exclusiveMaximum": true}),
            json!(2),
            true,
        ),
        (
            json!({"$schema": four, "not": {}, "const": 1}),
            json!(1),
            false,
        ),
        (
            json!({"$schema": four, "const": 1, "not": {"type": "null"}}),
            json!(null),
            false,
        ),
        (
            json!({"$schema": four, "id": "http://a/b", "properties": {"x": {"$ref": "b#/definitions/n"}}, "definitions": {"n": {"type": "null"}}}),
            json!({"x": 1}),
            false,
        ),
        (
            json!({"$schema": four, "properties": {"a": {}}, "additionalProperties": false}),
            json!({"a": 1}),
            true,
        ),
        (
            json!({"$schema": four, "properties": {"a": {}}, "additionalProperties": false}),
            json!({"b": 1}),
            false,
        ),
        (
            json!({"$schema": four, "items": [{}], "additionalItems": false}),
            json!([1, 2]),
            false,
        ),
        (
            json!({"$schema": seven, "$recursiveRef": "#"}),
            json!(1),
            true,
        ),
        (
            json!({"$schema": seven, "if": {"const": 1}, "then": false}),
            json!(1),
            false,
        ),
        (
            json!({"$schema": seven, "$ref": "#n", "definitions": {"n": {"$id": "#n", "type": "null"}}}),
            json!(1),
            false,
        ),
        (
            json!({"$schema": seven, "unevaluatedProperties": false}),
            json!({"a": 1}),
            true,
        ),
        (
            json!({"$schema": seven, "items": [{}], "additionalItems": false}),
            json!([1, 2]),
            false,
        ),
        (closed.clone(), json!({"next": {"next": {"n": 1}}}), true),
        (closed.clone(), json!({"next": {"next": {"m": 1}}}), false),
        (
            json!({"$schema": nineteen, "items": [{}], "contains": {}, "unevaluatedItems": false}),
            json!([1, 2]),
            false,
        ),
        (
            json!({"prefixItems": [{}], "contains": {}, "unevaluatedItems": false}),
            json!([1, 2]),
            true,
        ),
    ] {
        assert_eq!(
            foreign(schema.clone()).check(&value).is_ok(),
            fits,
            "{schema} {value}"
        );
    }
}

#[test]
fn a_tool_may_take_a_schema() {
    for dialect in [
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-04/schema#",
    ] {
        let schema = foreign(json!({
            "type": "object",
            "properties": {"schema": {"$ref": dialect}},
        }));
        let sound = r#"{"schema":{"type":"object","properties":{"a":{"minLength":1}}}}"#;
        assert_eq!(judged(&schema, sound), sound);
        let told = judged(
            &schema,
            r#"{"schema":{"properties":{"a":{"minLength":-1}}}}"#,
        );
        assert!(
            told.starts_with("! /schema/properties/a/minLength: expected "),
            "{dialect}: {told}"
        );
    }
}

#[test]
fn secrets_are_masked_wherever_they_lie() {
    let secret = json!({"type": "string", "writeOnly": true, "not": {"minLength": 7}});
    let schema = foreign(json!({
        "type": "object",
        "$defs": {"login": {"type": "object", "properties": {"key": secret, "n": {"not": {"const": 7}}}}},
        "properties": {
            // In the order of the alphabet: some builds keep the order of names, others sort them.
            "either": {"anyOf": [secret, {"type": "null"}]},
            "list": {"type": "array", "items": secret},
            "login": {"$ref": "#/$defs/login"},
            "map": {"type": "object", "additionalProperties": secret},
        },
    }));
    assert_eq!(
        judged(
            &schema,
            r#"{"either":"hunter2","list":["hunter2"],"login":{"key":"hunter2","n":7},"map":{"a":"hunter2"}}"#
        ),
        "! /either: expected anything but string of at least 7 characters, got string (secret)\n\
         ! /list/0: expected anything but string of at least 7 characters, got string (secret)\n\
         ! /login/key: expected anything but string of at least 7 characters, got string (secret)\n\
         ! /login/n: expected anything but 7, got 7\n\
         ! /map/a: expected anything but string of at least 7 characters, got string (secret)"
    );
}

/// Keywords with whatever value, also one that makes no sense.
fn hostile_schemas() -> impl Strategy<Value = Value> {
    let keywords = proptest::sample::select(vec![
        "type",
        "enum",
        "const",
        "items",
        "prefixItems",
        "contains",
        "minContains",
        "properties",
        "patternProperties",
        "additionalProperties",
        "required",
        "propertyNames",
        "dependentRequired",
        "dependencies",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "if",
        "then",
        "$ref",
        "$dynamicRef",
        "$recursiveRef",
        "$id",
        "$anchor",
        "$dynamicAnchor",
        "$schema",
        "$defs",
        "unevaluatedItems",
        "unevaluatedProperties",
        "pattern",
        "multipleOf",
        "maxLength",
        "minItems",
    ]);
    let leaf = prop_oneof![
        json_strategy(),
        proptest::sample::select(vec![
            "#",
            "#/$defs/a",
            "#a",
            "a",
            "http://a/b",
            "object",
            "^a(?=b)",
            "http://json-schema.org/draft-07/schema#",
            "https://json-schema.org/draft/2019-09/schema",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        let names = prop_oneof![keywords.clone().prop_map(str::to_owned), "[a-c]"];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(names, inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Whatever is said to be a schema, nothing panics.
    #[test]
    fn any_schema_is_compiled_or_refused(schema in hostile_schemas(), value in json_strategy()) {
        if let Ok(schema) = Schema::foreign(&schema) {
            let _ = schema.check(&value);
        }
    }

    /// Both validators agree on what the tree reads in full.
    #[test]
    fn the_tree_refuses_nothing_that_fits(value in json_strategy()) {
        for schema in [
            json!({"anyOf": [{"type": "string", "maxLength": 3}, {"type": ["integer", "null"], "minimum": 5}]}),
            json!({"items": {"enum": [null, 1, "a"]}, "maxItems": 2, "uniqueItems": true}),
            json!({"properties": {"a": {"type": "number"}}, "additionalProperties": {"type": "array"}, "minProperties": 1}),
            json!({"oneOf": [{"not": {"type": "array"}}, {"contains": {"type": "boolean"}}]}),
        ] {
            let tree = Schema::parse(&schema);
            let whole = Schema::foreign(&schema).unwrap();
            if tree.tree.partial {
                // The tree lets through; what it refuses does not fit.
                if tree.check(&value).is_err() {
                    prop_assert!(whole.check(&value).is_err());
                }
            } else {
                prop_assert_eq!(tree.check(&value), whole.check(&value), "{} {}", schema, value);
            }
        }
    }
}

//! What one schema becomes in each dialect, to the letter.

use claw_runtime::dialect::{DIALECTS, Dialect};
use serde_json::{Value, json};

use super::{encode, lift, lowered};

/// A tool's parameter in the canonical schema, and what it is in a dialect.
fn check(dialect: &str, property: Value, wanted: Value) {
    let schema = json!({"type": "object", "properties": {"a": property}, "required": ["a"], "additionalProperties": false});
    let lowered = Dialect::named(dialect)
        .unwrap()
        .lower_value(&schema)
        .unwrap();
    assert_eq!(lowered.to_value()["properties"]["a"], wanted, "{dialect}");
}

#[test]
fn a_canonical_schema_is_sent_as_it_is_written() {
    let schema = r##"{"type":"object","properties":{"b":{"type":"string","minLength":1,"maxLength":80,"description":"B."},"a":{"type":"integer","minimum":1,"multipleOf":5,"default":5},"c":{"type":"array","prefixItems":[{"type":"string"}],"items":false,"minItems":1,"maxItems":1},"d":{"anyOf":[{"type":"number"},{"type":"null"}]},"e":{},"f":{"$ref":"#/$defs/F","description":"F."}},"required":["b","f"],"additionalProperties":false,"$defs":{"F":{"type":"object","properties":{"f":{"$ref":"#/$defs/F"}},"additionalProperties":false}}}"##;
    for dialect in DIALECTS.iter().filter(|dialect| !dialect.typed) {
        let lowered = dialect.lower(schema).unwrap();
        assert_eq!(lowered.schema, schema, "{}", dialect.name);
        assert!(
            lowered.is_same() && lowered.lost.is_empty(),
            "{}",
            dialect.name
        );
    }
}

#[test]
fn bounds_move_to_the_description() {
    let count = json!({"type": "integer", "minimum": 1, "maximum": 10, "default": 3, "description": "How many."});
    check(
        "anthropic-strict",
        count.clone(),
        json!({"type": "integer", "description": "How many. (1–10; default 3)"}),
    );
    check(
        "openai-strict",
        count.clone(),
        json!({"type": "integer", "minimum": 1, "maximum": 10, "description": "How many. (default 3)"}),
    );
    check("moonshot", count.clone(), count);
    let text = json!({"type": "string", "minLength": 1, "maxLength": 80, "pattern": "^a", "format": "uri"});
    check(
        "ollama",
        text.clone(),
        json!({"type": "string", "description": "format uri; matches `^a`; 1–80 characters"}),
    );
    check(
        "gemini-parameters",
        text.clone(),
        json!({"type": "string", "pattern": "^a", "minLength": 1, "maxLength": 80, "description": "format uri"}),
    );
    check(
        "anthropic-strict",
        text,
        json!({"type": "string", "format": "uri", "description": "matches `^a`; 1–80 characters"}),
    );
    check(
        "openai-strict",
        json!({"type": "string", "pattern": "a(?=b)"}),
        json!({"type": "string", "description": "matches `a(?=b)`"}),
    );
    check(
        "llamacpp",
        json!({"type": "number", "minimum": 0}),
        json!({"type": "number", "description": "at least 0"}),
    );
    check(
        "llamacpp",
        json!({"type": "integer", "minimum": 0}),
        json!({"type": "integer", "minimum": 0}),
    );
    check(
        "llamacpp",
        json!({"type": "string", "maxLength": 100_000}),
        json!({"type": "string", "description": "at most 100000 characters"}),
    );
    let list =
        json!({"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": true});
    check(
        "anthropic-strict",
        list,
        json!({"type": "array", "items": {"type": "string"}, "description": "at least 2 items; all different"}),
    );
}

#[test]
fn null_and_constants_take_the_form_of_the_dialect() {
    let maybe = json!({"anyOf": [{"type": "string", "description": "A name."}, {"type": "null"}]});
    check(
        "openai-strict",
        maybe.clone(),
        json!({"type": ["string", "null"], "description": "A name."}),
    );
    check(
        "gemini-parameters",
        maybe.clone(),
        json!({"type": "string", "nullable": true, "description": "A name."}),
    );
    check(
        "ollama",
        maybe,
        json!({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "A name."}),
    );
    let list = json!({"type": ["array", "null"], "items": {"type": "integer"}});
    check(
        "deepseek-strict",
        list,
        json!({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}),
    );
    check(
        "deepseek-strict",
        json!({"type": ["integer", "null"]}),
        json!({"type": ["integer", "null"]}),
    );
    check(
        "gemini-parameters",
        json!({"const": "x"}),
        json!({"type": "string", "enum": ["x"]}),
    );
    check(
        "gemini-parameters",
        json!({"enum": [1, 2]}),
        json!({"type": "integer", "description": "one of 1, 2"}),
    );
    check(
        "gemini",
        json!({"enum": [1, 2]}),
        json!({"type": "integer", "enum": [1, 2]}),
    );
    check(
        "openai-strict",
        json!({"const": 5}),
        json!({"type": "integer", "const": 5}),
    );
    let documented = json!({"oneOf": [{"const": "a", "description": "First."}, {"const": "b", "description": "Second."}]});
    check(
        "openai-strict",
        documented,
        json!({"type": "string", "enum": ["a", "b"], "description": "\"a\": First.; \"b\": Second."}),
    );
}

#[test]
fn what_strict_dialects_cannot_say_takes_another_form() {
    let map = json!({"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1, "description": "Counts."});
    check(
        "openai-strict",
        map.clone(),
        json!({
            "type": "array", "minItems": 1, "description": "Counts. (one entry for each key)",
            "items": {"type": "object", "properties": {"key": {"type": "string"}, "value": {"type": "integer"}},
                "required": ["key", "value"], "additionalProperties": false},
        }),
    );
    check(
        "ollama",
        map,
        json!({"type": "object", "description": "Counts. (at least 1 property)"}),
    );
    check(
        "openai-strict",
        json!({}),
        json!({"type": "string", "description": "any JSON value, as JSON text"}),
    );
    check(
        "openai-strict",
        json!({"type": "object"}),
        json!({"type": "string", "description": "a JSON object, as JSON text"}),
    );
    let pair = json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "items": false, "minItems": 2, "maxItems": 2});
    check(
        "openai-strict",
        pair,
        json!({
            "type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}, "minItems": 2, "maxItems": 2,
            "description": "in order: string, number",
        }),
    );
    let both = json!({"allOf": [{"type": "object", "properties": {"x": {"type": "integer"}}}, {"required": ["x"], "additionalProperties": false}]});
    check(
        "anthropic-strict",
        both,
        json!({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": false}),
    );
    let beside = json!({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"], "additionalProperties": {"type": "string"}});
    let schema = json!({"type": "object", "properties": {"a": beside}, "required": ["a"], "additionalProperties": false});
    let lowered = Dialect::named("openai-strict")
        .unwrap()
        .lower_value(&schema)
        .unwrap();
    let wire = r#"{"a":{"x":1,"additional_properties":[{"key":"y","value":"z"}]}}"#;
    assert_eq!(lowered.lift(wire), r#"{"a":{"x":1,"y":"z"}}"#);
    assert_eq!(lowered.encode(r#"{"a":{"x":1,"y":"z"}}"#), wire);
}

#[test]
fn a_union_that_cannot_be_told_apart_is_sent_as_text() {
    // A list of entries, and a map that would look like one.
    let entries = json!({"type": "array", "items": {"type": "object", "properties": {"key": {"type": "string"}, "value": {"type": "integer"}}, "required": ["key", "value"], "additionalProperties": false}});
    let union = json!({"anyOf": [entries, {"type": "object", "additionalProperties": {"type": "integer"}}]});
    check(
        "openai-strict",
        union,
        json!({"type": "string", "description": "a JSON value, as JSON text"}),
    );
}

#[test]
fn a_list_belongs_to_the_branch_whose_length_it_has() {
    let one =
        json!({"type": "array", "prefixItems": [{}], "items": false, "minItems": 1, "maxItems": 1});
    let some = json!({"type": "array", "items": {"type": "boolean"}, "maxItems": 3});
    let schema = json!({
        "type": "object", "properties": {"a": {"anyOf": [one, some]}}, "required": ["a"],
    });
    let dialect = Dialect::named("openai-strict").unwrap();
    let (_, lowered) = lowered(dialect, &schema);
    // The first branch takes any one value, as JSON text on the wire; two booleans are the second's.
    let values = [
        (json!({"a": [false]}), json!({"a": ["false"]})),
        (json!({"a": [false, true]}), json!({"a": [false, true]})),
    ];
    for (value, wire) in values {
        assert_eq!(encode(&lowered, &value), wire);
        assert_eq!(lift(&lowered, &wire), value);
    }
}

#[test]
fn a_list_belongs_to_the_branch_whose_places_it_fits() {
    let two = json!({"type": "array", "prefixItems": [{"enum": ["a", "b"]}, {}], "items": false, "minItems": 2, "maxItems": 2});
    let some = json!({"type": "array", "items": {"type": "boolean"}, "maxItems": 3});
    let schema = json!({
        "type": "object", "properties": {"a": {"anyOf": [two, some]}}, "required": ["a"],
    });
    let dialect = Dialect::named("openai-strict").unwrap();
    let (_, lowered) = lowered(dialect, &schema);
    let values = [
        (json!({"a": ["b", false]}), json!({"a": ["b", "false"]})),
        (json!({"a": [false, true]}), json!({"a": [false, true]})),
    ];
    for (value, wire) in values {
        assert_eq!(encode(&lowered, &value), wire);
        assert_eq!(lift(&lowered, &wire), value);
    }
}

#[test]
fn a_root_that_is_a_union_becomes_one_object() {
    let schema = json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}}, "required": ["kind", "x"], "additionalProperties": false},
        {"type": "object", "properties": {"kind": {"const": "b"}, "y": {"type": "string"}}, "required": ["kind", "y"], "additionalProperties": false},
    ]});
    let lowered = Dialect::named("anthropic-strict")
        .unwrap()
        .lower_value(&schema)
        .unwrap();
    assert_eq!(
        lowered.to_value(),
        json!({
            "type": "object",
            "properties": {"kind": {"type": "string", "enum": ["a", "b"]}, "x": {"type": "integer"}, "y": {"type": "string"}},
            "required": ["kind"], "additionalProperties": false,
        })
    );
    assert_eq!(
        lowered.lost[0].to_string(),
        "/: `oneOf` merged into one object"
    );
    let lowered = Dialect::named("openai-strict")
        .unwrap()
        .lower_value(&schema)
        .unwrap();
    assert_eq!(
        lowered.lift(r#"{"kind":"a","x":1,"y":null}"#),
        r#"{"kind":"a","x":1}"#
    );
}

#[test]
fn names_a_service_refuses_are_replaced_and_read_back() {
    let schema = json!({"type": "object", "properties": {"größe": {"type": "integer"}, "ok": {"type": "integer"}}});
    let lowered = Dialect::named("anthropic")
        .unwrap()
        .lower_value(&schema)
        .unwrap();
    let wire = lowered.encode(r#"{"größe":1,"ok":2}"#).into_owned();
    assert!(wire.is_ascii() && wire.contains("gr__e_"), "{wire}");
    assert_eq!(lowered.lift(&wire), r#"{"größe":1,"ok":2}"#);
}

#[test]
fn keywords_no_service_wants_are_dropped_and_told() {
    let schema = json!({"$schema": "x", "$id": "y", "title": "T", "type": "object", "properties": {
        "a": {"type": "number", "exclusiveMinimum": true, "title": "A", "x-order": 1},
    }});
    let lowered = Dialect::named("mistral")
        .unwrap()
        .lower_value(&schema)
        .unwrap();
    assert_eq!(
        lowered.to_value(),
        json!({"type": "object", "properties": {"a": {"type": "number"}}})
    );
    let lost: Vec<String> = lowered.lost.iter().map(ToString::to_string).collect();
    assert_eq!(
        lost,
        [
            "/properties/a: `exclusiveMinimum` dropped",
            "/properties/a: `title` dropped"
        ]
    );
}

#[test]
fn an_object_with_too_many_members_is_not_of_a_counted_map() {
    let of_four = json!({
        "type": "object",
        "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}, "c": {"type": "boolean"}, "kind": {"const": "one"}},
        "required": ["a", "b", "c", "kind"],
        "additionalProperties": false,
    });
    let map = json!({"type": "object", "additionalProperties": {"enum": ["a", 1, null, true, [1], {"x": 2}]}, "maxProperties": 3});
    let union = json!({"anyOf": [map, of_four]});
    let schema = json!({"type": "object", "properties": {"u": union}, "required": ["u"], "additionalProperties": false});
    let lowered = Dialect::named("openai-strict")
        .unwrap()
        .lower_value(&schema)
        .unwrap();
    let arguments = r#"{"u":{"a":true,"b":false,"c":true,"kind":"one"}}"#;
    assert_eq!(lowered.encode(arguments), arguments);
    let few = r#"{"u":{"x":1}}"#;
    assert_eq!(lowered.encode(few), r#"{"u":[{"key":"x","value":"1"}]}"#);
}

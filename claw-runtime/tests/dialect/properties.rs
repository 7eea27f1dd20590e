//! What must hold for any schema and any value that fits it.

use claw_runtime::dialect::DIALECTS;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{encode, fits, keywords, lift, lowered};

/// A schema of our canonical form, with a value that fits it.
fn fitting() -> BoxedStrategy<(Value, Value)> {
    let text = "[a-z]{1,5}";
    let leaf = prop_oneof![
        any::<bool>().prop_map(|value| (json!({"type": "boolean"}), json!(value))),
        any::<i64>().prop_map(|value| (json!({"type": "integer"}), json!(value))),
        (0..50).prop_map(|value| (
            json!({"type": "integer", "minimum": 0, "exclusiveMaximum": 50, "default": 7}),
            json!(value)
        )),
        any::<i32>().prop_map(|value| (
            json!({"type": "number", "multipleOf": 0.125}),
            json!(f64::from(value) / 8.0)
        )),
        any::<String>().prop_map(|value| (json!({"type": "string", "description": "A text."}), json!(value))),
        text.prop_map(|value| (
            json!({"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^[a-z]+$"}),
            json!(value)
        )),
        proptest::sample::select(vec!["a", "b c"])
            .prop_map(|value| (json!({"type": "string", "enum": ["a", "b c"]}), json!(value))),
        proptest::sample::select(vec![json!("a"), json!(1), json!(null), json!(true), json!([1])])
            .prop_map(|value| (json!({"enum": ["a", 1, null, true, [1], {"x": 2}]}), value)),
        text.prop_map(|value| (
            json!({"oneOf": [{"const": value, "description": "It."}, {"const": "zzz zzz", "description": "Not it."}]}),
            json!(value)
        )),
        Just((json!({"type": "string", "const": "t"}), json!("t"))),
        Just((json!({"type": "string", "format": "date"}), json!("2026-01-31"))),
        any_json().prop_map(|value| (json!({}), value)),
        any_object().prop_map(|value| (json!({"type": "object"}), value)),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            (inner.clone(), 0_usize..3).prop_map(|((schema, value), count)| (
                json!({"type": "array", "items": schema, "maxItems": 3}),
                Value::Array(vec![value; count])
            )),
            proptest::collection::vec(inner.clone(), 1..3).prop_map(|parts| {
                let (schemas, values): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
                let count = schemas.len();
                (
                    json!({"type": "array", "prefixItems": schemas, "items": false, "minItems": count, "maxItems": count}),
                    json!(values),
                )
            }),
            (inner.clone(), proptest::collection::vec("[a-z/~ü. ]{1,4}", 0..3)).prop_map(
                |((schema, value), keys)| {
                    let entries = keys.into_iter().map(|key| (key, value.clone()));
                    (
                        json!({"type": "object", "additionalProperties": schema, "maxProperties": 3}),
                        Value::Object(entries.collect()),
                    )
                }
            ),
            inner.clone().prop_map(|(schema, value)| (json!({"anyOf": [schema, {"type": "null"}]}), value)),
            inner.clone().prop_map(|(schema, _)| (json!({"anyOf": [schema, {"type": "null"}]}), json!(null))),
            (inner.clone(), inner.clone()).prop_map(|((one, _), (other, value))| (
                json!({"anyOf": [one, other]}),
                value
            )),
            tagged(inner.clone()),
            (object(inner.clone()), inner.clone(), any::<bool>()).prop_map(
                |((mut schema, mut value), (rest, other), present)| {
                    schema["additionalProperties"] = rest;
                    if present {
                        value["further one"] = other;
                    }
                    (schema, value)
                }
            ),
            tree(inner.clone()),
            object(inner),
        ]
    })
    .boxed()
}

/// An internally tagged enum of three variants.
fn tagged(inner: BoxedStrategy<(Value, Value)>) -> impl Strategy<Value = (Value, Value)> {
    (object(inner.clone()), object(inner), 0_usize..2).prop_map(|(one, other, pick)| {
        let tag = |schema: &Value, name: &str| {
            let mut schema = schema.clone();
            schema["properties"]["kind"] = json!({"type": "string", "const": name});
            schema["required"].as_array_mut().unwrap().insert(0, json!("kind"));
            schema
        };
        let name = ["one", "other"][pick];
        let mut value: Value = if pick == 0 { one.1.clone() } else { other.1.clone() };
        value["kind"] = json!(name);
        let none = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
        let all = [tag(&one.0, "one"), tag(&other.0, "other"), tag(&none, "none")];
        (json!({"anyOf": all}), value)
    })
}

/// A type that contains itself, its definition inlined once as the derive writes it.
fn tree(inner: BoxedStrategy<(Value, Value)>) -> impl Strategy<Value = (Value, Value)> {
    (inner, 0..5).prop_map(|((_, label), depth)| {
        let node = json!({"type": "object", "properties": {
            "label": {"description": "Any."},
            "next": {"$ref": "#/$defs/Node", "description": "The next."},
            "by_name": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Node"}},
        }, "required": ["label"], "additionalProperties": false});
        let mut value = json!({"label": label});
        for level in 0..depth {
            value = match level % 2 {
                0 => json!({"label": level, "next": value}),
                _ => json!({"label": null, "by_name": {"a b": value}}),
            };
        }
        (node, value)
    })
}

fn object(inner: BoxedStrategy<(Value, Value)>) -> impl Strategy<Value = (Value, Value)> {
    let part = (inner, any::<bool>(), any::<bool>());
    proptest::collection::btree_map("[a-z_]{1,4}|[@$.ü-]{1,2}", part, 0..5).prop_map(|parts| {
        let (mut properties, mut value, mut required) = (Map::new(), Map::new(), Vec::new());
        for (name, ((schema, part), needed, present)) in parts {
            // A property that is optional and takes `null`: that the two are one on a wire that has no other form is
            // tested by itself.
            let needed = needed || takes_null(&schema);
            properties.insert(name.clone(), schema);
            if needed {
                required.push(name.clone());
            }
            if needed || present {
                value.insert(name, part);
            }
        }
        let schema = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        (schema, Value::Object(value))
    })
}

fn takes_null(schema: &Value) -> bool {
    let schema = json!({"type": "object", "properties": {"a": schema}, "$defs": definitions()});
    fits(&schema, &json!({"a": null}))
}

fn definitions() -> Value {
    json!({"Node": {"type": "object", "properties": {
        "label": {"description": "Any."},
        "next": {"$ref": "#/$defs/Node", "description": "The next."},
        "by_name": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Node"}},
    }, "required": ["label"], "additionalProperties": false}})
}

fn tool() -> impl Strategy<Value = (Value, Value)> {
    object(fitting()).prop_map(|(mut schema, value)| {
        if schema.to_string().contains("$ref") {
            schema["$defs"] = definitions();
        }
        (schema, value)
    })
}

fn any_json() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!("5")),
        Just(json!("null")),
        Just(json!("{\"a\":1}")),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[a-z]{1,5}|key|value", inner, 0..3)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
    .boxed()
}

fn any_object() -> impl Strategy<Value = Value> {
    proptest::collection::btree_map("[a-z]{1,5}|key|value", any_json(), 0..3)
        .prop_map(|entries| Value::Object(entries.into_iter().collect()))
}

/// Something that uses the keywords of JSON Schema, sensibly or not.
fn schema_like() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        proptest::sample::select(vec![
            json!(true),
            json!(false),
            json!({"type": "integer"}),
            json!({"type": ["string", "integer"], "maxLength": 2, "minimum": 3}),
            json!({"type": ["boolean", "null"]}),
            json!({"$ref": "#"}),
            json!({"$ref": "#/properties/a"}),
            json!({"$ref": "#/nowhere", "minLength": 3}),
            json!({"$ref": "#/properties/b", "properties": {"c": {}}}),
            json!({"const": 5}),
            json!({"enum": []}),
            json!({"enum": ["x", {"a": []}, 1.0]}),
            json!({"pattern": "(?=x)"}),
            json!({"exclusiveMinimum": true, "minimum": "3", "type": "number"}),
            json!({"type": "strange", "x-unknown": 5, "title": "T"}),
            json!({"nullable": true, "type": "string", "format": "password"}),
        ]),
        any_json(),
    ];
    leaf.prop_recursive(4, 60, 4, |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..4);
        let key = proptest::sample::select(vec!["anyOf", "oneOf", "allOf", "prefixItems", "items", "required", "enum", "type"]);
        let one = proptest::sample::select(vec!["not", "if", "contains", "additionalProperties", "items", "properties", "propertyNames"]);
        prop_oneof![
            (key, list).prop_map(|(key, list)| json!({key: list})),
            (one, inner.clone()).prop_map(|(key, schema)| json!({key: schema})),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| json!({
                "type": "object", "properties": {"a": a, "b": b}, "required": ["a", "z"], "additionalProperties": c,
            })),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({
                "properties": {"a b": a}, "anyOf": [{"required": ["a b"]}, b], "patternProperties": {"^x": a},
            })),
            (inner.clone(), inner).prop_map(|(a, b)| json!({"allOf": [a, {"properties": {"a": b}}], "oneOf": [b, a]})),
        ]
    })
    .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn what_fits_goes_to_the_wire_and_comes_back((schema, value) in tool()) {
        prop_assert!(fits(&schema, &value), "the test is wrong: {schema} {value}");
        for dialect in DIALECTS {
            let (dialect, lowered) = lowered(dialect, &schema);
            let wire = encode(&lowered, &value);
            prop_assert!(
                keywords::check(dialect, &lowered.to_value()) == Ok(()),
                "{}: {:?} in {}", dialect.name, keywords::check(dialect, &lowered.to_value()), lowered.schema
            );
            prop_assert!(
                dialect.keeps.has(claw_runtime::dialect::Keywords::NULLABLE) || fits(&lowered.to_value(), &wire),
                "{}: {wire} does not fit {}", dialect.name, lowered.schema
            );
            let back = lift(&lowered, &wire);
            prop_assert!(back == value, "{}: {value} as {wire} is {back} by {}", dialect.name, lowered.schema);
        }
    }

    #[test]
    fn lowering_is_repeatable((schema, _) in tool()) {
        for dialect in DIALECTS {
            let (dialect, once) = lowered(dialect, &schema);
            prop_assert_eq!(&dialect.lower_value(&schema).unwrap().schema, &once.schema);
            let twice = dialect.lower(&once.schema).unwrap();
            prop_assert!(twice.to_value() == once.to_value(), "{}: {} became {}", dialect.name, once.schema, twice.schema);
        }
    }

    #[test]
    fn any_schema_gives_an_answer(schema in schema_like(), value in any_object()) {
        for dialect in DIALECTS {
            let Ok(lowered) = dialect.lower_value(&schema) else { continue };
            prop_assert!(
                keywords::check(dialect, &lowered.to_value()) == Ok(()),
                "{}: {:?} of {schema}", dialect.name, keywords::check(dialect, &lowered.to_value())
            );
            lift(&lowered, &value);
            encode(&lowered, &value);
        }
    }

    #[test]
    fn any_text_gives_an_answer(schema: String, arguments: String, (good, _) in tool()) {
        for dialect in DIALECTS {
            if let Ok(lowered) = dialect.lower(&schema) {
                lowered.lift(&arguments);
            }
            lowered(dialect, &good).1.lift(&arguments);
        }
    }
}

#[test]
fn hostile_schemas_take_bounded_work() {
    let doubling: Map<String, Value> = (0..64)
        .map(|at| {
            let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
            (
                format!("d{at}"),
                json!({"type": "object", "properties": {"a": next, "b": next}}),
            )
        })
        .collect();
    let deep = (0..100).fold(
        json!({"type": "string"}),
        |inner, _| json!({"type": "array", "items": inner}),
    );
    let wide: Map<String, Value> = (0..3_000)
        .map(|at| {
            (
                format!("p{at}"),
                json!({"type": ["string", "object"], "additionalProperties": true}),
            )
        })
        .collect();
    let branches: Vec<Value> = (0..2_000)
        .map(|at| json!({"type": "object", "properties": {"kind": {"const": at}, "m": {"type": "object", "additionalProperties": {}}}}))
        .collect();
    let turning = json!({"type": "object", "properties": {"a": {"allOf": [{"$ref": "#/properties/a"}, {"$ref": "#"}]}}});
    for schema in [
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": doubling}),
        json!({"type": "object", "properties": {"a": deep}}),
        json!({"type": "object", "properties": wide}),
        json!({"type": "object", "properties": {"a": {"anyOf": branches}}}),
        turning,
    ] {
        for dialect in DIALECTS {
            if let Ok(lowered) = dialect.lower_value(&schema) {
                // What a reference stands for is written out a bounded number of times.
                assert!(lowered.schema.len() < 4 << 20, "{}", dialect.name);
                assert_eq!(
                    keywords::check(dialect, &lowered.to_value()),
                    Ok(()),
                    "{}",
                    dialect.name
                );
            }
        }
    }
}

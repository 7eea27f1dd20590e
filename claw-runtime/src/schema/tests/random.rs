//! What must hold for any text, any schema, and any value that fits its schema.

use super::*;

const COERCIONS: [Coerce; 3] = [Coerce::Strict, Coerce::Safe, Coerce::Lenient];
const UNKNOWNS: [Unknown; 2] = [Unknown::Refuse, Unknown::Drop];

/// A schema with a value that fits it.
fn fitting() -> BoxedStrategy<(Value, Value)> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(|value| (json!({"type": "boolean"}), json!(value))),
        any::<i64>().prop_map(|value| (json!({"type": "integer"}), json!(value))),
        any::<u64>().prop_map(|value| (json!({"type": "integer", "minimum": 0}), json!(value))),
        (-50_i64..50).prop_map(|value| (
            json!({"type": ["integer", "null"], "minimum": -50, "maximum": 50}),
            json!(value)
        )),
        any::<i32>().prop_map(|value| (json!({"type": "number"}), json!(f64::from(value) / 8.0))),
        any::<String>().prop_map(|value| (json!({"type": "string"}), json!(value))),
        "[a-z]{1,5}".prop_map(|value| (
            json!({"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^[a-z]+$"}),
            json!(value)
        )),
        proptest::sample::select(vec![
            json!("a"),
            json!("B"),
            json!(1),
            json!(null),
            json!(true)
        ])
        .prop_map(|value| (json!({"enum": ["a", "B", 1, null, true]}), value)),
        json_strategy().prop_map(|value| (json!({}), value)),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            inner.clone().prop_map(|(schema, value)| (
                json!({"type": "array", "items": schema}),
                json!([value.clone(), value])
            )),
            proptest::collection::vec(inner.clone(), 0..3).prop_map(|parts| {
                let (schemas, values): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
                (
                    json!({"type": "array", "prefixItems": schemas, "items": false}),
                    json!(values),
                )
            }),
            inner.clone().prop_map(|(schema, value)| (
                json!({"type": "object", "additionalProperties": schema}),
                json!({"k": value})
            )),
            inner
                .clone()
                .prop_map(|(schema, value)| (json!({"anyOf": [schema, {"type": "null"}]}), value)),
            inner
                .clone()
                .prop_map(|(schema, value)| (json!({"allOf": [schema]}), value)),
            object(inner),
        ]
    })
    .boxed()
}

fn object(inner: BoxedStrategy<(Value, Value)>) -> impl Strategy<Value = (Value, Value)> {
    let part = (inner, any::<bool>(), any::<bool>());
    proptest::collection::btree_map("[a-z_/~]{1,6}", part, 0..5).prop_map(|parts| {
        let mut properties = serde_json::Map::new();
        let mut value = serde_json::Map::new();
        let mut required = Vec::new();
        for (name, ((schema, part), needed, present)) in parts {
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

proptest! {
    #[test]
    fn what_fits_is_left_alone((schema, value) in object(fitting())) {
        let schema = Schema::parse(&schema);
        for coerce in COERCIONS {
            for unknown in UNKNOWNS {
                let valid = validate(&schema, &value.to_string(), coerce, unknown).unwrap();
                prop_assert_eq!(&valid.value, &value);
                prop_assert!(valid.notes.is_empty(), "{:?}", valid.notes);
            }
        }
    }

    #[test]
    fn what_is_accepted_is_accepted_again_and_strictly(
        (schema, _) in object(fitting()), value in json_strategy(), text in any::<bool>(),
    ) {
        check_again(&schema, &value, text)?;
    }

    #[test]
    fn what_is_almost_right_is_accepted_again_and_strictly(
        (schema, mut value) in object(fitting()), text in any::<bool>(), picks in proptest::collection::vec(0_u8..6, 1..8),
    ) {
        disturb(&mut value, &mut picks.into_iter());
        check_again(&schema, &value, text)?;
    }

    #[test]
    fn any_text_gives_an_answer(text: String) {
        let schema = edit_file();
        for unknown in UNKNOWNS {
            if let Err(invalid) = validate(&schema, &text, Coerce::Lenient, unknown) {
                prop_assert!(!invalid.problems.is_empty());
                prop_assert!(invalid.report("edit_file", &schema).len() < 4_000);
            }
        }
    }

    #[test]
    fn any_schema_gives_an_answer(schema in schema_like(), value in json_strategy()) {
        let schema = Schema::parse(&schema);
        let _ = (schema.signature(), schema.declaration("t", "d"));
        let text = json!({"a": value}).to_string();
        for coerce in COERCIONS {
            if let Ok(valid) = validate(&schema, &text, coerce, Unknown::Drop) {
                let again = validate(&schema, &valid.text, Coerce::Strict, Unknown::Refuse).unwrap();
                prop_assert_eq!(again.text, valid.text);
            }
        }
    }
}

fn check_again(schema: &Value, value: &Value, text: bool) -> Result<(), TestCaseError> {
    let schema = Schema::parse(schema);
    let mut call = value.to_string();
    if text {
        call = Value::String(call).to_string();
    }
    for coerce in COERCIONS {
        for unknown in UNKNOWNS {
            let Ok(valid) = validate(&schema, &call, coerce, unknown) else {
                continue;
            };
            let again = validate(&schema, &valid.text, Coerce::Strict, Unknown::Refuse).unwrap();
            prop_assert_eq!(&again.text, &valid.text);
            prop_assert_eq!(&again.value, &valid.value);
            prop_assert!(again.notes.is_empty());
        }
    }
    Ok(())
}

/// Changes values the way models get them wrong.
fn disturb(value: &mut Value, picks: &mut impl Iterator<Item = u8>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| disturb(item, picks)),
        Value::Object(entries) => entries.values_mut().for_each(|item| disturb(item, picks)),
        _ => {}
    }
    match picks.next() {
        Some(0) => *value = Value::String(value.to_string()),
        Some(1) => *value = json!([value.clone()]),
        Some(2) => *value = Value::Null,
        Some(3) => {
            if let Value::String(text) = value {
                *text = text.to_uppercase();
            }
        }
        _ => {}
    }
}

/// Something that uses the keywords of JSON Schema, sensibly or not.
fn schema_like() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        proptest::sample::select(vec![
            json!(true),
            json!(false),
            json!({"type": "integer"}),
            json!({"type": "string", "maxLength": 2}),
            json!({"type": ["boolean", "null"]}),
            json!({"$ref": "#"}),
            json!({"$ref": "#/properties/a"}),
            json!({"$ref": "#/nowhere"}),
            json!({"const": 5}),
            json!({"enum": ["x", "Y"]}),
            json!({"enum": []}),
            json!({"pattern": "(?=x)"}),
            json!({"minimum": 3, "multipleOf": 0}),
            json!({"type": "number", "multipleOf": 0.1}),
        ]),
        json_strategy(),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..3);
        let key = proptest::sample::select(vec![
            "anyOf", "oneOf", "allOf", "prefixItems", "items", "additionalProperties", "uniqueItems", "required",
        ]);
        prop_oneof![
            (key, list).prop_map(|(key, list)| json!({key: list})),
            inner.clone().prop_map(|schema| json!({"items": schema, "uniqueItems": true})),
            inner.clone().prop_map(|schema| json!({"additionalProperties": schema})),
            (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| json!({
                "type": "object", "properties": {"a": a, "b": b}, "required": ["a"], "additionalProperties": c,
            })),
        ]
    })
}

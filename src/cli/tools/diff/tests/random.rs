//! What must hold for any two schemas.

use claw_runtime::schema::{Coerce, Schema, Unknown, validate};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::object;
use crate::cli::tools::diff::change::{Change, Kind};
use crate::cli::tools::diff::schema::compare;

/// A schema of arguments as claw writes them.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "boolean"})),
        (-3..3_i64, 0..4_i64).prop_map(|(least, more)| json!(
            {"type": "integer", "minimum": least, "maximum": least + more}
        )),
        Just(json!({"type": "integer"})),
        (-3..3_i64).prop_map(|most| json!({"type": "number", "exclusiveMaximum": most})),
        (0..2_u64, 2..4_u64).prop_map(
            |(least, most)| json!({"type": "string", "minLength": least, "maxLength": most})
        ),
        proptest::sample::subsequence(vec!["a", "bb", "ccc"], 1..=3)
            .prop_map(|words| json!({"type": "string", "enum": words})),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        let properties =
            proptest::collection::btree_map("[ab]", (inner.clone(), any::<bool>()), 0..3);
        prop_oneof![
            (inner.clone(), 0..2_u64).prop_map(|(items, least)| json!(
                {"type": "array", "items": items, "minItems": least}
            )),
            inner
                .clone()
                .prop_map(|rest| json!({"type": "object", "additionalProperties": rest})),
            proptest::collection::vec(inner, 1..3).prop_map(|forms| json!({"anyOf": forms})),
            properties.prop_map(|properties| {
                let required: Vec<_> = properties
                    .iter()
                    .filter(|(_, (_, required))| *required)
                    .map(|(name, _)| name)
                    .collect();
                let schemas: serde_json::Map<_, _> = properties
                    .iter()
                    .map(|(name, (schema, _))| (name.clone(), schema.clone()))
                    .collect();
                json!({"type": "object", "properties": schemas, "required": required,
                    "additionalProperties": false})
            }),
        ]
    })
}

/// Two schemas, of which the second is the first with one part replaced; or any two.
fn pair() -> impl Strategy<Value = (Value, Value)> {
    (schema(), schema(), any::<prop::sample::Index>()).prop_map(|(old, part, at)| {
        let mut places = Vec::new();
        schemas_in(&old, String::new(), &mut places);
        let mut new = old.clone();
        *new.pointer_mut(&places[at.index(places.len())]).unwrap() = part;
        (old, new)
    })
}

/// Two schemas that differ in bounds of one scalar, wherever it stands, with values that bring one there.
fn alike() -> impl Strategy<Value = (Value, Value, Vec<Value>)> {
    let bounds = || (0..4_i64, 0..4_i64);
    let scalars = (bounds(), bounds(), 0..6_usize).prop_map(|((a, b), (c, d), kind)| {
        let scalar = |least: i64, most: i64| match kind {
            0 => json!({"type": "integer", "minimum": least, "maximum": most}),
            1 => json!({"type": "integer", "exclusiveMinimum": least, "multipleOf": most + 1}),
            2 => json!({"type": "number", "minimum": least, "exclusiveMaximum": most}),
            3 => json!({"type": "string", "minLength": least, "maxLength": most}),
            4 => json!({"enum": ["a".repeat(least as usize), most]}),
            _ => json!({"type": "array", "minItems": least, "maxItems": most}),
        };
        (scalar(a, b), scalar(c, d))
    });
    let wraps = proptest::collection::vec(0..5_usize, 0..3);
    (scalars, wraps).prop_map(|((mut old, mut new), wraps)| {
        let mut values: Vec<Value> = (-1..6).map(Value::from).collect();
        values.extend([0.5, 1.5, 2.5, 3.5].map(Value::from));
        values.extend(["", "a", "bb", "ccc", "dddd"].map(Value::from));
        values.extend((0..5).map(|count| json!(vec![0; count])));
        for wrap in wraps {
            let schema = |inner: Value| match wrap {
                0 => json!({"type": "array", "items": inner}),
                1 => json!({"type": "object", "additionalProperties": inner}),
                2 => json!({"type": "object", "properties": {"a": inner}, "additionalProperties": false}),
                3 => json!({"anyOf": [{"type": "boolean"}, inner]}),
                _ => json!({"type": "array", "prefixItems": [inner], "items": false}),
            };
            (old, new) = (schema(old), schema(new));
            for value in &mut values {
                let inner = value.take();
                *value = match wrap {
                    0 | 4 => json!([inner]),
                    1 | 2 => json!({"a": inner}),
                    _ => inner,
                };
            }
        }
        (old, new, values)
    })
}

fn schemas_in(schema: &Value, at: String, places: &mut Vec<String>) {
    for (keyword, value) in schema.as_object().unwrap() {
        match (keyword.as_str(), value) {
            ("items", Value::Object(_)) | ("additionalProperties", Value::Object(_)) => {
                schemas_in(value, format!("{at}/{keyword}"), places);
            }
            ("anyOf", Value::Array(forms)) => {
                for (place, form) in forms.iter().enumerate() {
                    schemas_in(form, format!("{at}/anyOf/{place}"), places);
                }
            }
            ("properties", Value::Object(properties)) => {
                for (name, schema) in properties {
                    schemas_in(schema, format!("{at}/properties/{name}"), places);
                }
            }
            _ => {}
        }
    }
    places.push(at);
}

/// A value of the kinds that the schemas above ask for.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (-5..8_i64).prop_map(Value::from),
        (-5..5_i32).prop_map(|half| json!(f64::from(half) + 0.5)),
        proptest::sample::select(vec!["", "a", "bb", "ccc", "dddd"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[ab]", inner, 0..3).prop_map(Value::from_iter),
        ]
    })
}

fn fits(schema: &Value, value: &Value) -> bool {
    let whole = json!({"type": "object", "properties": {"v": schema}, "required": ["v"]});
    let arguments = json!({"v": value}).to_string();
    validate(
        &Schema::parse(&whole),
        &arguments,
        Coerce::Strict,
        Unknown::Refuse,
    )
    .is_ok()
}

fn has(changes: &[Change], kinds: &[Kind]) -> bool {
    changes.iter().any(|change| kinds.contains(&change.kind))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_schema_does_not_differ_from_itself(schema in schema()) {
        prop_assert_eq!(compare(&schema, &schema), []);
    }

    #[test]
    fn what_may_refuse_a_call_is_breaking((old, new, values) in prop_oneof![
        (pair(), proptest::collection::vec(value(), 32)).prop_map(|((old, new), values)| (old, new, values)),
        alike(),
    ]) {
        let (there, back) = (compare(&old, &new), compare(&new, &old));
        for value in values {
            match (fits(&old, &value), fits(&new, &value)) {
                (true, false) => {
                    prop_assert!(has(&there, &[Kind::Breaking]), "{value} fits the old one only: {there:?}");
                    prop_assert!(has(&back, &[Kind::Breaking, Kind::Additive]), "{back:?}");
                }
                (false, true) => {
                    prop_assert!(has(&back, &[Kind::Breaking]), "{value} fits the new one only: {back:?}");
                    prop_assert!(has(&there, &[Kind::Breaking, Kind::Additive]), "{there:?}");
                }
                _ => {}
            }
        }
    }

    #[test]
    fn what_is_tighter_one_way_is_looser_the_other(
        (one, two) in prop_oneof![
            ((-9..9_i64), (-9..9_i64)).prop_map(|(a, b)| (
                json!({"type": "integer", "minimum": a}), json!({"type": "integer", "minimum": b})
            )),
            ((0..9_u64), (0..9_u64)).prop_map(|(a, b)| (
                json!({"type": "string", "maxLength": a}), json!({"type": "string", "maxLength": b})
            )),
            (
                proptest::sample::subsequence(vec!["a", "b", "c"], 0..=3),
                proptest::sample::subsequence(vec!["a", "b", "c"], 0..=3),
            ).prop_map(|(a, b)| (
                json!({"type": "string", "enum": a}), json!({"type": "string", "enum": b})
            )),
            (schema(), proptest::collection::vec(schema(), 1..3)).prop_map(|(form, more)| {
                let fewer = json!({"anyOf": [form]});
                let mut all = vec![form];
                all.extend(more);
                (fewer, json!({"anyOf": all}))
            }),
        ],
    ) {
        let counts = |changes: &[Change], mirrored: bool| {
            let kind = |change: &Change| if mirrored { change.kind.mirrored() } else { change.kind };
            Kind::ALL.map(|of| changes.iter().filter(|change| kind(change) == of).count())
        };
        let there = compare(&object(&json!({"a": one})), &object(&json!({"a": two})));
        let back = compare(&object(&json!({"a": two})), &object(&json!({"a": one})));
        prop_assert_eq!(counts(&there, false), counts(&back, true), "{:?} {:?}", there, back);
    }

    #[test]
    fn any_two_documents_are_compared(old in json_document(), new in json_document()) {
        compare(&old, &new);
    }
}

/// Anything that stands where a schema should, with the words of schemas in it.
fn json_document() -> impl Strategy<Value = Value> {
    let word = || {
        proptest::sample::select(vec![
            "type",
            "enum",
            "const",
            "anyOf",
            "oneOf",
            "allOf",
            "items",
            "prefixItems",
            "properties",
            "required",
            "additionalProperties",
            "minimum",
            "exclusiveMinimum",
            "multipleOf",
            "minLength",
            "$ref",
            "$defs",
            "#",
            "#/$defs/a",
            "string",
            "object",
            "array",
            "a",
            "x-aliases",
            "default",
        ])
        .prop_map(str::to_owned)
    };
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(word(), inner, 0..5).prop_map(Value::from_iter),
        ]
    })
}

//! How far each level of coercion goes, where that is more than one value's own business.

use super::*;

#[test]
fn one_text_is_a_list_of_one_where_it_can_be_nothing_else() {
    let list = |items: Value| json!({"type": "array", "items": items});
    let texts = list(json!({"type": "string"}));
    for (schema, value, [strict, safe, lenient]) in [
        (&texts, r#""a b""#, [false, true, true]),
        (&texts, r#""a, b""#, [false, false, false]),
        (&texts, r#""a\nb""#, [false, false, false]),
        (&texts, r#"" ""#, [false, false, false]),
        (&texts, r#""None""#, [false, false, false]),
        (&texts, r#""[a""#, [false, false, false]),
        (&texts, r#""('a',)""#, [false, false, false]),
        (&texts, "7", [false, false, false]),
        (
            &list(json!({"enum": ["a", "b"]})),
            r#""a""#,
            [false, true, true],
        ),
        (
            &list(json!({"enum": ["a", "b"]})),
            r#""c""#,
            [false, false, false],
        ),
        (&list(json!({"type": "integer"})), "7", [false, false, true]),
        (
            &list(json!({"type": "integer"})),
            r#""7""#,
            [false, false, false],
        ),
        (&list(json!({"type": "object"})), "{}", [false, false, true]),
        (&list(texts.clone()), r#""a""#, [false, false, false]),
        (
            &json!({"type": ["array", "null"], "items": {}}),
            r#""a""#,
            [false, true, true],
        ),
        (&json!({"type": "array"}), r#""a""#, [false, false, false]),
        (
            &json!({"type": "array", "items": {}, "minItems": 2}),
            r#""a""#,
            [false, false, false],
        ),
    ] {
        let schema = Schema::parse(&json!({"required": ["v"], "properties": {"v": schema}}));
        let text = format!(r#"{{"v":{value}}}"#);
        for (coerce, fits) in [
            (Coerce::Strict, strict),
            (Coerce::Safe, safe),
            (Coerce::Lenient, lenient),
        ] {
            let outcome = validate(&schema, &text, coerce, Unknown::Refuse);
            assert_eq!(outcome.is_ok(), fits, "{coerce:?} {text}");
            if let Ok(valid) = outcome {
                assert_eq!(valid.text, format!(r#"{{"v":[{value}]}}"#));
                assert_eq!(valid.notes[0].text, format!("{value} became [{value}]"));
            }
        }
    }
}

#[test]
fn strict_takes_the_same_value_written_otherwise() {
    let schema = Schema::parse(&json!({
        "properties": {
            "n": {"type": "integer"},
            "either": {"anyOf": [
                {"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind"]},
                {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]},
            ]},
        },
    }));
    let strictly = |text: &str| outcome(&schema, text, Coerce::Strict, Unknown::Refuse);
    assert_eq!(
        strictly(r#"{"n":5.0,"either":{"kind":"a","n":null}}"#),
        "{\"n\":5,\"either\":{\"kind\":\"a\"}}\n/n: 5.0 became 5\n/either/n: null became absent"
    );
    assert_eq!(
        strictly(r#"{"n":1e3}"#),
        "{\"n\":1000}\n/n: 1e3 became 1000"
    );
    for text in [
        r#"{"n":"5"}"#,
        r#"{"n":5.5}"#,
        r#"{"n":"null"}"#,
        r#"{"either":"{\"kind\":\"a\"}"}"#,
        r#"{"either":{"kind":"A"}}"#,
    ] {
        assert!(strictly(text).starts_with("! /"), "{text}");
    }
}

#[test]
fn lenient_wraps_one_value_and_writes_scalars_as_text() {
    let schema = Schema::parse(&json!({"properties": {
        "list": {"type": "array", "items": {"type": "string"}},
        "s": {"type": "string", "maxLength": 3},
    }}));
    for (text, expected) in [
        (
            r#"{"list":"a"}"#,
            "{\"list\":[\"a\"]}\n/list: \"a\" became [\"a\"]",
        ),
        (r#"{"list":5}"#, "! /list: expected array of string, got 5"),
        (r#"{"s":42}"#, "{\"s\":\"42\"}\n/s: 42 became \"42\""),
        (
            r#"{"s":4200}"#,
            "! /s: expected string of at most 3 characters, got 4200",
        ),
        (
            r#"{"s":{}}"#,
            "! /s: expected string of at most 3 characters, got object {}",
        ),
    ] {
        assert_eq!(
            outcome(&schema, text, Coerce::Lenient, Unknown::Refuse),
            expected,
            "{text}"
        );
    }
}

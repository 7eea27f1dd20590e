//! Schemas and arguments that nobody sends in good faith: an answer comes all the same, soon and short.

use super::*;

#[test]
fn hostile_schemas_end() {
    let around = Schema::parse(&json!({"$ref": "#"}));
    assert!(outcome(&around, "{}", Coerce::Safe, Unknown::Refuse).starts_with("! : "));
    let twice =
        Schema::parse(&json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"type": "string"}]}));
    assert!(outcome(&twice, "{}", Coerce::Safe, Unknown::Refuse).starts_with("! : "));
    let mut doubling = json!({"type": "string"});
    for _ in 0..60 {
        doubling =
            json!({"anyOf": [doubling.clone(), {"allOf": [{"$ref": "#/$defs/x"}]}], "$defs": {}});
    }
    let doubling = Schema::parse(
        &json!({"anyOf": [doubling], "$defs": {"x": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}}),
    );
    assert!(outcome(&doubling, "{}", Coerce::Lenient, Unknown::Drop).starts_with("! : "));
    let wrap = |inner: Value| {
        Value::Object(
            [("allOf".to_owned(), Value::Array(vec![inner]))]
                .into_iter()
                .collect(),
        )
    };
    let deep = (0..500).fold(json!({}), |inner, _| wrap(inner));
    assert_eq!(
        outcome(&Schema::parse(&deep), "{}", Coerce::Safe, Unknown::Refuse),
        "{}"
    );
}

#[test]
fn the_patterns_of_a_schema_are_bounded_together() {
    let many = |pattern: &dyn Fn(usize) -> String| {
        let member = |at| {
            (
                format!("p{at}"),
                json!({"type": "string", "pattern": pattern(at)}),
            )
        };
        json!({"properties": (0..2_000).map(member).collect::<serde_json::Map<_, _>>()})
    };
    let error = Schema::foreign(&many(&|at| format!("^[a-z]{{{at}}}$"))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not a JSON Schema that can be checked, at its root: its patterns are too large to be checked together; use fewer \
         or smaller ones"
    );
    // Many times the same is one, and a tree of the program's own asks what it has room for.
    let same = Schema::foreign(&many(&|_| "^[a-z]+$".to_owned())).unwrap();
    let tree = Schema::parse(&many(&|at| format!("^[a-z]{{{at}}}$")));
    for schema in [same, tree] {
        let said = outcome(&schema, r#"{"p3":"A"}"#, Coerce::Safe, Unknown::Refuse);
        assert!(said.starts_with("! /p3: "), "{said}");
    }
}

#[test]
fn hostile_schemas_are_written_out_in_bounds() {
    let wide: serde_json::Map<String, Value> = (0..200)
        .map(|at| {
            (
                format!("p{at}"),
                json!({"$ref": "#/$defs/x", "description": "d"}),
            )
        })
        .collect();
    let union: Vec<Value> = (0..20).map(|_| json!({"$ref": "#/$defs/y"})).collect();
    let schema = Schema::parse(&json!({
        "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/y"}, "c\u{1b}[2J": {"type": "integer"}},
        "required": ["a", "b"],
        "$defs": {"x": {"type": "object", "properties": wide, "additionalProperties": false},
            "y": {"anyOf": union, "description": "\u{1b}[2J"}},
    }));
    assert!(schema.signature().len() < 2_000);
    let declaration = schema.declaration("t", "d");
    assert!(declaration.len() < 500_000);
    assert!(!declaration.contains('\u{1b}') && !schema.signature().contains('\u{1b}'));
    let report = validate(&schema, "{}", Coerce::Safe, Unknown::Refuse)
        .unwrap_err()
        .report("t", &schema);
    assert!(report.len() < 5_000);
}

#[test]
fn absurd_keys_and_many_problems_stay_small() {
    let schema = Schema::parse(&json!({
        "additionalProperties": {"type": "array", "items": {"type": "integer"}},
    }));
    let text = json!({"\u{e9}".repeat(300_000): vec![json!(true); 5_000]}).to_string();
    let invalid = validate(&schema, &text, Coerce::Safe, Unknown::Refuse).unwrap_err();
    // Their pointers are cut to the same text, so they are one problem.
    assert_eq!(invalid.problems.len(), 1);
    assert!(invalid.report("t", &schema).len() < 500);
    let text = json!({"k": vec![json!(true); 5_000]}).to_string();
    let invalid = validate(&schema, &text, Coerce::Safe, Unknown::Refuse).unwrap_err();
    assert_eq!(invalid.problems.len(), 1_000);
}

#[test]
fn deep_recursion_stays_within_the_stack() {
    // Three checks a level: the node, its part of `allOf`, the union inside.
    let schema = Schema::parse(&json!({
        "$ref": "#/$defs/Node",
        "$defs": {"Node": {"type": "object", "allOf": [{"properties": {
            "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}}, "additionalProperties": false}]}},
    }));
    for (levels, bottom, fits) in [
        (60, "null", true),
        (127, "null", true),
        (60, "7", false),
        (127, "7", false),
    ] {
        let text = format!(
            "{}{bottom}{}",
            r#"{"next":"#.repeat(levels),
            "}".repeat(levels)
        );
        for coerce in [Coerce::Strict, Coerce::Lenient] {
            assert_eq!(
                validate(&schema, &text, coerce, Unknown::Drop).is_ok(),
                fits,
                "{levels} {bottom}"
            );
        }
    }
}

#[test]
fn arguments_of_many_parts_take_linear_time() {
    let schema = Schema::parse(&json!({
        "properties": {"list": {"type": "array", "uniqueItems": true, "items": {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": false}]}}},
    }));
    let list: Vec<Value> = (0..50_000).map(|at| json!({"a": at})).collect();
    let text = json!({"list": list}).to_string();
    assert!(validate(&schema, &text, Coerce::Safe, Unknown::Refuse).is_ok());
    let keys: String = (0..50_000).map(|at| format!(",\"k{at}\":1")).collect();
    let closed =
        Schema::parse(&json!({"properties": {"parameter": {}}, "additionalProperties": false}));
    let text = format!("{{\"parameter\":1{keys}}}");
    assert_eq!(
        validate(&closed, &text, Coerce::Safe, Unknown::Drop)
            .unwrap()
            .notes
            .len(),
        50_000
    );
}

/// The place of each part is kept, and one long name may stand in all of them.
#[cfg(feature = "jsonschema")]
#[test]
fn a_schema_whose_places_are_long_is_refused() {
    let parts = |count: usize| -> Value {
        let parts = (0..count).map(|at| (format!("a{at}"), json!({})));
        json!({"properties": {"n".repeat(50_000): {"properties": Value::Object(parts.collect())}}})
    };
    assert!(Schema::foreign(&parts(10)).is_ok());
    assert_eq!(
        Schema::foreign(&parts(1_000)).unwrap_err().problem,
        "the places of its parts are too long together"
    );
}

/// The complete check counts its steps and its stack.
#[cfg(feature = "jsonschema")]
#[test]
fn a_schema_that_asks_without_end_is_given_up() {
    let doubling = |last: Value| {
        let twice = |to: usize| json!({"$ref": format!("#/$defs/a{to}")});
        let mut definitions: serde_json::Map<String, Value> = (0..60)
            .map(|at| {
                (
                    format!("a{at}"),
                    json!({"allOf": [twice(at + 1), twice(at + 1)]}),
                )
            })
            .collect();
        definitions.insert("a60".to_owned(), last);
        Value::from(definitions)
    };
    let chain = |links: usize, link: fn(Value) -> Value| {
        let mut definitions: serde_json::Map<String, Value> = (0..links)
            .map(|at| {
                (
                    format!("a{at}"),
                    link(json!({"$ref": format!("#/$defs/a{}", at + 1)})),
                )
            })
            .collect();
        definitions.insert(format!("a{links}"), json!({"type": "string"}));
        json!({"$defs": definitions, "properties": {"a": {"$ref": "#/$defs/a0"}}})
    };
    let string = || doubling(json!({"type": "string"}));
    let nested = (0..60).fold(json!({"type": "object"}), |inner, _| {
        json!({"allOf": [inner], "unevaluatedProperties": false, "properties": {"b": true}})
    });
    let told = |schema: &Value| match Schema::foreign(schema) {
        Ok(schema) => outcome(&schema, r#"{"a":1}"#, Coerce::Safe, Unknown::Refuse),
        Err(error) => error.problem,
    };
    // What a check of every path would take hours for ends with its bound, and says so.
    let too_much = "! : too much to check; send less";
    for (schema, said) in [
        (
            json!({"$defs": string(), "not": {"$ref": "#/$defs/a0"}, "type": "object"}),
            r#"{"a":1}"#,
        ),
        (
            json!({"$defs": string(), "if": true, "then": {"$ref": "#/$defs/a0"}}),
            too_much,
        ),
        (
            json!({"$defs": string(), "properties": {"a": {"$dynamicRef": "#/$defs/a0"}}}),
            too_much,
        ),
        (
            json!({"$defs": doubling(json!({})), "not": {"not": {"$ref": "#/$defs/a0"}}}),
            too_much,
        ),
        (
            json!({"$defs": string(), "$ref": "#/$defs/a0"}),
            r#"! : expected string, got object {"a":1}"#,
        ),
        // References into what is no schema.
        (
            json!({"if": true, "then": {"$ref": "#/default/a0"}, "default": {"a0": {"type": "null"}}}),
            r#"! : expected null, got object {"a":1}"#,
        ),
        (nested, "! /a: unknown parameter"),
        (
            chain(900, |to| (0..50).fold(to, |to, _| json!({"allOf": [to]}))),
            too_much,
        ),
        (chain(5_000, |to| to), too_much),
    ] {
        assert_eq!(told(&schema), said);
    }
    // Whether so many fit on the stack is the build's to say.
    for links in [chain(900, |to| to), chain(900, |to| json!({"not": to}))] {
        let said = told(&links);
        assert!(
            said == too_much || said.starts_with("! /a: expected "),
            "{said}"
        );
    }
    // A step of a long text is many.
    let long = doubling(json!({"pattern": "b(?=c)|a"}));
    let schema = Schema::foreign(
        &json!({"$defs": long, "properties": {"a": {"not": {"$ref": "#/$defs/a0"}}}}),
    );
    let text = json!({"a": "a".repeat(1_000_000)}).to_string();
    assert_eq!(
        outcome(&schema.unwrap(), &text, Coerce::Safe, Unknown::Refuse),
        "! : too much to check; send less"
    );
}

//! Cases as data: what users of other frameworks reported, and the table of the policy.

use super::*;

#[test]
fn the_report_has_its_exact_form() {
    let schema = edit_file();
    let text = r#"{"file":"a.rs","old":"x","new":"y","replace_all":"maybe"}"#;
    let report = validate(&schema, text, Coerce::Safe, Unknown::Refuse)
        .unwrap_err()
        .report("edit_file", &schema);
    assert_eq!(
        report,
        "Tool call to `edit_file` was not run: 3 problems.\n\
         - /path: required, missing (string)\n\
         - /file: unknown parameter; did you mean /path?\n\
         - /replace_all: expected boolean, got string \"maybe\"\n\
         Parameters: path: string, old: string, new: string, replace_all?: boolean\n\
         Send the corrected call."
    );
}

#[test]
fn reports_count_in_words_and_list_ten() {
    let schema = Schema::parse(&json!({"type": "object", "properties": {}}));
    let report = validate(&schema, "[1]", Coerce::Safe, Unknown::Refuse)
        .unwrap_err()
        .report("now", &schema);
    assert_eq!(
        report,
        "Tool call to `now` was not run: 1 problem.\n\
         - arguments: expected an object, got array [1]\n\
         Parameters: none\n\
         Send the corrected call."
    );
    let schema = Schema::parse(&json!({
        "properties": {"ids": {"type": "array", "items": {"type": "integer"}}},
    }));
    let text = json!({"ids": vec!["x"; 12]}).to_string();
    let report = validate(&schema, &text, Coerce::Safe, Unknown::Refuse)
        .unwrap_err()
        .report("pick", &schema);
    assert!(report.starts_with("Tool call to `pick` was not run: 12 problems.\n- /ids/0: "));
    assert!(report.contains(
        "\n- /ids/9: expected integer, got string \"x\"\n- and 2 more problems\nParameters: "
    ));
    let text = json!({"ids": vec!["x"; 11]}).to_string();
    let report = validate(&schema, &text, Coerce::Safe, Unknown::Refuse)
        .unwrap_err()
        .report("pick", &schema);
    assert!(report.contains("\n- and 1 more problem\n"));
}

#[test]
fn blank_null_and_wrapped_arguments_are_objects() {
    let schema = Schema::parse(&json!({"properties": {"a": {"type": "integer"}}}));
    let unwrapped = "\n: a string that holds an object became the object";
    for (text, expected) in [
        ("", "{}".to_owned()),
        (" \n\t", "{}".to_owned()),
        ("null", "{}".to_owned()),
        (r#""""#, "{}".to_owned()),
        (r#""{\"a\": 1}""#, format!(r#"{{"a":1}}{unwrapped}"#)),
        (
            r#""\"{}\"""#,
            r#"! : expected an object, got string "\"{}\"""#.to_owned(),
        ),
        ("[]", "! : expected an object, got array []".to_owned()),
        (
            r#"["/etc/passwd"]"#,
            r#"! : expected an object, got array ["/etc/passwd"]"#.to_owned(),
        ),
        ("7", "! : expected an object, got 7".to_owned()),
        ("true", "! : expected an object, got true".to_owned()),
        (
            r#""a=1""#,
            r#"! : expected an object, got string "a=1""#.to_owned(),
        ),
    ] {
        assert_eq!(
            outcome(&schema, text, Coerce::Strict, Unknown::Refuse),
            expected,
            "{text}"
        );
    }
}

#[test]
fn broken_json_names_the_place_and_is_never_closed() {
    let schema = edit_file();
    for (text, expected) in [
        (
            r#"{"path": "a.rs", "old": "x"#,
            r#"! : expected an object, got text that is not JSON at line 1, column 27: expected `"` at the end of the string, found the end near `path": "a.rs", "old": "x`"#,
        ),
        (
            "{\n  \"päth\" \"a\"\n}",
            "! : expected an object, got text that is not JSON at line 2, column 10: expected `:`, found `\"` near `{\\u000a  \"päth\" \"a\"\\u000a}`",
        ),
        (
            r#""{\"path\": ""#,
            r#"! : expected an object, got text that is not JSON at line 1, column 10: expected a value, found the end near `{"path": `"#,
        ),
    ] {
        assert_eq!(
            outcome(&schema, text, Coerce::Lenient, Unknown::Drop),
            expected,
            "{text}"
        );
    }
    let text = format!("{}1", "[".repeat(100_000));
    assert!(
        outcome(&schema, &text, Coerce::Safe, Unknown::Refuse)
            .contains("at most 128 levels of nesting")
    );
}

#[test]
fn reported_inputs_have_known_outcomes() {
    let schema = Schema::parse(&json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "n": {"type": "integer"},
            "u": {"type": "integer", "minimum": 0, "maximum": 2000},
            "s": {"type": "string"},
            "list": {"type": "array", "items": {"type": "string"}},
            "nums": {"type": "array", "items": {"type": "integer"}},
            "range": {"type": "object", "properties": {"from": {"type": "integer"}}, "additionalProperties": false},
            "flag": {"type": "boolean"},
            "mode": {"enum": ["fast", "slow"]},
            "x": {"type": "number"},
        },
    }));
    for (text, expected) in [
        // Repeated keys (bosun-ai/swiftide#560).
        (
            r#"{"n":1,"n":1.0}"#,
            "{\"n\":1}\n/n: given twice with the same value",
        ),
        (
            r#"{"n":1,"n":2}"#,
            "! /n: given twice with different values: 1 and 2",
        ),
        // Text stays text (PrefectHQ/fastmcp#330).
        (r#"{"s":"123"}"#, r#"{"s":"123"}"#),
        (r#"{"s":"{\"a\":1}"}"#, r#"{"s":"{\"a\":1}"}"#),
        (r#"{"s":"null"}"#, r#"{"s":"null"}"#),
        (
            r#"{"s":{"a":1}}"#,
            r#"! /s: expected string, got object {"a":1}"#,
        ),
        (r#"{"s":42}"#, "! /s: expected string, got 42"),
        // Objects and arrays as strings (openclaw/openclaw#70882).
        (
            r#"{"range":"{\"from\":1}"}"#,
            "{\"range\":{\"from\":1}}\n/range: \"{\\\"from\\\":1}\" became {\"from\":1}",
        ),
        (
            r#"{"range":"{\"from\":\"1\"}"}"#,
            "{\"range\":{\"from\":1}}\n/range: \"{\\\"from\\\":\\\"1\\\"}\" became {\"from\":\"1\"}\n/range/from: \"1\" became 1",
        ),
        (
            r#"{"range":"{\"from\":1"}"#,
            r#"! /range: expected object, got string "{\"from\":1" that is not JSON at line 1, column 10: expected `,` or `}`, found the end near `{"from":1`"#,
        ),
        // Numbers as strings (VibiumDev/vibium#85).
        (r#"{"u":"2000"}"#, "{\"u\":2000}\n/u: \"2000\" became 2000"),
        (
            r#"{"u":"5000"}"#,
            r#"! /u: expected integer 0..=2000, got string "5000""#,
        ),
        (r#"{"u":-1}"#, "! /u: expected integer 0..=2000, got -1"),
        (r#"{"u":5.0}"#, "{\"u\":5}\n/u: 5.0 became 5"),
        (r#"{"u":5.5}"#, "! /u: expected integer 0..=2000, got 5.5"),
        // Absent options (anthropics/claude-code#95239).
        (r#"{"n":"null"}"#, "{}\n/n: \"null\" became absent"),
        (
            r#"{"n":null,"s":null}"#,
            "{}\n/n: null became absent\n/s: null became absent",
        ),
        (r#"{"mode":"None"}"#, "{}\n/mode: \"None\" became absent"),
        (
            r#"{"nums":["null"]}"#,
            r#"! /nums/0: expected integer, got string "null""#,
        ),
        // Strings where a list is wanted (huggingface/smolagents#483).
        (
            r#"{"list":"a, b"}"#,
            r#"! /list: expected array of string, got string "a, b""#,
        ),
        (
            r#"{"list":"[\"a\"]"}"#,
            "{\"list\":[\"a\"]}\n/list: \"[\\\"a\\\"]\" became [\"a\"]",
        ),
        // Words.
        (
            r#"{"flag":"True"}"#,
            "{\"flag\":true}\n/flag: \"True\" became true",
        ),
        (r#"{"flag":1}"#, "! /flag: expected boolean, got 1"),
        (
            r#"{"mode":"Fast"}"#,
            "{\"mode\":\"fast\"}\n/mode: \"Fast\" became \"fast\"",
        ),
        (
            r#"{"mode":"fsat"}"#,
            r#"! /mode: expected one of "fast", "slow", got string "fsat"; did you mean "fast"?"#,
        ),
        // Exact integers, floats that are none.
        (
            r#"{"n":9223372036854775808}"#,
            r#"{"n":9223372036854775808}"#,
        ),
        (
            r#"{"n":"340282366920938463463374607431768211455"}"#,
            "{\"n\":340282366920938463463374607431768211455}\n/n: \"340282366920938463463374607431768211455\" became 340282366920938463463374607431768211455",
        ),
        (
            r#"{"n":340282366920938463463374607431768211456}"#,
            "! /n: expected integer of at most 128 bits, got 340282366920938463463374607431768211456",
        ),
        (
            r#"{"x":1e400}"#,
            "! /x: expected a number that a 64-bit float holds, got 1e400",
        ),
        (
            r#"{"x":"NaN"}"#,
            r#"! /x: expected number, got string "NaN""#,
        ),
        (r#"{"x":"$5"}"#, r#"! /x: expected number, got string "$5""#),
        // Unknown keys, nested ones too; pointers are escaped.
        (r#"{"a/b~":1}"#, "! /a~1b~0: unknown parameter"),
        (
            r#"{"range":{"form":1}}"#,
            "! /range/form: unknown parameter; did you mean /range/from?",
        ),
    ] {
        assert_eq!(
            outcome(&schema, text, Coerce::Safe, Unknown::Refuse),
            expected,
            "{text}"
        );
    }
}

#[test]
fn unknown_arguments_are_dropped_only_when_harmless_and_no_slip() {
    let schema = edit_file();
    let given = r#""path":"a","old":"b","new":"c""#;
    let with = |more: &str| format!("{{{given},{more}}}");
    for (more, expected) in [
        (
            r#""explanation":"because""#,
            format!("{{{given}}}\n/explanation: unknown parameter, dropped"),
        ),
        (
            r#""replaceAll":true"#,
            "! /replaceAll: unknown parameter; did you mean /replace_all?".to_owned(),
        ),
        (
            r#""pth":"x""#,
            "! /pth: unknown parameter; did you mean /path?".to_owned(),
        ),
    ] {
        assert_eq!(
            outcome(&schema, &with(more), Coerce::Safe, Unknown::Drop),
            expected
        );
    }
    assert_eq!(
        outcome(
            &schema,
            &with(r#""explanation":"because""#),
            Coerce::Safe,
            Unknown::Refuse
        ),
        "! /explanation: unknown parameter"
    );
    let open = Schema::parse(&json!({"type": "object", "properties": {"a": {"type": "integer"}}}));
    assert_eq!(
        outcome(&open, r#"{"b":1}"#, Coerce::Strict, Unknown::Refuse),
        r#"{"b":1}"#
    );
}

#[test]
fn expectations_are_spelt_out() {
    for (schema, expected) in [
        (
            json!({"type": "integer", "minimum": 1, "maximum": 2000}),
            "integer 1..=2000",
        ),
        (json!({"type": "integer", "minimum": 1}), "integer >= 1"),
        (
            json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
            "number > 0 and < 1",
        ),
        (
            json!({"type": "integer", "multipleOf": 5, "maximum": 10}),
            "integer <= 10, multiple of 5",
        ),
        (json!({"type": "boolean"}), "boolean"),
        (json!({"type": "null"}), "null"),
        (json!({"type": ["integer", "null"]}), "integer or null"),
        (
            json!({"type": "array", "items": {"type": "integer"}, "minItems": 1}),
            "array of integer, at least 1 item",
        ),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}),
            "array [string, integer]",
        ),
        (json!({"enum": [1, 2]}), "one of 1, 2"),
        (json!({"const": 5}), "5"),
        (
            json!({"anyOf": [{"type": "boolean"}, {"type": "integer"}]}),
            "boolean or integer",
        ),
        (
            json!({"anyOf": [{"type": "boolean"}, {"type": "integer"}, {"type": "null"}]}),
            "one of: boolean, integer, null",
        ),
        (
            json!({"oneOf": [{"const": 1, "description": "a"}, {"const": 2, "description": "b"}]}),
            "one of 1, 2",
        ),
        (json!({"$ref": "#/properties/other"}), "integer"),
    ] {
        let schema = Schema::parse(
            &json!({"properties": {"v": schema, "other": {"type": "integer"}}, "required": ["v"]}),
        );
        assert_eq!(
            outcome(&schema, r#"{"v":"?"}"#, Coerce::Safe, Unknown::Refuse),
            format!(r#"! /v: expected {expected}, got string "?""#)
        );
        assert_eq!(
            outcome(&schema, "{}", Coerce::Safe, Unknown::Refuse),
            format!("! /v: required, missing ({expected})")
        );
    }
    let text = json!({"type": "string", "minLength": 1, "maxLength": 80});
    let pattern = json!({"type": "string", "pattern": "^[a-z]+$"});
    for (schema, expected) in [
        (text, "string of 1..=80 characters"),
        (pattern, "string matching `^[a-z]+$`"),
    ] {
        let schema = Schema::parse(&json!({"properties": {"v": schema}}));
        assert_eq!(
            outcome(&schema, r#"{"v":""}"#, Coerce::Safe, Unknown::Refuse),
            format!(r#"! /v: expected {expected}, got string """#)
        );
    }
}

#[test]
fn lengths_count_characters() {
    let schema = Schema::parse(&json!({"properties": {"s": {"type": "string", "maxLength": 2}}}));
    assert_eq!(
        outcome(&schema, r#"{"s":"日本"}"#, Coerce::Safe, Unknown::Refuse),
        r#"{"s":"日本"}"#
    );
}

#[test]
fn other_names_are_read_as_the_declared_one() {
    let schema = Schema::parse(&json!({
        "properties": {"path": {"type": "string", "x-aliases": ["file", "filename"]}},
        "required": ["path"],
        "additionalProperties": false,
    }));
    for (text, expected) in [
        (r#"{"file":"a"}"#, r#"{"path":"a"}"#),
        (r#"{"file":5}"#, "! /file: expected string, got 5"),
        (
            r#"{"path":"a","file":"a"}"#,
            "! /file: another name for /path; send one of the two",
        ),
    ] {
        assert_eq!(
            outcome(&schema, text, Coerce::Strict, Unknown::Refuse),
            expected
        );
    }
    let nested = Schema::parse(&json!({
        "$defs": {"file": {"type": "object", "properties": {
            "path": {"type": "string", "x-aliases": ["file"]},
        }, "additionalProperties": false}},
        "properties": {"files": {"type": "array", "items": {"$ref": "#/$defs/file"}}},
    }));
    assert_eq!(
        outcome(
            &nested,
            r#"{"files":[{"file":"a"},{"path":"b"}]}"#,
            Coerce::Strict,
            Unknown::Refuse
        ),
        r#"{"files":[{"path":"a"},{"path":"b"}]}"#
    );
    let union = Schema::parse(&json!({"properties": {"v": {"anyOf": [
        {"type": "object", "properties": {"a": {"type": "integer", "x-aliases": ["n"]}}, "required": ["a"]},
        {"type": "object", "properties": {"b": {"type": "string", "x-aliases": ["n"]}}, "required": ["b"]},
    ]}}}));
    assert_eq!(
        outcome(&union, r#"{"v":{"n":"x"}}"#, Coerce::Safe, Unknown::Refuse),
        r#"{"v":{"b":"x"}}"#
    );
}

#[test]
fn unions_tell_the_problems_of_the_branch_that_is_meant() {
    let schema = Schema::parse(&json!({"properties": {"shape": {"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}},
            "required": ["kind", "r"], "additionalProperties": false},
        {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}},
            "required": ["kind", "side"], "additionalProperties": false},
    ]}, "id": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]},
        "opt": {"anyOf": [{"$ref": "#/$defs/Opt"}, {"type": "null"}]}},
        "$defs": {"Opt": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}}));
    for (text, expected) in [
        (
            r#"{"shape":{"kind":"circle","r":1}}"#,
            r#"{"shape":{"kind":"circle","r":1}}"#,
        ),
        (
            r#"{"shape":{"kind":"circle","r":"1"}}"#,
            "{\"shape\":{\"kind\":\"circle\",\"r\":1}}\n/shape/r: \"1\" became 1",
        ),
        (
            r#"{"shape":{"kind":"circle","r":"one"}}"#,
            r#"! /shape/r: expected number, got string "one""#,
        ),
        (
            r#"{"shape":{"kind":"circle"}}"#,
            "! /shape/r: required, missing (number)",
        ),
        (
            r#"{"shape":{"kind":"cirle","r":1}}"#,
            r#"! /shape/kind: expected one of "circle", "square", got string "cirle"; did you mean "circle"?"#,
        ),
        (
            r#"{"shape":{"r":1}}"#,
            r#"! /shape/kind: required, missing (one of "circle", "square")"#,
        ),
        (r#"{"shape":5}"#, "! /shape: expected object, got 5"),
        (r#"{"id":"5"}"#, "{\"id\":5}\n/id: \"5\" became 5"),
        (
            r#"{"id":"x"}"#,
            r#"! /id: expected integer or boolean, got string "x""#,
        ),
        (
            r#"{"opt":{"a":"x"}}"#,
            r#"! /opt/a: expected integer, got string "x""#,
        ),
        (r#"{"opt":null}"#, r#"{"opt":null}"#),
        (r#"{"opt":{}}"#, "! /opt/a: required, missing (integer)"),
        (r#"{"shape":null}"#, "{}\n/shape: null became absent"),
    ] {
        assert_eq!(
            outcome(&schema, text, Coerce::Safe, Unknown::Refuse),
            expected,
            "{text}"
        );
    }
}

#[test]
fn a_value_that_could_become_two_things_is_refused() {
    let schema = Schema::parse(&json!({"properties": {"v": {"anyOf": [
        {"type": "array", "items": {"type": "integer"}}, {"enum": ["A", "a"]}, {"type": "integer"},
        {"type": "string", "const": "5 "},
    ]}}}));
    assert_eq!(
        outcome(&schema, r#"{"v":" 5"}"#, Coerce::Safe, Unknown::Refuse),
        "! /v: expected one of: array of integer, one of \"A\", \"a\", integer, \"5 \", got string \" 5\"; did you mean \"5 \"?"
    );
}

#[test]
fn secret_values_show_nowhere() {
    let schema = Schema::parse(&json!({
        "properties": {
            "token": {"type": "integer"},
            "inner": {"type": "object", "properties": {"key": {"type": "integer", "format": "password"}}},
            "list": {"type": "array", "items": {"type": "integer"}},
            "either": {"anyOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}]},
        },
        "additionalProperties": false,
    }))
    .with_secret(&["token", "list"]);
    let parts = Schema::parse(&json!({"$ref": "#/$defs/x", "$defs": {"x": {"anyOf": [
        {"properties": {"token": {"type": "integer"}, "a": true}, "required": ["a"]},
        {"properties": {"token": {"type": "integer"}, "b": {"type": "string"}}, "required": ["b"]},
    ]}}}))
    .with_secret(&["token"]);
    for (schema, text) in [
        (&schema, r#"{"token":"hunter2"}"#),
        (&schema, r#"{"token":["hunter2"]}"#),
        (&schema, r#"{"token":"{hunter2"}"#),
        (&schema, r#"{"list":["hunter2"]}"#),
        (&schema, r#"{"inner":{"key":"hunter2"}}"#),
        (&schema, r#"{"inner":[{"key":"hunter2"}]}"#),
        (&schema, r#"{"inner":"{\"key\":hunter2}"}"#),
        (&schema, r#"{"either":{"key":"hunter2"}}"#),
        (&schema, r#"{"token":"hunter2""#),
        (&schema, r#"{"token":1,"token":"hunter2"}"#),
        (&schema, r#""hunter2""#),
        (&schema, r#""{\"token\":hunter2}""#),
        (&parts, r#"{"token":"hunter2"}"#),
        (&parts, r#"{"token":"hunter2","b":"x"}"#),
    ] {
        let report = validate(schema, text, Coerce::Safe, Unknown::Refuse)
            .unwrap_err()
            .report("login", schema);
        assert!(!report.contains("unter2"), "{report}");
    }
    for (text, expected) in [
        (
            r#"{"token":"42"}"#,
            "{\"token\":42}\n/token: string became number",
        ),
        (
            r#"{"inner":"{}"}"#,
            "{\"inner\":{}}\n/inner: string became object",
        ),
    ] {
        assert_eq!(
            outcome(&schema, text, Coerce::Safe, Unknown::Refuse),
            expected
        );
    }
}

#[test]
fn recursive_schemas_check_every_level() {
    let schema = Schema::parse(&json!({
        "$ref": "#/$defs/Node",
        "$defs": {"Node": {"type": "object", "properties": {
            "name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        }, "required": ["name"], "additionalProperties": false}},
    }));
    assert_eq!(
        outcome(
            &schema,
            r#"{"name":"a","kids":[{"name":"b","kids":[{"nam":"c"}]}]}"#,
            Coerce::Safe,
            Unknown::Refuse
        ),
        "! /kids/0/kids/0/name: required, missing (string)\n! /kids/0/kids/0/nam: unknown parameter; did you mean /kids/0/kids/0/name?"
    );
}

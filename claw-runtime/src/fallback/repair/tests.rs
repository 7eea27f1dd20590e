use super::*;
use proptest::prelude::*;

fn repaired(text: &str) -> Result<String, bool> {
    read(text, 0, Style::Loose)
        .map(|read| read.json.render())
        .map_err(|broken| broken.cut)
}

#[test]
fn punctuation_is_forgiven() {
    for (text, expected) in [
        (r#"{"a": 1,}"#, r#"{"a":1}"#),
        (r#"{"a": 1 "b": [1, 2,],}"#, r#"{"a":1,"b":[1,2]}"#),
        (r"{'a': 'it\'s', b: None}", r#"{"a":"it's","b":null}"#),
        ("{“a”： “x”，“b”:True}", r#"{"a":"x","b":true}"#),
        ("{\"a\": \"1\n2\t\"}", r#"{"a":"1\n2\t"}"#),
        (r#"{"a": "\* \u12 \$"}"#, r#"{"a":"\\* \\u12 \\$"}"#),
        (
            r#"{"a": "say "hi" now", "b": 1}"#,
            r#"{"a":"say \"hi\" now","b":1}"#,
        ),
        (
            "{\"a\": \"x\" /* y */, // z\n # w\n \"b\": 2}",
            r#"{"a":"x","b":2}"#,
        ),
        (
            r#"{"a": 123456789012345678901234567890.0100e+5}"#,
            r#"{"a":123456789012345678901234567890.0100e+5}"#,
        ),
        (r#"{"a: 3, "b": "x"}"#, r#"{"a":3,"b":"x"}"#),
        (r#"{"a": "\ud83d\ude00"}"#, "{\"a\":\"😀\"}"),
    ] {
        assert_eq!(repaired(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn a_value_is_never_made_up() {
    for text in [
        r#"{"a": }"#,
        r#"{"a": "{"b":"c"}"}"#,
        r#"{"a" 1}"#,
        r#"{"a": b}"#,
        r#"{"a": 01}"#,
        r#"{"a": NaN}"#,
        r#"{"a": ["x "y", "z""]}"#,
        r#"{"a b: 3, "c": 1}"#,
        r#"{"a": "\ud83d"}"#,
        &"[".repeat(DEPTH + 1),
    ] {
        assert_eq!(repaired(text), Err(false), "{text}");
    }
}

#[test]
fn what_is_cut_stays_cut() {
    let whole = r#"{"a": [1, "x\n", {"b": null}], "c": true}"#;
    for end in 0..whole.len() {
        assert_eq!(repaired(&whole[..end]), Err(true), "{}", &whole[..end]);
    }
    assert_eq!(repaired(r#"{"a": {"b": 1}</tool_"#), Err(true));
}

#[test]
fn a_missing_bracket_needs_an_end_marker() {
    for text in [r#"{"a": [1, 2</tool_call>"#, r#"{"a": [1, 2}</tool_call>"#] {
        let read = read(text, 0, Style::Loose).unwrap();
        assert!(read.implied, "{text}");
        assert_eq!(read.json.render(), r#"{"a":[1,2]}"#);
    }
    assert_eq!(repaired(r#"{"a": </tool_call>"#), Err(false));
    assert_eq!(repaired(r#"{"a": 1, </tool_call>"#), Err(false));
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".*".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::btree_map(".*", inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn valid_json_is_read_as_it_is(value in any_json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        let read = read(&text, 0, Style::Loose).unwrap();
        prop_assert_eq!(read.end, text.len());
        prop_assert!(!read.implied);
        let again: serde_json::Value = serde_json::from_str(&read.json.render()).unwrap();
        prop_assert_eq!(again, serde_json::from_str::<serde_json::Value>(&text).unwrap());
    }

    #[test]
    fn any_text_is_read_without_panic(text in r#"([{}\[\],:"'\\/*#“”，：\n <>|a1tn-]|\PC){0,60}"#) {
        for style in [Style::Loose, Style::Fenced, Style::Python] {
            if let Ok(read) = read(&text, 0, style) {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&read.json.render()).is_ok());
            }
        }
    }
}

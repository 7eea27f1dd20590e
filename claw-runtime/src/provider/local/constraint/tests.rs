//! Forms over a vocabulary of single bytes, followed by chance instead of a model.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

use super::*;
use crate::fallback::constrained;
use crate::message::StopReason;
use crate::registry::Toolset;
use crate::tool::{Spec, Tool, ToolOutput};

/// The token that ends a reply; those before it are bytes.
const END: u32 = 256;

fn forms() -> Forms {
    let mut words: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    words.push(b"<|im_end|>".to_vec());
    words.push(Vec::new());
    let mut kinds = vec![Kind::Text; 256];
    kinds.extend([Kind::Special, Kind::Unused]);
    Forms::of(&words, &kinds, &[END]).expect("a vocabulary")
}

fn tools(named: &[(&'static str, Value)]) -> Toolset {
    Toolset::new(named.iter().map(|(name, schema)| {
        Arc::new(Tool::dynamic(
            Spec::new((*name).into(), "Does a thing.".into()),
            schema.clone(),
            Arc::new(|_, _| Box::pin(async { Ok(ToolOutput::default()) })),
        ))
    }))
    .expect("two names")
}

/// Writes a reply: of the tokens allowed, the one that `pick` says, closing strings early so that walks come to an end.
fn walk(held: &mut Held, mut pick: impl FnMut(usize) -> usize) -> Option<String> {
    let mut text = Vec::new();
    for step in 0..4_000 {
        let mut logits = vec![0.0; 260];
        match held.mask(&mut logits).expect("some token can come") {
            Step::Complete => return Some(String::from_utf8(text).expect("whole characters")),
            Step::More => {}
        }
        let open: Vec<u32> = (0..260)
            .filter(|token| logits[*token as usize] == 0.0)
            .collect();
        assert!(open.iter().all(|token| *token <= END), "{open:?}");
        let closing = [b'"', b']', b'}', b'0'].map(u32::from);
        let closing = closing.into_iter().find(|byte| open.contains(byte));
        let token = match closing {
            Some(closing) if step > 300 || pick(3) == 0 => closing,
            _ => open[pick(open.len())],
        };
        held.take(token).expect("an allowed token");
        match token {
            END => return Some(String::from_utf8(text).expect("whole characters")),
            byte => text.push(byte as u8),
        }
    }
    None
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"type": "string"})),
        (0..3_u8, 3..9_u8).prop_map(|(least, most)| json!({
            "type": "string", "minLength": least, "maxLength": most
        })),
        Just(json!({"type": "boolean"})),
        Just(json!({"type": "number"})),
        Just(json!({"type": ["integer", "null"]})),
        (-50..0_i32, 0..90_i32).prop_map(|(least, most)| json!({
            "type": "integer", "minimum": least, "maximum": most
        })),
        Just(json!({"type": "integer", "exclusiveMinimum": 0})),
        Just(json!({"enum": ["x", "y\"z", 3, null]})),
        Just(json!({"const": "só"})),
        Just(json!({"type": "string", "format": "date"})),
        // Lowered away before a grammar sees it, so only the slow check knows.
        Just(json!({"anyOf": [{"type": "boolean"}, {"type": "string", "maxLength": 2}]})),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    let value = scalar().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (inner.clone(), 0..2_u8, 2..4_u8).prop_map(|(items, least, most)| json!({
                "type": "array", "items": items, "minItems": least, "maxItems": most
            })),
            object(inner),
        ]
    });
    object(value)
}

fn object(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    proptest::collection::vec((value, any::<bool>()), 0..4).prop_map(|members| {
        let name = |at: usize| ["a", "b b", "type", "ü"][at];
        let properties: serde_json::Map<_, _> = members
            .iter()
            .enumerate()
            .map(|(at, (schema, _))| (name(at).to_owned(), schema.clone()))
            .collect();
        let required: Vec<_> = members
            .iter()
            .enumerate()
            .filter(|(_, (_, required))| *required)
            .map(|(at, _)| name(at))
            .collect();
        json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    /// What a form lets a model write is an answer, or a call that its tool takes.
    #[test]
    fn what_is_allowed_is_valid(first in schema(), second in schema(), seed in any::<u64>()) {
        let tools = tools(&[("first", first), ("second", second)]);
        let form = constrained::schema(&tools, &BTreeSet::new());
        let forms = forms();
        let mut state = seed;
        for _ in 0..4 {
            let mut held = forms.hold(&form).expect("a form");
            let text = walk(&mut held, |of| {
                // Xorshift.
                state |= 1;
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                usize::try_from(state >> 33).unwrap_or(0) % of
            });
            let text = text.expect("an end");
            prop_assert!(constrained::is_begun(&text, &StopReason::Stop), "{}", text);
            let found = constrained::read(&text, &StopReason::Stop, &tools);
            if found.calls.is_empty() {
                let answer: Value = serde_json::from_str(&text).expect("JSON");
                prop_assert!(answer["answer"].is_string(), "{}", text);
            }
            for call in found.calls {
                let tool = tools.get(&call.name).expect("a known tool");
                let checked = tool.validate(&call.arguments);
                prop_assert!(checked.is_ok(), "{}: {:?}\n{}", text, checked, form);
            }
        }
    }
}

/// Lets the form write what it forces, and takes the text otherwise.
fn write(held: &mut Held, text: &str) -> Result<Step, ConstraintError> {
    for byte in text.bytes() {
        let mut logits = vec![0.0; 260];
        assert_eq!(held.mask(&mut logits)?, Step::More);
        held.take(u32::from(byte))?;
    }
    held.mask(&mut vec![0.0; 260])
}

#[test]
fn where_nothing_may_be_called_an_answer_is_written() {
    let forms = forms();
    let hold = || forms.hold(constrained::ANSWER).expect("a form");
    assert_eq!(write(&mut hold(), r#"{"answer": "a"}"#), Ok(Step::Complete));
    let mut held = hold();
    assert_eq!(write(&mut held, "{\""), Ok(Step::More));
    let mut logits = vec![0.0; 260];
    held.mask(&mut logits).expect("some token");
    assert_eq!(logits[usize::from(b'n')], f32::NEG_INFINITY);
}

#[test]
fn a_reply_is_written_in_one_way_and_ends() {
    let tools = tools(&[(
        "add",
        json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}),
    )]);
    let form = constrained::schema(&tools, &BTreeSet::new());
    let forms = forms();
    let hold = || forms.hold(&form).expect("a form");
    let whole = r#"{"name": "add", "arguments": {"a": 12}}"#;
    assert_eq!(write(&mut hold(), whole), Ok(Step::Complete));
    assert_eq!(write(&mut hold(), &whole[..20]), Ok(Step::More));
    for wrong in [r#"{"name":""#, "{ ", r#"{"name": "b"#, r#"{"b"#, "x"] {
        let (last, before) = wrong.as_bytes().split_last().expect("some text");
        let mut held = hold();
        let mut logits = vec![0.0; 260];
        let before = std::str::from_utf8(before).expect("ASCII");
        assert_eq!(write(&mut held, before), Ok(Step::More), "{wrong}");
        held.mask(&mut logits).expect("some token");
        assert_eq!(logits[usize::from(*last)], f32::NEG_INFINITY, "{wrong}");
        assert!(held.take(u32::from(*last)).is_err(), "{wrong}");
    }
}

#[test]
fn marks_and_unused_tokens_never_come_inside() {
    let form = r#"{"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}"#;
    let mut held = forms().hold(form).expect("a form");
    write(&mut held, r#"{"answer": "<|im_"#).expect("text");
    let mut logits = vec![0.0; 260];
    held.mask(&mut logits).expect("text");
    assert_eq!(logits[256..], [f32::NEG_INFINITY; 4]);
    assert_eq!(logits[usize::from(b'e')], 0.0);
    assert_eq!(logits[usize::from(b'\n')], f32::NEG_INFINITY);
}

#[test]
fn a_schema_that_cannot_be_followed_is_an_error_in_words() {
    let forms = forms();
    let deep = format!(r#"{{"not": {}1{}}}"#, "[".repeat(5_000), "]".repeat(5_000));
    let long = format!(r#"{{"description": "{}"}}"#, "x".repeat(LONGEST_SCHEMA));
    let endless = r##"{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}"##;
    let dear = r#"{"type": "string", "pattern": "^(a{1000}|b{1000}){1000}$"}"#;
    for wrong in [
        "",
        "[1]",
        "{",
        &deep,
        &long,
        r##"{"$ref": "#/none"}"##,
        r#"{"enum": 1}"#,
        r#"{"oneOf": []}"#,
    ] {
        let error = forms.hold(wrong).err().expect("no form");
        assert!(!error.0.is_empty());
    }
    // Whatever they are turned into, nothing panics or goes on for long.
    for odd in [endless, dear] {
        if let Ok(mut held) = forms.hold(odd) {
            let _ = held.mask(&mut vec![0.0; 260]);
        }
    }
}

#[test]
fn a_loop_is_left_and_repetition_as_such_is_not() {
    assert_eq!(again(&[]), None);
    assert_eq!(again(&[7; 31]), None);
    assert_eq!(again(&[7; 32]), Some(7));
    let mut words = [1, 2, 3, 4, 5, 6, 7, 8, 9].repeat(REPEATS);
    assert_eq!(again(&words), Some(1));
    words.push(1);
    assert_eq!(again(&words), Some(2));
    words.push(9);
    assert_eq!(again(&words), None);
    assert_eq!(again(&(0..25).collect::<Vec<_>>().repeat(8)), None);
    let form = r#"{"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}"#;
    let mut held = forms().hold(form).expect("a form");
    write(&mut held, &format!(r#"{{"answer": "{}"#, "ab".repeat(16))).expect("text");
    let mut logits = vec![0.0; 260];
    held.mask(&mut logits).expect("text");
    assert_eq!(logits[usize::from(b'a')], f32::NEG_INFINITY);
    assert_eq!(logits[usize::from(b'"')], 0.0);
}

#[test]
fn free_words_end_where_they_go_in_a_loop() {
    let mut free = Free::default();
    let mut written = 0;
    while free.mask(&mut []).expect("no rule") == Step::More && written < 1_000 {
        free.take([1, 2, 3][written % 3]).expect("any token");
        written += 1;
    }
    assert_eq!(written, SHORTEST_LOOP);
    let mut free = Free::default();
    for token in 0..1_000 {
        assert_eq!(free.mask(&mut []), Ok(Step::More));
        assert_eq!(free.take(token), Ok(Step::More));
    }
}

#[test]
fn a_call_that_cannot_be_followed_is_named() {
    let call = |name: &str, arguments: Value| json!({"type": "object", "properties": {"name": {"const": name}, "arguments": arguments}});
    let bad = json!({"type": "string", "pattern": "(?<=a)b"});
    let open = json!({"type": "object", "additionalProperties": true});
    let form = |second: &Value| {
        json!({"oneOf": [call("good", open.clone()), call("bad", second.clone())]}).to_string()
    };
    let forms = forms();
    let error = forms.hold(&form(&bad)).err().expect("no form").0;
    assert!(error.ends_with(" of `bad`"), "{error}");
    assert!(forms.hold(&form(&open)).is_ok());
}

//! Whole toolsets: names both ways, strict tools counted, calls carried over.

use std::sync::Arc;

use claw_runtime::dialect::{Dialect, Offer};
use claw_runtime::message::ToolCall;
use claw_runtime::registry::Toolset;
use claw_runtime::tool::{Spec, Tool, ToolOutput};
use serde_json::{Value, json};

fn tool(name: &str, schema: Value) -> Arc<Tool> {
    let spec = Spec::new(name.to_owned().into(), "Does it.".into());
    let handler: claw_runtime::tool::Handler =
        Arc::new(|_, _| Box::pin(async { Ok::<_, _>(ToolOutput::text("done")) }));
    Arc::new(Tool::dynamic(spec, schema, handler))
}

fn offer(dialect: &str, tools: Vec<Arc<Tool>>) -> Arc<Offer> {
    let tools = Toolset::new(tools).unwrap();
    let offer = tools.offer(Dialect::named(dialect).unwrap());
    assert!(
        Arc::ptr_eq(&offer, &tools.offer(offer.dialect())),
        "made once"
    );
    offer
}

fn one_text() -> Value {
    json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false})
}

#[test]
fn calls_are_named_and_carried_over_both_ways() {
    let maps = json!({
        "type": "object",
        "properties": {"m": {"type": "object", "additionalProperties": {"type": "integer"}}, "n": {"type": "integer"}},
        "required": ["m"], "additionalProperties": false,
    });
    let offer = offer(
        "openai-strict",
        vec![tool("math.sum", maps), tool("plain", one_text())],
    );
    let names: Vec<&str> = offer.iter().map(|offered| offered.name.as_str()).collect();
    assert_eq!(names[1], "plain");
    assert!(names[0].starts_with("math_sum_"), "{names:?}");
    let mut call = ToolCall {
        id: "1".into(),
        name: names[0].to_owned(),
        arguments: r#"{"m":[{"key":"a b","value":1}],"n":null}"#.into(),
    };
    offer.lift(&mut call);
    assert_eq!(
        (call.name.as_str(), call.arguments.as_str()),
        ("math.sum", r#"{"m":{"a b":1}}"#)
    );
    let (name, arguments) = offer.encode(&call);
    assert_eq!(name, names[0]);
    assert_eq!(arguments, r#"{"m":[{"key":"a b","value":1}],"n":null}"#);
    // A call of a tool that has gone.
    call.name = "gone.away".into();
    assert!(offer.dialect().tool_names.allows(&offer.encode(&call).0));
}

#[test]
fn what_a_model_writes_beside_the_form_is_left_for_validation() {
    let schema = json!({
        "type": "object",
        "properties": {"m": {"type": "object", "additionalProperties": {"type": "integer"}}, "any": {}},
        "required": ["m", "any"], "additionalProperties": false,
    });
    let lowered = Dialect::named("openai-strict")
        .unwrap()
        .lower_value(&schema)
        .unwrap();
    for (wire, lifted) in [
        (r#"{"m":{"a":1},"any":5}"#, r#"{"m":{"a":1},"any":5}"#),
        (
            r#"{"m":[{"key":1,"value":2}],"any":"not JSON"}"#,
            r#"{"m":[{"key":1,"value":2}],"any":"not JSON"}"#,
        ),
        (
            r#"{"m":[{"key":"a","value":1},{"key":"a","value":2}],"any":"{}"}"#,
            r#"{"m":{"a":1,"a":2},"any":{}}"#,
        ),
        (
            r#"{"m":[],"any":"12345678901234567890123"}"#,
            r#"{"m":{},"any":12345678901234567890123}"#,
        ),
        ("[1, 2]", "[1, 2]"),
        ("{\"m\":", "{\"m\":"),
        ("", ""),
        (r#""{\"m\":[]}""#, r#""{\"m\":{}}""#),
    ] {
        assert_eq!(lowered.lift(wire), lifted);
    }
}

#[test]
fn null_for_a_property_that_takes_it_and_may_be_left_out_is_left_out() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": ["string", "null"]}, "b": {"type": ["string", "null"]}},
        "required": ["b"],
    });
    let lowered = Dialect::named("openai-strict")
        .unwrap()
        .lower_value(&schema)
        .unwrap();
    assert_eq!(lowered.lift(r#"{"a":null,"b":null}"#), r#"{"b":null}"#);
}

#[test]
fn a_tool_that_is_too_large_goes_in_the_laxer_dialect() {
    let deep = (0..12).fold(json!({"type": "string"}), |inner, _| {
        json!({"type": "object", "properties": {"a": inner}, "required": ["a"], "additionalProperties": false})
    });
    let tools = || vec![tool("deep", deep.clone()), tool("flat", one_text())];
    let strict =
        |offer: &Offer| -> Vec<bool> { offer.iter().map(|offered| offered.strict).collect() };
    let openai = offer("openai-strict", tools());
    assert_eq!(strict(&openai), [false, true]);
    let why = openai.iter().next().unwrap().refused.clone().unwrap();
    assert_eq!(
        why.to_string(),
        "openai-strict takes at most 10 levels, the schema has 12"
    );
    let many = (0..25)
        .map(|at| tool(&format!("t{at:02}"), one_text()))
        .collect();
    let anthropic = offer("anthropic-strict", many);
    assert_eq!(
        strict(&anthropic).iter().filter(|strict| **strict).count(),
        20
    );
    // DeepSeek takes all or none.
    let huge = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    assert_eq!(
        strict(&offer("deepseek-strict", vec![tool("huge", huge)])),
        [true]
    );
}

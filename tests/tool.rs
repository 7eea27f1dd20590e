//! `#[tool]` end to end: schema, reading, injection, results.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use claw::registry::Toolset;
use claw::tool::{CallInfo, Prepared, StateMap, Tool, ToolContext, ToolEntry, ToolOutput};
use claw::{State, tool};
use serde_json::{Value, json};

/// Adds two numbers.
#[tool(effect = pure, group = "math")]
fn add(
    /// The first.
    a: i32,
    /// The second.
    #[arg(default = 1)]
    b: i32,
) -> i32 {
    a + b
}

/// Greets.
#[tool]
async fn greet(
    ctx: &ToolContext,
    /// Who.
    #[arg(len = 1..=80)]
    name: &str,
    /// How often.
    #[arg(range = 1..=3, default = 1)]
    times: u8,
    /// The tone.
    tone: Option<&str>,
) -> Result<String, std::num::ParseIntError> {
    tokio::task::yield_now().await;
    if name == "bad" {
        "x".parse::<u8>()?;
    }
    Ok(format!("{}{name} {times} {tone:?}", ctx.call_id()))
}

/// Needs state.
#[tool(effect = pure)]
fn stateful(
    state: State<'_, u32>,
    #[state] name: &String,
    /// A number.
    #[arg(alias = "m")]
    n: u32,
) -> String {
    format!("{} {name} {n}", *state)
}

/// Takes what only schemars and serde know.
#[tool(effect = pure)]
fn foreign(
    /// The value.
    value: Foreign,
) -> u8 {
    value.n
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Foreign {
    #[schemars(range(max = 9))]
    n: u8,
}

fn only(entries: &'static [ToolEntry]) -> Arc<Tool> {
    let tools = Toolset::of(entries).unwrap();
    tools.iter().next().unwrap().clone()
}

fn schema(tool: &Tool) -> Value {
    serde_json::from_str(&tool.input_schema()).unwrap()
}

async fn call(tool: &Tool, arguments: &str) -> Result<ToolOutput, String> {
    let arguments = tool.validate(arguments)?;
    let ctx = ToolContext::detached();
    let result = match tool.call(&ctx, &arguments) {
        Prepared::Done(result) => result,
        Prepared::Future(future) => future.await,
        Prepared::Checked => panic!("a call with a context runs"),
    };
    result.map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_sync_tool_runs() {
    let tool = only(claw::tools![add]);
    assert_eq!(
        schema(&tool),
        json!({
            "type": "object",
            "properties": {
                "a": {"type": "integer", "minimum": -0x8000_0000_i64, "maximum": 0x7fff_ffff, "description": "The first."},
                "b": {"type": "integer", "minimum": -0x8000_0000_i64, "maximum": 0x7fff_ffff, "description": "The second.", "default": 1},
            },
            "required": ["a"],
            "additionalProperties": false,
        })
    );
    let output = call(&tool, r#"{"a": 2}"#).await.unwrap();
    assert_eq!(output.structured, Some(json!(3)));
}

#[tokio::test]
async fn an_async_tool_runs() {
    let tool = only(claw::tools![greet]);
    let output = call(&tool, r#"{"name": "x\ny","times":2}"#).await.unwrap();
    assert_eq!(output, ToolOutput::text("x\ny 2 None"));
    let error = call(&tool, r#"{"name": "bad"}"#).await.unwrap_err();
    assert_eq!(error, "invalid digit found in string");
    assert!(Toolset::linked().unwrap().get("greet").is_some());
}

/// Returns why the fast path refuses.
fn refused(entry: &'static ToolEntry, text: &str) -> String {
    match (entry.shim)(None, text) {
        Ok(_) => panic!("{text} is taken"),
        Err(reject) => reject.to_string(),
    }
}

#[test]
fn the_fast_path_is_strict() {
    let [add] = claw::tools![add] else {
        panic!("one tool")
    };
    let taken = |text: &str| matches!((add.shim)(None, text), Ok(Prepared::Checked));
    assert!(taken(r#"{"a":1}"#));
    assert!(taken(" { \"b\" : null , \"\\u0061\" : 1 } "));
    for (text, why) in [
        ("", "/a: required, missing at byte 0"),
        (" null ", "/a: required, missing at byte 5"),
        ("{}", "/a: required, missing at byte 2"),
        ("[1,2]", "expected an object at byte 0"),
        (r#"{"a":1}x"#, "text after the arguments at byte 7"),
        (r#"{"a":1,"a":2}"#, "/a: given twice at byte 7"),
        (r#"{"a":1,"c":2}"#, "unknown parameter at byte 7"),
        (r#"{"a":1,}"#, "a comma before the end at byte 7"),
        (r#"{"a":"1"}"#, "/a: expected an integer at byte 5"),
        (r#"{"a":2147483648}"#, "/a: out of range at byte 5"),
        (r#"{"a":null}"#, "/a: expected an integer at byte 5"),
        (r#"{"a":1"#, "text without an end at byte 6"),
        (r#"{"a":1 "b":2}"#, "expected a comma at byte 7"),
    ] {
        assert_eq!(refused(add, text), why, "{text}");
    }
}

#[test]
fn bounds_are_checked() {
    let [greet] = claw::tools![greet] else {
        panic!("one tool")
    };
    assert!(refused(greet, r#"{"name":""}"#).contains("/name: outside the declared bounds"));
    assert!(refused(greet, r#"{"name":"a","times":4}"#).contains("/times: outside"));
    let longest = format!(r#"{{"name":"{}"}}"#, "é".repeat(80));
    assert!((greet.shim)(None, &longest).is_ok());
    assert!(refused(greet, r#"{"name":"a","ctx":{}}"#).contains("unknown parameter"));
}

#[test]
fn state_is_injected_and_missing_state_is_an_error() {
    let entries = claw::tools![stateful];
    let toolset = Toolset::of(entries).unwrap();
    let mut state = StateMap::default();
    state.insert(7_u32);
    let error = toolset.check_state(&state).unwrap_err().to_string();
    assert!(
        error.contains("`stateful` needs `State<alloc::string::String>`"),
        "{error}"
    );
    let run = |state: StateMap| {
        let ctx = ToolContext::new(CallInfo {
            state: Arc::new(state),
            ..Default::default()
        });
        match (entries[0].shim)(Some(&ctx), r#"{"m":1}"#) {
            Ok(Prepared::Done(result)) => result.map_err(|error| error.to_string()),
            _ => panic!("a sync tool runs"),
        }
    };
    assert!(
        run(state)
            .unwrap_err()
            .contains("needs `State<alloc::string::String>`")
    );
    let mut state = StateMap::default();
    state.insert(7_u32);
    state.insert("x".to_owned());
    assert_eq!(run(state), Ok(ToolOutput::text("7 x 1")));
}

#[test]
fn a_foreign_type_says_what_is_wrong_with_it() {
    let tool = only(claw::tools![foreign]);
    assert_eq!(
        schema(&tool)["properties"]["value"]["properties"]["n"]["maximum"],
        json!(9)
    );
    let [foreign] = claw::tools![foreign] else {
        panic!("one tool")
    };
    assert_eq!(
        refused(foreign, r#"{"value":{}}"#),
        "/value: missing field `n` at line 1 column 2 at byte 9"
    );
}

/// Opens the door.
#[tool(effect = pure)]
fn open(
    /// The pin.
    #[arg(secret)]
    pin: Pin,
) -> u8 {
    pin.0
}

/// Opens the window.
#[tool(effect = pure)]
fn open_window(
    /// The pin.
    pin: Pin,
) -> u8 {
    pin.0
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String")]
struct Pin(u8);

impl TryFrom<String> for Pin {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
            .map(Self)
            .map_err(|_| format!("`{text}` is no pin"))
    }
}

#[test]
fn what_serde_says_of_a_value_is_clipped_and_never_of_a_secret_one() {
    let value = format!("hunter2{}", "x".repeat(100_000));
    let text = json!({"pin": value}).to_string();
    let report = only(claw::tools![open]).validate(&text).unwrap_err();
    assert_eq!(
        report,
        "Tool call to `open` was not run: /pin: a value of another form is expected at byte 7.\nSend the corrected call."
    );
    let report = only(claw::tools![open_window]).validate(&text).unwrap_err();
    assert!(
        report.contains("/pin: `hunter2x") && report.len() < 300,
        "{report}"
    );
}

#[test]
fn notes_on_arguments_are_bounded_and_show_no_value_in_debug() {
    let tool = only(claw::tools![add]);
    let mut arguments = json!({"a": "1"});
    for n in 0..1_000 {
        arguments[format!("{n:03}\n{}", "z".repeat(500))] = json!("hunter2");
    }
    let valid = tool.validate(&arguments.to_string()).unwrap();
    assert_eq!(valid.notes().len(), 11);
    assert_eq!(valid.notes()[10], "and 991 more changes");
    assert!(
        valid
            .notes()
            .iter()
            .all(|note| note.len() < 200 && !note.contains('\n'))
    );
    let valid = tool.validate(r#"{"a":41}"#).unwrap();
    assert_eq!(format!("{valid:?}"), "ValidArguments { notes: [], .. }");
}

/// A unit.
#[derive(claw::ToolInput, Debug)]
enum Unit {
    /// Degrees of Celsius.
    Celsius,
    /// Degrees of Fahrenheit.
    Fahrenheit,
}

/// Takes what hand-made type mappers got wrong.
#[tool(effect = pure)]
fn shapes(
    /// A unit.
    unit: Unit,
    /// Counts by name.
    counts: std::collections::HashMap<String, u32>,
    /// A pair.
    pair: (u8, String),
    /// Units.
    units: Vec<Unit>,
    /// A parameter that is named as a keyword of schemas.
    format: Option<u64>,
) -> String {
    format!("{unit:?} {counts:?} {pair:?} {units:?} {format:?}")
}

/// [T] rig#1576, rust-sdk#354, dcdpr/jp#998, VelesDB#1285, strands-agents#1151, longbridge-mcp#61.
#[test]
fn every_type_has_its_own_schema() {
    let schema = schema(&only(claw::tools![shapes]));
    let unit = json!({"type": "string", "enum": ["Celsius", "Fahrenheit"]});
    let properties = &schema["properties"];
    assert_eq!(properties["unit"]["enum"], unit["enum"]);
    assert_eq!(properties["units"]["items"], unit);
    assert_eq!(
        properties["counts"]["additionalProperties"],
        json!({"type": "integer", "minimum": 0, "maximum": u32::MAX})
    );
    assert_eq!(
        properties["pair"]["prefixItems"][1],
        json!({"type": "string"})
    );
    assert_eq!(
        properties["format"],
        json!({"type": "integer", "minimum": 0,
            "description": "A parameter that is named as a keyword of schemas."})
    );
    assert_eq!(
        schema["required"],
        json!(["unit", "counts", "pair", "units"])
    );
}

/// Fails as applications do.
#[tool(effect = pure)]
async fn fails_anyhow() -> anyhow::Result<()> {
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    anyhow::bail!("no luck")
}

/// Fails as libraries do.
#[tool(effect = pure)]
fn fails_boxed() -> Result<u8, Box<dyn std::error::Error + Send + Sync>> {
    Err("no luck".into())
}

/// [T] rig#1015: any error with a text; fastmcp_rust#43: timers work under a current-thread runtime.
#[tokio::test]
async fn any_error_with_a_text_is_told() {
    for entries in [claw::tools![fails_anyhow], claw::tools![fails_boxed]] {
        assert_eq!(call(&only(entries), "").await.unwrap_err(), "no luck");
    }
}

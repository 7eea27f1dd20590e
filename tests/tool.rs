//! `#[tool]` end to end: schema, reading, injection, results.

use std::sync::Arc;

use claw::registry::Toolset;
use claw::tool;
use claw::tool::{Prepared, Tool, ToolContext, ToolEntry, ToolOutput};
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

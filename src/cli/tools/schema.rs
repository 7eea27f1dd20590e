//! `tools schema`: the definition of one tool as a service gets it.

use std::fmt::Write;

use claw_runtime::dialect::{DIALECTS, Dialect, Lowered, WireNames};
use claw_runtime::nearest::nearest;
use claw_runtime::registry::Toolset;
use claw_runtime::tool::{Effect, Tool};
use serde_json::{Value, json};

use super::args::Schema;
use super::{Exit, Failure, Screen, find, json};

/// The form that is no schema: the declaration written into a prompt.
const PROMPT: &str = "prompt";

/// Runs `tools schema`.
pub(super) fn schema(tools: &Toolset, args: &Schema) -> Result<Exit, Failure> {
    let tool = find(tools, &args.name)?;
    let text = if args.dialect == PROMPT {
        let spec = tool.spec();
        tool.schema().declaration(&spec.name, &spec.description) + "\n"
    } else {
        let dialect = dialect(&args.dialect)?;
        let lowered = dialect.lower(&tool.input_schema()).map_err(|refused| {
            let failure = Failure::new(Exit::Found, format!("`{}`: {refused}", tool.name()));
            match dialect.laxer() {
                Some(laxer) => failure.hint(format!("it goes out as `{}` instead", laxer.name)),
                None => failure,
            }
        })?;
        let names = WireNames::new(dialect.tool_names, tools.iter().map(|tool| tool.name()));
        json::indented(&definition(
            dialect,
            &tool,
            &names.wire(tool.name()),
            &lowered,
        ))
    };
    let mut screen = Screen::new(false);
    screen.answer(&text);
    screen.finish()?;
    Ok(Exit::Answered)
}

/// Returns the dialect named so.
pub(super) fn dialect(name: &str) -> Result<&'static Dialect, Failure> {
    if let Some(dialect) = Dialect::named(name) {
        return Ok(dialect);
    }
    let known = || DIALECTS.iter().map(|dialect| dialect.name);
    let mut failure = Failure::usage(format!("there is no dialect `{name}`"));
    if let Some(near) = nearest(name, known()) {
        failure = failure.hint(format!("did you mean `{near}`?"));
    }
    let known: Vec<&str> = known().collect();
    Err(failure.hint(format!("there are {}", known.join(", "))))
}

/// Returns the definition in the frame that the services of a dialect put around a schema.
fn definition(dialect: &Dialect, tool: &Tool, name: &str, lowered: &Lowered) -> String {
    let spec = tool.spec();
    let (family, _) = dialect.name.split_once('-').unwrap_or((dialect.name, ""));
    let mut members = vec![
        ("name", json!(name)),
        ("description", json!(spec.description)),
    ];
    let (key, behind) = match dialect.name {
        "mcp" => {
            if !spec.title.is_empty() {
                members.insert(1, ("title", json!(spec.title)));
            }
            let output = tool.output_schema();
            let output = output.and_then(|schema| serde_json::from_str(&schema).ok());
            let mut behind = vec![("annotations", annotations(tool))];
            behind.extend(output.map(|schema| ("outputSchema", schema)));
            ("inputSchema", behind)
        }
        "gemini" => ("parametersJsonSchema", vec![]),
        "json-schema" => ("input_schema", vec![]),
        _ if family == "anthropic" => ("input_schema", strict(dialect)),
        _ => ("parameters", strict(dialect)),
    };
    let mut out = String::from("{");
    for (key, value) in &members {
        let _ = write!(out, "\"{key}\":{value},");
    }
    // As text, which keeps the order of the properties.
    let _ = write!(out, "\"{key}\":{}", lowered.schema);
    for (key, value) in behind {
        let _ = write!(out, ",\"{key}\":{value}");
    }
    out.push('}');
    match family {
        "mcp" | "gemini" | "json" | "anthropic" => out,
        _ => format!("{{\"type\":\"function\",\"function\":{out}}}"),
    }
}

fn strict(dialect: &Dialect) -> Vec<(&'static str, Value)> {
    if dialect.strict && dialect.name.ends_with("-strict") {
        vec![("strict", json!(true))]
    } else {
        vec![]
    }
}

/// Returns what an MCP server tells clients about the effect of a tool.
fn annotations(tool: &Tool) -> Value {
    let spec = tool.spec();
    json!({
        "readOnlyHint": spec.effect.is_harmless(),
        "destructiveHint": spec.destructive,
        "idempotentHint": spec.effect != Effect::Once,
        "openWorldHint": spec.open_world || !spec.net.is_empty(),
    })
}

//! `tools show`: everything declared about one tool.

use claw_runtime::tool::Tool;
use serde_json::{Value, json};

use super::{Exit, Failure, Screen, Setup, json, word};

/// Returns the tool as JSON, with what the policy says of it.
pub(super) fn describe(tool: &Tool, setup: &Setup) -> Value {
    let spec = tool.spec();
    let ruling = setup.policy.rule(tool);
    json!({
        "name": spec.name,
        "title": spec.title,
        "aliases": spec.aliases,
        "description": spec.description,
        "tags": spec.tags,
        "group": spec.group,
        "effect": spec.effect,
        "destructive": spec.destructive,
        "open_world": spec.open_world,
        "timeout_ms": setup.timeout(tool).as_millis() as u64,
        "verdict": ruling.verdict,
        "rule": ruling.rule,
        "offered": setup.tools.get(tool.name()).is_some(),
        "origin": tool.origin().map(|origin| json!({
            "package": origin.package, "file": origin.file, "line": origin.line,
        })),
        "parameters": tool.schema().signature(),
        "input_schema": schema(tool),
        "output_schema": tool.output_schema().and_then(|schema| serde_json::from_str::<Value>(&schema).ok()),
    })
}

/// Returns the schema with its keys in order, for a reader.
fn schema(tool: &Tool) -> Value {
    serde_json::from_str(&tool.input_schema()).unwrap_or_default()
}

/// Runs `tools show`.
pub(super) fn show(tool: &Tool, setup: &Setup, as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        json::print(&describe(tool, setup))?;
        return Ok(Exit::Answered);
    }
    let spec = tool.spec();
    let ruling = setup.policy.rule(tool);
    let mut rows = vec![
        ("parameters", tool.schema().signature()),
        ("effect", spec.effect.as_str().to_owned()),
        (
            "policy",
            format!("{}: {}", word(ruling.verdict), ruling.rule),
        ),
    ];
    if !spec.aliases.is_empty() {
        rows.push(("also called", spec.aliases.join(", ")));
    }
    if spec.destructive {
        rows.push(("destructive", "yes".to_owned()));
    }
    if !spec.group.is_empty() {
        rows.push(("group", spec.group.to_string()));
    }
    rows.push(("timeout", format!("{:?}", setup.timeout(tool))));
    if let Some(origin) = tool.origin() {
        rows.push((
            "declared",
            format!("{} {}:{}", origin.package, origin.file, origin.line),
        ));
    }
    if setup.tools.get(tool.name()).is_none() {
        rows.push(("offered", format!("no: {}", setup.why_not(tool))));
    }
    let mut out = format!("{}\n{}\n\n", tool.name(), spec.description);
    for (key, value) in rows {
        out.push_str(&format!("{key:12}{value}\n"));
    }
    out.push_str(&format!("\n{:#}\n", schema(tool)));
    let mut screen = Screen::new(false);
    screen.answer(&out);
    screen.finish()?;
    Ok(Exit::Answered)
}

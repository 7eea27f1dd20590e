//! `tools`: what the agent has, and calling one by hand.

use std::sync::Arc;
use std::time::Instant;

use claw_runtime::event::Verdict;
use claw_runtime::message::{ContentBlock, Image};
use claw_runtime::tool::{
    CallInfo, Prepared, Tool, ToolContext, ToolError, ToolOutput, ValidArguments,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::args::{Args, Tools};
use super::exit::{Exit, Failure};
use super::setup::{Setup, linked};
use super::signal::Signals;
use super::terminal::{BAD, DIM, Screen};
use super::{input, json, text};
use crate::program::Program;
use claw_runtime::nearest::nearest;

/// Runs `tools`.
pub(crate) async fn tools(program: Program, args: &Args, command: Tools) -> Result<Exit, Failure> {
    let setup = Setup::new(&program, args)?;
    match command {
        Tools::List { json } => list(&setup, json),
        Tools::Show { name, json } => {
            let tool = find(&program, &name)?;
            show(&tool, &setup, json)
        }
        Tools::Call {
            name,
            arguments,
            json,
        } => {
            let tool = find(&program, &name)?;
            let arguments = if arguments == "-" {
                input::piped()?
            } else {
                arguments
            };
            call(program, &setup, tool, &arguments, json).await
        }
    }
}

/// Returns the tool named so, whether or not the model is offered it.
fn find(program: &Program, name: &str) -> Result<Arc<Tool>, Failure> {
    let tools = linked(program)?;
    if let Some(tool) = tools.get(name) {
        return Ok(tool.clone());
    }
    let failure = Failure::usage(format!("there is no tool `{name}`"));
    Err(match nearest(name, tools.iter().map(|tool| tool.name())) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("`tools list` shows them all"),
    })
}

fn list(setup: &Setup, as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        let tools: Vec<Value> = setup
            .tools
            .iter()
            .map(|tool| describe(tool, setup))
            .collect();
        json::print(&tools)?;
        return Ok(Exit::Answered);
    }
    let mut screen = Screen::new(false);
    if setup.tools.is_empty() {
        screen.note(DIM, "no tools are offered");
    }
    screen.answer(&table(setup));
    screen.finish()?;
    Ok(Exit::Answered)
}

/// Returns one line a tool: name, effect, whether it asks, and the first sentence about it.
pub(crate) fn table(setup: &Setup) -> String {
    let width = setup
        .tools
        .iter()
        .map(|tool| tool.name().len())
        .max()
        .unwrap_or(0);
    setup
        .tools
        .iter()
        .map(|tool| {
            let verdict = word(setup.policy.rule(tool).verdict);
            let about = tool.spec().description.replace('\n', " ");
            let about = about.split_inclusive(". ").next().unwrap_or_default();
            format!(
                "{:width$}  {:10}  {verdict}  {}\n",
                tool.name(),
                tool.spec().effect.as_str(),
                text::line(about, 100)
            )
        })
        .collect()
}

/// Returns what becomes of a call.
fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "runs",
        Verdict::Ask => "asks",
        Verdict::Deny => "denied",
    }
}

fn describe(tool: &Tool, setup: &Setup) -> Value {
    let spec = tool.spec();
    let ruling = setup.policy.rule(tool);
    json!({
        "name": spec.name,
        "description": spec.description,
        "group": spec.group,
        "effect": spec.effect,
        "destructive": spec.destructive,
        "timeout_ms": setup.timeout(tool).as_millis() as u64,
        "verdict": ruling.verdict,
        "rule": ruling.rule,
        "offered": setup.tools.get(tool.name()).is_some(),
        "origin": tool.origin().map(|origin| json!({
            "package": origin.package, "file": origin.file, "line": origin.line,
        })),
        "parameters": tool.schema().signature(),
        "input_schema": schema(tool),
    })
}

/// Returns the schema with its keys in order, for a reader.
fn schema(tool: &Tool) -> Value {
    serde_json::from_str(&tool.input_schema()).unwrap_or_default()
}

fn show(tool: &Tool, setup: &Setup, as_json: bool) -> Result<Exit, Failure> {
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

async fn call(
    program: Program,
    setup: &Setup,
    tool: Arc<Tool>,
    arguments: &str,
    as_json: bool,
) -> Result<Exit, Failure> {
    let valid = match tool.validate(arguments) {
        Ok(valid) => valid,
        Err(report) => {
            if as_json {
                json::print(&json!({"status": "invalid", "report": report}))?;
            } else {
                Screen::new(false).note(anstyle::Style::new(), &report);
            }
            return Ok(Exit::ToolFailed);
        }
    };
    claw_runtime::registry::Toolset::new([tool.clone()])?.check_state(&program.state)?;
    let notes = valid.notes().to_vec();
    let mut signals = Signals::new()?;
    let cancel = CancellationToken::new();
    let timeout = setup.timeout(&tool);
    let ctx = ToolContext::new(CallInfo {
        session_id: "tools-call".to_owned(),
        call_id: "call-1".to_owned(),
        cancel: cancel.clone(),
        deadline: Some(Instant::now() + timeout),
        workspace: Some(Arc::new(setup.workspace()?)),
        state: Arc::new(program.state),
        progress: Some(Arc::new(|line| {
            Screen::new(false).note(DIM, &text::line(line, 100));
        })),
    });
    let result = tokio::select! {
        result = tokio::time::timeout(timeout, perform(tool, ctx, valid)) => {
            result.unwrap_or_else(|_| Err(ToolError::new(format!("gave no result within {timeout:?}"))))
        }
        signal = signals.next() => {
            cancel.cancel();
            return Ok(signal.into());
        }
    };
    report(&result, &notes, as_json)?;
    Ok(if result.is_ok() {
        Exit::Answered
    } else {
        Exit::ToolFailed
    })
}

/// Runs the call as a task of its own, so that a panic in it ends nothing else.
async fn perform(
    tool: Arc<Tool>,
    ctx: ToolContext,
    arguments: ValidArguments,
) -> Result<ToolOutput, ToolError> {
    let sync = tool.is_sync();
    let task = if sync {
        tokio::task::spawn_blocking(move || match tool.call(&ctx, &arguments) {
            Prepared::Done(result) => result,
            _ => Err(ToolError::new("the tool did not run")),
        })
    } else {
        tokio::spawn(async move {
            match tool.call(&ctx, &arguments) {
                Prepared::Future(future) => future.await,
                Prepared::Done(result) => result,
                Prepared::Checked => Err(ToolError::new("the tool did not run")),
            }
        })
    };
    task.await
        .unwrap_or_else(|_| Err(ToolError::new("the tool panicked")))
}

fn report(
    result: &Result<ToolOutput, ToolError>,
    notes: &[String],
    as_json: bool,
) -> Result<(), Failure> {
    if as_json {
        json::print(&match result {
            Ok(output) => json!({
                "status": "ok",
                "content": output.content,
                "structured": output.structured,
                "notes": notes,
            }),
            Err(error) => json!({"status": "error", "message": error.to_string(), "notes": notes}),
        })?;
        return Ok(());
    }
    let mut screen = Screen::new(false);
    for note in notes {
        screen.note(DIM, note);
    }
    match result {
        Ok(output) => {
            screen.answer(&output.content.iter().map(block).collect::<String>());
            screen.end_answer();
        }
        Err(error) => screen.note(BAD, &format!("the tool failed: {error}")),
    }
    Ok(screen.finish()?)
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text { text } => text.clone(),
        ContentBlock::Image(Image::Url(url)) => format!("[image {url}]\n"),
        ContentBlock::Image(Image::Data { media_type, base64 }) => {
            format!("[image {media_type}, {} bytes]\n", base64.len() / 4 * 3)
        }
        ContentBlock::Resource { uri, description } => format!("[{description}: {uri}]\n"),
        other => format!("{}\n", serde_json::to_string(other).unwrap_or_default()),
    }
}

//! `tools call`: a call by hand, its arguments validated as a model's are.

use std::sync::Arc;
use std::time::Instant;

use claw_runtime::message::{ContentBlock, Image};
use claw_runtime::registry::Toolset;
use claw_runtime::tool::{
    CallInfo, Prepared, Services, Tool, ToolContext, ToolError, ToolOutput, ValidArguments,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Exit, Failure, Program, Screen, Setup, json, text};
use crate::cli::signal::Signals;
use crate::cli::terminal::{BAD, DIM};

/// Runs `tools call`.
pub(super) async fn call(
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
    Toolset::new([tool.clone()])?.check_state(&program.state)?;
    let notes = valid.notes().to_vec();
    let mut signals = Signals::new()?;
    let cancel = CancellationToken::new();
    let timeout = setup.timeout(&tool);
    let ctx = ToolContext::new(CallInfo {
        session_id: "tools-call".into(),
        call_id: "call-1".to_owned(),
        cancel: cancel.clone(),
        deadline: Some(Instant::now() + timeout),
        workspace: Some(Arc::new(setup.workspace()?)),
        state: Arc::new(program.state),
        services: Some(Arc::new(Shown)),
        ..Default::default()
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

/// Shows the progress of the one call.
struct Shown;

impl Services for Shown {
    fn progress(&self, _call: &CallInfo, line: &str) {
        Screen::new(false).note(DIM, &text::line(line, 100));
    }
}

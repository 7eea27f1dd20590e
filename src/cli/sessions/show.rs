//! `sessions show`: what was said and done, from the journal.

use std::fmt::Write;

use claw_runtime::event::{Event, Status};
use claw_runtime::message::{ContentBlock, text_of};
use claw_runtime::session::{Stored, journal};
use jiff::tz::TimeZone;
use serde_json::json;

use super::args::Show;
use super::list::{state, when};
use super::{Exit, Failure, Kept, Screen, json as lines, store, text};
use crate::cli::exit::warn;
use crate::cli::stamp::unstamped;
use crate::cli::terminal::columns;

/// Runs `sessions show`. Ends with a code of its own when the journal cannot be read to its end.
pub(super) async fn show(kept: &Kept, show: &Show) -> Result<Exit, Failure> {
    let info = store::find(&*kept.store, kept.program, &show.id).await?;
    let journal = journal::read(&*kept.store, &info.id).await?;
    if show.json {
        for Stored {
            seq,
            time_ms,
            event,
        } in &journal.events
        {
            let mut value = serde_json::to_value(event).map_err(Failure::other)?;
            value["seq"] = json!(seq);
            value["time_ms"] = json!(time_ms);
            lines::print(&value)?;
        }
    } else {
        let zone = TimeZone::system();
        let mut out = format!("{}  {}", info.id, when(info.created_ms, &zone));
        if let Some(parent) = &info.parent {
            let _ = write!(out, "  from {} at {}", parent.session, parent.seq);
        }
        let _ = writeln!(out, "  {}", state(&info));
        for stored in &journal.events {
            entry(&mut out, stored, &zone);
        }
        let mut screen = Screen::new(false);
        screen.answer(&out);
        screen.finish()?;
    }
    match journal.fault {
        None => Ok(Exit::Answered),
        Some(fault) => {
            warn(&format!("{fault}; what stands before it is shown"));
            Ok(Exit::Found)
        }
    }
}

/// Writes one event as a person reads it; those that only the machine needs are left out.
fn entry(out: &mut String, stored: &Stored, zone: &TimeZone) {
    let seq = stored.seq;
    match &stored.event {
        Event::UserInput { content, .. } => {
            let at = when(stored.time_ms, zone);
            let _ = writeln!(out, "\n{seq:>5}  {at}  user");
            paragraph(out, unstamped(&text_of(content)));
        }
        Event::Assistant {
            content,
            incomplete,
            ..
        } => {
            let text = text_of(content);
            if !text.trim().is_empty() {
                let cut = if *incomplete { " (broken off)" } else { "" };
                let _ = writeln!(out, "\n{seq:>5}  assistant{cut}");
                paragraph(out, &text);
            }
            for block in content {
                if let ContentBlock::ToolCall(call) = block {
                    let line = format!("▸ {}({})", call.name, call.arguments);
                    row(out, seq, &line);
                }
            }
        }
        Event::Outcome {
            status, content, ..
        } => {
            let mark = if *status == Status::Ok { '✓' } else { '✗' };
            row(out, seq, &format!("{mark} {}", text_of(content).trim()));
        }
        Event::ModelFailed { class, message, .. } => {
            row(out, seq, &format!("! {class}: {message}"));
        }
        Event::ApprovalAsked { .. } => row(out, seq, "? asked for approval"),
        Event::Approval { answer, .. } => row(out, seq, &format!("? answered: {answer:?}")),
        Event::Blocked { .. } => row(out, seq, "… waits for an answer"),
        Event::Resumed { .. } => row(out, seq, "… goes on"),
        Event::CancelRequested => row(out, seq, "! cancelled"),
        Event::TurnEnd { outcome, .. } if outcome.truncated() => {
            row(out, seq, &format!("! ended: {:?}", outcome.reason));
        }
        _ => {}
    }
}

fn row(out: &mut String, seq: u64, line: &str) {
    let _ = writeln!(out, "{seq:>5}  {}", text::line(line, columns() - 8));
}

fn paragraph(out: &mut String, text: &str) {
    for line in text.trim().lines() {
        let _ = writeln!(out, "       {}", text::wrapped(line, 7, columns() - 1));
    }
}

//! `sessions replay`: a session once more, from what was recorded. No model is asked and no tool is started.

use std::time::Duration;

use claw_runtime::agent::Observer;
use claw_runtime::event::Event;
use claw_runtime::message::{Message, text_of};
use claw_runtime::provider::Delta;
use claw_runtime::session::{Stored, View, journal};
use serde_json::json;

use super::args::Replay;
use super::{Exit, Failure, Kept, json as lines, store};
use crate::cli::exit::warn;
use crate::cli::setup::linked;
use crate::cli::show::Show;
use crate::cli::stamp::unstamped;
use crate::cli::terminal::{DIM, Screen};
use crate::program::Program;

/// The longest pause of a replay in its own time: nobody waits for a person who thought for an hour.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Runs `sessions replay`.
pub(super) async fn replay(
    kept: &Kept,
    program: &Program,
    replay: &Replay,
) -> Result<Exit, Failure> {
    let info = store::find(&*kept.store, kept.program, &replay.id).await?;
    let journal = journal::read(&*kept.store, &info.id).await?;
    if replay.requests {
        requests(&journal.events)?;
    } else {
        play(program, &journal.events, replay.pace).await?;
    }
    match journal.fault {
        None => Ok(Exit::Answered),
        Some(fault) => {
            warn(&format!("{fault}; what stands before it was played"));
            Ok(Exit::Found)
        }
    }
}

/// Shows the turns as they were shown, line by line.
async fn play(program: &Program, events: &[Stored], in_its_time: bool) -> Result<(), Failure> {
    let tools = linked(program)?;
    let mut screen = Screen::new(false);
    let mut show = Show::new(&mut screen, &tools, u32::MAX);
    let mut before = None;
    for Stored { time_ms, event, .. } in events {
        let pause = time_ms.saturating_sub(before.replace(*time_ms).unwrap_or(*time_ms));
        if in_its_time {
            tokio::time::sleep(Duration::from_millis(pause).min(LONGEST_PAUSE)).await;
        }
        match event {
            Event::UserInput { content, .. } => show.said(unstamped(&text_of(content))),
            Event::Assistant { content, .. } => {
                let text = text_of(content);
                if !text.is_empty() {
                    show.delta(&Delta::Text { text });
                }
                show.event(event);
            }
            Event::TurnEnd { outcome, .. } => {
                show.answer(outcome)?;
                show = Show::new(&mut screen, &tools, u32::MAX);
            }
            event => show.event(event),
        }
    }
    show.close()?;
    screen.note(DIM, "played from the journal; nothing was asked or started");
    screen.finish()?;
    Ok(())
}

/// Prints what each request sent: the conversation as the view had it then.
fn requests(events: &[Stored]) -> Result<(), Failure> {
    let mut view = View::default();
    for Stored { seq, event, .. } in events {
        view.apply(event);
        if let Event::ModelRequest {
            round,
            attempt,
            target,
            ..
        } = event
        {
            let messages: &[Message] = &view.request_messages();
            lines::print(&json!({
                "seq": seq, "round": round, "attempt": attempt,
                "model": format!("{}:{}", target.provider, target.model),
                "messages": messages,
            }))?;
        }
    }
    Ok(())
}

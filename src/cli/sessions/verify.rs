//! `sessions verify`: whether journals are whole.

use claw_runtime::event::Event;
use claw_runtime::session::{SessionInfo, View, check, journal};
use serde_json::json;

use super::args::Verify;
use super::{Exit, Failure, Kept, Screen, json as lines, store};
use crate::cli::terminal::{BAD, GOOD};

/// Runs `sessions verify`.
pub(super) async fn verify(kept: &Kept, verify: &Verify) -> Result<Exit, Failure> {
    let mut sessions = Vec::new();
    for id in &verify.ids {
        sessions.push(store::find(&*kept.store, kept.program, id).await?);
    }
    if verify.ids.is_empty() {
        sessions = store::all(&*kept.store, kept.program).await?;
    }
    let mut screen = Screen::new(false);
    let mut exit = Exit::Answered;
    for info in &sessions {
        let (events, faults) = faults(kept, info).await?;
        if !faults.is_empty() {
            exit = Exit::Found;
        }
        if verify.json {
            lines::print(&json!({"id": info.id, "events": events, "faults": faults}))?;
            continue;
        }
        if faults.is_empty() {
            screen.note(GOOD, &format!("✓ {}: {events} events", info.id));
        }
        for fault in &faults {
            screen.note(BAD, &format!("✗ {}: {fault}", info.id));
        }
    }
    screen.finish()?;
    Ok(exit)
}

/// Returns how many events can be read, and what is wrong.
async fn faults(kept: &Kept, info: &SessionInfo) -> Result<(u64, Vec<String>), Failure> {
    let journal = journal::read(&*kept.store, &info.id).await?;
    let mut faults: Vec<String> = journal.fault.iter().map(ToString::to_string).collect();
    let mut view = View::default();
    for stored in &journal.events {
        view.apply(&stored.event);
        // Each time it is sent, and as it stands now.
        let is_sent = matches!(stored.event, Event::ModelRequest { .. });
        let is_last = stored.seq == journal.events.len() as u64;
        if (is_sent || is_last)
            && let Err(fault) = check::conversation(view.messages())
        {
            let seq = stored.seq;
            faults.push(format!(
                "no model would take the conversation of event {seq}: {fault}"
            ));
            break;
        }
    }
    for digest in journal
        .events
        .iter()
        .flat_map(|stored| stored.event.blobs())
    {
        if kept.store.blob(&info.id, digest).await?.is_none() {
            faults.push(format!("the blob `{digest}` is missing"));
        }
    }
    Ok((journal.events.len() as u64, faults))
}

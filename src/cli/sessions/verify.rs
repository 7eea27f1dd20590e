//! `sessions verify`: whether journals are whole.

use claw_runtime::event::Event;
use claw_runtime::message::{Message, Role};
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
        // One that cannot be read at all must not keep the others from being looked at.
        let (events, faults) = faults(kept, info)
            .await
            .unwrap_or_else(|failure| (0, vec![failure.message]));
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
    let mut checked = 0;
    for stored in &journal.events {
        view.apply(&stored.event);
        // Each time it is sent, and as it stands now.
        let is_sent = matches!(stored.event, Event::ModelRequest { .. });
        let is_last = stored.seq == journal.events.len() as u64;
        if matches!(stored.event, Event::Compacted { .. } | Event::Undone { .. }) {
            checked = 0;
        }
        if (is_sent || is_last)
            && let Err(fault) = conversation(view.messages(), if is_last { 0 } else { checked })
        {
            let seq = stored.seq;
            faults.push(format!(
                "no model would take the conversation of event {seq}: {fault}"
            ));
            break;
        }
        if is_sent {
            checked = view.settled();
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

/// Checks a conversation whose first `checked` messages were found good before, from where the user last spoke among them:
/// a long session is not checked from its beginning at each of its requests.
fn conversation(messages: &[Message], checked: usize) -> Result<(), check::Fault> {
    let checked = &messages[..messages.len().min(checked)];
    let from = checked.iter().rposition(|it| it.role == Role::User);
    match check::conversation(&messages[from.unwrap_or(0)..]) {
        Ok(()) => Ok(()),
        // The place is told from the beginning.
        Err(fault) => check::conversation(messages).and(Err(fault)),
    }
}

#[cfg(test)]
mod tests {
    use claw_runtime::message::ContentBlock;

    use super::*;

    #[test]
    fn the_tail_of_a_conversation_is_checked_and_its_place_told_from_the_beginning() {
        let mut messages = vec![
            Message::user("a"),
            Message::assistant(vec![ContentBlock::text("b")]),
            Message::user("c"),
        ];
        assert_eq!(conversation(&messages, 2), Ok(()));
        messages.push(Message::user("d"));
        let fault = conversation(&messages, 3).unwrap_err();
        assert_eq!(fault.place, "messages[3]");
        // What was checked before is not checked again.
        messages.pop();
        messages.swap(0, 1);
        assert_eq!(conversation(&messages, 3), Ok(()));
        assert!(conversation(&messages, 0).is_err());
    }
}

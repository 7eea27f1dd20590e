//! `sessions answer`, `send` and `cancel`: what goes into a session's inbox, whoever runs it and wherever.

use claw_runtime::event::{Answer, Event};
use claw_runtime::message::ContentBlock;
use claw_runtime::session::{Phase, Posted, SessionInfo, journal};

use super::args::{Reply, Send};
use super::{Exit, Failure, Kept, Screen, store};
use crate::cli::terminal::DIM;
use crate::cli::{input, secrets};

/// Runs `sessions answer`: answers the question a turn is parked with.
pub(super) async fn answer(kept: &Kept, reply: &Reply) -> Result<Exit, Failure> {
    let info = store::find(&*kept.store, kept.program, &reply.id).await?;
    let events = journal::load(&*kept.store, &info.id).await?;
    let open = events
        .iter()
        .rev()
        .take_while(|stored| !matches!(stored.event, Event::TurnEnd { .. } | Event::Undone { .. }))
        .find_map(|stored| match &stored.event {
            Event::Blocked { call, digest, .. } => Some(Some((call.clone(), digest.clone()))),
            // A later answer has closed the question.
            Event::Approval { .. } => Some(None),
            _ => None,
        });
    let Some((call, digest)) = open.flatten() else {
        return Err(Failure::usage(format!(
            "session `{}` asks nothing",
            info.id
        )));
    };
    let input = Posted::Approval {
        call,
        digest: digest.clone(),
        answer: match (reply.yes, reply.session) {
            (_, true) => Answer::Session,
            (true, _) => Answer::Once,
            _ => Answer::Deny,
        },
    };
    // One answer a question: the first counts.
    post(
        kept,
        &info,
        &format!("answer-{digest}-{}", info.head),
        &input,
    )
    .await
}

/// Runs `sessions send`.
pub(super) async fn send(kept: &Kept, send: &Send) -> Result<Exit, Failure> {
    let info = store::find(&*kept.store, kept.program, &send.id).await?;
    let text = secrets::masked(&input::prompt(&send.text).await?).into_owned();
    let input = Posted::Message {
        content: vec![ContentBlock::text(text)],
    };
    let key = send.key.clone().unwrap_or_else(store::new_id);
    post(kept, &info, &key, &input).await
}

/// Runs `sessions cancel`.
pub(super) async fn cancel(kept: &Kept, id: &str) -> Result<Exit, Failure> {
    let info = store::find(&*kept.store, kept.program, id).await?;
    if info.phase == Phase::Idle {
        return Err(Failure::usage(format!(
            "session `{}` has no turn to cancel",
            info.id
        )));
    }
    post(kept, &info, &store::new_id(), &Posted::Cancel).await
}

async fn post(kept: &Kept, info: &SessionInfo, key: &str, input: &Posted) -> Result<Exit, Failure> {
    let new = kept.store.post(&info.id, key, input).await?;
    let text = match (new, &info.owner) {
        (false, _) => "was sent before under this key".to_owned(),
        (true, Some(owner)) if info.phase == Phase::Idle => {
            format!("kept; {owner} takes it with its next turn")
        }
        (true, Some(owner)) => format!("sent; {owner} takes it"),
        (true, None) => format!("kept; `sessions resume {}` takes it", info.id),
    };
    let mut screen = Screen::new(false);
    screen.note(DIM, &text);
    screen.finish()?;
    Ok(Exit::Answered)
}

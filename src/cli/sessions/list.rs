//! `sessions list`: one line a session.

use claw_runtime::session::{Phase, Query, SessionInfo};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::args::List;
use super::{Exit, Failure, Kept, Screen, json as lines, text};
use crate::cli::stamp::unstamped;
use crate::cli::terminal::{DIM, columns};

/// Runs `sessions list`.
pub(super) async fn list(kept: &Kept, list: &List) -> Result<Exit, Failure> {
    let query = Query {
        program: Some(kept.program.to_owned()),
        unfinished: list.unfinished,
        limit: if list.all { 0 } else { list.limit },
    };
    let sessions = kept.store.sessions(&query).await?;
    if list.json {
        let sessions: Vec<Value> = sessions.iter().map(describe).collect();
        lines::print(&sessions)?;
        return Ok(Exit::Answered);
    }
    let mut screen = Screen::new(false);
    if sessions.is_empty() {
        screen.note(DIM, "no sessions are kept");
    }
    screen.answer(&table(&sessions));
    screen.finish()?;
    Ok(Exit::Answered)
}

/// Returns one line a session: id, when it was used, how many events, where it stands, and its first words.
fn table(sessions: &[SessionInfo]) -> String {
    let width = sessions.iter().map(|it| it.id.len()).max().unwrap_or(0);
    let zone = TimeZone::system();
    sessions
        .iter()
        .map(|info| {
            let start = format!(
                "{:width$}  {}  {:>6}  {:11}  ",
                info.id,
                when(info.updated_ms, &zone),
                info.head,
                state(info),
            );
            let room = columns().saturating_sub(start.len() + 1).max(20);
            format!("{start}{}\n", text::line(unstamped(&info.title), room))
        })
        .collect()
}

/// Returns where a session stands, in one word.
pub(super) fn state(info: &SessionInfo) -> &'static str {
    match (info.phase, &info.owner) {
        (Phase::Parked { .. }, _) => "asks",
        (Phase::Open, Some(_)) => "runs",
        (Phase::Open, None) => "interrupted",
        (_, Some(_)) => "in use",
        (_, None) => "",
    }
}

/// Returns a time in minutes, as a person reads it.
pub(super) fn when(ms: u64, zone: &TimeZone) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    match Timestamp::from_millisecond(ms) {
        Ok(at) => at
            .to_zoned(zone.clone())
            .strftime("%Y-%m-%d %H:%M")
            .to_string(),
        Err(_) => "?".to_owned(),
    }
}

fn describe(info: &SessionInfo) -> Value {
    json!({
        "id": info.id,
        "title": unstamped(&info.title),
        "parent": info.parent.as_ref().map(|it| json!({"session": it.session, "seq": it.seq})),
        "events": info.head,
        "created_ms": info.created_ms,
        "updated_ms": info.updated_ms,
        "state": match state(info) { "" => "idle", word => word },
        "until_ms": match info.phase { Phase::Parked { until_ms } => Some(until_ms), _ => None },
        "owner": info.owner,
    })
}

//! `sessions branch`: a new session that shares another one's beginning.

use claw_runtime::session::journal;

use super::args::Branch;
use super::{Exit, Failure, Kept, Screen, store};
use crate::cli::terminal::DIM;

/// Runs `sessions branch`. Prints the new session's id.
pub(super) async fn branch(kept: &Kept, branch: &Branch) -> Result<Exit, Failure> {
    let from = store::find(&*kept.store, kept.program, &branch.id).await?;
    let whole = journal::read(&*kept.store, &from.id).await?;
    let last = whole.events.len() as u64;
    let at = branch.at.unwrap_or(last);
    if at == 0 || at > last {
        let failure = Failure::usage(format!("session `{}` has no event {at}", from.id));
        return Err(match &whole.fault {
            Some(fault) => failure.hint(format!("it is whole up to event {last}: {fault}")),
            None => failure.hint(format!(
                "expected 1 to {last}; `sessions show` numbers them"
            )),
        });
    }
    let id = branch.new.clone().unwrap_or_else(store::new_id);
    store::check_id(&id)?;
    journal::branch(&*kept.store, &from.id, at, &id).await?;
    let mut screen = Screen::new(false);
    screen.answer(&format!("{id}\n"));
    screen.note(
        DIM,
        &format!(
            "has the first {at} events of {}; `chat --session {id}` goes on",
            from.id
        ),
    );
    screen.finish()?;
    Ok(Exit::Answered)
}

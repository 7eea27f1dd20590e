//! `sessions undo`: the last turns are taken back.

use std::sync::Arc;

use claw_runtime::agent::Agent;
use claw_runtime::provider::Scripted;

use super::args::Undo;
use super::{Exit, Failure, Kept, Screen, store};
use crate::cli::terminal::DIM;

/// Runs `sessions undo`. No model is asked.
pub(super) async fn undo(kept: &Kept, undo: &Undo) -> Result<Exit, Failure> {
    let info = store::find(&*kept.store, kept.program, &undo.id).await?;
    let agent = Agent::builder()
        .model(Arc::new(Scripted::new([])), "none")
        .store(kept.store.clone())
        .build()?;
    let mut session = agent.session(&info.id).await?;
    let mut done = 0;
    while done < undo.steps {
        let stepped = match undo.redo {
            true => session.redo().await?,
            false => session.undo().await?,
        };
        if !stepped {
            break;
        }
        done += 1;
    }
    session.close().await?;
    let (what, exit) = match (done, undo.redo) {
        (0, false) => ("there is nothing to take back".to_owned(), Exit::Other),
        (0, true) => ("nothing was taken back last".to_owned(), Exit::Other),
        (n, false) => (
            format!("{n} taken back; `--redo` brings it again"),
            Exit::Answered,
        ),
        (n, true) => (format!("{n} brought back"), Exit::Answered),
    };
    let mut screen = Screen::new(false);
    screen.note(DIM, &format!("{}: {what}", info.id));
    screen.finish()?;
    Ok(exit)
}

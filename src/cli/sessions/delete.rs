//! `sessions delete`: for good.

use std::io::{IsTerminal, Write, stdin};

use super::args::Delete;
use super::{Exit, Failure, Kept, Screen, store, text};
use crate::cli::terminal::DIM;

/// Runs `sessions delete`. Asks once for all of them; without a terminal `--yes` is needed.
pub(super) async fn delete(kept: &Kept, delete: &Delete) -> Result<Exit, Failure> {
    let mut sessions = Vec::new();
    for id in &delete.ids {
        sessions.push(store::find(&*kept.store, kept.program, id).await?);
    }
    let mut screen = Screen::new(false);
    if !delete.yes {
        if !stdin().is_terminal() {
            return Err(
                Failure::usage("deleting is for good and nobody can be asked")
                    .hint("say so with `--yes`"),
            );
        }
        for info in &sessions {
            screen.note(
                DIM,
                &format!("{}  {}", info.id, text::line(&info.title, 60)),
            );
        }
        let mut err = anstream::stderr();
        write!(err, "delete for good? [y/N] ")?;
        err.flush()?;
        let mut answer = String::new();
        stdin().read_line(&mut answer)?;
        if !matches!(answer.trim(), "y" | "Y" | "yes") {
            screen.note(DIM, "nothing was deleted");
            return Ok(Exit::Other);
        }
    }
    for info in &sessions {
        kept.store.delete(&info.id).await?;
        screen.note(DIM, &format!("deleted {}", info.id));
    }
    screen.finish()?;
    Ok(Exit::Answered)
}

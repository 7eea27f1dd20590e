//! `sessions`: what is kept, and what can be done with it. One file a subcommand.

mod args;
mod branch;
mod delete;
mod file;
mod list;
mod post;
mod replay;
mod resume;
mod show;
mod undo;
mod verify;

use std::sync::Arc;

use claw_runtime::session::SessionStore;

use super::args::Args;
use super::exit::{Exit, Failure};
use super::terminal::Screen;
use super::{json, store, text};
use crate::config::load;
use crate::program::Program;

pub(crate) use args::Sessions;

/// Runs `sessions`.
pub(crate) async fn sessions(
    program: Program,
    args: &Args,
    command: Sessions,
) -> Result<Exit, Failure> {
    if let Sessions::Resume(resume) = command {
        return resume::resume(program, args, &resume).await;
    }
    let kept = Kept::open(program.name, args).await?;
    match command {
        Sessions::List(list) => list::list(&kept, &list).await,
        Sessions::Show(show) => show::show(&kept, &show).await,
        Sessions::Answer(reply) => post::answer(&kept, &reply).await,
        Sessions::Send(send) => post::send(&kept, &send).await,
        Sessions::Cancel { id } => post::cancel(&kept, &id).await,
        Sessions::Branch(branch) => branch::branch(&kept, &branch).await,
        Sessions::Undo(undo) => undo::undo(&kept, &undo).await,
        Sessions::Export(export) => file::export(&kept, &export).await,
        Sessions::Import(import) => file::import(&kept, &import).await,
        Sessions::Verify(verify) => verify::verify(&kept, &verify).await,
        Sessions::Replay(replay) => replay::replay(&kept, &program, &replay).await,
        Sessions::Delete(delete) => delete::delete(&kept, &delete).await,
        // Above: it needs a model's settings.
        Sessions::Resume(_) => Ok(Exit::Other),
    }
}

/// The kept sessions of one program.
struct Kept {
    store: Arc<dyn SessionStore>,
    program: &'static str,
}

impl Kept {
    async fn open(program: &'static str, args: &Args) -> Result<Self, Failure> {
        if args.ephemeral {
            return Err(Failure::usage("`--ephemeral` keeps no sessions to look at"));
        }
        let loaded = load(&args.sources()?)?;
        loaded
            .warnings
            .iter()
            .for_each(|text| super::exit::warn(text));
        Ok(Self {
            store: store::kept(program, &loaded.config).await?,
            program,
        })
    }
}

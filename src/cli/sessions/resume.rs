//! `sessions resume`: a turn that was interrupted or waits goes on.

use super::args::Resume;
use super::{Args, Exit, Failure, store};
use crate::cli::approve::asker;
use crate::cli::run::{finish, leave};
use crate::cli::setup::Setup;
use crate::cli::show::Show;
use crate::cli::signal::Signals;
use crate::cli::terminal::{DIM, Screen};
use crate::cli::{model, terminal};
use crate::program::Program;

/// Runs `sessions resume`. What waits in the session's inbox is said when no turn is open.
pub(super) async fn resume(
    program: Program,
    args: &Args,
    resume: &Resume,
) -> Result<Exit, Failure> {
    let setup = Setup::new(&program, args)?;
    let store = store::kept(program.name, &setup.config).await?;
    let info = store::find(&*store, program.name, &resume.id).await?;
    let choice = model::choose(&setup.config, program.model).await?;
    let mut signals = Signals::new()?;
    let approval = asker(signals.typed(), resume.park.map(|it| it.0));
    let agent = setup.agent(program.state, choice, approval, store)?;
    let mut session = agent.session(&info.id).await?;
    let mut screen = Screen::new(false);
    let mut show = Show::new(&mut screen, agent.tools(), setup.limits.attempts);
    show.left_open(&session);
    let canceller = session.canceller();
    let turn = async {
        match session.resume(&mut show).await? {
            Some(outcome) => Ok(Some(outcome)),
            None => session.run_posted(&mut show).await,
        }
    };
    let (result, signal) = signals.watch(&canceller, turn).await;
    leave(session).await;
    match result.map(Result::transpose) {
        Some(None) => {
            show.close()?;
            terminal::start_line();
            screen.note(DIM, &format!("{}: nothing is left to do", info.id));
            Ok(Exit::Answered)
        }
        Some(Some(result)) => finish(Some(result), signal, show),
        None => finish(None, signal, show),
    }
}

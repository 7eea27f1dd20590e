//! `run`: one prompt, one answer.

use claw_runtime::agent::{Agent, AgentError, Session};
use claw_runtime::event::{EndReason, TurnOutcome};
use claw_runtime::provider::FailureClass;

use super::approve::asker;
use super::args::{Args, RunArgs};
use super::exit::{Exit, Failure};
use super::json::Lines;
use super::setup::Setup;
use super::show::Show;
use super::signal::{Signal, Signals};
use super::terminal::Screen;
use super::{embedded, input, store};
use crate::program::Program;

/// Runs `run`.
pub(crate) async fn run(program: Program, args: &Args, run: RunArgs) -> Result<Exit, Failure> {
    if !run.json {
        return text(program, args, &run).await;
    }
    let mut lines = Lines::default();
    let result = json(program, args, &run, &mut lines).await;
    if let Err(failure) = &result {
        lines.error(failure);
    }
    lines.finish()?;
    result
}

async fn text(program: Program, args: &Args, run: &RunArgs) -> Result<Exit, Failure> {
    let (setup, agent, prompt, mut signals, mut session) = prepare(program, args, run).await?;
    let mut screen = Screen::new(run.quiet);
    let mut show = Show::new(&mut screen, agent.tools(), setup.limits.attempts);
    show.left_open(&session);
    let (result, signal) = signals
        .turn(&mut session, setup.message(&prompt, &agent), &mut show)
        .await;
    leave(session).await;
    show.hidden(&agent.hidden(), agent.images());
    finish(result, signal, show)
}

async fn json(
    program: Program,
    args: &Args,
    run: &RunArgs,
    lines: &mut Lines,
) -> Result<Exit, Failure> {
    let (setup, agent, prompt, mut signals, mut session) = prepare(program, args, run).await?;
    let (result, signal) = signals
        .turn(&mut session, setup.message(&prompt, &agent), lines)
        .await;
    leave(session).await;
    let Some(outcome) = result.transpose()? else {
        return Ok(signal.map_or(Exit::Other, Exit::from));
    };
    let exit = exit(&outcome, signal);
    lines.outcome(&outcome, exit, &agent);
    Ok(exit)
}

async fn prepare(
    program: Program,
    args: &Args,
    run: &RunArgs,
) -> Result<(Setup, Agent, String, Signals, Session), Failure> {
    if run.park.is_some() && args.ephemeral {
        return Err(Failure::usage(
            "a question cannot stay open in a session that is not kept: `--park` or `--ephemeral`",
        ));
    }
    let setup = Setup::new(&program, args)?;
    let prompt = input::prompt(&run.prompt).await?;
    let choice = embedded::choose(&setup.config, program.model, run.agrees()).await?;
    let signals = Signals::new()?;
    let store = store::open(program.name, &setup.config, args).await?;
    let id = store::id(&*store, program.name, &run.session).await?;
    let agent = setup.agent(
        program.state,
        choice,
        asker(signals.typed(), run.park.map(|it| it.0)),
        store,
    )?;
    let session = agent.session(&id).await?;
    Ok((setup, agent, prompt, signals, session))
}

/// Gives a session up, so that another host need not wait for this one's time to run out.
pub(crate) async fn leave(session: Session) {
    if let Err(error) = session.close().await {
        tracing::warn!(%error, "the session was not given up");
    }
}

/// Prints the rest of a turn and returns the code it ends with.
pub(crate) fn finish(
    result: Option<Result<TurnOutcome, AgentError>>,
    signal: Option<Signal>,
    show: Show<'_>,
) -> Result<Exit, Failure> {
    let Some(outcome) = result.transpose()? else {
        show.close()?;
        return Ok(signal.map_or(Exit::Other, Exit::from));
    };
    match &outcome.reason {
        EndReason::Answered
        | EndReason::Limit { .. }
        | EndReason::Parked { .. }
        | EndReason::Interrupted { .. } => show.answer(&outcome)?,
        _ => show.close()?,
    }
    match &outcome.reason {
        EndReason::Failed { class, message } => Err(failed(*class, message)),
        EndReason::StoreFailed { message } => Err(Failure::other(message)),
        _ => Ok(exit(&outcome, signal)),
    }
}

fn exit(outcome: &TurnOutcome, signal: Option<Signal>) -> Exit {
    match outcome.reason {
        EndReason::Answered => Exit::Answered,
        EndReason::Limit { .. } => Exit::Limit,
        EndReason::Failed { .. } => Exit::ModelFailed,
        EndReason::Cancelled => signal.map_or(Exit::Interrupted, Exit::from),
        EndReason::Parked { .. } => Exit::Parked,
        _ => Exit::Other,
    }
}

fn failed(class: FailureClass, message: &str) -> Failure {
    let failure = Failure::new(
        Exit::ModelFailed,
        format!("the model failed: {class}: {message}"),
    );
    match class {
        FailureClass::Auth => {
            failure.hint("check the key: `doctor` tells which variable it is read from")
        }
        FailureClass::NotFound => {
            failure.hint("check the model's name and `base_url`; `doctor` lists what is offered")
        }
        FailureClass::Network | FailureClass::Stalled => failure
            .hint("check that the service runs and that `base_url` is right: `doctor` tries it"),
        FailureClass::RateLimit | FailureClass::Overloaded => {
            failure.hint("wait, or take another model with `--model`")
        }
        FailureClass::SchemaRefused => failure.hint(
            "leave out or simplify the tool it names: `tools check` tells what becomes of each schema",
        ),
        FailureClass::ContextLength => {
            failure.hint("shorten the prompt, or take a model with a longer window")
        }
        _ => failure,
    }
}

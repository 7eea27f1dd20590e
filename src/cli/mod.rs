//! The program on a terminal or in a pipe: one file a subcommand, and the only place that prints.
//!
//! Standard output carries the answer, standard error the talk about it.

mod approve;
mod args;
mod chat;
mod connect;
mod doctor;
mod embedded;
mod exit;
mod input;
mod json;
mod key;
mod log;
mod model;
mod models;
mod panic;
mod run;
mod secrets;
mod service;
mod sessions;
mod setup;
mod show;
mod signal;
mod stamp;
mod store;
mod terminal;
mod text;
mod tools;
mod unlinked;
#[cfg(feature = "local")]
mod weights;

use std::io::IsTerminal;
use std::process::ExitCode;

use crate::program::Program;
use args::{Args, Command};
use exit::{Exit, Failure};

/// Runs the program on the arguments of the process.
pub(crate) fn main(program: Program) -> ExitCode {
    let args = match Args::read(&program, std::env::args_os()) {
        Ok(args) => args,
        Err(error) => {
            // Help and version are errors of this kind, printed to standard output with code 0.
            let failed = error.print().is_err();
            let code = if error.use_stderr() {
                Exit::Usage
            } else if failed {
                Exit::Other
            } else {
                Exit::Answered
            };
            return code.into();
        }
    };
    args.color.write_global();
    if let Err(failure) = log::start(&args) {
        return failure.report();
    }
    panic::install();
    terminal::remember();
    // One thread: the turn and its I/O stay on it, and nothing is started that a short command does not need.
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return Failure::other(error).report(),
    };
    let result = runtime.block_on(dispatch(program, args));
    // A thread may still wait for a line of the terminal, or hang in a tool; the process must not wait for that thread.
    runtime.shutdown_background();
    if let Ok(Exit::Interrupted | Exit::Terminated) = result {
        terminal::restore();
    }
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report(),
    }
}

async fn dispatch(program: Program, mut args: Args) -> Result<Exit, Failure> {
    let command = args.command.take().unwrap_or_else(|| {
        if std::io::stdin().is_terminal() {
            Command::Chat(args::SessionArgs::default())
        } else {
            Command::Run(args::RunArgs::default())
        }
    });
    match command {
        Command::Chat(session) => chat::chat(program, &args, &session).await,
        Command::Run(run) => run::run(program, &args, run).await,
        Command::Tools(tools) => tools::tools(program, &args, tools).await,
        Command::Sessions(sessions) => sessions::sessions(program, &args, sessions).await,
        Command::Models(models) => models::models(&program, &args, &models).await,
        #[cfg(feature = "local")]
        Command::Model(command) => weights::weights(command).await,
        #[cfg(not(feature = "local"))]
        Command::Model { .. } => Err(embedded::not_built()),
        Command::Doctor => doctor::doctor(program, &args).await,
    }
}

//! Ctrl-C and termination: the first one cancels the running turn, the next one ends the program.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use claw_runtime::agent::{AgentError, Observer, Session};
use claw_runtime::event::TurnOutcome;
use claw_runtime::message::Message;
use tokio::sync::Notify;

use super::exit::Exit;

/// What was asked for from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Interrupt,
    Terminate,
}

impl From<Signal> for Exit {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Interrupt => Self::Interrupted,
            Signal::Terminate => Self::Terminated,
        }
    }
}

/// Waits for signals. From its making on, they no longer end the process by themselves.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    /// Ctrl-C typed into a question; the terminal is in raw mode then and sends no signal.
    typed: Arc<Notify>,
}

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        #[cfg(unix)]
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            #[cfg(unix)]
            interrupt: signal(SignalKind::interrupt())?,
            #[cfg(unix)]
            terminate: signal(SignalKind::terminate())?,
            typed: Arc::default(),
        })
    }

    /// Returns the bell that a question rings when Ctrl-C is typed into it.
    pub(crate) fn typed(&self) -> Arc<Notify> {
        self.typed.clone()
    }

    /// Waits for the next signal.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
            () = self.typed.notified() => Signal::Interrupt,
        }
    }

    /// Waits for the next signal.
    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => Signal::Interrupt,
            () = self.typed.notified() => Signal::Interrupt,
        }
    }

    /// Runs one turn. The first signal cancels it, and the turn then ends by itself; at the second one, `None` is
    /// returned at once in place of its outcome.
    pub(crate) async fn turn(
        &mut self,
        session: &mut Session,
        input: Message,
        observer: &mut dyn Observer,
    ) -> (Option<Result<TurnOutcome, AgentError>>, Option<Signal>) {
        let canceller = session.canceller();
        let mut turn = pin!(session.run_observed(input, observer));
        let mut caught = None;
        loop {
            tokio::select! {
                biased;
                outcome = &mut turn => return (Some(outcome), caught),
                signal = self.next() => {
                    if caught.is_some() {
                        return (None, caught);
                    }
                    caught = Some(signal);
                    canceller.cancel();
                }
            }
        }
    }
}

//! Ctrl-C and termination: the first one cancels the running turn, the next one ends the program.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use claw_runtime::agent::{AgentError, Canceller, Observer, Session};
use claw_runtime::event::TurnOutcome;
use claw_runtime::message::Message;
use tokio::sync::{Notify, mpsc};

use super::exit::Exit;
use super::terminal;

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
    heard: mpsc::Receiver<Signal>,
    /// Ctrl-C typed into a question; the terminal is in raw mode then and sends no signal.
    typed: Arc<Notify>,
}

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        let (tell, heard) = mpsc::channel(1);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let guard = runtime.enter();
        let mut streams = Streams::new()?;
        drop(guard);
        // On a thread of its own: a tool that hangs may hold the program's.
        std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    loop {
                        let signal = streams.next().await;
                        // Nobody has taken the one before.
                        if tell.try_send(signal).is_err() {
                            terminal::restore();
                            std::process::exit(Exit::from(signal).code().into());
                        }
                    }
                });
            })?;
        Ok(Self {
            heard,
            typed: Arc::default(),
        })
    }

    /// Returns the bell that a question rings when Ctrl-C is typed into it.
    pub(crate) fn typed(&self) -> Arc<Notify> {
        self.typed.clone()
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            Some(signal) = self.heard.recv() => signal,
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
        self.watch(&canceller, session.run_observed(input, observer))
            .await
    }

    /// Waits for a turn that `canceller` cancels, in the same way.
    pub(crate) async fn watch<T>(
        &mut self,
        canceller: &Canceller,
        turn: impl Future<Output = T>,
    ) -> (Option<T>, Option<Signal>) {
        let mut turn = pin!(turn);
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

/// The signals of the process.
#[cfg(unix)]
struct Streams {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Streams {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
        }
    }
}

/// The signals of the process.
#[cfg(not(unix))]
struct Streams(tokio::signal::windows::CtrlC);

#[cfg(not(unix))]
impl Streams {
    fn new() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) -> Signal {
        self.0.recv().await;
        Signal::Interrupt
    }
}

//! `chat`: a conversation, on a terminal or line by line from a pipe.

use std::fs;
use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use claw_runtime::agent::{Agent, Compaction, Session};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;

use super::approve::asker;
use super::args::{Args, SessionArgs, folder};
use super::exit::{Exit, Failure};
use super::model::{self, Choice};
use super::run;
use super::setup::Setup;
use super::show::{Show, unmasked};
use super::signal::{Signal, Signals};
use super::stamp::unstamped;
use super::terminal::{BAD, DIM, Screen, columns};
use super::{embedded, secrets, store, text, tools};
use crate::program::Program;
use claw_runtime::message::{Role, text_of};
use claw_runtime::nearest::nearest;
use claw_runtime::session::View;

/// The longest line taken from a pipe.
const LONGEST: u64 = 4 * 1024 * 1024;

const COMMANDS: &[(&str, &str)] = &[
    ("/help", "show this"),
    ("/tools", "list the tools"),
    (
        "/model",
        "show the models, or go on with another: /model NAME",
    ),
    ("/undo", "take the last turn or compaction back"),
    ("/redo", "bring back what was taken back"),
    ("/compact", "have the older part summarised now"),
    ("/usage", "show what the session has used"),
    ("/session", "show which session this is"),
    ("/clear", "begin a new session; this one stays kept"),
    ("/exit", "leave (also Ctrl-D)"),
];

/// Runs `chat`.
pub(crate) async fn chat(
    program: Program,
    args: &Args,
    which: &SessionArgs,
) -> Result<Exit, Failure> {
    let setup = Setup::new(&program, args)?;
    let choice = embedded::choose(&setup.config, program.model, false).await?;
    let mut signals = Signals::new()?;
    let store = store::open(program.name, &setup.config, args).await?;
    let id = store::id(&*store, program.name, which).await?;
    let agent = setup.agent(
        program.state,
        choice.clone(),
        asker(signals.typed(), None),
        store.clone(),
    )?;
    let mut chat = Chat {
        session: agent.session(&id).await?,
        agent,
        setup,
        choice,
        screen: Screen::new(false),
        last: Exit::Answered,
    };
    let mut lines = Lines::new(args.ephemeral)?;
    if lines.on_terminal() {
        chat.screen.note(
            DIM,
            &format!(
                "{} · {} · {} tools · /help",
                program.name,
                chat.choice.label(),
                chat.agent.tools().len()
            ),
        );
    }
    if !chat.session.messages().is_empty() {
        chat.recall();
    }
    let exit = chat.talk(&mut lines, &mut signals).await;
    lines.save();
    if lines.on_terminal() && !args.ephemeral && !chat.session.messages().is_empty() {
        let id = chat.session.id();
        chat.screen
            .note(DIM, &format!("`chat --session {id}` goes on with this"));
    }
    run::leave(chat.session).await;
    exit
}

struct Chat {
    setup: Setup,
    agent: Agent,
    session: Session,
    choice: Choice,
    screen: Screen,
    /// How the last turn ended; what a piped conversation ends with.
    last: Exit,
}

impl Chat {
    async fn talk(&mut self, lines: &mut Lines, signals: &mut Signals) -> Result<Exit, Failure> {
        let mut interrupts = 0;
        loop {
            let read = tokio::select! {
                read = lines.next() => read?,
                signal = signals.next() => return Ok(signal.into()),
            };
            match read {
                Read::End if lines.on_terminal() => return Ok(Exit::Answered),
                Read::End => return Ok(self.last),
                Read::Interrupt if interrupts > 0 => return Ok(Exit::Answered),
                Read::Interrupt => {
                    interrupts += 1;
                    self.screen.note(DIM, "Ctrl-C again or Ctrl-D leaves");
                    continue;
                }
                Read::Line(line) => {
                    interrupts = 0;
                    let line = line.trim();
                    if line.is_empty() {
                        continue;
                    }
                    let leave = match command(line) {
                        Some(("/exit" | "/quit", _)) => return Ok(self.last_or_ok(lines)),
                        Some((command, rest)) => {
                            self.command(command, rest, signals).await?;
                            None
                        }
                        None => self.turn(line, signals, lines.on_terminal()).await?,
                    };
                    if let Some(exit) = leave {
                        return Ok(exit);
                    }
                }
            }
        }
    }

    /// Reminds of where the conversation stands.
    fn recall(&mut self) {
        let messages = self.session.messages();
        let id = self.session.id();
        self.screen
            .note(DIM, &format!("{id}, {} messages so far", messages.len()));
        let said = |role| {
            let last = messages.iter().rev().find(|message| message.role == role)?;
            Some(text_of(&last.content)).filter(|text| !text.trim().is_empty())
        };
        for (mark, text) in [("› ", said(Role::User)), ("", said(Role::Assistant))] {
            if let Some(text) = text {
                let line = text::line(unstamped(&text), 2 * columns());
                self.screen.note(DIM, &format!("{mark}{line}"));
            }
        }
    }

    fn last_or_ok(&self, lines: &Lines) -> Exit {
        if lines.on_terminal() {
            Exit::Answered
        } else {
            self.last
        }
    }

    /// Runs one turn; what goes wrong in it is told, and the conversation goes on. Returns the code when it does not.
    async fn turn(
        &mut self,
        text: &str,
        signals: &mut Signals,
        on_terminal: bool,
    ) -> Result<Option<Exit>, Failure> {
        let message = self.setup.message(text, &self.agent);
        let attempts = self.setup.limits.attempts;
        let mut show = Show::new(&mut self.screen, self.agent.tools(), attempts);
        show.left_open(&self.session);
        let (result, signal) = signals.turn(&mut self.session, message, &mut show).await;
        let ended = result.is_some();
        self.last = run::finish(result, signal, show).unwrap_or_else(|failure| {
            failure.report();
            failure.exit
        });
        Ok(match signal {
            // On a terminal Ctrl-C is about the turn, not the program, unless the turn does not heed it.
            Some(Signal::Interrupt) if on_terminal && ended => None,
            signal => signal.map(Exit::from),
        })
    }

    async fn compact(&mut self, signals: &mut Signals) -> Result<(), Failure> {
        let attempts = self.setup.limits.attempts;
        let mut show = Show::new(&mut self.screen, self.agent.tools(), attempts);
        show.left_open(&self.session);
        let canceller = self.session.canceller();
        let (result, _) = signals
            .watch(&canceller, self.session.compact(&mut show))
            .await;
        show.close()?;
        let text = match result.transpose()? {
            Some(Compaction::Shorter { before, after }) => {
                format!("from about {before} to about {after} tokens; `/undo` takes it back")
            }
            Some(Compaction::Failed { message }) => format!("it stays as it was: {message}"),
            _ => "there is nothing to make shorter".to_owned(),
        };
        self.screen.note(DIM, &text);
        Ok(())
    }

    fn usage(&mut self) {
        let usage = self.session.view().map(View::usage).unwrap_or_default();
        let line = format!(
            "{} tokens in ({} of them cached), {} out ({} of them reasoning)\n",
            usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens
        );
        self.screen.answer(&line);
        for (name, count) in self.agent.hidden() {
            let line = format!("{count} of `{name}` masked in what was sent\n");
            self.screen.answer(&line);
        }
        let images = self.agent.images();
        if images > 0 {
            self.screen.answer(&format!("{}\n", unmasked(images)));
        }
    }

    async fn command(
        &mut self,
        command: &str,
        rest: &str,
        signals: &mut Signals,
    ) -> Result<(), Failure> {
        match command {
            "/help" => {
                for (name, about) in COMMANDS {
                    self.screen.answer(&format!("{name:8} {about}\n"));
                }
            }
            "/tools" => {
                let table = tools::table(&self.setup);
                self.screen.answer(&table);
            }
            "/model" => self.model(rest).await?,
            "/session" => {
                let line = format!(
                    "{}: {} messages\n",
                    self.session.id(),
                    self.session.messages().len()
                );
                self.screen.answer(&line);
            }
            "/usage" => self.usage(),
            "/undo" => {
                let text = match self.session.undo().await? {
                    true => "taken back; what its calls did is done",
                    false => "there is nothing to take back",
                };
                self.screen.note(DIM, text);
            }
            "/redo" => {
                let text = match self.session.redo().await? {
                    true => "brought back",
                    false => "nothing was taken back last",
                };
                self.screen.note(DIM, text);
            }
            "/compact" => self.compact(signals).await?,
            "/clear" => {
                let new = self.agent.session(&store::new_id()).await?;
                run::leave(std::mem::replace(&mut self.session, new)).await;
                let id = self.session.id();
                self.screen.note(DIM, &format!("a new session: {id}"));
            }
            unknown => {
                let names = COMMANDS.iter().map(|(name, _)| *name);
                let hint = match nearest(unknown, names) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "`/help` shows them all".to_owned(),
                };
                self.screen.note(
                    BAD,
                    &format!("there is no command `{}`; {hint}", text::line(unknown, 40)),
                );
            }
        }
        Ok(())
    }

    async fn model(&mut self, name: &str) -> Result<(), Failure> {
        if name.is_empty() {
            let current = self.choice.label();
            self.screen.answer(&format!("{current} (in use)\n"));
            let listed = self.choice.provider.models();
            match tokio::time::timeout(Duration::from_secs(5), listed).await {
                Ok(Ok(models)) => {
                    for model in models.iter().filter(|model| **model != self.choice.name) {
                        let line = format!("{}:{model}\n", self.choice.provider.name());
                        self.screen.answer(&line);
                    }
                }
                Ok(Err(error)) => self
                    .screen
                    .note(BAD, &format!("cannot list models: {error}")),
                Err(_) => self
                    .screen
                    .note(BAD, "cannot list models: no answer in time"),
            }
            return Ok(());
        }
        match model::switch(&self.setup.config, &self.choice, name).await {
            Ok(choice) => {
                self.agent = self
                    .agent
                    .with_model(choice.provider.clone(), choice.name.clone())
                    .with_protocol(choice.protocol);
                // The same conversation, opened by the new agent.
                let id = self.session.id().to_owned();
                self.session = self.agent.session(&id).await?;
                self.choice = choice;
                let label = self.choice.label();
                self.screen.note(DIM, &format!("going on with {label}"));
            }
            Err(failure) => {
                failure.report();
            }
        }
        Ok(())
    }
}

/// Splits a slash command from its argument; a path at the start of a message is none.
fn command(line: &str) -> Option<(&str, &str)> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let name = word.strip_prefix('/')?;
    (!name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic()))
        .then_some((word, rest.trim()))
}

enum Read {
    Line(String),
    Interrupt,
    End,
}

/// Where lines come from.
enum Lines {
    Terminal {
        /// Away while a line is read on its own thread.
        editor: Option<Box<rustyline::Editor<(), FileHistory>>>,
        history: Option<PathBuf>,
    },
    Pipe,
}

impl Lines {
    /// Reads with the history of earlier chats, which is neither read nor kept where this one is to leave no trace.
    fn new(ephemeral: bool) -> Result<Self, Failure> {
        if !io::stdin().is_terminal() {
            return Ok(Self::Pipe);
        }
        let config = rustyline::Config::builder()
            .behavior(rustyline::Behavior::PreferTerm)
            .max_history_size(2_000)
            .and_then(|builder| builder.history_ignore_dups(true))
            .map_err(Failure::other)?
            .build();
        let mut editor =
            rustyline::Editor::with_history(config.clone(), FileHistory::with_config(&config))
                .map_err(Failure::other)?;
        let history = folder("XDG_DATA_HOME", ".local/share")
            .filter(|_| !ephemeral)
            .map(|folder| folder.join("history"));
        if let Some(file) = &history {
            // The first time there is none, and a broken one must not keep anybody from talking.
            let _ = editor.load_history(file);
        }
        Ok(Self::Terminal {
            editor: Some(Box::new(editor)),
            history,
        })
    }

    fn on_terminal(&self) -> bool {
        matches!(self, Self::Terminal { .. })
    }

    async fn next(&mut self) -> Result<Read, Failure> {
        let Self::Terminal { editor, .. } = self else {
            return tokio::task::spawn_blocking(piped_line)
                .await
                .map_err(Failure::other)?;
        };
        let mut taken = editor
            .take()
            .ok_or_else(|| Failure::other("the line editor is gone"))?;
        // On a thread of its own: a signal is heard while a person types.
        let (back, line) = tokio::task::spawn_blocking(move || {
            let line = taken.readline("› ");
            (taken, line)
        })
        .await
        .map_err(Failure::other)?;
        let editor = editor.insert(back);
        match line {
            Ok(line) => {
                if !line.trim().is_empty() {
                    let _ = editor.add_history_entry(secrets::masked(&line));
                }
                Ok(Read::Line(line))
            }
            Err(ReadlineError::Interrupted) => Ok(Read::Interrupt),
            Err(ReadlineError::Eof) => Ok(Read::End),
            Err(error) => Err(Failure::other(error)),
        }
    }

    /// Keeps the history for the next time; nobody else may read what was said.
    fn save(&mut self) {
        if let Self::Terminal {
            editor: Some(editor),
            history: Some(file),
        } = self
        {
            if let Some(folder) = file.parent() {
                let _ = fs::create_dir_all(folder);
            }
            // Appending keeps what another chat has saved meanwhile; rustyline makes the file readable to its owner only.
            if let Err(error) = editor.append_history(file) {
                tracing::warn!(file = %file.display(), %error, "history not saved");
            }
        }
    }
}

fn piped_line() -> Result<Read, Failure> {
    let mut bytes = Vec::new();
    io::Read::take(io::stdin().lock(), LONGEST + 1).read_until(b'\n', &mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(Failure::usage(
            "a line of standard input is longer than 4 MiB",
        ));
    }
    if bytes.is_empty() {
        return Ok(Read::End);
    }
    String::from_utf8(bytes)
        .map(Read::Line)
        .map_err(|_| Failure::usage("standard input is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_no_commands() {
        assert_eq!(command("/model a:b "), Some(("/model", "a:b")));
        assert_eq!(command("/exit"), Some(("/exit", "")));
        assert_eq!(command("/etc/hosts is what?"), None);
        assert_eq!(command("/ x"), None);
        assert_eq!(command("what is /help"), None);
    }
}

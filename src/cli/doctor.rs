//! `doctor`: what is found, what is used, and what keeps it from working.

use std::fmt::Write;
use std::time::Duration;

use claw_runtime::event::Verdict;
use claw_runtime::provider::Protocol;
use claw_runtime::registry::linked_crates;

use super::args::Args;
use super::exit::{Exit, Failure};
use super::model::{self, Choice};
use super::setup::{Setup, linked};
#[cfg(feature = "sqlite")]
use super::store;
use super::terminal::{ASK, BAD, GOOD, Screen};
use super::{embedded, service, text, unlinked};
use crate::config::{Sources, load};
use crate::program::Program;

/// How long a service may take to list its models.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs `doctor`. Ends with the code of the first thing that fails.
pub(crate) async fn doctor(mut program: Program, args: &Args) -> Result<Exit, Failure> {
    let mut report = Report::default();
    let model = program.model.take();
    if let Some(setup) = report.settings(&program, args) {
        report.check(
            "workspace",
            setup.workspace().map(|it| it.path().display().to_string()),
        );
        report.check("tools", tools(&program, &setup));
        report.unlinked();
        if let Some(found) = sessions(&program, &setup).await {
            report.check("sessions", found);
        }
        match model::choose(&setup.config, model).await {
            Ok(choice) => report.model(&setup, &choice).await,
            Err(failure) => report.check("model", Err(failure)),
        }
        let mask = &setup.config.mask;
        let hidden: Vec<&str> = mask.names().collect();
        let hidden = (!hidden.is_empty())
            .then(|| format!("{}: services elsewhere get placeholders", hidden.join(", ")));
        let no_images = mask
            .denies_images()
            .then(|| "no image is sent there".to_owned());
        let masked: Vec<String> = hidden.into_iter().chain(no_images).collect();
        if !masked.is_empty() {
            let found = service::veil(&setup.config).map(|_| masked.join("; "));
            report.check("mask", found);
        }
        let limits = &setup.limits;
        report.line(
            GOOD,
            '✓',
            "limits",
            &format!(
                "{} rounds, {} calls and {:?} a turn; at most {} model requests",
                limits.rounds,
                limits.calls_per_turn,
                limits.active_time,
                limits.most_requests()
            ),
        );
    }
    let mut screen = Screen::new(false);
    screen.print(&report.text);
    screen.finish()?;
    Ok(report.exit.unwrap_or(Exit::Answered))
}

/// One line a check.
#[derive(Default)]
struct Report {
    text: String,
    exit: Option<Exit>,
}

impl Report {
    fn settings(&mut self, program: &Program, args: &Args) -> Option<Setup> {
        let loaded = args
            .sources()
            .map_err(Failure::from)
            .and_then(|sources| Ok((load(&sources)?, sources)));
        match loaded {
            Ok((loaded, sources)) => {
                let files: Vec<String> = loaded
                    .files
                    .iter()
                    .map(|file| {
                        let trusted = loaded.untrusted.as_ref() != Some(file);
                        let how = if trusted {
                            "trusted"
                        } else {
                            "may only narrow"
                        };
                        format!("{} ({how})", file.display())
                    })
                    .collect();
                let found = if files.is_empty() {
                    format!("no file, defaults; looked for {}", looked_for(&sources))
                } else {
                    files.join(", ")
                };
                self.check("config", Ok(found));
                for warning in &loaded.warnings {
                    self.line(ASK, '!', "ignored", &text::line(warning, 1_000));
                }
                match Setup::of(program, loaded.config) {
                    Ok(setup) => Some(setup),
                    Err(failure) => {
                        self.check("tools", Err(failure));
                        None
                    }
                }
            }
            Err(failure) => {
                self.check("config", Err(failure));
                None
            }
        }
    }

    async fn model(&mut self, setup: &Setup, choice: &Choice) {
        let label = choice.label();
        if embedded::is(&setup.config, choice.provider.name()) {
            let found = embedded::describe(&*choice.provider, &choice.name).await;
            self.check(
                "model",
                found.map(|found| format!("{label} ({}); {found}", choice.why)),
            );
            self.check("protocol", Ok(protocol(setup, choice)));
            return;
        }
        let result = match tokio::time::timeout(PATIENCE, choice.provider.models()).await {
            Ok(Ok(models)) if models.is_empty() => Ok(format!("{label} ({})", choice.why)),
            Ok(Ok(models)) if models.contains(&choice.name) => Ok(format!(
                "{label} ({}); the service answers and offers it",
                choice.why
            )),
            // Some services take names that they do not list.
            Ok(Ok(models)) => Ok(format!(
                "{label} ({}); the service answers and lists {} models, not this one: {}",
                choice.why,
                models.len(),
                text::line(&models.join(", "), 200)
            )),
            Ok(Err(error)) => Err(Failure::new(Exit::ModelFailed, format!("{label}: {error}"))),
            Err(_) => Err(Failure::new(
                Exit::ModelFailed,
                format!("{label}: no answer within {PATIENCE:?}"),
            )),
        };
        self.check("model", result);
        self.check("protocol", Ok(protocol(setup, choice)));
    }

    /// Names crates that depend on claw and bring no tool: one that nothing names is left out without a word.
    fn unlinked(&mut self) {
        let (Ok(folder), Ok(program)) = (std::env::current_dir(), std::env::current_exe()) else {
            return;
        };
        let program = program.file_stem().unwrap_or_default().to_string_lossy();
        let missing = unlinked::crates(&folder, &program, &linked_crates().collect());
        if missing.is_empty() {
            return;
        }
        let names = missing.join("`, `");
        let line = missing.join(", ").replace('-', "_");
        self.line(
            ASK,
            '!',
            "not linked",
            &format!("Cargo.lock has `{names}`, which may have tools and brings none; if they belong here, write `claw::link!({line});`"),
        );
    }

    fn check(&mut self, what: &str, result: Result<String, Failure>) {
        match result {
            Ok(found) => self.line(GOOD, '✓', what, &found),
            Err(failure) => {
                self.line(BAD, '✗', what, &failure.message);
                for hint in &failure.hints {
                    let _ = writeln!(self.text, "{:13}{}", "", text::visible(hint));
                }
                self.exit.get_or_insert(failure.exit);
            }
        }
    }

    fn line(&mut self, style: anstyle::Style, mark: char, what: &str, found: &str) {
        let found = text::visible(found);
        let _ = writeln!(self.text, "{style}{mark}{style:#} {what:11}{found}");
    }
}

fn protocol(setup: &Setup, choice: &Choice) -> String {
    let Some(protocol) = choice.protocol else {
        let capabilities = choice.provider.capabilities(&choice.name);
        return if setup.tools.is_empty() {
            "chat: there are no tools to offer"
        } else if capabilities.native_tools {
            "native: the model is declared to take tool definitions"
        } else if !capabilities.prompt_tools {
            "chat: the model is declared to call no tools, so it only talks"
        } else {
            "prompt: the model is declared to take none, so calls travel as text"
        }
        .to_owned();
    };
    let how = match protocol {
        Protocol::Native => "native: tool definitions are sent",
        Protocol::Prompt => "prompt: calls travel as text",
        _ => "chat: no tools are offered",
    };
    let whose = match setup.config.protocol {
        Some(_) => "`protocol` says so, as a setting or a flag".to_owned(),
        None => format!("`providers.{}.protocol` says so", choice.provider.name()),
    };
    format!("{how}; {whose}")
}

/// Reads all kept sessions and says what is wrong; `None` where none are kept.
#[cfg(feature = "sqlite")]
async fn sessions(program: &Program, setup: &Setup) -> Option<Result<String, Failure>> {
    use crate::config::StoreKind;

    if setup.config.sessions.store.unwrap_or_default() != StoreKind::Sqlite {
        return None;
    }
    let path = store::file(&setup.config).ok()?;
    if !path.exists() {
        return Some(Ok(format!("none yet, in {}", path.display())));
    }
    let checked = async {
        let store = store::sqlite(program.name, &setup.config).await?;
        let found = store.check().await?;
        let sessions = store::all(&store, program.name).await?;
        let Some(first) = found.first() else {
            return Ok(format!("{} whole, in {}", sessions.len(), path.display()));
        };
        let session = first.session.as_ref();
        let of = session.map_or(String::new(), |id| format!("session `{id}`: "));
        Err(
            Failure::other(format!("{of}{} ({} in all)", first.message, found.len())).hint(
                "copy the file and those beside it before anything else; `sessions verify` tells which sessions are whole",
            ),
        )
    };
    Some(checked.await)
}

#[cfg(not(feature = "sqlite"))]
async fn sessions(_: &Program, _: &Setup) -> Option<Result<String, Failure>> {
    None
}

fn looked_for(sources: &Sources) -> String {
    sources
        .user_folder
        .iter()
        .chain([&sources.working_folder])
        .map(|folder| folder.join("claw.toml").display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

fn tools(program: &Program, setup: &Setup) -> Result<String, Failure> {
    let linked = linked(program)?;
    linked.check_state(&program.state)?;
    let asking = setup
        .tools
        .iter()
        .filter(|tool| setup.policy.rule(tool).verdict == Verdict::Ask)
        .count();
    Ok(format!(
        "{} linked, {} offered, {asking} of them ask first",
        linked.len(),
        setup.tools.len()
    ))
}

//! One run of the program, and what its journal says afterwards.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::Format;
use crate::process::KEY;

/// What the notes hold that models are asked to read.
pub(crate) const NOTES: &str = "hello from the notes\n";

/// The files they stand in: one that scripts name, and one that a peer makes up from the schema of a path.
const NOTES_FILES: [&str; 2] = ["notes.txt", "mock-path"];

/// Returns the program, in `folder` and with nothing of this machine's own settings.
pub(crate) fn claw(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_claw"));
    command
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder)
        .env("PEER_KEY", KEY)
        .stdin(Stdio::null());
    command
}

/// A run that has ended.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
    /// The events of its session.
    pub(crate) journal: Vec<Value>,
    /// The folder it worked in.
    pub(crate) folder: TempDir,
}

impl Run {
    /// Runs one prompt against the peer at `root`, with these settings beside those of the format.
    pub(crate) fn new(
        format: &Format<'_>,
        root: &str,
        streams: bool,
        more: &str,
        prompt: &str,
    ) -> Self {
        Self::with(format, root, streams, more, &[prompt], |_| {})
    }

    /// As [`new`](Self::new), with these arguments to `run`, after the folder was prepared.
    pub(crate) fn with(
        format: &Format<'_>,
        root: &str,
        streams: bool,
        more: &str,
        arguments: &[&str],
        prepare: impl FnOnce(&Path),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in NOTES_FILES {
            fs::write(folder.path().join(name), NOTES).unwrap();
        }
        prepare(folder.path());
        configure(folder.path(), format, root, streams, more);
        // The model's name tells the runs apart that share a peer.
        let model = format!("{}:{}", format.name, model_of(format, streams));
        let output = claw(folder.path())
            .args([
                "run",
                "--config",
                "peer.toml",
                "--session",
                "s",
                "--model",
                &model,
            ])
            .args(arguments)
            .output()
            .unwrap();
        let journal = journal(folder.path());
        let Output {
            status,
            stdout,
            stderr,
        } = output;
        Self {
            code: status.code(),
            out: String::from_utf8(stdout).unwrap(),
            err: String::from_utf8(stderr).unwrap(),
            journal,
            folder,
        }
    }

    /// Returns the events of a kind.
    pub(crate) fn events(&self, kind: &str) -> Vec<&Value> {
        let of_kind = self.journal.iter().filter(|event| event["event"] == kind);
        of_kind.collect()
    }

    /// Returns status and text of each call's outcome.
    pub(crate) fn outcomes(&self) -> Vec<(&str, &str)> {
        let outcomes = self.events("outcome").into_iter();
        let read = outcomes.map(|event| {
            let text = event["content"][0]["text"].as_str().unwrap();
            (event["status"].as_str().unwrap(), text)
        });
        read.collect()
    }

    /// Returns class and pause of each failed request.
    pub(crate) fn failures(&self) -> Vec<(&str, Option<u64>)> {
        let failures = self.events("model_failed").into_iter();
        let read =
            failures.map(|event| (event["class"].as_str().unwrap(), event["retry_ms"].as_u64()));
        read.collect()
    }

    /// Checks that the notes were read once and that the answer is `answer`, in the pipe and in the journal.
    pub(crate) fn assert_answered(&self, about: &str, answer: &str) {
        assert_eq!(
            (self.code, &*self.out),
            (Some(0), &*format!("{answer}\n")),
            "{about}: {}",
            self.err
        );
        assert_eq!(self.outcomes(), [("ok", NOTES)], "{about}");
        assert_eq!(self.events("intent").len(), 1, "{about}");
        let end = self.events("turn_end");
        assert_eq!(end.len(), 1, "{about}");
        assert_eq!(end[0]["outcome"]["text"], answer, "{about}");
        assert_eq!(end[0]["outcome"]["reason"]["type"], "answered", "{about}");
    }
}

/// Writes `peer.toml`: the peer at `root` under the format's name, and `more` settings.
pub(crate) fn configure(folder: &Path, format: &Format<'_>, root: &str, streams: bool, more: &str) {
    let Format {
        name,
        settings,
        base,
        ..
    } = format;
    let settings = format!(
        "{more}\n[providers.{name}]\nbase_url = \"{root}{base}\"\nkey_env = \"PEER_KEY\"\n{settings}\n\
         [providers.{name}.capabilities]\n\"*\" = {{ streaming = {streams} }}\n"
    );
    fs::write(folder.join("peer.toml"), settings).unwrap();
}

/// Returns the model that a format's runs ask.
pub(crate) fn model_of(format: &Format<'_>, streams: bool) -> String {
    let how = if streams { "streamed" } else { "whole" };
    format!("{}-{how}", format.name)
}

/// Returns the events of the session that was kept in `folder`.
fn journal(folder: &Path) -> Vec<Value> {
    let exported = claw(folder)
        .args(["sessions", "export", "s"])
        .output()
        .unwrap();
    let lines = String::from_utf8(exported.stdout).unwrap();
    let entries = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries
        .filter_map(|mut entry| Some(entry.get_mut("payload")?.take()))
        .collect()
}

/// Does this with each item, a few of them side by side.
pub(crate) fn each<T: Sync>(items: &[T], act: impl Fn(&T) + Sync) {
    /// Most of a run's time is a pause between two attempts.
    const BESIDE: usize = 16;
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..BESIDE {
            scope.spawn(|| {
                while let Some(item) =
                    items.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    act(item);
                }
            });
        }
    });
}

//! What `sessions` takes on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::config::Span;

/// What `sessions` does. An ID may be shortened as long as it is the only one that begins so; `last` is the one used last.
#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// List the sessions, the one used last first
    List(List),
    /// Show what was said and done
    Show(Show),
    /// Go on with a turn that was interrupted or waits for an answer
    Resume(Resume),
    /// Answer what a session asks
    Answer(Reply),
    /// Say something to a session: to its running turn, or for when it goes on
    Send(Send),
    /// Stop the turn of a session, wherever it runs
    Cancel {
        /// The session
        id: String,
    },
    /// Begin a new session from some place of another
    Branch(Branch),
    /// Take back the last turn, or the last compaction; it stays in the journal
    Undo(Undo),
    /// Write a session to a file, without loss
    Export(Export),
    /// Take a session from a file
    Import(Import),
    /// Check that journals are whole, and what they hold
    Verify(Verify),
    /// Play a session again from its journal: no model is asked, no tool is started
    Replay(Replay),
    /// Delete sessions for good
    Delete(Delete),
}

/// What `sessions list` takes.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only those with a turn that has not ended
    #[arg(long)]
    pub(super) unfinished: bool,
    /// At most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub(super) limit: usize,
    /// All of them
    #[arg(long, conflicts_with = "limit")]
    pub(super) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// What `sessions show` takes.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The session
    #[arg(default_value = "last")]
    pub(super) id: String,
    /// Print every event as one JSON object a line
    #[arg(long)]
    pub(super) json: bool,
}

/// What `sessions resume` takes.
#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// The session
    #[arg(default_value = "last")]
    pub(super) id: String,
    /// Leave questions open for so long, to be answered by `sessions answer`
    #[arg(long, value_name = "TIME")]
    pub(super) park: Option<Span>,
}

/// What `sessions answer` takes.
#[derive(Debug, Args)]
pub(crate) struct Reply {
    /// The session
    pub(super) id: String,
    /// Let the call run
    #[arg(long, conflicts_with = "no")]
    pub(super) yes: bool,
    /// Let the same call run for the rest of the session
    #[arg(long, conflicts_with_all = ["yes", "no"])]
    pub(super) session: bool,
    /// Do not let it run
    #[arg(long, required_unless_present_any = ["yes", "session"])]
    pub(super) no: bool,
}

/// What `sessions send` takes.
#[derive(Debug, Args)]
pub(crate) struct Send {
    /// The session
    pub(super) id: String,
    /// What to say; text piped in is appended
    pub(super) text: Vec<String>,
    /// Say it once, however often it is sent under this key
    #[arg(long)]
    pub(super) key: Option<String>,
}

/// What `sessions branch` takes.
#[derive(Debug, Args)]
pub(crate) struct Branch {
    /// The session
    #[arg(default_value = "last")]
    pub(super) id: String,
    /// The last event they have in common; the last one that is whole when left out
    #[arg(long, value_name = "N")]
    pub(super) at: Option<u64>,
    /// The new session's id
    #[arg(long = "as", value_name = "ID")]
    pub(super) new: Option<String>,
}

/// What `sessions undo` takes.
#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// The session
    #[arg(default_value = "last")]
    pub(super) id: String,
    /// How many
    #[arg(long = "times", short = 'n', value_name = "N", default_value_t = 1)]
    pub(super) steps: u32,
    /// Bring back what was taken back last
    #[arg(long)]
    pub(super) redo: bool,
}

/// What `sessions export` takes.
#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The session
    #[arg(default_value = "last")]
    pub(super) id: String,
    /// The file; standard output when left out
    pub(super) file: Option<PathBuf>,
}

/// What `sessions import` takes.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file; `-` reads standard input
    pub(super) file: PathBuf,
    /// The session's id; the one it had when left out
    #[arg(long = "as", value_name = "ID")]
    pub(super) new: Option<String>,
}

/// What `sessions verify` takes.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The sessions; all when none is named
    pub(super) ids: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// What `sessions replay` takes.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The session
    #[arg(default_value = "last")]
    pub(super) id: String,
    /// In its own time, long pauses shortened
    #[arg(long)]
    pub(super) pace: bool,
    /// Print what each request sent, one JSON object a line
    #[arg(long, conflicts_with = "pace")]
    pub(super) requests: bool,
}

/// What `sessions delete` takes.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// The sessions
    #[arg(required = true)]
    pub(super) ids: Vec<String>,
    /// Delete without asking
    #[arg(long, short)]
    pub(super) yes: bool,
}

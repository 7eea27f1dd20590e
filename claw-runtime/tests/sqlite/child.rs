//! This test program once more, as another process: it does what it is told and says what was acknowledged.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use claw_runtime::session::{Barrier, SessionStore, SqliteOptions, SqliteStore};

use crate::{append, said};

const PLACE: &str = "CLAW_TEST_SQLITE";
const SESSION: &str = "CLAW_TEST_SESSION";

/// Returns the command that appends to `session` until it cannot or is killed. The first argument of a shell that runs
/// it is the program; `limit` is what the shell does before.
pub(crate) fn appender(path: &Path, session: &str, limit: &str) -> Command {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!(
            "{limit} exec \"$0\" --exact child::appends --nocapture"
        ))
        .arg(std::env::current_exe().unwrap())
        .env(PLACE, path)
        .env(SESSION, session)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// A child that is killed when the test ends.
pub(crate) struct Running {
    pub(crate) child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Returns the next thing it says, of those that begin with `what`; `None` when it is gone.
    pub(crate) fn says(&mut self, what: &str) -> Option<String> {
        self.lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix(what).map(str::to_owned))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs in the other process only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends() {
    let (Ok(path), Ok(session)) = (std::env::var(PLACE), std::env::var(SESSION)) else {
        return;
    };
    let tell = |line: String| {
        let mut out = std::io::stdout();
        writeln!(out, "\n{line}").unwrap();
        out.flush().unwrap();
    };
    let store = match SqliteStore::at(path, SqliteOptions::new("p")) {
        Ok(store) => store,
        Err(error) => return tell(format!("failed {error}")),
    };
    let lease = match store.open(&session).await {
        Ok(lease) => lease,
        Err(error) => return tell(format!("failed {error}")),
    };
    for n in 0.. {
        let barrier = [Barrier::Durable, Barrier::Buffered][n as usize % 2];
        match append(
            &store,
            &lease,
            n,
            said(&format!("{n} {}", "y".repeat(300))),
            barrier,
        )
        .await
        {
            Ok(()) => tell(format!("kept {}", n + 1)),
            Err(error) => return tell(format!("failed {error}")),
        }
    }
}

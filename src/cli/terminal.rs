//! The two output streams: the answer, and the talk about it with its status line.

use std::io::{self, IsTerminal, Write};
#[cfg(unix)]
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anstyle::{AnsiColor, Style};

use super::secrets::masked;
use super::text::visible;

pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const ASK: Style = AnsiColor::Yellow.on_default();

// The cursor of the terminal, of which a process has one whoever writes.
/// Whether it stands behind a status, which goes away when something else is printed.
static STATUS: AtomicBool = AtomicBool::new(false);
/// Whether it stands behind an unfinished line of the answer.
static MID_LINE: AtomicBool = AtomicBool::new(false);

/// Columns assumed where there is no terminal.
const COLUMNS: usize = 100;

/// How the terminal was before the line editor.
#[cfg(unix)]
static BEFORE: OnceLock<rustix::termios::Termios> = OnceLock::new();

/// Remembers how the terminal is, for [`restore`].
pub(crate) fn remember() {
    #[cfg(unix)]
    if let Ok(now) = rustix::termios::tcgetattr(io::stdin()) {
        let _ = BEFORE.set(now);
    }
}

/// Puts the terminal back where a signal ends the program past the line editor, which would do it else.
pub(crate) fn restore() {
    #[cfg(unix)]
    if let Some(before) = BEFORE.get()
        && let Ok(now) = rustix::termios::tcgetattr(io::stdin())
        && now.local_modes != before.local_modes
    {
        use rustix::termios::{OptionalActions, tcsetattr};
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        // The editor also asks for marked pastes, and leaves the cursor behind its prompt.
        if let Ok(mut terminal) = std::fs::File::options().write(true).open("/dev/tty") {
            let _ = terminal.write_all(b"\x1b[?2004l\r\n");
        }
    }
}

/// Returns how many columns a line of talk has.
pub(crate) fn columns() -> usize {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(io::stderr())
        && size.ws_col > 0
    {
        return usize::from(size.ws_col).max(20);
    }
    COLUMNS
}

/// Standard output and standard error, kept from writing into each other's lines.
pub(crate) struct Screen {
    /// Whether the answer is read by a person as it grows.
    pub(crate) live: bool,
    talk: bool,
    quiet: bool,
    failed: Option<io::Error>,
}

impl Screen {
    /// Looks at the streams of the process; `quiet` leaves the talk out.
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            live: io::stdout().is_terminal(),
            talk: io::stderr().is_terminal(),
            quiet,
            failed: None,
        }
    }

    /// Prints a piece of the answer.
    pub(crate) fn answer(&mut self, text: &str) {
        self.print(&visible(text));
    }

    /// Prints text of our own, styles included, where the answer goes.
    pub(crate) fn print(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        clear();
        let text = masked(text);
        let mut out = anstream::stdout();
        let result = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
        MID_LINE.store(!text.ends_with('\n'), Relaxed);
    }

    /// Ends the answer's last line.
    pub(crate) fn end_answer(&mut self) {
        if MID_LINE.load(Relaxed) {
            self.print("\n");
        }
    }

    /// Prints one line of talk.
    pub(crate) fn note(&mut self, style: Style, line: &str) {
        if self.quiet {
            return;
        }
        if self.live && self.talk {
            start_line();
        }
        // The talk may be lost, as when standard error is closed; the answer may not.
        let _ = writeln!(
            anstream::stderr(),
            "{style}{}{style:#}",
            visible(&masked(line))
        );
    }

    /// Shows what is going on until something else is printed; only on a terminal.
    pub(crate) fn status(&mut self, line: &str) {
        if self.quiet || !self.talk || (self.live && MID_LINE.load(Relaxed)) {
            return;
        }
        clear();
        let mut err = anstream::stderr();
        let _ = write!(err, "{DIM}{}{DIM:#}", visible(&masked(line))).and_then(|()| err.flush());
        STATUS.store(true, Relaxed);
    }

    /// Returns the first failure to print the answer.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        clear();
        self.failed.take().map_or(Ok(()), Err)
    }
}

/// Brings the terminal's cursor to the start of an empty line.
pub(crate) fn start_line() {
    clear();
    if MID_LINE.swap(false, Relaxed) {
        let _ = writeln!(io::stdout());
    }
}

/// Takes the status away.
fn clear() {
    if STATUS.swap(false, Relaxed) {
        // Raw: a stream without colours would strip the sequence and leave the line.
        let _ = io::stderr().write_all(b"\r\x1b[K");
    }
}

//! The program on a terminal of its own. `setsid` gives it one; where that is missing, the tests say so and skip.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use serde_json::json;
use tempfile::tempdir;

use crate::service::{Answer, Service, calls, says};

struct Terminal {
    /// The side of the person.
    master: File,
    /// The side of the program.
    peer: File,
    pieces: mpsc::Receiver<Vec<u8>>,
    shown: String,
    child: Child,
}

impl Terminal {
    /// Starts the program on a terminal of 40 columns; `None` where that cannot be done.
    fn start(service: &Service, folder: &Path, args: &[&str]) -> Option<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let peer = File::from(ioctl_tiocgptpeer(&master, flags).unwrap());
        let size = Winsize {
            ws_row: 24,
            ws_col: 40,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&peer, size).unwrap();
        let side = || Stdio::from(peer.try_clone().unwrap());
        let child = Command::new("setsid")
            .arg("-c")
            .arg(env!("CARGO_BIN_EXE_claw"))
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", folder)
            .env("TERM", "xterm")
            .env("CLAW_BASE_URL", &service.url)
            .env("CLAW_MODEL", "m")
            .current_dir(folder)
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn();
        let Ok(child) = child else {
            eprintln!("skipped: there is no `setsid` to give the program a terminal");
            return None;
        };
        let (send, pieces) = mpsc::channel();
        let master = File::from(master);
        let mut reads = master.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = reads.read(&mut piece) {
                if send.send(piece[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        Some(Self {
            master,
            peer,
            pieces,
            shown: String::new(),
            child,
        })
    }

    fn type_in(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until the terminal has shown this.
    fn wait_for(&mut self, text: &str) {
        let until = Instant::now() + Duration::from_secs(30);
        while !self.shown.contains(text) {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(piece) = self.pieces.recv_timeout(left) else {
                panic!("no {text:?} in {:?}", self.shown);
            };
            self.shown.push_str(&String::from_utf8_lossy(&piece));
        }
    }

    fn is_cooked(&self) -> bool {
        let modes = tcgetattr(&self.peer).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    fn terminate(&mut self) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(sent.success());
        assert_eq!(self.child.wait().unwrap().code(), Some(143));
    }
}

#[test]
fn termination_puts_the_terminal_of_the_line_editor_back() {
    let service = Service::start([]);
    let folder = tempdir().unwrap();
    let Some(mut terminal) = Terminal::start(&service, folder.path(), &["chat"]) else {
        return;
    };
    terminal.wait_for("› ");
    assert!(!terminal.is_cooked(), "the editor has the terminal");
    terminal.terminate();
    assert!(terminal.is_cooked());
    terminal.wait_for("\x1b[?2004l");
}

#[test]
fn termination_puts_the_terminal_of_a_question_back() {
    let service = Service::start([calls("exec", &json!({"command": "echo hi"}))]);
    let folder = tempdir().unwrap();
    let Some(mut terminal) = Terminal::start(&service, folder.path(), &["run", "go"]) else {
        return;
    };
    terminal.wait_for("[a]lways this tool: ");
    assert!(!terminal.is_cooked(), "the question has the terminal");
    terminal.terminate();
    assert!(terminal.is_cooked());
}

#[test]
fn a_chat_that_keeps_nothing_keeps_no_history_either() {
    for (args, kept) in [(&["chat"][..], true), (&["chat", "--ephemeral"], false)] {
        let service = Service::start([says("Heard.")]);
        let folder = tempdir().unwrap();
        let Some(mut terminal) = Terminal::start(&service, folder.path(), args) else {
            return;
        };
        terminal.wait_for("› ");
        terminal.type_in("my secret plan\r");
        terminal.wait_for("Heard.");
        terminal.type_in("/exit\r");
        assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
        assert_eq!(folder.path().join(".local").exists(), kept, "{args:?}");
    }
}

#[test]
fn a_call_and_its_result_take_one_row_each() {
    let service = Service::start([
        calls(
            "read_file",
            &json!({"path": "long.txt", "limit": 1_000_000}),
        ),
        says("Done."),
        Answer::Silence,
    ]);
    let folder = tempdir().unwrap();
    std::fs::write(folder.path().join("long.txt"), "漢字 line\n".repeat(90)).unwrap();
    let Some(mut terminal) = Terminal::start(&service, folder.path(), &["run", "go"]) else {
        return;
    };
    terminal.wait_for("Done.");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
    let plain = strip(&terminal.shown);
    let rows: Vec<&str> = plain
        .lines()
        .filter(|row| row.starts_with(['▸', '✓']))
        .collect();
    assert!(rows.len() >= 2, "{plain:?}");
    for row in rows {
        let columns: usize = row
            .chars()
            .map(|c| if "漢字".contains(c) { 2 } else { 1 })
            .sum();
        assert!(columns <= 40, "{row:?}");
    }
}

/// Takes escape sequences and returns out.
fn strip(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => {
                chars.by_ref().skip(1).find(char::is_ascii_alphabetic);
            }
            '\r' => out.push('\n'),
            c => out.push(c),
        }
    }
    out
}

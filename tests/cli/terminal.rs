//! What the program does to a terminal, and shows on it.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use tempfile::tempdir;

use crate::pty::Terminal;
use crate::service::{Answer, Service, calls, says};

/// Starts the program with this service.
fn start(service: &Service, folder: &Path, args: &[&str]) -> Option<Terminal> {
    let env = [("CLAW_BASE_URL", service.url.as_str()), ("CLAW_MODEL", "m")];
    Terminal::start(folder, args, &env)
}

fn terminate(terminal: &mut Terminal) {
    let id = terminal.child.id().to_string();
    let sent = Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert!(sent.success());
    assert_eq!(terminal.ended(), Some(143));
}

#[test]
fn termination_puts_the_terminal_of_the_line_editor_back() {
    let service = Service::start([]);
    let folder = tempdir().unwrap();
    let Some(mut terminal) = start(&service, folder.path(), &["chat"]) else {
        return;
    };
    terminal.wait_for("› ");
    assert!(!terminal.is_cooked(), "the editor has the terminal");
    terminate(&mut terminal);
    assert!(terminal.is_cooked());
    terminal.wait_for("\x1b[?2004l");
}

#[test]
fn termination_puts_the_terminal_of_a_question_back() {
    let service = Service::start([calls("exec", &json!({"command": "echo hi"}))]);
    let folder = tempdir().unwrap();
    let Some(mut terminal) = start(&service, folder.path(), &["run", "go"]) else {
        return;
    };
    terminal.wait_for("[a]lways this tool: ");
    assert!(!terminal.is_cooked(), "the question has the terminal");
    terminate(&mut terminal);
    assert!(terminal.is_cooked());
}

#[test]
fn a_chat_that_keeps_nothing_keeps_no_history_either() {
    for (args, kept) in [(&["chat"][..], true), (&["chat", "--ephemeral"], false)] {
        let service = Service::start([says("Heard.")]);
        let folder = tempdir().unwrap();
        let Some(mut terminal) = start(&service, folder.path(), args) else {
            return;
        };
        terminal.wait_for("› ");
        terminal.type_in("my secret plan\r");
        terminal.wait_for("Heard.");
        terminal.type_in("/exit\r");
        assert_eq!(terminal.ended(), Some(0));
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
    let Some(mut terminal) = start(&service, folder.path(), &["run", "go"]) else {
        return;
    };
    terminal.wait_for("Done.");
    assert_eq!(terminal.ended(), Some(0));
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

//! A turn as a program reads it: one JSON object a line.
//!
//! Each has a member `event`: an event of the journal as it is stored, `delta` with a piece of the answer, `progress` of
//! a running call, and as the last line `end` with the outcome, the exit code, how many values of each pattern of `[mask]` the
//! service was not told and how many images it was sent as they are, or `error`.

use std::io::{self, Write};

use claw_runtime::agent::{Agent, Observer};
use claw_runtime::event::{Event, TurnOutcome};
use claw_runtime::provider::Delta;
use serde::Serialize;
use serde_json::json;

use super::exit::{Exit, Failure};
use super::{secrets, text};

/// Prints a turn as JSON lines.
#[derive(Default)]
pub(crate) struct Lines {
    failed: Option<io::Error>,
}

impl Lines {
    /// Prints the last line of a turn that ran.
    pub(crate) fn outcome(&mut self, outcome: &TurnOutcome, exit: Exit, agent: &Agent) {
        let mut end = json!({"event": "end", "outcome": outcome, "exit_code": exit.code()});
        let (hidden, images) = (agent.hidden(), agent.images());
        if !hidden.is_empty() {
            end["masked"] = json!(hidden);
        }
        if images > 0 {
            end["images_sent"] = json!(images);
        }
        self.print(&end);
    }

    /// Prints the last line of a run that failed.
    pub(crate) fn error(&mut self, failure: &Failure) {
        self.print(&json!({
            "event": "error",
            "message": secrets::masked_message(&failure.message),
            "hints": failure.hints,
            "exit_code": failure.exit.code(),
        }));
    }

    /// Returns the first failure to print.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err)
    }

    fn print(&mut self, value: &impl Serialize) {
        if let Err(error) = print(value) {
            self.failed.get_or_insert(error);
        }
    }
}

/// Prints one value on a line of standard output.
pub(crate) fn print(value: &impl Serialize) -> io::Result<()> {
    let line = serde_json::to_string(value)?;
    let mut line = escape(secrets::known().mask_json(&line).into_owned());
    line.push('\n');
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.flush()
}

/// Returns one value as indented JSON with sorted keys and a line feed at the end: equal values give equal text.
pub(crate) fn pretty(value: &impl Serialize) -> io::Result<String> {
    let mut value = serde_json::to_value(value)?;
    value.sort_all_objects();
    let mut text = escape(format!("{value:#}"));
    text.push('\n');
    Ok(text)
}

/// Returns compact JSON text indented, its members in the order they have.
pub(crate) fn indented(json: &str) -> String {
    let mut out = String::with_capacity(2 * json.len());
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    let mut chars = json.chars().peekable();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some(c) = chars.next() {
        if quoted {
            out.push(c);
            quoted = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            '{' | '[' => {
                out.push(c);
                let empty = chars.next_if(|next| matches!(next, '}' | ']'));
                match empty {
                    Some(end) => out.push(end),
                    None => {
                        depth += 1;
                        line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            ' ' | '\n' | '\r' | '\t' => {}
            c => {
                quoted = c == '"';
                out.push(c);
            }
        }
    }
    let mut out = escape(out);
    out.push('\n');
    out
}

/// Escapes what JSON lets stand and a terminal obeys, which occurs in strings only.
fn escape(json: String) -> String {
    if !json.contains(text::is_active) {
        return json;
    }
    json.chars().fold(String::new(), |mut out, c| {
        if text::is_active(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
        out
    })
}

impl Observer for Lines {
    fn event(&mut self, event: &Event) {
        self.print(event);
    }

    fn delta(&mut self, delta: &Delta) {
        self.print(&json!({"event": "delta", "delta": delta}));
    }

    fn progress(&mut self, call: &str, line: &str) {
        self.print(&json!({"event": "progress", "call": call, "line": line}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn indented_text_is_the_same_value(names in proptest::collection::vec(".{0,6}", 0..4), n: f64) {
            let value = json!({"names": names, "b": {"none": [], "n": n, "empty": {}}, "a": [[names], "\\\""]});
            let text = indented(&value.to_string());
            proptest::prop_assert_eq!(text.trim_end(), escape(format!("{value:#}")));
        }
    }

    #[test]
    fn a_line_holds_no_control_character_and_the_same_value() {
        let value = json!({"text": "a\u{9b}31m\u{7f}\u{202e}\x1b[0m\nb"});
        let line = escape(value.to_string());
        assert!(!line.contains(text::is_active), "{line}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&line).unwrap(),
            value
        );
    }
}

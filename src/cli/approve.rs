//! Asking the person at the terminal whether a call may run.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use claw_runtime::agent::{Approval, ApprovalRequest, Later, Nobody};
use claw_runtime::event::Answer;

use rustyline::error::ReadlineError;
use tokio::sync::Notify;

use super::secrets::masked;
use super::terminal::{self, ASK, DIM};
use super::text;

/// Lines of arguments that a question shows before `v` shows all.
const LINES: usize = 30;
/// Characters of arguments that a question shows before `v` shows all.
const CHARS: usize = 3_000;

/// Returns who is asked: whoever answers later when questions may stay open for a time, else the person when there is one
/// to read and to type, else nobody.
pub(crate) fn asker(typed: Arc<Notify>, park: Option<Duration>) -> Arc<dyn Approval> {
    if let Some(time) = park {
        Arc::new(Later(time))
    } else if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        Arc::new(Person { typed })
    } else {
        Arc::new(Nobody)
    }
}

struct Person {
    typed: Arc<Notify>,
}

impl Approval for Person {
    fn ask<'a>(
        &'a self,
        request: ApprovalRequest<'a>,
    ) -> std::pin::Pin<Box<dyn Future<Output = Answer> + Send + 'a>> {
        let question = Question {
            tool: text::line(request.tool, 64),
            rule: text::line(request.rule, 200),
            arguments: pretty(request.arguments),
        };
        Box::pin(async move {
            // Off the turn's thread: signals and timers go on while a person thinks.
            match tokio::task::spawn_blocking(move || question.ask()).await {
                Ok(Some(answer)) => answer,
                Ok(None) => {
                    // An answer would let the turn ask the model once more; it is cancelled, and drops the question.
                    self.typed.notify_one();
                    std::future::pending().await
                }
                Err(_) => Answer::Unanswered,
            }
        })
    }
}

struct Question {
    tool: String,
    rule: String,
    arguments: String,
}

impl Question {
    /// Asks until there is an answer; `None` when Ctrl-C was typed.
    fn ask(&self) -> Option<Answer> {
        let config = rustyline::Config::builder()
            .behavior(rustyline::Behavior::PreferTerm)
            .build();
        let Ok(mut editor) =
            rustyline::Editor::<(), _>::with_history(config, rustyline::history::MemHistory::new())
        else {
            return Some(Answer::Unanswered);
        };
        self.show(LINES, CHARS);
        loop {
            match editor
                .readline("run it? [y]es, [n]o, [s]ame call again too, [a]lways this tool: ")
            {
                Ok(line) => match answer(&line) {
                    Some(answer) => return Some(answer),
                    None if line.trim() == "v" => self.show(usize::MAX, usize::MAX),
                    None => {}
                },
                Err(ReadlineError::Interrupted) => return None,
                Err(ReadlineError::Eof) => return Some(Answer::Deny),
                Err(_) => return Some(Answer::Unanswered),
            }
        }
    }

    fn show(&self, lines: usize, chars: usize) {
        let mut shown: String = self.arguments.chars().take(chars).collect();
        if let Some((end, _)) = shown.match_indices('\n').nth(lines) {
            shown.truncate(end);
        }
        let more = self.arguments.chars().count() - shown.chars().count();
        terminal::start_line();
        let mut err = anstream::stderr();
        let _ = writeln!(
            err,
            "{ASK}? {}{ASK:#} {DIM}({}){DIM:#}\n{}",
            self.tool,
            self.rule,
            masked(&shown)
        );
        if more > 0 {
            let _ = writeln!(err, "{DIM}… {more} more characters; [v]iew all{DIM:#}");
        }
    }
}

fn answer(line: &str) -> Option<Answer> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Some(Answer::Once),
        "s" | "same" => Some(Answer::Session),
        "a" | "always" => Some(Answer::Always),
        // Enter alone is no consent.
        "" | "n" | "no" => Some(Answer::Deny),
        _ => None,
    }
}

/// Returns the arguments in a form to read, whole, with control characters visible.
fn pretty(arguments: &str) -> String {
    let pretty = serde_json::from_str::<serde_json::Value>(arguments)
        .and_then(|value| serde_json::to_string_pretty(&value));
    text::visible(pretty.as_deref().unwrap_or(arguments)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_lets_a_call_run() {
        assert_eq!(answer(" Yes "), Some(Answer::Once));
        assert_eq!(answer("a"), Some(Answer::Always));
        assert_eq!(answer("s"), Some(Answer::Session));
        assert_eq!(answer(""), Some(Answer::Deny));
        assert_eq!(answer("yep, sure"), None);
    }

    #[test]
    fn a_question_shows_what_would_run() {
        assert_eq!(
            pretty(r#"{"a":"x\u001b[8m"}"#),
            "{\n  \"a\": \"x\\u001b[8m\"\n}"
        );
        assert_eq!(pretty("not\x1bjson"), "not␛json");
    }
}

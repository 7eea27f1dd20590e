//! The prompt of `run`: words of the command line, text piped in, or both.

use std::io::{self, IsTerminal, Read};
use std::time::Duration;

use super::exit::Failure;
use super::terminal::{DIM, Screen};

/// The most text taken from a pipe.
const MOST: u64 = 4 * 1024 * 1024;

/// How long a pipe may stay open before the operator is told what the program waits for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the prompt: the words first, then what is piped in.
pub(crate) async fn prompt(words: &[String]) -> Result<String, Failure> {
    let words = words.join(" ");
    let piped = if io::stdin().is_terminal() {
        String::new()
    } else {
        let mut reading = tokio::task::spawn_blocking(piped);
        let piped = match tokio::time::timeout(PATIENCE, &mut reading).await {
            Ok(piped) => piped,
            Err(_) => {
                // A parent that keeps the pipe open would leave everybody waiting without a word.
                Screen::new(false).note(
                    DIM,
                    "reading standard input to its end; `</dev/null` if there is none",
                );
                reading.await
            }
        };
        piped.map_err(Failure::other)??
    };
    let prompt = match (words.trim().is_empty(), piped.trim().is_empty()) {
        (false, false) => format!("{words}\n\n{piped}"),
        (false, true) => words,
        (true, false) => piped,
        (true, true) => {
            return Err(Failure::usage("there is no prompt")
                .hint("give it as an argument, as in `run \"What time is it?\"`, or pipe it in"));
        }
    };
    Ok(prompt)
}

/// Returns all of standard input.
pub(crate) fn piped() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST {
        return Err(Failure::usage("standard input is longer than 4 MiB")
            .hint("put it into a file of the workspace and name the file in the prompt"));
    }
    String::from_utf8(bytes).map_err(|error| {
        Failure::usage(format!(
            "standard input is not UTF-8 text (byte {})",
            error.utf8_error().valid_up_to()
        ))
    })
}

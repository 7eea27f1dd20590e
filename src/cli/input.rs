//! The prompt of `run`: words of the command line, text piped in, or both.

use std::io::{self, IsTerminal, Read};

use super::exit::Failure;

/// The most text taken from a pipe.
const MOST: u64 = 4 * 1024 * 1024;

/// Returns the prompt: the words first, then what is piped in.
pub(crate) fn prompt(words: &[String]) -> Result<String, Failure> {
    let words = words.join(" ");
    let piped = if io::stdin().is_terminal() {
        String::new()
    } else {
        piped()?
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

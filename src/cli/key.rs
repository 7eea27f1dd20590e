//! Where the key of a service comes from: a variable, a file, or what a command prints.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use claw_runtime::provider::presets::Preset;
use secrecy::SecretString;

use super::exit::Failure;
use super::service::UNNAMED;
use crate::config::ProviderConfig;

/// How long a command may take to print a key: somebody may have to type a passphrase.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often is looked whether it has ended.
const TICK: Duration = Duration::from_millis(5);
/// The most that is read of a key, in bytes.
const LONGEST: u64 = 64 * 1024;

/// Returns the key, from the file or variable that is configured, else from the variable the service is known by. `None` where
/// none is needed, and where a command prints it.
pub(super) fn at_hand(
    name: &str,
    own: &ProviderConfig,
    known: Option<&Preset>,
    own_address: bool,
) -> Result<Option<SecretString>, Failure> {
    if !own.key_command.is_empty() {
        return Ok(None);
    }
    if let Some(file) = &own.key_file {
        return key_in(file).map(Some).map_err(|what| {
            Failure::usage(format!(
                "key of `{name}`: cannot use `{}`: {what}",
                file.display()
            ))
        });
    }
    let variable_name = own
        .key_env
        .as_ref()
        .map(crate::config::EnvName::as_str)
        .or(known.and_then(|known| known.key_env));
    let Some(variable_name) = variable_name else {
        // A service known by its address alone may want a key all the same.
        return Ok(if name == UNNAMED {
            variable("CLAW_API_KEY").map(Into::into)
        } else {
            None
        });
    };
    match variable(variable_name) {
        Some(key) => Ok(Some(key.into())),
        // A proxy or a local stand-in may need none.
        None if own_address && own.key_env.is_none() => Ok(None),
        None => Err(
            Failure::usage(format!("key of `{name}`: `{variable_name}` is not set"))
                .hint(format!("run `export {variable_name}=…`")),
        ),
    }
}

fn key_in(file: &std::path::Path) -> Result<SecretString, String> {
    let about = fs::metadata(file).map_err(|error| error.to_string())?;
    if !about.is_file() || about.len() > LONGEST {
        return Err("expected a small regular file that holds the key".to_owned());
    }
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    one_line(&text).ok_or_else(no_line)
}

/// Returns the key that is all there is on the one line of a text.
fn one_line(text: &str) -> Option<SecretString> {
    let key = text.trim();
    (!key.is_empty() && !key.contains(char::is_control)).then(|| key.into())
}

/// Returns the key that a command prints. It runs once in a process, however many services ask for it.
///
/// Nothing it printed shows in an error. It has no standard input; what asks a person does so on the terminal itself.
pub(super) fn printed_by(name: &str, command: &[String]) -> Result<SecretString, Failure> {
    static PRINTED: Mutex<BTreeMap<Vec<String>, SecretString>> = Mutex::new(BTreeMap::new());
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(key) = printed.get(command) {
        return Ok(key.clone());
    }
    let key = run(command, PATIENCE).map_err(|what| {
        let program = command.first().map_or("", String::as_str);
        Failure::usage(format!("key of `{name}`: `{program}` gave none: {what}")).hint(format!(
            "run the `key_command` of `[providers.{name}]` by hand to see what it says"
        ))
    })?;
    printed.insert(command.to_vec(), key.clone());
    Ok(key)
}

fn run(command: &[String], patience: Duration) -> Result<SecretString, String> {
    let [program, arguments @ ..] = command else {
        return Err("no program is named".to_owned());
    };
    let end = Instant::now() + patience;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("it cannot be started: {error}"))?;
    let (told, printed) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        // What it started may hold the pipe open for ever, so the reader is left behind then.
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = stdout.take(LONGEST + 1).read_to_end(&mut bytes);
            let _ = told.send(read.map(|_| bytes));
        });
    }
    let printed = printed.recv_timeout(patience);
    if let Ok(Ok(bytes)) = &printed
        && bytes.len() as u64 <= LONGEST
    {
        while Instant::now() < end {
            match child.try_wait().map_err(|error| error.to_string())? {
                Some(status) if status.success() => {
                    let text = std::str::from_utf8(bytes).ok();
                    return text.and_then(one_line).ok_or_else(no_line);
                }
                Some(status) => return Err(format!("it ended with {status}")),
                None => thread::sleep(TICK),
            }
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(match printed {
        Ok(Ok(bytes)) if bytes.len() as u64 > LONGEST => no_line(),
        Ok(Err(error)) => error.to_string(),
        _ => format!("it did not end within {} s", patience.as_secs()),
    })
}

fn no_line() -> String {
    "expected one line that holds the key".to_owned()
}

/// Returns what a variable holds, blanks at its ends left out; an empty one is unset.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name)
        .ok()
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty())
}

#[cfg(all(test, unix))]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    fn printed(script: &str) -> Result<String, String> {
        let command = ["sh", "-c", script].map(str::to_owned);
        run(&command, Duration::from_secs(20)).map(|key| key.expose_secret().to_owned())
    }

    #[test]
    fn a_command_prints_one_line() {
        assert_eq!(printed("echo ' key-1 '; echo noise >&2").unwrap(), "key-1");
        for (script, what) in [
            ("echo secret; exit 3", "it ended with exit status: 3"),
            (
                "echo secret; echo secret",
                "expected one line that holds the key",
            ),
            ("true", "expected one line that holds the key"),
            (
                "printf '\\377secret'",
                "expected one line that holds the key",
            ),
        ] {
            assert_eq!(printed(script).unwrap_err(), what);
        }
        let missing = run(&["no-such-program-anywhere".to_owned()], PATIENCE);
        assert!(missing.unwrap_err().starts_with("it cannot be started: "));
        assert_eq!(run(&[], PATIENCE).unwrap_err(), "no program is named");
    }

    #[test]
    fn a_command_that_does_not_end_is_not_waited_for() {
        let sleep = ["sleep", "600"].map(str::to_owned);
        let late = run(&sleep, Duration::from_millis(50)).unwrap_err();
        assert_eq!(late, "it did not end within 0 s");
        // It prints without end: what is read is bounded, and the pipe is closed then.
        assert_eq!(
            printed("yes secret").unwrap_err(),
            "expected one line that holds the key"
        );
    }
}

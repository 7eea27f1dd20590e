//! What this process may not show. One set for the whole process: panics and logs have no other way to know it.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::LazyLock;

use claw_runtime::registry::Toolset;
use claw_runtime::secret::{Secrets, is_secret_name, without_fields};

static KNOWN: LazyLock<Secrets> = LazyLock::new(|| {
    let known = Secrets::new();
    for (name, value) in std::env::vars_os() {
        if let (Some(name), Some(value)) = (name.to_str(), value.to_str()) {
            if is_secret_name(name) && looks_made(value) && !is_path(value) {
                known.add(value);
            }
            add_passwords(&known, value);
        }
    }
    known
});

/// Returns the secrets of the process: those of its environment, and what was added since.
pub(crate) fn known() -> &'static Secrets {
    &KNOWN
}

/// Adds the variables that tools declare as their secrets.
pub(crate) fn of_tools(tools: &Toolset) {
    let names = tools.iter().flat_map(|tool| tool.spec().secrets);
    for value in names.filter_map(|name| std::env::var(name).ok()) {
        known().add(&value);
    }
}

/// Returns text without the secrets of the process.
pub(crate) fn masked(text: &str) -> Cow<'_, str> {
    known().mask(text)
}

/// Returns a line of a log or a message without them, and without what is named like one.
pub(crate) fn masked_message(text: &str) -> String {
    known().mask_message(text)
}

/// Adds the passwords of addresses, as in `postgres://user:password@host/`, as they stand and decoded.
fn add_passwords(known: &Secrets, text: &str) {
    for rest in text.split("://").skip(1) {
        let authority = rest.split(['/', '?', '#', ' ']).next().unwrap_or(rest);
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        if let Some((_, password)) = user.and_then(|user| user.split_once(':')) {
            for password in [password, &decoded(password)] {
                if looks_made(password) {
                    known.add(password);
                }
            }
        }
    }
}

/// Tells a secret from a word that stands in for one, as the password `postgres` of a database on this machine: masking that
/// would take the word out of everything. What somebody declared to be a key is not asked.
fn looks_made(value: &str) -> bool {
    let has = |is: fn(char) -> bool| value.contains(is);
    let is_mixed = has(char::is_uppercase) && has(char::is_lowercase);
    value.len() >= 16 || is_mixed || has(|c| c.is_ascii_digit())
}

/// Tells whether a value is the place of a secret and not the secret itself, as `GOOGLE_APPLICATION_CREDENTIALS` has it.
fn is_path(value: &str) -> bool {
    std::path::Path::new(value).exists()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let code = code.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (first, code) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Writes lines of a log to standard error, each without secrets.
pub(crate) struct Log;

impl Write for Log {
    /// A log entry comes in one piece.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let text = masked(&text);
        io::stderr().write_all(without_fields(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_addresses_are_secrets() {
        let known = Secrets::new();
        add_passwords(
            &known,
            "postgres://me:pass%40word-1@h/db http://plain:80/x@y postgres://postgres:postgres@h",
        );
        assert_eq!(known.mask("postgres"), "postgres");
        assert_eq!(
            known.mask("pass%40word-1 pass@word-1 plain:80/x@y"),
            "*** *** plain:80/x@y"
        );
    }
}

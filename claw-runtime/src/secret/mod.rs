//! The secrets that a process knows, and texts without them.
//!
//! One place for every sink: errors of services, journal, blobs, what tools say, logs, the terminal. A secret is found as it
//! stands and in the forms it takes on its way: percent-encoded, escaped for JSON, in base64 at any alignment and in either
//! alphabet, in hexadecimal, broken over lines. Time is linear in the text, however many secrets there are.
//!
//! It does not find what was encrypted, compressed, reversed or spelt out: it keeps secrets from being kept and shown by
//! accident, and is no wall around a tool that means to betray one.

mod automaton;
mod content;
mod forms;
mod named;
mod read;
mod sieve;
mod stream;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

pub use named::{is_secret_name, without_fields};
pub use stream::Pieces;

use automaton::Automaton;
use read::{Escapes, Reader};
use sieve::Sieve;

/// What stands in the place of a secret.
pub const MASK: &str = "***";

/// What is shorter is a word, and would take ordinary words out of every text.
pub const SHORTEST: usize = 8;

/// What people write where a server wants a key and does not look at it.
const PLACEHOLDERS: [&str; 6] = [
    "lm-studio",
    "llama.cpp",
    "llamacpp",
    "not-needed",
    "no-key-required",
    "sk-no-key-required",
];

/// The secrets that a process knows. Cheap to clone: all clones know the same ones, also those that are added later.
#[derive(Clone, Default)]
pub struct Secrets {
    known: Arc<RwLock<Arc<Known>>>,
}

/// Some secrets, and what finds them, made when it is first needed.
#[derive(Default)]
struct Known {
    secrets: Vec<SecretString>,
    finder: OnceLock<Finder>,
}

/// What finds secrets in a text.
struct Finder {
    automaton: Automaton,
    sieve: Sieve,
}

impl Secrets {
    /// Returns a set without secrets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a secret. White space at its ends is no part of it; of several words, as in `Bearer KEY`, each that is long
    /// enough is one by itself too.
    ///
    /// Texts of fewer than [`SHORTEST`] bytes, and what is written where a server wants any key, are not added: they would be
    /// masked in ordinary text. Returns whether the secret is known now.
    pub fn add(&self, secret: &str) -> bool {
        let whole = secret.trim();
        let words = whole.split_ascii_whitespace();
        let new = std::iter::once(whole).chain(words);
        let new: Vec<&str> = new.filter(|it| is_secret(it)).collect();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let has = |secret: &str| known.secrets.iter().any(|it| it.expose_secret() == secret);
        let mut added: Vec<&str> = Vec::new();
        for secret in &new {
            if !has(secret) && !added.contains(secret) {
                added.push(secret);
            }
        }
        if !added.is_empty() {
            let added = added.into_iter().map(SecretString::from);
            *known = Arc::new(Known {
                secrets: known.secrets.iter().cloned().chain(added).collect(),
                finder: OnceLock::new(),
            });
        }
        !new.is_empty()
    }

    /// Adds all that another set knows now.
    pub fn add_all(&self, others: &Self) {
        if Arc::ptr_eq(&self.known, &others.known) {
            return;
        }
        for secret in &others.now().secrets {
            self.add(secret.expose_secret());
        }
    }

    /// Tells whether no secret is known.
    pub fn is_empty(&self) -> bool {
        self.now().secrets.is_empty()
    }

    /// Returns `text` with [`MASK`] in the place of each secret.
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.now().mask(text, 0)
    }

    /// Returns the text of a message that a bound may have cut, which ends with `…` then: the beginning of a secret there is
    /// masked too, and so are [fields](without_fields) whose name says that they hold one.
    pub fn mask_message(&self, text: &str) -> String {
        /// A beginning of so little tells nothing.
        const BEGINNING: usize = 5;
        let known = self.now();
        let masked = match text.strip_suffix('…') {
            Some(text) => format!("{}…", known.mask(text, BEGINNING)),
            None => known.mask(text, 0).into_owned(),
        };
        match without_fields(&masked) {
            Cow::Borrowed(_) => masked,
            Cow::Owned(masked) => masked,
        }
    }

    /// Returns JSON text with the secrets in its strings, names and numbers masked. It is JSON still; what was none is masked
    /// as any text.
    pub fn mask_json<'t>(&self, json: &'t str) -> Cow<'t, str> {
        self.now().mask_json(json)
    }

    /// Begins a text that comes in pieces.
    pub fn pieces(&self) -> Pieces {
        Pieces::new(self.now())
    }

    fn now(&self) -> Arc<Known> {
        self.known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Known {
    fn finder(&self) -> Option<&Finder> {
        (!self.secrets.is_empty()).then(|| {
            self.finder.get_or_init(|| {
                let secrets = self.secrets.iter();
                let forms: Vec<Vec<u8>> = secrets
                    .flat_map(|secret| forms::forms(secret.expose_secret().as_bytes()))
                    .collect();
                let forms = forms.iter().map(Vec::as_slice);
                Finder {
                    automaton: Automaton::new(forms.clone()),
                    sieve: Sieve::new(forms),
                }
            })
        })
    }

    /// Masks secrets, and where `beginning` is not 0 one at the end of which no less than so many bytes are there.
    fn mask<'t>(&self, text: &'t str, beginning: usize) -> Cow<'t, str> {
        let Some(Finder { automaton, sieve }) = self.finder() else {
            return Cow::Borrowed(text);
        };
        let mut hits = Vec::new();
        for escapes in Escapes::in_text(text) {
            let nothing = beginning == 0
                && match escapes {
                    Escapes::None => !sieve.may_find(automaton, text.as_bytes()),
                    Escapes::Lines => !sieve.may_find(automaton, &unbroken(text)),
                    Escapes::Percent | Escapes::Json => false,
                };
            if nothing {
                continue;
            }
            let mut reader = Reader::new(escapes);
            for (at, byte) in text.bytes().enumerate() {
                reader.read(automaton, byte, at, &mut hits);
            }
            if beginning > 0 && reader.begun(automaton) >= beginning {
                hits.push(reader.open(text.len())..text.len());
            }
        }
        if hits.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(stream::replace(text, 0, &stream::merge(hits)))
    }

    fn mask_json<'t>(&self, json: &'t str) -> Cow<'t, str> {
        let masked = self.mask(json, 0);
        // In a string that is JSON itself, what was escaped twice shows when it is read.
        if matches!(masked, Cow::Borrowed(_)) && !json.contains(r"\\") {
            return masked;
        }
        match serde_json::from_str(json) {
            Ok(mut value) => {
                self.mask_value(&mut value);
                Cow::Owned(value.to_string())
            }
            Err(_) => masked,
        }
    }

    fn mask_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.mask(text, 0) {
                    *text = masked;
                }
            }
            Value::Number(number) => {
                if let Cow::Owned(masked) = self.mask(&number.to_string(), 0) {
                    *value = masked.into();
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.mask_value(item)),
            Value::Object(members) => {
                members
                    .values_mut()
                    .for_each(|member| self.mask_value(member));
                let named = |name: &&String| matches!(self.mask(name, 0), Cow::Owned(_));
                let names: Vec<String> = members.keys().filter(named).cloned().collect();
                for name in names {
                    if let Some(member) = members.remove(&name) {
                        members.insert(self.mask(&name, 0).into_owned(), member);
                    }
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// Returns a text without its line breaks.
fn unbroken(text: &str) -> Vec<u8> {
    let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
    text.bytes().filter(|byte| !is_break(byte)).collect()
}

fn is_secret(text: &str) -> bool {
    text.len() >= SHORTEST && !PLACEHOLDERS.contains(&text)
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.now().secrets.len())
    }
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Known({})", self.secrets.len())
    }
}

#[cfg(test)]
mod tests;

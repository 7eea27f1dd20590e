//! Patterns of texts: checked by the compiler, compiled once, when a text is first held against them.
//!
//! The regular expressions are a third of a megabyte of code, and most programs have no pattern. So nobody here names the
//! engine but those who bring a pattern: a declared one, a type of schemars, a schema of run time. Without them it is not
//! linked.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use regex::{Regex, RegexBuilder};

use super::ecma::{Words, translated};
use super::room::{Attempt, Room};

/// What compiles patterns.
#[derive(Clone, Copy, Debug)]
pub struct Engine(Compile);

type Compile = fn(&str, &mut Room) -> Result<Arc<dyn Matcher>, String>;

/// A compiled pattern.
pub(super) trait Matcher: Debug + Send + Sync {
    /// Tells whether it is found in a text.
    fn is_match(&self, text: &str) -> bool;

    /// Returns the pattern as it was written.
    fn source(&self) -> &str;
}

/// A pattern that is searched in time linear in the text.
#[derive(Debug)]
struct Linear {
    regex: Regex,
    source: String,
}

impl Engine {
    /// Regular expressions in linear time, without look-around and back references.
    pub const REGEX: Self = Self(|source, room| {
        Ok(Arc::new(Linear {
            regex: linear(source, room)?,
            source: source.to_owned(),
        }))
    });

    /// Compiles a pattern, where there is room for it.
    ///
    /// # Errors
    ///
    /// Fails with what is wrong when it is none that the engine has, or too large.
    pub(super) fn compile(self, source: &str, room: &mut Room) -> Result<Arc<dyn Matcher>, String> {
        self.0(source, room)
    }
}

/// Compiles a pattern that is searched in time linear in the text.
pub(super) fn linear(source: &str, room: &mut Room) -> Result<Regex, String> {
    let translated = translated(source, Words::Ascii)?;
    room.place(source, 1, |size| {
        let regex = RegexBuilder::new(&translated)
            .size_limit(size)
            .dfa_size_limit(size)
            .build();
        regex.map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => Attempt::TooLarge,
            error => Attempt::Unread(said(&error.to_string())),
        })
    })
}

/// Returns what an engine says is wrong, without the pattern it quotes: that is a translated one.
pub(super) fn said(error: &str) -> String {
    let last = error.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

impl Matcher for Linear {
    fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    fn source(&self) -> &str {
        &self.source
    }
}

/// What a text must match somewhere; `^` and `$` bind it to the ends.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// The pattern as it stands in the schema.
    pub text: &'static str,
    /// Where it is kept when it has been compiled.
    pub compiled: fn() -> &'static Compiled,
}

/// A pattern that is compiled when it is first used. One that the engine does not take asks nothing, here and in the
/// slow path: `#[tool]` has refused it before.
#[derive(Debug)]
pub struct Compiled {
    engine: Engine,
    pattern: OnceLock<Option<Arc<dyn Matcher>>>,
}

impl Compiled {
    /// Returns the place for a compiled pattern.
    pub const fn new() -> Self {
        Self {
            engine: Engine::REGEX,
            pattern: OnceLock::new(),
        }
    }
}

impl Default for Compiled {
    fn default() -> Self {
        Self::new()
    }
}

impl Pattern {
    pub(crate) fn is_match(&self, text: &str) -> bool {
        let compiled = (self.compiled)();
        compiled
            .pattern
            .get_or_init(|| {
                compiled
                    .engine
                    .compile(self.text, &mut Room::default())
                    .ok()
            })
            .as_ref()
            .is_none_or(|pattern| pattern.is_match(text))
    }

    /// Returns what compiles it.
    pub(super) fn engine(&self) -> Engine {
        (self.compiled)().engine
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Coerce, Schema, Unknown, validate};

    #[test]
    fn a_declared_pattern_means_what_ecma_says() {
        static WORDS: Compiled = Compiled::new();
        let words = Pattern {
            text: r"^\w+\s\D$",
            compiled: || &WORDS,
        };
        for (text, fits) in [
            ("a_1\u{feff}é", true),
            ("é 1", false),
            ("a é", true),
            ("a ১", true),
            ("a 1", false),
            ("a é\n", false),
        ] {
            assert_eq!(words.is_match(text), fits, "{text:?}");
        }
        let schema = serde_json::json!({"properties": {"v": {"pattern": words.text}}});
        let read = Schema::parse(&schema);
        let said = |text: &str| {
            let json = serde_json::json!({"v": text}).to_string();
            validate(&read, &json, Coerce::Safe, Unknown::Refuse).is_ok()
        };
        assert!(said("a é") && !said("é 1"));
    }
}

//! Patterns of foreign schemas: those that the linear engine has, and those that look around.

use std::collections::HashMap;

use crate::schema::ecma::{Words, translated};
use crate::schema::pattern::{linear, said};
use crate::schema::room::{Attempt, Room};

/// Steps a pattern with look-around may take.
const BACKTRACKS: usize = 100_000;
/// How many of them count as one.
const BACKTRACKS_A_STEP: usize = 400;

/// A compiled pattern. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    regex: Regex,
    pub(super) source: String,
}

#[derive(Clone, Debug)]
enum Regex {
    /// In time linear in the text.
    Linear(regex::Regex),
    /// With look-around or references to groups, which may take as many attempts as are allowed.
    Backtracking(fancy_regex::Regex),
}

/// The patterns of one schema, each compiled once.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    room: Room,
    compiled: HashMap<String, Pattern>,
}

impl Patterns {
    /// Compiles a pattern, or finds it compiled.
    pub(super) fn compile(&mut self, source: &str) -> Result<Pattern, String> {
        if let Some(compiled) = self.compiled.get(source) {
            return Ok(compiled.clone());
        }
        let compiled = Pattern::new(source, &mut self.room)
            .map_err(|error| format!("`{source}` is no pattern that can be checked: {error}"))?;
        self.compiled.insert(source.to_owned(), compiled.clone());
        Ok(compiled)
    }
}

impl Pattern {
    fn new(source: &str, room: &mut Room) -> Result<Self, String> {
        let regex = match linear(source, room) {
            Ok(regex) => Regex::Linear(regex),
            Err(_) if looks_around(source) => Regex::Backtracking(backtracking(source, room)?),
            Err(error) => return Err(error),
        };
        Ok(Self {
            regex,
            source: source.to_owned(),
        })
    }

    /// Tells whether it is found in a text; `None` when that took too much.
    pub(super) fn is_match(&self, text: &str) -> Option<bool> {
        match &self.regex {
            Regex::Linear(regex) => Some(regex.is_match(text)),
            Regex::Backtracking(regex) => regex.is_match(text).ok(),
        }
    }

    /// Returns the steps that a search is, beside those for the length of the text.
    pub(super) fn steps(&self) -> usize {
        match self.regex {
            Regex::Linear(_) => 1,
            Regex::Backtracking(_) => BACKTRACKS / BACKTRACKS_A_STEP,
        }
    }
}

/// Tells whether a pattern may ask for what the linear engine does not have.
fn looks_around(source: &str) -> bool {
    let looks = ["(?=", "(?!", "(?<=", "(?<!", r"\k"];
    let refers = source.as_bytes().windows(2);
    looks.iter().any(|mark| source.contains(mark))
        || refers
            .into_iter()
            .any(|pair| pair[0] == b'\\' && pair[1].is_ascii_digit())
}

fn backtracking(source: &str, room: &mut Room) -> Result<fancy_regex::Regex, String> {
    let translated = translated(source, Words::LookAround)?;
    // What lies between these is compiled by itself.
    let ends = |letter: char| matches!(letter, '(' | ')' | '|' | '\\');
    let parts = 1 + source.matches(ends).count();
    room.place(source, parts, |size| {
        fancy_regex::RegexBuilder::new(&translated)
            .backtrack_limit(BACKTRACKS)
            .delegate_size_limit(size)
            .delegate_dfa_size_limit(size)
            .max_prog_size(translated.len() * 8)
            .build()
            .map_err(|error| match error {
                fancy_regex::Error::CompileError(_) => Attempt::TooLarge,
                error => Attempt::Unread(said(&error.to_string())),
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compile(source: &str) -> Result<Pattern, String> {
        Patterns::default().compile(source)
    }

    #[test]
    fn patterns_look_around_and_refer_to_groups() {
        for (pattern, text, fits) in [
            (r"^(?!secret)", "secret", false),
            (r"^(?!secret)", "open", true),
            (r"(?<=\$)\d+", "cost: $42", true),
            (r"(?<=\$)\d+", "42", false),
            (r"^(a)\1$", "aa", true),
            (r"^(?<x>a|b)\k<x>$", "ab", false),
            (
                r"^(?=.*\p{Lu})(?=.*\d)(?=.*[^\w\s]).{8,64}$",
                "Passw0rd!",
                true,
            ),
            (
                r"^(?=.*\p{Lu})(?=.*\d)(?=.*[^\w\s]).{8,64}$",
                "password",
                false,
            ),
            (r"(?=\bé)", "a é", false),
        ] {
            assert_eq!(
                compile(pattern).unwrap().is_match(text),
                Some(fits),
                "{pattern} {text:?}",
            );
        }
        let large = compile("a{1000000}{1000000}").unwrap_err();
        assert!(large.starts_with("`a{1000000}{1000000}` is no pattern that can be checked: "));
        for (pattern, why) in [
            ("[", "a `[` has no `]`"),
            ("(", "unclosed group"),
            (r"[a-z]{1000}{1000}", "it is too large"),
            (r"(?=a)[", "a `[` has no `]`"),
        ] {
            let said = format!("`{pattern}` is no pattern that can be checked: {why}");
            assert_eq!(compile(pattern).unwrap_err(), said);
        }
    }

    #[test]
    fn patterns_are_bounded_together() {
        let mut patterns = Patterns::default();
        let fault = (0..)
            .find_map(|at| patterns.compile(&format!("^[a-z]{{{at}}}(?!x)")).err())
            .unwrap();
        assert!(
            fault.ends_with("the patterns of the schema are too large together"),
            "{fault}"
        );
        // Many times the same is one.
        let mut patterns = Patterns::default();
        assert!((0..100_000).all(|_| patterns.compile("^(?!a)").is_ok()));
    }
}

//! Patterns of texts: checked by the compiler, compiled once, when a text is first held against them.
//!
//! The regular expressions are a third of a megabyte of code, and most programs have no pattern. So nobody here names the
//! engine but those who bring a pattern: a declared one, a type of schemars, a schema of run time. Without them it is not
//! linked.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use regex::{Regex, RegexBuilder};

/// Largest compiled pattern, in bytes.
const SIZE: usize = 1 << 20;

/// What compiles patterns.
#[derive(Clone, Copy, Debug)]
pub struct Engine(fn(&str) -> Option<Arc<dyn Matcher>>);

/// A compiled pattern.
pub(super) trait Matcher: Debug + Send + Sync {
    /// Tells whether it is found in a text.
    fn is_match(&self, text: &str) -> bool;

    /// Returns the pattern as it was written.
    fn source(&self) -> &str;
}

impl Engine {
    /// Regular expressions in linear time, without look-around and back references.
    pub const REGEX: Self = Self(|source| {
        let regex = RegexBuilder::new(source).size_limit(SIZE).build();
        regex.ok().map(|regex| Arc::new(regex) as Arc<dyn Matcher>)
    });

    /// Compiles a pattern; `None` when it is none that the engine has.
    pub(super) fn compile(self, source: &str) -> Option<Arc<dyn Matcher>> {
        self.0(source)
    }
}

impl Matcher for Regex {
    fn is_match(&self, text: &str) -> bool {
        Regex::is_match(self, text)
    }

    fn source(&self) -> &str {
        self.as_str()
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
            .get_or_init(|| compiled.engine.compile(self.text))
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

//! Patterns of texts: checked by the compiler, compiled once, when a text is first held against them.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

/// Largest compiled pattern, in bytes.
const SIZE: usize = 1 << 20;

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
#[derive(Debug, Default)]
pub struct Compiled(OnceLock<Option<Regex>>);

impl Compiled {
    /// Returns the place for a compiled pattern.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }
}

impl Pattern {
    pub(crate) fn is_match(&self, text: &str) -> bool {
        let compile = || RegexBuilder::new(self.text).size_limit(SIZE).build().ok();
        (self.compiled)()
            .0
            .get_or_init(compile)
            .as_ref()
            .is_none_or(|regex| regex.is_match(text))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

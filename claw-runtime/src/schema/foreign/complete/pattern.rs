//! Patterns as JSON Schema means them: regular expressions of ECMA-262, searched for anywhere in a text.

/// Steps a pattern with look-around may take.
const BACKTRACKS: usize = 100_000;
/// How many of them count as one.
const BACKTRACKS_A_STEP: usize = 400;
/// Largest compiled pattern, in bytes.
const SIZE: usize = 1 << 20;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    pub(super) source: String,
}

#[derive(Debug)]
enum Regex {
    /// In time linear in the text.
    Linear(regex::Regex),
    /// With look-around or references to groups, which may take as many attempts as are allowed.
    Backtracking(fancy_regex::Regex),
}

impl Pattern {
    /// Compiles a pattern.
    pub(super) fn new(source: &str) -> Result<Self, String> {
        let translated = translated(source);
        let linear = regex::RegexBuilder::new(&translated)
            .size_limit(SIZE)
            .dfa_size_limit(SIZE)
            .build();
        let regex = linear.map(Regex::Linear).or_else(|_| {
            fancy_regex::RegexBuilder::new(&translated)
                .backtrack_limit(BACKTRACKS)
                .delegate_size_limit(SIZE)
                .delegate_dfa_size_limit(SIZE)
                .build()
                .map(Regex::Backtracking)
        });
        Ok(Self {
            regex: regex.map_err(|error| format!("`{source}` is no pattern: {error}"))?,
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

/// Writes a pattern of ECMA-262 in the engine's words: classes of ASCII, `$` at the very end, and no sets within sets.
fn translated(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 16);
    let mut letters = source.chars().peekable();
    let mut in_class = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                // Sets also within a set, so that no `-` after one begins a range.
                Some('d') => out.push_str("[0-9]"),
                Some('D') => out.push_str("[^0-9]"),
                Some('w') => out.push_str("[a-zA-Z0-9_]"),
                Some('W') => out.push_str("[^a-zA-Z0-9_]"),
                // The mark of byte order is a blank there.
                Some('s') => out.push_str(r"[\s\x{FEFF}]"),
                Some('S') => out.push_str(r"[^\s\x{FEFF}]"),
                Some('/') => out.push('/'),
                Some('0') => out.push_str(r"\x00"),
                Some('c') => match letters.next_if(char::is_ascii_alphabetic) {
                    Some(control) => {
                        let code = control.to_ascii_uppercase() as u32 - 64;
                        out.push_str(&format!(r"\x{{{code:X}}}"));
                    }
                    None => out.push_str(r"\\c"),
                },
                Some(escaped) => {
                    out.push('\\');
                    out.push(escaped);
                }
                None => out.push('\\'),
            },
            '[' if in_class => out.push_str(r"\["),
            '[' => {
                in_class = true;
                out.push('[');
                if letters.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                // `[]` fits nothing and `[^]` all.
                if letters.next_if_eq(&']').is_some() {
                    in_class = false;
                    let negated = out.ends_with('^');
                    out.truncate(out.len() - if negated { 2 } else { 1 });
                    out.push_str(if negated { r"[\s\S]" } else { r"[^\s\S]" });
                }
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(letter);
            }
            '-' if in_class && ends_no_range(letters.clone()) => out.push_str(r"\-"),
            '$' if !in_class => out.push_str(r"\z"),
            _ => out.push(letter),
        }
    }
    out
}

/// Tells whether what follows a `-` in a set is another one, or a set itself.
fn ends_no_range(mut letters: impl Iterator<Item = char>) -> bool {
    match letters.next() {
        Some('\\') => matches!(letters.next(), Some('d' | 'D' | 'w' | 'W' | 's' | 'S')),
        next => next == Some('-'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_ecma_says() {
        for (pattern, text, fits) in [
            (r"^\d+$", "12", true),
            (r"^\d+$", "১২", false),
            (r"^\d+$", "12\n", false),
            (r"^[\w.-]+$", "a_b.c-d", true),
            (r"^\w$", "é", false),
            (r"^\W$", "é", true),
            (r"^[^\W]$", "a", true),
            (r"^[\w-\.]+@([\w-]+\.)+[\w-]{2,4}$", "a.b-c@d-e.fr", true),
            (r"^[\w-\.]+@([\w-]+\.)+[\w-]{2,4}$", "a{b@c.fr", false),
            (r"^[\w-z]$", "`", false),
            (r"^[\s-.]+$", " -.", true),
            (r"^[+-\d]+$", "+-1", true),
            (r"^[^\d-]$", "-", false),
            (r"^\0$", "\0", true),
            (r"^\s$", "\u{feff}", true),
            (r"^\S$", "a", true),
            (r"^[[&&a]+$", "[&a", true),
            (r"^[^]$", "\n", true),
            (r"[]", "a", false),
            (r"^a\/b$", "a/b", true),
            (r"^\cJ$", "\n", true),
            (r"^\u0061$", "a", true),
            (r"^(?!secret)", "secret", false),
            (r"^(a)\1$", "aa", true),
            (r"^\p{Letter}+$", "ПЕТ", true),
            (r"^\$x$", "$x", true),
        ] {
            let pattern = Pattern::new(pattern).unwrap();
            assert_eq!(
                pattern.is_match(text),
                Some(fits),
                "{} {text:?}",
                pattern.source
            );
        }
        assert!(Pattern::new("[").is_err());
        assert!(Pattern::new("a{1000000}{1000000}").is_err());
    }
}

//! The words of serde's `rename_all`.

use proc_macro2::Span;

use crate::errors::Errors;

/// A way to write a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

const CASES: [(&str, Case); 8] = [
    ("lowercase", Case::Lower),
    ("UPPERCASE", Case::Upper),
    ("PascalCase", Case::Pascal),
    ("camelCase", Case::Camel),
    ("snake_case", Case::Snake),
    ("SCREAMING_SNAKE_CASE", Case::ScreamingSnake),
    ("kebab-case", Case::Kebab),
    ("SCREAMING-KEBAB-CASE", Case::ScreamingKebab),
];

impl Case {
    /// Reads a word of `rename_all`.
    pub(crate) fn of(word: &str, span: Span, errors: &mut Errors) -> Option<Self> {
        let found = CASES.iter().find(|(name, _)| *name == word);
        if found.is_none() {
            let words: Vec<&str> = CASES.iter().map(|(name, _)| *name).collect();
            errors.push(
                span,
                format_args!(
                    "unknown case `{word}`; expected one of `{}`",
                    words.join("`, `")
                ),
            );
        }
        found.map(|(_, case)| *case)
    }

    /// Writes the name of a variant, `LikeThis` in the source.
    pub(crate) fn variant(self, name: &str) -> String {
        match self {
            Self::Pascal => name.to_owned(),
            Self::Lower => name.to_ascii_lowercase(),
            Self::Upper => name.to_ascii_uppercase(),
            Self::Camel => first(name, |c| c.to_ascii_lowercase()),
            Self::Snake | Self::ScreamingSnake | Self::Kebab | Self::ScreamingKebab => {
                let mut snake = String::new();
                for (at, c) in name.char_indices() {
                    if at > 0 && c.is_uppercase() {
                        snake.push('_');
                    }
                    snake.push(c.to_ascii_lowercase());
                }
                self.separated(&snake)
            }
        }
    }

    /// Writes the name of a field, `like_this` in the source.
    pub(crate) fn field(self, name: &str) -> String {
        match self {
            Self::Lower | Self::Snake => name.to_owned(),
            Self::Upper => name.to_ascii_uppercase(),
            Self::Pascal => name
                .split('_')
                .map(|word| first(word, |c| c.to_ascii_uppercase()))
                .collect(),
            Self::Camel => first(&Self::Pascal.field(name), |c| c.to_ascii_lowercase()),
            Self::ScreamingSnake | Self::Kebab | Self::ScreamingKebab => self.separated(name),
        }
    }

    fn separated(self, snake: &str) -> String {
        match self {
            Self::ScreamingSnake => snake.to_ascii_uppercase(),
            Self::Kebab => snake.replace('_', "-"),
            Self::ScreamingKebab => snake.to_ascii_uppercase().replace('_', "-"),
            _ => snake.to_owned(),
        }
    }
}

fn first(word: &str, change: impl Fn(char) -> char) -> String {
    let mut chars = word.chars();
    chars.next().map(change).into_iter().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_serde_writes_them() {
        let written: Vec<_> = CASES
            .iter()
            .map(|(_, case)| (case.variant("HowFar"), case.field("how_far")))
            .collect();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            written,
            [
                pair("howfar", "how_far"),
                pair("HOWFAR", "HOW_FAR"),
                pair("HowFar", "HowFar"),
                pair("howFar", "howFar"),
                pair("how_far", "how_far"),
                pair("HOW_FAR", "HOW_FAR"),
                pair("how-far", "how-far"),
                pair("HOW-FAR", "HOW-FAR"),
            ]
        );
    }
}

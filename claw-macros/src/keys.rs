//! The grammar inside our attributes: `key`, `key = value`, `key(value, …)`, separated by commas.

use proc_macro2::Span;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Expr, ExprLit, Ident, Lit, Path, Token, parenthesized};

use crate::errors::Errors;
use crate::literal::Number;

/// One entry of an attribute.
pub(crate) struct Entry {
    pub(crate) key: Ident,
    pub(crate) value: Value,
}

/// What stands after a key.
pub(crate) enum Value {
    None,
    One(Expr),
    List(Vec<Expr>),
}

impl TryFrom<&Expr> for Entry {
    type Error = syn::Error;

    /// Reads an entry inside a list, where it has been parsed as an assignment or a path.
    fn try_from(expr: &Expr) -> syn::Result<Self> {
        let (key, value) = match expr {
            Expr::Assign(assign) => (&*assign.left, Value::One((*assign.right).clone())),
            Expr::Call(call) => (
                &*call.func,
                Value::List(call.args.iter().cloned().collect()),
            ),
            other => (other, Value::None),
        };
        match key {
            Expr::Path(path) if path.path.get_ident().is_some() => Ok(Self {
                key: path.path.require_ident()?.clone(),
                value,
            }),
            other => Err(syn::Error::new_spanned(
                other,
                "expected a name: write `name = …`",
            )),
        }
    }
}

/// All entries of an attribute.
pub(crate) struct Entries(pub(crate) Vec<Entry>);

impl Parse for Entries {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let entries = Punctuated::<Entry, Token![,]>::parse_terminated(input)?;
        Ok(Self(entries.into_iter().collect()))
    }
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key = input.call(Ident::parse_any)?;
        let value = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Value::One(input.parse()?)
        } else if input.peek(syn::token::Paren) {
            let list;
            parenthesized!(list in input);
            let list = Punctuated::<Expr, Token![,]>::parse_terminated(&list)?;
            Value::List(list.into_iter().collect())
        } else {
            Value::None
        };
        Ok(Self { key, value })
    }
}

impl Entry {
    /// Returns where the entry stands.
    pub(crate) fn span(&self) -> Span {
        self.key.span()
    }

    /// Returns where the value stands, or the key where there is none.
    pub(crate) fn value_span(&self) -> Span {
        self.one().map_or(self.span(), |value| value.span())
    }

    /// Returns the value of `key = value`.
    pub(crate) fn one(&self) -> Option<&Expr> {
        match &self.value {
            Value::One(expr) => Some(expr),
            Value::None | Value::List(_) => None,
        }
    }

    /// Reads a key that is a word of its own.
    pub(crate) fn flag(&self, errors: &mut Errors) -> bool {
        match &self.value {
            Value::None => return true,
            Value::One(Expr::Lit(ExprLit {
                lit: Lit::Bool(flag),
                ..
            })) => return flag.value,
            Value::One(_) | Value::List(_) => {}
        }
        errors.push(
            self.span(),
            format_args!("expected `{0}` alone, or `{0} = false`", self.key),
        );
        false
    }

    /// Reads `key = "text"`.
    pub(crate) fn text(&self, errors: &mut Errors) -> Option<String> {
        if let Value::One(Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        })) = &self.value
        {
            return Some(text.value());
        }
        errors.push(
            self.span(),
            format_args!("expected a string: write `{} = \"…\"`", self.key),
        );
        None
    }

    /// Reads `key("text", …)` or `key = "text"`.
    pub(crate) fn texts(&self, errors: &mut Errors) -> Vec<String> {
        let list = match &self.value {
            Value::One(one) => std::slice::from_ref(one),
            Value::List(list) => list,
            Value::None => &[],
        };
        let texts: Option<Vec<String>> = list
            .iter()
            .map(|expr| match expr {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text),
                    ..
                }) => Some(text.value()),
                _ => None,
            })
            .collect();
        match texts {
            Some(texts) if !texts.is_empty() => texts,
            _ => {
                errors.push(
                    self.span(),
                    format_args!("expected strings: write `{}(\"…\")`", self.key),
                );
                Vec::new()
            }
        }
    }

    /// Reads `key = word`, one of `words`.
    pub(crate) fn word(&self, words: &[&'static str], errors: &mut Errors) -> Option<&'static str> {
        let list = words.join("`, `");
        let Value::One(value) = &self.value else {
            errors.push(
                self.span(),
                format_args!("expected a word: write `{} = …` with `{list}`", self.key),
            );
            return None;
        };
        let word = match value {
            Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
            _ => None,
        };
        let found = words.iter().find(|known| word.as_deref() == Some(**known));
        if found.is_none() {
            errors.push_on(
                value,
                format_args!(
                    "expected one of `{list}`{}",
                    nearest(&word.unwrap_or_default(), words)
                ),
            );
        }
        found.copied()
    }

    /// Reads `key(name, …)`.
    pub(crate) fn names(&self, errors: &mut Errors) -> Vec<Ident> {
        let Value::List(list) = &self.value else {
            errors.push(
                self.span(),
                format_args!("expected parameters: write `{}(name)`", self.key),
            );
            return Vec::new();
        };
        let mut names = Vec::new();
        for expr in list {
            match expr {
                Expr::Path(path) if path.path.get_ident().is_some() => {
                    names.extend(path.path.get_ident().cloned());
                }
                other => errors.push_on(other, "expected the name of a parameter"),
            }
        }
        names
    }

    /// Reads `key(name = …, …)`.
    pub(crate) fn entries(&self, errors: &mut Errors) -> Vec<Entry> {
        let Value::List(list) = &self.value else {
            errors.push(
                self.span(),
                format_args!("expected a list: write `{}(name = …)`", self.key),
            );
            return Vec::new();
        };
        let mut entries = Vec::new();
        for expr in list {
            match Entry::try_from(expr) {
                Ok(entry) => entries.push(entry),
                Err(error) => errors.add(error),
            }
        }
        unique(&entries, errors);
        entries
    }

    /// Reads `key = path::to::function`.
    pub(crate) fn path(&self, errors: &mut Errors) -> Option<Path> {
        if let Value::One(Expr::Path(path)) = &self.value {
            return Some(path.path.clone());
        }
        errors.push(
            self.span(),
            format_args!("expected a path: write `{} = path::to::it`", self.key),
        );
        None
    }

    /// Reads `key = 5`, from 1 on.
    pub(crate) fn count(&self, errors: &mut Errors) -> Option<u32> {
        let count = match &self.value {
            Value::One(value) => match Number::of(value) {
                Some(Number::Int(int)) => u32::try_from(int).ok().filter(|count| *count > 0),
                _ => None,
            },
            Value::None | Value::List(_) => None,
        };
        if count.is_none() {
            errors.push(
                self.span(),
                format_args!(
                    "expected a whole number above zero: write `{} = 1`",
                    self.key
                ),
            );
        }
        count
    }

    /// Reports that the key is none of `known`.
    pub(crate) fn unknown(&self, known: &[&str], errors: &mut Errors) {
        errors.push(
            self.span(),
            format_args!(
                "unknown key `{}`; expected one of `{}`{}",
                self.key,
                known.join("`, `"),
                nearest(&self.key.to_string(), known)
            ),
        );
    }
}

/// Reports keys that come twice.
pub(crate) fn unique<'a>(entries: impl IntoIterator<Item = &'a Entry>, errors: &mut Errors) {
    let mut seen: Vec<&Ident> = Vec::new();
    for entry in entries {
        if seen.contains(&&entry.key) {
            errors.push(
                entry.span(),
                format_args!("`{}` is given twice; keep one", entry.key),
            );
        }
        seen.push(&entry.key);
    }
}

/// Returns `; did you mean …?` for the known word nearest to `word`, or nothing when none is near.
pub(crate) fn nearest(word: &str, known: &[&str]) -> String {
    let best = known
        .iter()
        .map(|known| (distance(word, known), known))
        .min_by_key(|(distance, _)| *distance);
    match best {
        Some((distance, known)) if distance <= known.len().div_ceil(3) && !word.is_empty() => {
            format!("; did you mean `{known}`?")
        }
        _ => String::new(),
    }
}

/// Returns the edit distance of two words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = (diagonal + usize::from(x != *y))
                .min(row[j] + 1)
                .min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], cost);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_key_finds_the_declared_one() {
        assert_eq!(
            nearest("timout", &["name", "timeout"]),
            "; did you mean `timeout`?"
        );
        assert_eq!(nearest("colour", &["name", "timeout"]), "");
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}

//! `#[arg(…)]`: what is said about one parameter or field.

use proc_macro2::Span;
use syn::{Attribute, Expr};

use crate::errors::Errors;
use crate::keys::{self, Entries, Entry, Value};
use crate::literal::{Number, Range};

const KEYS: &[&str] = &[
    "coerce",
    "default",
    "range",
    "len",
    "multiple_of",
    "one_of",
    "rename",
    "alias",
    "description",
    "secret",
];

/// What `#[arg(…)]` says.
#[derive(Default)]
pub(crate) struct Arg {
    pub(crate) coerce: Option<&'static str>,
    pub(crate) rename: Option<(Span, String)>,
    pub(crate) aliases: Vec<String>,
    pub(crate) default: Option<Default>,
    pub(crate) range: Option<(Span, Range)>,
    pub(crate) len: Option<(Span, Option<usize>, Option<usize>)>,
    pub(crate) multiple_of: Option<(Span, u64)>,
    pub(crate) one_of: Option<(Span, Vec<String>)>,
    pub(crate) description: Option<String>,
    pub(crate) secret: bool,
}

/// What stands in for a missing argument.
pub(crate) enum Default {
    /// The type's own default.
    OfType(Span),
    /// A value.
    Value(Expr),
}

impl Arg {
    /// Reads and removes every `#[arg(…)]` of `attrs`.
    pub(crate) fn take(attrs: &mut Vec<Attribute>, errors: &mut Errors) -> Self {
        let mut arg = Self::default();
        let mut entries = Vec::new();
        attrs.retain(|attr| {
            if !attr.path().is_ident("arg") {
                return true;
            }
            match attr.parse_args::<Entries>() {
                Ok(found) => entries.extend(found.0),
                Err(error) => errors.add(error),
            }
            false
        });
        keys::unique(&entries, errors);
        for entry in &entries {
            arg.read(entry, errors);
        }
        arg.check(errors);
        arg
    }

    fn read(&mut self, entry: &Entry, errors: &mut Errors) {
        let at = entry.span();
        match entry.key.to_string().as_str() {
            "coerce" => self.coerce = entry.word(&["strict", "safe", "lenient"], errors),
            "default" => match &entry.value {
                Value::None => self.default = Some(Default::OfType(at)),
                Value::One(value) => self.default = Some(Default::Value(value.clone())),
                Value::List(_) => errors.push(at, "expected a value: write `default = …`"),
            },
            "range" => match one(entry).and_then(Range::of) {
                Some(range) if range.is_empty() => {
                    errors.push(at, "no number is in this range; put the smaller one first");
                }
                Some(range) => self.range = Some((at, range)),
                None => errors.push(
                    at,
                    "expected a range of literal numbers: write `range = 1..=100`",
                ),
            },
            "len" => {
                let exact = one(entry).and_then(Number::of);
                let range = match exact {
                    Some(number) => Some(Range {
                        min: Some(number),
                        max: Some(number),
                        below_max: false,
                    }),
                    None => one(entry).and_then(Range::of),
                };
                match range.and_then(Range::counts) {
                    Some((min, max)) if min.unwrap_or(0) <= max.unwrap_or(usize::MAX) => {
                        self.len = Some((at, min, max));
                    }
                    Some(_) => errors.push(at, "no length is in this range"),
                    None => {
                        errors.push(at, "expected a range of lengths: write `len = 1..=80`");
                    }
                }
            }
            "multiple_of" => match one(entry).and_then(Number::of) {
                Some(Number::Int(int)) if int > 0 && u64::try_from(int).is_ok() => {
                    self.multiple_of = u64::try_from(int).ok().map(|step| (at, step));
                }
                _ => errors.push(
                    at,
                    "expected a whole number above zero: write `multiple_of = 5`",
                ),
            },
            "one_of" => self.one_of = Some((at, entry.texts(errors))),
            "rename" => self.rename = entry.text(errors).map(|name| (at, name)),
            "alias" => self.aliases = entry.texts(errors),
            "description" => self.description = entry.text(errors),
            "secret" => self.secret = entry.flag(errors),
            _ => entry.unknown(KEYS, errors),
        }
    }

    /// Checks a literal default against the declared bounds.
    fn check(&self, errors: &mut Errors) {
        let Some(Default::Value(value)) = &self.default else {
            return;
        };
        if let (Some(number), Some((_, range))) = (Number::of(value), self.range)
            && !range.holds(number)
        {
            errors.push_on(value, "the default is outside the declared `range`");
        }
        if let (Some(Number::Int(int)), Some((_, step))) = (Number::of(value), self.multiple_of)
            && int % i128::from(step) != 0
        {
            errors.push_on(value, format_args!("the default is no multiple of {step}"));
        }
        let Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) = value
        else {
            return;
        };
        if let Some((_, min, max)) = self.len {
            let count = text.value().chars().count();
            if count < min.unwrap_or(0) || count > max.unwrap_or(usize::MAX) {
                errors.push_on(value, "the default is outside the declared `len`");
            }
        }
        if let Some((_, texts)) = &self.one_of
            && !texts.contains(&text.value())
        {
            errors.push_on(value, "the default is not in `one_of`");
        }
    }
}

fn one(entry: &Entry) -> Option<&Expr> {
    match &entry.value {
        Value::One(expr) => Some(expr),
        Value::None | Value::List(_) => None,
    }
}

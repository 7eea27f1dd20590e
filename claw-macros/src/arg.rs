//! `#[arg(…)]`: what is said about one parameter or field.

use proc_macro2::Span;
use syn::{Attribute, Expr};

use crate::errors::Errors;
use crate::keys::{self, Entries, Entry, Value};
use crate::literal::Literal;
use crate::rules::{self, Rules};

const KEYS: &[&str] = &[
    "coerce",
    "default",
    "example",
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
    pub(crate) example: Option<Expr>,
    pub(crate) rules: Rules,
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
            "example" => match &entry.value {
                Value::One(value) => self.example = Some(value.clone()),
                Value::None | Value::List(_) => {
                    errors.push(at, "expected a value: write `example = …`");
                }
            },
            "rename" => self.rename = entry.text(errors).map(|name| (at, name)),
            "alias" => self.aliases = entry.texts(errors),
            "description" => self.description = entry.text(errors),
            "secret" => self.secret = entry.flag(errors),
            _ => {
                if !self.rules.read(entry, errors) {
                    let known: Vec<&str> = KEYS.iter().chain(rules::KEYS).copied().collect();
                    entry.unknown(&known, errors);
                }
            }
        }
    }

    /// Checks literals against the rules that are known here.
    fn check(&self, errors: &mut Errors) {
        let default = match &self.default {
            Some(Default::Value(value)) => Some(value),
            _ => None,
        };
        for (what, value) in [("default", default), ("example", self.example.as_ref())] {
            if let Some(value) = value
                && let Some(literal) = Literal::of(value)
                && let Some(fault) = self.rules.fault(&literal)
            {
                errors.push_on(value, format_args!("the {what} {fault}"));
            }
        }
    }
}

//! The grammar of `#[tool(…)]`.

use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream};
use syn::{Expr, Path};

use crate::errors::Errors;
use crate::keys::{self, Entries, Entry, Value};
use crate::literal::duration;

const KEYS: &[&str] = &[
    "name",
    "title",
    "description",
    "group",
    "effect",
    "destructive",
    "timeout",
    "blocking",
    "parallel",
    "approve",
    "reads",
    "writes",
    "net",
    "secrets",
    "coerce",
    "crate",
];

/// What `#[tool(…)]` says.
#[derive(Default)]
pub(crate) struct Attr {
    pub(crate) name: Option<(Span, String)>,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) effect: Option<(Span, &'static str)>,
    pub(crate) destructive: Option<Span>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) blocking: Option<Span>,
    pub(crate) parallel: bool,
    pub(crate) approve: Option<&'static str>,
    pub(crate) reads: Vec<Ident>,
    pub(crate) writes: Vec<Ident>,
    pub(crate) net: Vec<Ident>,
    pub(crate) secrets: Vec<String>,
    pub(crate) coerce: Option<&'static str>,
    pub(crate) krate: Option<Path>,
}

impl Attr {
    /// Reads the attribute; what cannot be read is reported and left out.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut attr = Self::default();
        match syn::parse2::<Entries>(tokens) {
            Ok(entries) => {
                keys::unique(&entries.0, errors);
                for entry in &entries.0 {
                    attr.read(entry, errors);
                }
            }
            Err(error) => errors.add(error),
        }
        attr
    }

    fn read(&mut self, entry: &Entry, errors: &mut Errors) {
        let at = entry.span();
        match entry.key.to_string().as_str() {
            "name" => self.name = entry.text(errors).map(|name| (at, name)),
            "title" => self.title = entry.text(errors),
            "description" => self.description = entry.text(errors),
            "group" => self.group = entry.text(errors),
            "effect" => {
                self.effect = entry
                    .word(&["pure", "read", "idempotent", "once"], errors)
                    .map(|word| (at, word));
            }
            "destructive" => self.destructive = entry.flag(errors).then_some(at),
            "timeout" => {
                let text = entry.text(errors);
                self.timeout = text.as_deref().and_then(duration);
                if text.is_some() && self.timeout.is_none_or(|timeout| timeout.is_zero()) {
                    errors.push(
                        at,
                        "expected a span of time: write `timeout = \"10s\"`, with `ms`, `s`, `m` or `h`",
                    );
                }
            }
            "blocking" => self.blocking = entry.flag(errors).then_some(at),
            "parallel" => self.parallel = entry.flag(errors),
            "approve" => self.approve = entry.word(&["never", "ask", "always"], errors),
            "reads" => self.reads = entry.names(errors),
            "writes" => self.writes = entry.names(errors),
            "net" => self.net = entry.names(errors),
            "secrets" => self.secrets = entry.texts(errors),
            "coerce" => self.coerce = entry.word(&["strict", "safe", "lenient"], errors),
            "crate" => match &entry.value {
                Value::One(Expr::Path(path)) => self.krate = Some(path.path.clone()),
                _ => errors.push(at, "expected a path: write `crate = ::claw`"),
            },
            _ => entry.unknown(KEYS, errors),
        }
    }
}

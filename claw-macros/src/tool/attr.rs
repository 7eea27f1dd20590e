//! The grammar of `#[tool(…)]`.

use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream};
use syn::ext::IdentExt as _;
use syn::{Expr, Path};

use crate::errors::Errors;
use crate::keys::{self, Entries, Entry, Value};
use crate::literal::{Literal, duration, quoted};

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
    "open_world",
    "poll",
    "hidden",
    "stream",
    "reconcile",
    "max_output",
    "alias",
    "tags",
    "version",
    "meta",
    "example",
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
    pub(crate) approve: Option<Approve>,
    pub(crate) reads: Vec<Ident>,
    pub(crate) writes: Vec<Ident>,
    pub(crate) net: Vec<Ident>,
    pub(crate) secrets: Vec<String>,
    pub(crate) coerce: Option<&'static str>,
    pub(crate) open_world: Option<Span>,
    pub(crate) poll: Option<Span>,
    pub(crate) hidden: bool,
    pub(crate) stream: Option<Span>,
    pub(crate) reconcile: Option<Path>,
    pub(crate) max_output: Option<u32>,
    pub(crate) aliases: Option<(Span, Vec<String>)>,
    pub(crate) tags: Vec<String>,
    pub(crate) version: Option<u32>,
    /// A JSON object.
    pub(crate) meta: Option<String>,
    pub(crate) examples: Vec<(Span, Vec<Entry>)>,
    pub(crate) krate: Option<Path>,
}

/// Who says whether a call asks.
pub(crate) enum Approve {
    Word(&'static str),
    /// A function.
    When(Path),
}

impl Attr {
    /// Reads the attribute; what cannot be read is reported and left out.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut attr = Self::default();
        match syn::parse2::<Entries>(tokens) {
            Ok(entries) => {
                keys::unique(
                    entries.0.iter().filter(|entry| entry.key != "example"),
                    errors,
                );
                for entry in &entries.0 {
                    attr.read(entry, errors);
                }
            }
            Err(error) => errors.add(error),
        }
        attr
    }

    /// Takes over what stands on the block around a method, where the method says nothing.
    pub(crate) fn inherit(
        &mut self,
        group: Option<&Entry>,
        krate: Option<&Entry>,
        errors: &mut Errors,
    ) {
        for entry in group
            .filter(|_| self.group.is_none())
            .into_iter()
            .chain(krate)
        {
            self.read(entry, errors);
        }
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
            "approve" => self.approve = approve(entry, errors),
            "reads" => self.reads = entry.names(errors),
            "writes" => self.writes = entry.names(errors),
            "net" => self.net = entry.names(errors),
            "secrets" => self.secrets = entry.texts(errors),
            "coerce" => self.coerce = entry.word(&["strict", "safe", "lenient"], errors),
            "open_world" => self.open_world = entry.flag(errors).then_some(at),
            "poll" => self.poll = entry.flag(errors).then_some(at),
            "hidden" => self.hidden = entry.flag(errors),
            "stream" => self.stream = entry.flag(errors).then_some(at),
            "reconcile" => self.reconcile = entry.path(errors),
            "max_output" => self.max_output = entry.count(errors),
            "alias" => self.aliases = Some((at, entry.texts(errors))),
            "tags" => self.tags = entry.texts(errors),
            "version" => self.version = entry.count(errors),
            "meta" => self.meta = meta(entry, errors),
            "example" => self.examples.push((at, entry.entries(errors))),
            "crate" => match &entry.value {
                Value::One(Expr::Path(path)) => self.krate = Some(path.path.clone()),
                _ => errors.push(at, "expected a path: write `crate = ::claw`"),
            },
            _ => entry.unknown(KEYS, errors),
        }
    }
}

/// Reads a word or the path of a predicate. Words come first; a predicate of such a name is `self::ask`.
fn approve(entry: &Entry, errors: &mut Errors) -> Option<Approve> {
    const WORDS: &[&str] = &["never", "ask", "always"];
    let Value::One(value) = &entry.value else {
        errors.push(
            entry.span(),
            "expected who decides: write `approve = ask`, or `never`, `always`, or the path of a function",
        );
        return None;
    };
    let Expr::Path(path) = value else {
        errors.push_on(
            value,
            "expected `never`, `ask`, `always`, or the path of a `fn(&ToolCall, &Value) -> Approve`",
        );
        return None;
    };
    let Some(word) = path.path.get_ident().map(ToString::to_string) else {
        return Some(Approve::When(path.path.clone()));
    };
    if let Some(known) = WORDS.iter().find(|known| **known == word) {
        return Some(Approve::Word(known));
    }
    let near = keys::nearest(&word, WORDS);
    if near.is_empty() {
        return Some(Approve::When(path.path.clone()));
    }
    errors.push_on(
        path,
        format_args!("expected one of `never`, `ask`, `always`{near} A function of that name is `self::{word}`"),
    );
    None
}

/// Reads `meta(key = literal, …)` as a JSON object.
fn meta(entry: &Entry, errors: &mut Errors) -> Option<String> {
    let mut members = Vec::new();
    for member in entry.entries(errors) {
        let json = match &member.value {
            Value::None => Some("true".to_owned()),
            Value::One(value) => Literal::of(value).map(|literal| literal.json()),
            Value::List(_) => None,
        };
        match json {
            Some(json) => members.push(format!("{}:{json}", quoted(&member.key.unraw().to_string()))),
            None => errors.push(
                member.span(),
                format_args!(
                    "expected a literal: write `{0} = \"…\"`, `{0} = 5`, `{0} = [1, 2]` or `{0}` alone",
                    member.key
                ),
            ),
        }
    }
    (!members.is_empty()).then(|| format!("{{{}}}", members.join(",")))
}

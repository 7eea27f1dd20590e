//! The serde attributes that the derive reads. One it does not know would make schema and serde disagree, so it is
//! refused.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Attribute, Expr, Path};

use super::case::Case;
use crate::arg::{Arg, Default as Preset};
use crate::errors::Errors;
use crate::keys::{self, Entries, Entry, Value};
use crate::property::located;

/// What stands on the type.
#[derive(Default)]
pub(crate) struct Container {
    pub(crate) rename_all: Option<Case>,
    pub(crate) rename_all_fields: Option<Case>,
    pub(crate) rename_all_fields_at: Option<Span>,
    pub(crate) tag: Option<(Span, String)>,
    pub(crate) content: Option<(Span, String)>,
    pub(crate) untagged: Option<Span>,
    pub(crate) transparent: Option<Span>,
    pub(crate) default: Option<Span>,
    krate: Option<Path>,
}

/// What stands on a variant.
#[derive(Default)]
pub(crate) struct Variant {
    pub(crate) rename: Option<String>,
    pub(crate) rename_all: Option<Case>,
    pub(crate) aliases: Vec<String>,
    pub(crate) skip: bool,
}

impl Container {
    /// Reads `#[serde(…)]` and `#[tool_input(…)]` on the type.
    pub(crate) fn take(attrs: &[Attribute], errors: &mut Errors) -> Self {
        const KEYS: &[&str] = &[
            "rename_all",
            "rename_all_fields",
            "tag",
            "content",
            "untagged",
            "transparent",
            "default",
            "deny_unknown_fields",
        ];
        let mut container = Self::default();
        for entry in serde(attrs, errors) {
            match entry.key.to_string().as_str() {
                "rename_all" => container.rename_all = case(&entry, errors),
                "rename_all_fields" => {
                    container.rename_all_fields = case(&entry, errors);
                    container.rename_all_fields_at = Some(entry.span());
                }
                "untagged" if entry.flag(errors) => container.untagged = Some(entry.span()),
                "transparent" if entry.flag(errors) => container.transparent = Some(entry.span()),
                "default" if matches!(entry.value, Value::None) => {
                    container.default = Some(entry.span());
                }
                "default" => errors.push(
                    entry.span(),
                    "expected `default` alone: implement `Default`, or give fields their own",
                ),
                "untagged" | "transparent" => {}
                "tag" => container.tag = entry.text(errors).map(|tag| (entry.span(), tag)),
                "content" => {
                    container.content = entry.text(errors).map(|name| (entry.span(), name));
                }
                // Unknown fields are refused anyway; the others are about the derives of serde.
                "deny_unknown_fields" | "crate" | "rename" => {}
                _ => refuse(&entry, KEYS, errors),
            }
        }
        if let (Some((span, _)), Some(_)) = (&container.tag, container.untagged) {
            errors.push(*span, "`untagged` and `tag` exclude each other; keep one");
        } else if let Some((span, _)) = &container.content
            && container.tag.is_none()
        {
            errors.push(
                *span,
                "`content` needs `tag`: write `tag = \"type\"` beside it",
            );
        }
        for entry in ours(attrs, errors) {
            match (entry.key.to_string().as_str(), &entry.value) {
                ("crate", Value::One(Expr::Path(path))) => {
                    container.krate = Some(path.path.clone())
                }
                ("crate", _) => {
                    errors.push(entry.span(), "expected a path: write `crate = ::claw`");
                }
                _ => entry.unknown(&["crate"], errors),
            }
        }
        container
    }

    /// Returns the path of what expansions name.
    pub(crate) fn private(&self) -> TokenStream {
        match &self.krate {
            // Not where it was written: lints would take the expansion for the user's code.
            Some(path) => located(&quote!(#path::__private), Span::call_site()),
            None => quote!(::claw::__private),
        }
    }
}

impl Variant {
    /// Reads `#[serde(…)]` on a variant.
    pub(crate) fn take(attrs: &[Attribute], errors: &mut Errors) -> Self {
        const KEYS: &[&str] = &["rename", "rename_all", "alias", "skip"];
        let mut variant = Self::default();
        for entry in serde(attrs, errors) {
            match entry.key.to_string().as_str() {
                "rename" => variant.rename = entry.text(errors),
                "rename_all" => variant.rename_all = case(&entry, errors),
                "alias" => variant.aliases.extend(entry.text(errors)),
                "skip" | "skip_deserializing" => variant.skip = true,
                "skip_serializing" => {}
                _ => refuse(&entry, KEYS, errors),
            }
        }
        variant
    }
}

/// What serde's attributes say of a field besides its name and default.
#[derive(Default)]
pub(crate) struct Field {
    pub(crate) skip: bool,
    pub(crate) flatten: Option<Span>,
}

/// Reads `#[serde(…)]` on a field; names and default go into what `#[arg]` said, which wins.
pub(crate) fn field(attrs: &[Attribute], arg: &mut Arg, errors: &mut Errors) -> Field {
    const KEYS: &[&str] = &["rename", "default", "alias", "skip", "flatten"];
    let mut field = Field::default();
    for entry in serde(attrs, errors) {
        match entry.key.to_string().as_str() {
            "rename" => {
                let name = entry.text(errors).map(|name| (entry.span(), name));
                arg.rename = arg.rename.take().or(name);
            }
            "alias" => arg.aliases.extend(entry.text(errors)),
            "default" => {
                let preset = match &entry.value {
                    Value::None => Some(Preset::OfType(entry.span())),
                    _ => entry
                        .text(errors)
                        .and_then(|path| call(&path, &entry, errors)),
                };
                arg.default = arg.default.take().or(preset);
            }
            "skip" | "skip_deserializing" => field.skip = entry.flag(errors),
            "flatten" => field.flatten = entry.flag(errors).then(|| entry.span()),
            "skip_serializing" | "skip_serializing_if" => {}
            _ => refuse(&entry, KEYS, errors),
        }
    }
    field
}

/// Refuses `#[arg]` where no value is.
pub(crate) fn no_arg(attrs: &[Attribute], errors: &mut Errors) {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("arg")) {
        errors.push_on(attr, "`#[arg]` is about a field; put it on one");
    }
}

/// Returns the call of the function that serde names by a string.
fn call(path: &str, entry: &Entry, errors: &mut Errors) -> Option<Preset> {
    match syn::parse_str::<Path>(path) {
        Ok(path) => Some(Preset::Value(syn::parse_quote!(#path()))),
        Err(_) => {
            errors.push(
                entry.span(),
                format_args!("expected the path of a function, found `{path}`"),
            );
            None
        }
    }
}

fn serde(attrs: &[Attribute], errors: &mut Errors) -> Vec<Entry> {
    let entries = named(attrs, "serde", errors);
    // `alias` may come more than once.
    let mut at = 0;
    while at < entries.len() {
        let key = &entries[at].key;
        if key != "alias" && entries[..at].iter().any(|earlier| earlier.key == *key) {
            errors.push(key.span(), format_args!("`{key}` is given twice; keep one"));
        }
        at += 1;
    }
    entries
}

fn ours(attrs: &[Attribute], errors: &mut Errors) -> Vec<Entry> {
    let entries = named(attrs, "tool_input", errors);
    keys::unique(&entries, errors);
    entries
}

fn named(attrs: &[Attribute], name: &str, errors: &mut Errors) -> Vec<Entry> {
    let mut entries = Vec::new();
    for attr in attrs.iter().filter(|attr| attr.path().is_ident(name)) {
        match attr.parse_args::<Entries>() {
            Ok(found) => entries.extend(found.0),
            Err(error) => errors.add(error),
        }
    }
    entries
}

fn case(entry: &Entry, errors: &mut Errors) -> Option<Case> {
    let word = entry.text(errors)?;
    Case::of(&word, entry.span(), errors)
}

fn refuse(entry: &Entry, known: &[&str], errors: &mut Errors) {
    errors.push(
        entry.span(),
        format_args!(
            "`ToolInput` does not read serde's `{}`, only `{}`{}; or let serde read the type: derive `Deserialize` and schemars' `JsonSchema` in place of `ToolInput`",
            entry.key,
            known.join("`, `"),
            keys::nearest(&entry.key.to_string(), known)
        ),
    );
}

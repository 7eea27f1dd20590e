//! Doc comments as descriptions.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

use crate::errors::Errors;

/// Returns the doc comment of `attrs` with its lines joined, without the common leading space; empty when there is none.
pub(crate) fn text(attrs: &[Attribute], errors: &mut Errors) -> String {
    let mut lines: Vec<String> = Vec::new();
    for attr in attrs.iter().filter(|attr| is_doc(attr)) {
        match &attr.meta {
            Meta::NameValue(meta) => match &meta.value {
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text),
                    ..
                }) => lines.extend(text.value().lines().map(clean)),
                other => errors.push_on(
                    other,
                    "expected a string: a description must be known here; write it as a `///` comment or as `description = \"…\"`",
                ),
            },
            // `#[doc(hidden)]` and its like are no text.
            Meta::Path(_) | Meta::List(_) => {}
        }
    }
    lines.join("\n").trim().to_owned()
}

/// Tells whether `attr` is a doc comment.
pub(crate) fn is_doc(attr: &Attribute) -> bool {
    attr.path().is_ident("doc")
}

fn clean(line: &str) -> String {
    line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
}

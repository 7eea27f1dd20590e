//! Rules over the type; gathers every error.

use proc_macro2::{Span, TokenStream};
use syn::Member;

use super::attr::Container;
use super::model::{Body, Form, Tagging, Variant};
use crate::arg::Arg;
use crate::errors::Errors;
use crate::property::{self, Property};

/// Checks what a struct or variant holds.
pub(super) fn body(body: &Body, errors: &mut Errors) {
    if body.form == Form::Members {
        let properties: Vec<&Property> = body.properties().collect();
        property::check(&properties, "field", errors);
        return;
    }
    for property in body.properties() {
        let said: [(bool, &str); 5] = [
            (property.arg.default.is_some(), "default"),
            (property.arg.example.is_some(), "example"),
            (property.arg.rename.is_some(), "rename"),
            (!property.arg.aliases.is_empty(), "alias"),
            (property.arg.secret, "secret"),
        ];
        for (_, key) in said.iter().filter(|(said, _)| *said) {
            errors.push(
                property.span,
                format_args!("`{key}` needs a field with a name; name it, or remove `{key}`"),
            );
        }
    }
}

/// Checks a flattened field, of which `arg` says more.
pub(super) fn flat(span: Span, arg: &Arg, member: &Member, errors: &mut Errors) {
    if let Member::Unnamed(_) = member {
        errors.push(span, "`flatten` needs a field with a name");
    }
    let says_more = arg.default.is_some()
        || arg.rename.is_some()
        || !arg.aliases.is_empty()
        || arg.example.is_some()
        || arg.rules.bounds(&TokenStream::new()).is_some()
        || arg.secret;
    if says_more {
        errors.push(
            span,
            "a flattened field is not on the wire, only its members are; say this of them",
        );
    }
}

/// Refuses on a struct what tells variants apart.
pub(super) fn no_tagging(container: &Container, errors: &mut Errors) {
    let spans = container
        .tag
        .iter()
        .chain(&container.content)
        .map(|(span, _)| span)
        .chain(&container.untagged)
        .chain(&container.rename_all_fields_at);
    for span in spans {
        errors.push(*span, "a struct has no variants; remove this");
    }
}

/// Refuses on an enum what is about a struct.
pub(super) fn no_struct_words(container: &Container, errors: &mut Errors) {
    for span in container.default.iter().chain(&container.transparent) {
        errors.push(
            *span,
            "this is about the fields of a struct; an enum has none",
        );
    }
}

/// Checks the variants of an enum.
pub(super) fn union(tagging: &Tagging, variants: &[Variant], errors: &mut Errors) {
    if let Tagging::Untagged = tagging {
        for variant in variants {
            if !variant.aliases.is_empty() {
                errors.push(
                    variant.ident.span(),
                    "the name of an untagged variant is never read; remove its `alias`",
                );
            }
        }
        return;
    }
    names(variants, errors);
    if let Tagging::Adjacent(tag, content) = tagging
        && tag == content
        && let Some(first) = variants.first()
    {
        errors.push(
            first.ident.span(),
            format_args!("`tag` and `content` are both `{tag}`; rename one"),
        );
    }
    if let (Tagging::Internal(tag) | Tagging::Adjacent(tag, _), Some(first)) =
        (tagging, variants.first())
    {
        let content = match tagging {
            Tagging::Adjacent(_, content) => Some(content),
            _ => None,
        };
        for name in content.into_iter().chain([tag]) {
            portable(name, first, errors);
        }
    }
    for variant in variants {
        if let Tagging::Internal(tag) = tagging {
            internal(tag, variant, errors);
        }
        if let (Tagging::External, false) = (tagging, variant.body.form == Form::Unit) {
            for name in variant.names() {
                portable(name, variant, errors);
            }
        }
    }
}

/// Refuses the name of a member that some provider does not take, at the variant that brings it.
fn portable(name: &str, variant: &Variant, errors: &mut Errors) {
    if !property::is_member(name) {
        errors.push(
            variant.ident.span(),
            format_args!(
                "not every provider takes `{name}` as the name of a member; use at most 64 letters, digits and `_`, not starting with a digit"
            ),
        );
    }
}

fn internal(tag: &str, variant: &Variant, errors: &mut Errors) {
    if variant.body.form == Form::Places {
        errors.push(
            variant.ident.span(),
            "with `tag` the fields stand beside the tag and need names; name them, or add `content = \"…\"`",
        );
    }
    for field in variant.body.properties() {
        if variant.body.form == Form::Members
            && (field.name == tag || field.arg.aliases.iter().any(|alias| alias == tag))
        {
            errors.push(
                field.span,
                format_args!("a field cannot be named as the tag `{tag}`"),
            );
        }
    }
    if variant.body.wire().count() == property::MOST
        && let Some((last, _)) = variant.body.wire().last()
    {
        errors.push(last.span, "the tag is one field too many");
    }
}

/// Refuses two variants of one name.
pub(super) fn names(variants: &[Variant], errors: &mut Errors) {
    for (at, variant) in variants.iter().enumerate() {
        for name in variant.names() {
            let taken = variants[..at]
                .iter()
                .any(|earlier| earlier.names().any(|taken| taken == name));
            if taken {
                errors.push(
                    variant.ident.span(),
                    format_args!("two variants are named `{name}`; rename one"),
                );
            }
        }
    }
}

//! Rules over the model; every breach is reported.

use syn::GenericParam;
use syn::ext::IdentExt as _;

use super::borrow;
use super::model::Tool;
use crate::errors::Errors;
use crate::keys::nearest;
use crate::literal::Literal;
use crate::property;

/// Checks a tool against the rules that need no type system.
pub(crate) fn check(tool: &Tool, errors: &mut Errors) {
    name_and_description(tool, errors);
    signature(tool, errors);
    references(tool, errors);
    effects(tool, errors);
    named_parameters(tool, errors);
    aliases(tool, errors);
    examples(tool, errors);
    let properties: Vec<_> = tool.parameters.iter().map(|p| &p.property).collect();
    property::check(&properties, "parameter", errors);
}

fn name_and_description(tool: &Tool, errors: &mut Errors) {
    let name = tool.name();
    if !property::is_name(&name) {
        let span = tool
            .attr
            .name
            .as_ref()
            .map_or(tool.ident.span(), |(span, _)| *span);
        errors.push(
            span,
            format_args!(
                "no provider takes `{name}` as the name of a tool; use at most 64 letters, digits, `_`, `-`, not starting with a digit"
            ),
        );
    }
    if tool.description().is_empty() {
        errors.push(
            tool.ident.span(),
            format_args!(
                "tool `{name}` has no description: a model needs one to choose it; write a `///` comment"
            ),
        );
    }
}

fn signature(tool: &Tool, errors: &mut Errors) {
    for parameter in &tool.generics.params {
        match parameter {
            GenericParam::Lifetime(_) => {}
            GenericParam::Type(_) | GenericParam::Const(_) => errors.push_on(
                parameter,
                "a tool cannot be generic: a schema needs types; write one function a type",
            ),
        }
    }
    if let Some(span) = tool.is_unsafe {
        errors.push(
            span,
            "a tool cannot be `unsafe`: a model calls it with whatever it likes",
        );
    }
}

fn references(tool: &Tool, errors: &mut Errors) {
    let parameters = tool.parameters.iter().filter(|parameter| !parameter.state);
    for span in parameters.filter_map(|parameter| borrow::unread(&parameter.property.ty)) {
        errors.push(
            span,
            "borrowed text is read as `&str`, `Option<&str>` or `Vec<&str>`, not within other types; take it by value: `String` for `&str`",
        );
    }
}

fn effects(tool: &Tool, errors: &mut Errors) {
    let attr = &tool.attr;
    let effect = tool.effect();
    if let Some(span) = attr.blocking {
        if tool.is_async {
            errors.push(
                span,
                "an `async` function cannot be `blocking`; remove one, or await `spawn_blocking` inside",
            );
        } else if effect == "pure" {
            errors.push(
                span,
                "a `pure` function does not block; declare `effect = read`",
            );
        }
    }
    let harmless = matches!(effect, "pure" | "read");
    if harmless {
        if let Some(span) = attr.destructive {
            errors.push(
                span,
                format_args!("`effect = {effect}` destroys nothing; remove `destructive`, or declare `effect = once`"),
            );
        }
        if let Some(written) = attr.writes.first() {
            errors.push(
                written.span(),
                format_args!("`effect = {effect}` writes nothing; declare `effect = idempotent` or `effect = once`"),
            );
        }
    }
    if let Some(span) = attr.poll
        && !harmless
    {
        errors.push(
            span,
            format_args!("`poll` says that the call may be repeated; declare `effect = read` instead of `{effect}`"),
        );
    }
    if let Some(path) = &attr.reconcile
        && harmless
    {
        errors.push_on(
            path,
            format_args!(
                "a call with `effect = {effect}` is simply made again; remove `reconcile`"
            ),
        );
    }
    if let Some(span) = attr.open_world
        && effect == "pure"
    {
        errors.push(
            span,
            "`effect = pure` reaches nothing; declare `effect = read`",
        );
    }
    if let Some(span) = attr.stream
        && attr.blocking.is_some()
    {
        errors.push(
            span,
            "a stream is awaited, so it cannot be `blocking`; remove one",
        );
    }
    if effect == "pure"
        && let Some(reached) = attr.reads.first().or(attr.net.first())
    {
        errors.push(
            reached.span(),
            "`effect = pure` looks at nothing but its arguments; declare `effect = read`",
        );
    }
}

fn named_parameters(tool: &Tool, errors: &mut Errors) {
    let attr = &tool.attr;
    let known: Vec<String> = tool
        .parameters
        .iter()
        .map(|p| p.ident.to_string())
        .collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    for ident in attr.reads.iter().chain(&attr.writes).chain(&attr.net) {
        if tool.parameter(ident).is_none() && !tool.faulty.contains(ident) {
            errors.push(
                ident.span(),
                format_args!(
                    "no parameter is named `{ident}`{}",
                    nearest(&ident.to_string(), &known)
                ),
            );
        }
    }
}

fn aliases(tool: &Tool, errors: &mut Errors) {
    let Some((span, aliases)) = &tool.attr.aliases else {
        return;
    };
    for (at, alias) in aliases.iter().enumerate() {
        if !property::is_name(alias) {
            errors.push(
                *span,
                format_args!("`{alias}` cannot be the name of a tool; use at most 64 letters, digits, `_`, `-`"),
            );
        }
        if *alias == tool.name() || aliases[..at].contains(alias) {
            errors.push(
                *span,
                format_args!("`{alias}` names the tool already; remove it"),
            );
        }
    }
}

/// Examples name parameters, all that a call must bring, and literals keep to the rules.
fn examples(tool: &Tool, errors: &mut Errors) {
    let known: Vec<String> = tool
        .parameters
        .iter()
        .map(|parameter| parameter.ident.unraw().to_string())
        .collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    for entry in tool.attr.examples.iter().flat_map(|(_, entries)| entries) {
        let Some(parameter) = tool.parameter(&entry.key) else {
            if !tool.faulty.contains(&entry.key) {
                errors.push(
                    entry.span(),
                    format_args!(
                        "no parameter is named `{}`{}",
                        entry.key,
                        nearest(&entry.key.to_string(), &known)
                    ),
                );
            }
            continue;
        };
        let Some(value) = entry.one() else {
            errors.push(
                entry.span(),
                format_args!("expected a value: write `{} = …`", entry.key),
            );
            continue;
        };
        if let Some(literal) = Literal::of(value)
            && let Some(fault) = parameter.property.arg.rules.fault(&literal)
        {
            errors.push_on(value, format_args!("the example {fault}"));
        }
    }
}

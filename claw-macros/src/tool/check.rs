//! Rules over the model; every breach is reported.

use syn::GenericParam;

use super::model::Tool;
use crate::errors::Errors;
use crate::keys::nearest;
use crate::property;

/// Checks a tool against the rules that need no type system.
pub(crate) fn check(tool: &Tool, errors: &mut Errors) {
    name_and_description(tool, errors);
    signature(tool, errors);
    effects(tool, errors);
    named_parameters(tool, errors);
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
        if tool.parameter(ident).is_none() {
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

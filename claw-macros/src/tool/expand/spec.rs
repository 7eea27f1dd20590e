//! The declaration: only what was declared is written, on top of the careful defaults.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::ext::IdentExt as _;

use super::super::attr::Approve;
use super::super::model::Tool;

/// Returns the tokens of the `Spec`.
pub(super) fn spec(tool: &Tool, p: &TokenStream) -> TokenStream {
    let attr = &tool.attr;
    let (name, description) = (tool.name(), tool.description());
    let title = attr.title.as_deref().unwrap_or_default();
    let group = attr.group.as_deref().unwrap_or_default();
    let mut out = quote!(let mut spec = #p::Spec::declared([#name, #title, #description, #group]););
    let mut set = |field: &str, value: TokenStream| {
        let field = Ident::new(field, Span::mixed_site());
        out.extend(quote!(spec.#field = #value;));
    };
    let some = |value: TokenStream| quote!(::core::option::Option::Some(#value));
    let flags = [
        ("destructive", attr.destructive.is_some()),
        ("blocking", attr.blocking.is_some()),
        ("parallel", attr.parallel),
        ("open_world", attr.open_world.is_some()),
        ("poll", attr.poll.is_some()),
        ("hidden", attr.hidden),
    ];
    if let Some((_, effect)) = attr.effect {
        set("effect", word(p, "Effect", effect));
    }
    for (name, _) in flags.into_iter().filter(|(_, is_set)| *is_set) {
        set(name, quote!(true));
    }
    if let Some(timeout) = attr.timeout {
        let millis = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        set(
            "timeout",
            some(quote!(::core::time::Duration::from_millis(#millis))),
        );
    }
    match &attr.approve {
        Some(Approve::Word(approve)) => set("approve", word(p, "Approve", approve)),
        Some(Approve::When(path)) => set("approve", quote!(#p::Approve::When(#path))),
        None => {}
    }
    for (field, idents) in [
        ("reads", &attr.reads),
        ("writes", &attr.writes),
        ("net", &attr.net),
    ] {
        let names: Vec<String> = idents.iter().map(|ident| wire(tool, ident)).collect();
        if !names.is_empty() {
            set(field, quote!(&[#(#names),*]));
        }
    }
    let secret: Vec<&String> = tool
        .parameters
        .iter()
        .filter(|parameter| parameter.property.arg.secret)
        .map(|parameter| &parameter.property.name)
        .collect();
    if !secret.is_empty() {
        set("secret", quote!(&[#(#secret),*]));
    }
    let aliases = attr.aliases.as_ref().map(|(_, aliases)| aliases.as_slice());
    for (field, texts) in [
        ("secrets", attr.secrets.as_slice()),
        ("tags", &attr.tags),
        ("aliases", aliases.unwrap_or_default()),
    ] {
        if !texts.is_empty() {
            set(field, quote!(&[#(#texts),*]));
        }
    }
    if let Some(coerce) = attr.coerce {
        set("coerce", some(word(p, "Coerce", coerce)));
    }
    if let Some(most) = attr.max_output {
        set("max_output", some(quote!(#most as usize)));
    }
    if let Some(version) = attr.version {
        set("version", quote!(#version));
    }
    if let Some(meta) = &attr.meta {
        set("meta", quote!(#meta));
    }
    quote!({
        #[allow(unused_mut)]
        #out
        spec
    })
}

/// Returns the function that finds out what became of a call.
pub(super) fn reconcile(tool: &Tool, p: &TokenStream) -> TokenStream {
    match &tool.attr.reconcile {
        Some(path) => quote!(::core::option::Option::Some(
            |ctx: &#p::ToolContext, arguments: &#p::serde_json::Value| {
                ::std::boxed::Box::pin(#path(ctx, arguments))
            }
        )),
        None => quote!(::core::option::Option::None),
    }
}

fn word(p: &TokenStream, ty: &str, word: &str) -> TokenStream {
    let variant = word[..1].to_uppercase() + &word[1..];
    let [ty, variant] = [ty, &variant].map(|name| Ident::new(name, Span::mixed_site()));
    quote!(#p::#ty::#variant)
}

/// Returns the name on the wire of the parameter `ident`.
fn wire(tool: &Tool, ident: &Ident) -> String {
    match tool.parameter(ident) {
        Some(parameter) => parameter.property.name.clone(),
        None => ident.unraw().to_string(),
    }
}

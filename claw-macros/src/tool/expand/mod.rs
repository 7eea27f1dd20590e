//! Model to tokens; decides nothing.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{ItemFn, Type};

use super::model::{Parameter, Tool, is_opaque};
use crate::keys::Entry;
use crate::property::{Property, elided, located, slots};

mod spec;

/// Returns the function, its hidden type, its registration and its test.
pub(crate) fn tool(function: &ItemFn, tool: &Tool) -> TokenStream {
    let p = tool.private();
    let ident = &tool.ident;
    let hidden = hidden(tool);
    let target = quote!(#p::ToolDef for #ident);
    let register = quote! {
        #[#p::linkme::distributed_slice(#p::__CLAW_TOOLS_V1)]
        #[linkme(crate = #p::linkme)]
        static __ENTRY: #p::ToolEntry = <#ident as #p::ToolDef>::ENTRY;
    };
    let entry = entry(tool, &target, &register, &p);
    let test = needs_test(tool).then(|| {
        let name = format_ident!("{}_keeps_to_its_own_schema", ident.unraw());
        test(&name, &quote!([<#ident as #p::ToolDef>::ENTRY]), tool, &p)
    });
    quote! {
        #function
        #hidden
        #entry
        #test
    }
}

/// Returns the entry of the method at place `at` of a `#[tools] impl`.
pub(crate) fn method(tool: &Tool, owner: &Type, at: usize) -> TokenStream {
    let p = tool.private();
    entry(
        tool,
        &quote!(#p::Method<#at> for #owner),
        &TokenStream::new(),
        &p,
    )
}

/// Tells whether a default or an example can only be held against the whole schema by a test.
pub(crate) fn needs_test(tool: &Tool) -> bool {
    let properties = || tool.parameters.iter().map(|parameter| &parameter.property);
    !tool.attr.examples.is_empty() || properties().any(Property::needs_test)
}

/// Returns the test that holds defaults and examples against the schema.
pub(crate) fn test(
    name: &Ident,
    entries: &TokenStream,
    tool: &Tool,
    p: &TokenStream,
) -> TokenStream {
    let cfgs = &tool.cfgs;
    quote! {
        #(#cfgs)*
        #[cfg(test)]
        #[doc(hidden)]
        #[allow(non_snake_case, unnameable_test_items, dead_code)]
        #[test]
        fn #name() {
            static __ENTRIES: &[#p::ToolEntry] = &#entries;
            #p::check(__ENTRIES);
        }
    }
}

/// Returns the block with the tables, the shim and the entry of a tool, which implements `target`.
fn entry(
    tool: &Tool,
    target: &TokenStream,
    register: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let (ident, cfgs) = (&tool.ident, &tool.cfgs);
    let rows = tool
        .parameters
        .iter()
        .map(|parameter| parameter.property.row(p));
    let assertions = assertions(tool, p);
    let promises = promises(tool, p);
    let shim = shim(tool, p);
    let spec = spec::spec(tool, p);
    let examples = examples(tool, p);
    let output = output(tool, p);
    let reconcile = spec::reconcile(tool, p);
    let is_sync = !tool.is_async && tool.attr.stream.is_none();
    let line = quote_spanned!(ident.span()=> ::core::line!());
    quote! {
        #(#cfgs)*
        const _: () = {
            #[allow(unused_imports)]
            use #p::{Otherwise as _, ViaSchemars as _, Whole as _};
            static __PROPERTIES: &[#p::Property] = &[#(#rows),*];
            #assertions
            #promises
            #shim
            impl #target {
                const ENTRY: #p::ToolEntry = #p::ToolEntry {
                    spec: #spec,
                    properties: __PROPERTIES,
                    examples: &[#(#examples),*],
                    output: #output,
                    is_sync: #is_sync,
                    shim,
                    reconcile: #reconcile,
                    origin: #p::Origin {
                        package: ::core::env!("CARGO_PKG_NAME"),
                        module: ::core::module_path!(),
                        file: ::core::file!(),
                        line: #line,
                    },
                };
            }
            #register
        };
    }
}

/// Returns the function, its hidden type and the faults.
pub(crate) fn stub(function: &ItemFn, tool: &Tool, errors: &TokenStream) -> TokenStream {
    let p = tool.private();
    let (ident, cfgs) = (&tool.ident, &tool.cfgs);
    // A method outside of `#[tools]`: nothing but functions may stand beside it.
    if tool.owner.is_none() && function.sig.receiver().is_some() {
        return quote!(#function #errors);
    }
    let hidden = hidden(tool);
    let assertions = assertions(tool, &p);
    quote! {
        #function
        #hidden
        #errors
        #(#cfgs)*
        const _: () = {
            #[allow(unused_imports)]
            use #p::ViaSchemars as _;
            #assertions
            impl #p::ToolDef for #ident {
                const ENTRY: #p::ToolEntry = #p::ToolEntry::sentinel();
            }
        };
    }
}

/// Returns the type that `tools![path::to::function]` names.
fn hidden(tool: &Tool) -> TokenStream {
    let (ident, vis, cfgs) = (&tool.ident, &tool.vis, &tool.cfgs);
    quote! {
        #(#cfgs)*
        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code)]
        #vis enum #ident {}
    }
}

fn assertions(tool: &Tool, p: &TokenStream) -> TokenStream {
    tool.parameters
        .iter()
        .flat_map(|parameter| {
            let property = &parameter.property;
            let constraints = property.constraints(p);
            [
                quote!(#(const _: () = #constraints;)*),
                property.described(p),
            ]
        })
        .collect()
}

/// Returns the assertions about literals of examples and about the whole signature; only for a tool without faults.
fn promises(tool: &Tool, p: &TokenStream) -> TokenStream {
    let properties = tool.parameters.iter().map(|parameter| &parameter.property);
    let mut out: TokenStream = properties
        .flat_map(|property| property.literals(p).into_iter().chain(property.nesting(p)))
        .map(|assertion| quote!(const _: () = #assertion;))
        .collect();
    for (span, entries) in &tool.attr.examples {
        for entry in entries {
            if let (Some(parameter), Some(value)) = (tool.parameter(&entry.key), entry.one()) {
                let fits = parameter.property.fits(value, "example", p);
                out.extend(fits.map(|fits| quote!(const _: () = #fits;)));
            }
        }
        for parameter in &tool.parameters {
            let given = entries.iter().any(|entry| entry.key == parameter.ident);
            let property = &parameter.property;
            if given || parameter.state || property.arg.default.is_some() {
                continue;
            }
            let via = property.via(p);
            let message = format!(
                "the example lacks `{}`, which a call must bring",
                property.name
            );
            out.extend(quote_spanned! {*span=>
                const _: () = ::core::assert!(#p::may_lack(#via.source), #message);
            });
        }
    }
    let bare =
        |parameter: &&Parameter| !parameter.state && parameter.property.description.is_none();
    let bare: Vec<&Parameter> = tool.parameters.iter().filter(bare).collect();
    if let [_, .., last] = bare.as_slice() {
        let sources = bare.iter().map(|parameter| {
            let via = parameter.property.via(p);
            quote!(#via.source)
        });
        out.extend(quote_spanned! {last.property.span=>
            const _: () = ::core::assert!(
                #p::contexts(&[#(#sources),*]) <= 1,
                "a call has one context; take it once",
            );
        });
    }
    out
}

/// Returns the rows of the table of examples.
fn examples(tool: &Tool, p: &TokenStream) -> Vec<TokenStream> {
    let example = |(_, entries): &(Span, Vec<Entry>)| {
        let arguments = entries.iter().filter_map(|entry| {
            let property = &tool.parameter(&entry.key)?.property;
            let (name, preset) = (&property.name, property.preset(entry.one()?, p));
            Some(quote!((#name, #preset)))
        });
        quote!(&[#(#arguments),*])
    };
    tool.attr.examples.iter().map(example).collect()
}

/// Returns the function that tells the schema of results.
fn output(tool: &Tool, p: &TokenStream) -> TokenStream {
    let none = quote!(|| ::core::option::Option::None);
    match &tool.output {
        Some(ty) if tool.attr.stream.is_none() && !is_opaque(ty) => {
            let ty = elided(ty);
            quote!(|| {
                use #p::Told as _;
                (&&&&&&#p::Returns::<#ty>::new()).schema()
            })
        }
        _ => none,
    }
}

/// Returns the function that reads arguments and calls the tool.
fn shim(tool: &Tool, p: &TokenStream) -> TokenStream {
    let ident = match (&tool.ident, &tool.owner) {
        (ident, None) => quote!(#ident),
        (ident, Some(owner)) => quote_spanned!(ident.span()=> <#owner>::#ident),
    };
    let [given, ctx, text, early] =
        ["given", "ctx", "text", "early"].map(|name| Ident::new(name, Span::mixed_site()));
    let slots = slots(tool.parameters.iter().map(|parameter| &parameter.property));
    let each = || tool.parameters.iter().zip(&slots);
    let make = each().map(|(parameter, slot)| parameter.property.slot(p, slot));
    let fill = each().map(|(parameter, slot)| parameter.property.fill(p, slot));
    let places = each().map(|(parameter, slot)| {
        let span = syn::spanned::Spanned::span(&parameter.property.ty);
        quote_spanned!(span=> &mut #slot)
    });
    let arguments = each().map(|(parameter, slot)| {
        let span = syn::spanned::Spanned::span(&parameter.property.ty);
        let taken = quote_spanned!(span=> #slot.take(#ctx));
        if parameter.state {
            quote!(#taken.0)
        } else {
            taken
        }
    });
    let mut call = quote!(#ident(#(#arguments),*));
    if tool.is_async {
        call = quote!(#call.await);
    }
    let future = |body: TokenStream| {
        // The span is what a future that is not `Send` is reported at.
        let span = tool.ident.span();
        let boxed = Ident::new("Box", span);
        quote_spanned!(span=> #p::Prepared::Future(::std::boxed::#boxed::pin(async move { #body })))
    };
    let run = if tool.attr.stream.is_some() {
        let items =
            quote_spanned!(tool.returns=> #p::Returned(#call).split().map_err(#p::failure)?);
        let item = Ident::new("item", Span::mixed_site());
        let body = body(tool, p, &quote!(#item));
        future(quote_spanned!(tool.returns=> #p::stream(#ctx, #items, |#item| { #body }).await))
    } else if tool.is_async {
        future(body(tool, p, &call))
    } else {
        let body = body(tool, p, &call);
        quote!(#p::Prepared::Done({ #body }))
    };
    quote! {
        fn shim<'a>(
            #given: ::core::option::Option<&'a #p::ToolContext>,
            #text: &'a str,
        ) -> ::core::result::Result<#p::Prepared<'a>, #p::Reject> {
            #(#make)*
            let #ctx = match #p::begin(#given, #text, __PROPERTIES, &mut [#(#places),*]) {
                ::core::result::Result::Ok(#ctx) => #ctx,
                ::core::result::Result::Err(#early) => return #early,
            };
            #(#fill)*
            ::core::result::Result::Ok(#run)
        }
    }
}

/// Returns the conversion of what `call` returns.
fn body(tool: &Tool, p: &TokenStream, call: &TokenStream) -> TokenStream {
    // Located where the type of the result stands: that is what a result that cannot be converted is reported at.
    let here = located(p, tool.returns);
    let result = Ident::new("result", Span::mixed_site().located_at(tool.returns));
    quote_spanned! {tool.returns=>
        let #result = #here::Returned(#call).split().map_err(#here::failure);
        #here::convert(#here::out(&#result).form(), #result)
    }
}

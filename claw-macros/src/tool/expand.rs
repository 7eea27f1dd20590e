//! Model to tokens; decides nothing.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ItemFn;
use syn::ext::IdentExt as _;

use super::model::Tool;
use crate::property::slots;

/// Returns the function, its hidden type, and its registration.
pub(crate) fn tool(function: &ItemFn, tool: &Tool) -> TokenStream {
    let p = tool.private();
    let (ident, cfgs) = (&tool.ident, &tool.cfgs);
    let hidden = hidden(tool);
    let rows = tool
        .parameters
        .iter()
        .map(|parameter| parameter.property.row(&p));
    let assertions = assertions(tool, &p);
    let shim = shim(tool, &p);
    let spec = spec(tool, &p);
    let is_sync = !tool.is_async;
    let line = quote_spanned!(ident.span()=> ::core::line!());
    quote! {
        #function
        #hidden
        #(#cfgs)*
        const _: () = {
            #[allow(unused_imports)]
            use #p::{Otherwise as _, ViaSchemars as _, Whole as _};
            static __PROPERTIES: &[#p::Property] = &[#(#rows),*];
            #assertions
            #shim
            impl #p::ToolDef for #ident {
                const ENTRY: #p::ToolEntry = #p::ToolEntry {
                    spec: #spec,
                    properties: __PROPERTIES,
                    is_sync: #is_sync,
                    shim,
                    origin: #p::Origin {
                        package: ::core::env!("CARGO_PKG_NAME"),
                        module: ::core::module_path!(),
                        file: ::core::file!(),
                        line: #line,
                    },
                };
            }
            #[#p::linkme::distributed_slice(#p::__CLAW_TOOLS_V1)]
            #[linkme(crate = #p::linkme)]
            static __ENTRY: #p::ToolEntry = <#ident as #p::ToolDef>::ENTRY;
        };
    }
}

/// Returns the function, its hidden type and the faults.
pub(crate) fn stub(function: &ItemFn, tool: &Tool, errors: &TokenStream) -> TokenStream {
    let p = tool.private();
    let (ident, cfgs) = (&tool.ident, &tool.cfgs);
    let hidden = hidden(tool);
    let assertions = assertions(tool, &p);
    let spec = spec(tool, &p);
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
                const ENTRY: #p::ToolEntry = #p::ToolEntry {
                    spec: #spec,
                    properties: &[],
                    is_sync: true,
                    shim: |_, _| ::core::result::Result::Ok(#p::Prepared::Checked),
                    origin: #p::Origin { package: "", module: "", file: "", line: 0 },
                };
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
            [property.constraints(p), property.described(p)]
        })
        .collect()
}

/// Returns the function that reads arguments and calls the tool.
fn shim(tool: &Tool, p: &TokenStream) -> TokenStream {
    let ident = &tool.ident;
    let [ctx, text] = ["ctx", "text"].map(|name| Ident::new(name, Span::mixed_site()));
    let slots = slots(tool.parameters.iter().map(|parameter| &parameter.property));
    let each = || tool.parameters.iter().zip(&slots);
    let make = each().map(|(parameter, slot)| parameter.property.slot(p, slot));
    let fill = each().map(|(parameter, slot)| parameter.property.fill(p, slot));
    let places = each().map(|(parameter, slot)| {
        let span = syn::spanned::Spanned::span(&parameter.property.ty);
        quote_spanned!(span=> &mut #slot)
    });
    let arguments = each().map(|(parameter, slot)| {
        let via = parameter.property.via(p);
        let span = syn::spanned::Spanned::span(&parameter.property.ty);
        let taken = quote_spanned!(span=> (#via.take)(&mut #slot, #ctx)?);
        if parameter.state {
            quote!(#taken.0)
        } else {
            taken
        }
    });
    let call = quote!(#ident(#(#arguments),*));
    let run = if tool.is_async {
        // The span is what a future that is not `Send` is reported at.
        let boxed = Ident::new("Box", ident.span());
        let body = body(tool, p, &quote!(#call.await));
        quote_spanned!(ident.span()=> #p::Prepared::Future(::std::boxed::#boxed::pin(async move { #body })))
    } else {
        let body = body(tool, p, &call);
        quote!(#p::Prepared::Done((move || { #body })()))
    };
    quote! {
        fn shim<'a>(
            #ctx: ::core::option::Option<&'a #p::ToolContext>,
            #text: &'a str,
        ) -> ::core::result::Result<#p::Prepared<'a>, #p::Reject> {
            #(#make)*
            #p::parse(#text, __PROPERTIES, &mut [#(#places),*])?;
            #(#fill)*
            let ::core::option::Option::Some(#ctx) = #ctx else {
                return ::core::result::Result::Ok(#p::Prepared::Checked);
            };
            ::core::result::Result::Ok(#run)
        }
    }
}

fn body(tool: &Tool, p: &TokenStream, call: &TokenStream) -> TokenStream {
    // Located where the type of the result stands: that is what a result that cannot be converted is reported at.
    let value = Ident::new("value", Span::mixed_site().located_at(tool.returns));
    let split = quote_spanned!(tool.returns=> #p::Returned(#call).split().map_err(|error| #p::failure(error))?);
    let convert = quote_spanned!(tool.returns=> #p::convert(#value.form(), #value.0));
    quote! {
        let #value = #p::Out(#split);
        #convert
    }
}

fn spec(tool: &Tool, p: &TokenStream) -> TokenStream {
    let attr = &tool.attr;
    let text = |text: &str| quote!(::std::borrow::Cow::Borrowed(#text));
    let word = |ty: &str, word: &str| {
        let variant = word[..1].to_uppercase() + &word[1..];
        let [ty, variant] = [ty, &variant].map(|name| Ident::new(name, Span::mixed_site()));
        quote!(#p::#ty::#variant)
    };
    let name = text(&tool.name());
    let title = text(attr.title.as_deref().unwrap_or_default());
    let description = text(tool.description());
    let group = text(attr.group.as_deref().unwrap_or_default());
    let effect = word("Effect", tool.effect());
    let destructive = attr.destructive.is_some();
    let timeout = match attr.timeout.map(|timeout| timeout.as_millis()) {
        Some(millis) => {
            let millis = u64::try_from(millis).unwrap_or(u64::MAX);
            quote!(::core::option::Option::Some(::core::time::Duration::from_millis(#millis)))
        }
        None => quote!(::core::option::Option::None),
    };
    let blocking = attr.blocking.is_some();
    let parallel = attr.parallel;
    let approve = word("Approve", attr.approve.unwrap_or("policy"));
    let wire = |idents: &[Ident]| {
        let names: Vec<String> = idents
            .iter()
            .map(|ident| match tool.parameter(ident) {
                Some(parameter) => parameter.property.name.clone(),
                None => ident.unraw().to_string(),
            })
            .collect();
        quote!(&[#(#names),*])
    };
    let (reads, writes, net) = (wire(&attr.reads), wire(&attr.writes), wire(&attr.net));
    let secret = tool
        .parameters
        .iter()
        .filter(|parameter| parameter.property.arg.secret)
        .map(|parameter| &parameter.property.name);
    let secrets = &attr.secrets;
    let coerce = match attr.coerce {
        Some(coerce) => {
            let coerce = word("Coerce", coerce);
            quote!(::core::option::Option::Some(#coerce))
        }
        None => quote!(::core::option::Option::None),
    };
    quote! {
        #p::Spec {
            name: #name,
            title: #title,
            description: #description,
            group: #group,
            effect: #effect,
            destructive: #destructive,
            timeout: #timeout,
            blocking: #blocking,
            parallel: #parallel,
            approve: #approve,
            reads: #reads,
            writes: #writes,
            net: #net,
            secret: &[#(#secret),*],
            secrets: &[#(#secrets),*],
            coerce: #coerce,
        }
    }
}

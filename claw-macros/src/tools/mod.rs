//! `#[tools]` on an `impl` block: its `#[tool]` methods become the tools of the type, which is their state.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::spanned::Spanned as _;
use syn::{Attribute, ImplItem, ImplItemFn, ItemFn, ItemImpl, Meta, Type, Visibility};

use crate::errors::Errors;
use crate::keys::{self, Entries, Entry};
use crate::property::located;
use crate::tool::attr::Attr;
use crate::tool::check::check;
use crate::tool::expand as out;
use crate::tool::model::Tool;

const KEYS: &[&str] = &["group", "crate"];

/// Expands the attribute. Whatever is wrong, the block itself is emitted, and a stub of what names its tools.
pub(crate) fn expand(attr: TokenStream, item: TokenStream) -> TokenStream {
    let mut block: ItemImpl = match syn::parse2(item.clone()) {
        Ok(block) => block,
        Err(error) => {
            let error = syn::Error::new(
                error.span(),
                format!("expected an `impl` block: `#[tools]` stands on one ({error})"),
            )
            .into_compile_error();
            return quote!(#item #error);
        }
    };
    let mut errors = Errors::default();
    let said = Said::parse(attr, &mut errors);
    signature(&block, &mut errors);
    let owner = block.self_ty.as_ref().clone();
    let mut tools = Vec::new();
    for item in &mut block.items {
        match item {
            ImplItem::Fn(method) => tools.extend(tool(method, &owner, &said, &mut errors)),
            ImplItem::Macro(call) => errors.push_on(
                &call.mac.path,
                "a macro call hides its methods from `#[tools]`: write them out, or put them in another `impl` block",
            ),
            _ => {}
        }
    }
    if tools.is_empty() && errors.is_empty() {
        errors.push(
            owner.span(),
            "no method has `#[tool]`: write it on those that a model may call",
        );
    }
    let p = said.private();
    match errors.into_tokens() {
        None => {
            let list = list(&owner, &tools, &p);
            let methods = tools
                .iter()
                .enumerate()
                .map(|(at, tool)| out::method(tool, &owner, at));
            quote!(#block #(#methods)* #list)
        }
        Some(errors) => {
            let stub = (block.trait_.is_none() && block.generics.params.is_empty()).then(|| {
                quote! {
                    impl #p::Tools for #owner {
                        const TOOLS: &'static [#p::ToolEntry] = &[];
                    }
                }
            });
            quote!(#block #errors #stub)
        }
    }
}

/// What `#[tools(…)]` says: what holds for every tool that does not say otherwise.
struct Said {
    group: Option<Entry>,
    krate: Option<Entry>,
    private: TokenStream,
}

impl Said {
    fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut said = Self {
            group: None,
            krate: None,
            private: quote!(::claw::__private),
        };
        let entries = match syn::parse2::<Entries>(tokens) {
            Ok(entries) => entries.0,
            Err(error) => {
                errors.add(error);
                return said;
            }
        };
        keys::unique(&entries, errors);
        for entry in entries {
            match entry.key.to_string().as_str() {
                "group" => {
                    if entry.text(errors).is_some() {
                        said.group = Some(entry);
                    }
                }
                "crate" => {
                    if let Some(path) = entry.path(errors) {
                        said.private = located(&quote!(#path::__private), Span::call_site());
                        said.krate = Some(entry);
                    }
                }
                _ => entry.unknown(KEYS, errors),
            }
        }
        said
    }

    fn private(&self) -> TokenStream {
        self.private.clone()
    }
}

fn signature(block: &ItemImpl, errors: &mut Errors) {
    if let Some((path, _)) = &block.trait_ {
        errors.push_on(
            path,
            "`#[tools]` stands on an `impl` block of the type itself, not on one of a trait",
        );
    }
    for parameter in &block.generics.params {
        errors.push_on(
            parameter,
            "a generic type has no one list of tools; write the block for the type that is used",
        );
    }
}

/// Takes `#[tool]` off a method and reads it; `None` where there is none.
fn tool(method: &mut ImplItemFn, owner: &Type, said: &Said, errors: &mut Errors) -> Option<Tool> {
    let at = method.attrs.iter().position(is_tool)?;
    let attribute = method.attrs.remove(at);
    let tokens = match attribute.meta {
        Meta::List(list) => list.tokens,
        Meta::Path(_) | Meta::NameValue(_) => TokenStream::new(),
    };
    let mut attr = Attr::parse(tokens, errors);
    attr.inherit(said.group.as_ref(), said.krate.as_ref(), errors);
    let function = ItemFn {
        attrs: method.attrs.clone(),
        vis: Visibility::Inherited,
        modifiers: syn::FnModifiers::default(),
        sig: method.sig.clone(),
        block: Box::new(method.block.clone()),
    };
    let (function, tool) = Tool::of(function, attr, Some(owner.clone()), errors);
    check(&tool, errors);
    method.attrs = function.attrs;
    method.sig = function.sig;
    Some(tool)
}

/// Tells whether an attribute is `#[tool]`, by whatever path.
fn is_tool(attr: &Attribute) -> bool {
    attr.path()
        .segments
        .last()
        .is_some_and(|segment| segment.ident == "tool")
}

/// Returns the list of the type's tools, and its test.
fn list(owner: &Type, tools: &[Tool], p: &TokenStream) -> TokenStream {
    let entries = tools.iter().enumerate().map(|(at, tool)| {
        let cfgs = &tool.cfgs;
        quote!(#(#cfgs)* <#owner as #p::Method<#at>>::ENTRY)
    });
    let test = tools.iter().find(|tool| out::needs_test(tool)).map(|tool| {
        let name = format_ident!("{}_and_others_keep_to_their_own_schema", tool.ident);
        quote! {
            #[cfg(test)]
            #[doc(hidden)]
            #[allow(non_snake_case, unnameable_test_items, dead_code)]
            #[test]
            fn #name() {
                #p::check(<#owner as #p::Tools>::TOOLS);
            }
        }
    });
    quote! {
        impl #owner {
            /// The tools of this type.
            #[allow(unreachable_pub, dead_code)]
            pub const TOOLS: &'static [#p::ToolEntry] = &[#(#entries),*];
        }
        impl #p::Tools for #owner {
            const TOOLS: &'static [#p::ToolEntry] = <#owner>::TOOLS;
        }
        #test
    }
}

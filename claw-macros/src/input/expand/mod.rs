//! Model to tokens; decides nothing.

mod body;
mod union;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::Generics;
use syn::spanned::Spanned as _;

use self::body::{node, reader, table};
use super::model::{Body, Form, Input, Shape, Variant};
use crate::property::Property;

/// What an implementation consists of.
struct Parts {
    node: TokenStream,
    read: TokenStream,
    /// More items of the implementation.
    items: TokenStream,
    /// Other implementations: trait, and items.
    also: Option<(TokenStream, TokenStream)>,
}

/// Returns the implementation.
pub(crate) fn input(input: &Input, p: &TokenStream) -> TokenStream {
    let bodies: Vec<&Body> = match &input.shape {
        Shape::Struct(body) => vec![body],
        Shape::Words(variants) | Shape::Union(_, variants) => {
            variants.iter().map(|variant| &variant.body).collect()
        }
    };
    let parts = match &input.shape {
        Shape::Struct(body) => structure(body, p),
        Shape::Words(variants) => words(variants, p),
        Shape::Union(tagging, variants) => union::parts(tagging, variants, p),
    };
    let plain = input.generics.params.is_empty();
    let this = if plain {
        input.ident.to_token_stream()
    } else {
        quote!(Self)
    };
    let mut assertions: Vec<TokenStream> = bodies
        .iter()
        .flat_map(|body| body.properties())
        .flat_map(|property| [property.constraints(p), property.literals(p)])
        .flatten()
        .collect();
    assertions.extend(match &input.shape {
        Shape::Struct(body) => apart(body, &quote!(<#this as #p::Flatten>::FLAT.fields), p),
        Shape::Words(_) => Vec::new(),
        Shape::Union(tagging, variants) => union::apart_each(tagging, variants, &this, p),
    });
    // What is asserted of a type parameter is known where it is read; of other types, at once.
    let (outside, inside) = if plain {
        (quote!(#(const _: () = #assertions;)*), None)
    } else {
        (TokenStream::new(), Some(quote!(#(const { #assertions };)*)))
    };
    let Parts {
        node,
        read,
        items,
        also,
    } = parts;
    let node = match &input.shape {
        Shape::Words(_) => node,
        Shape::Struct(_) | Shape::Union(..) => named(&input.ident, &node, p),
    };
    let this = implementing(input, p);
    let read = quote!(#inside #read);
    let main = this(
        &quote!(#p::ToolInput),
        &with_reader(&node, &read, &items, p),
    );
    let also = also.map(|(name, items)| this(&name, &items));
    quote! {
        const _: () = {
            #[allow(unused_imports)]
            use #p::ViaSchemars as _;
            #outside
            #main
            #also
        };
    }
}

/// Returns an implementation that is never used, for a type with faults.
pub(crate) fn stub(input: &Input, p: &TokenStream) -> TokenStream {
    let cursor = cursor();
    let node = quote!(#p::Node::new(#p::Kind::Any));
    let read = quote!(::core::result::Result::Err(#cursor.reject("a type that does not compile")));
    let this = implementing(input, p);
    let main = this(
        &quote!(#p::ToolInput),
        &with_reader(&node, &read, &TokenStream::new(), p),
    );
    let flat = match &input.shape {
        Shape::Struct(Body {
            form: Form::Members,
            ..
        }) => {
            let none = quote!(::core::option::Option::None);
            this(&quote!(#p::Flatten), &flat(&quote!(&[]), &none, p))
        }
        _ => TokenStream::new(),
    };
    quote!(#main #flat)
}

/// Returns the function that wraps items in an implementation of a trait.
fn implementing<'a>(
    input: &'a Input,
    p: &TokenStream,
) -> impl Fn(&TokenStream, &TokenStream) -> TokenStream + 'a {
    let generics = bounded(&input.generics, p);
    move |name, items| {
        let ident = &input.ident;
        let (parameters, arguments, conditions) = generics.split_for_impl();
        quote! {
            #[automatically_derived]
            impl #parameters #name for #ident #arguments #conditions {
                #items
            }
        }
    }
}

/// Asks of every type parameter that it is an argument too.
fn bounded(generics: &Generics, p: &TokenStream) -> Generics {
    let mut generics = generics.clone();
    let parameters: Vec<Ident> = generics
        .type_params()
        .map(|parameter| parameter.ident.clone())
        .collect();
    if !parameters.is_empty() {
        let conditions = generics.make_where_clause();
        for ident in parameters {
            conditions
                .predicates
                .push(syn::parse_quote!(#ident: #p::ToolInput + 'static));
        }
    }
    generics
}

fn with_reader(
    node: &TokenStream,
    read: &TokenStream,
    items: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let cursor = cursor();
    quote! {
        const NODE: &'static #p::Node = &#node;

        fn read(#cursor: &mut #p::Cursor<'_>) -> ::core::result::Result<Self, #p::Reject> {
            #read
        }

        #items
    }
}

fn flat(fields: &TokenStream, rest: &TokenStream, p: &TokenStream) -> TokenStream {
    quote! {
        const FLAT: &'static #p::Flat = &#p::Flat { fields: #fields, rest: #rest };
    }
}

fn cursor() -> Ident {
    Ident::new("cursor", Span::mixed_site())
}

/// Wraps a node, so that the type may contain itself.
fn named(ident: &Ident, node: &TokenStream, p: &TokenStream) -> TokenStream {
    let name = ident.to_string();
    quote! {
        #p::Node::new(#p::Kind::Named(&#p::Named {
            name: #name,
            id: ::core::any::TypeId::of::<Self>,
            node: || const { &#node },
        }))
    }
}

fn structure(body: &Body, p: &TokenStream) -> Parts {
    let this = quote!(Self);
    if body.form != Form::Members {
        return Parts {
            node: node(body, p),
            read: reader(body, &this, &TokenStream::new(), p),
            items: TokenStream::new(),
            also: None,
        };
    }
    let fields = quote!(<Self as #p::Flatten>::FLAT.fields);
    let table = table(body, &TokenStream::new(), p);
    let none = quote!(::core::option::Option::None);
    Parts {
        node: quote!(#p::Node::new(#p::Kind::Object(#fields))),
        read: reader(body, &this, &fields, p),
        items: TokenStream::new(),
        also: Some((quote!(#p::Flatten), flat(&table, &none, p))),
    }
}

/// Returns the assertions that members which come together stay apart; `fields` is the expression that gives them.
fn apart(body: &Body, fields: &TokenStream, p: &TokenStream) -> Vec<TokenStream> {
    let flat = body.wire().filter(|(_, flat)| *flat);
    match flat.last() {
        Some((last, _)) => apart_at(last, fields, p),
        None => Vec::new(),
    }
}

/// Returns the same where it is known that `last` is flattened.
fn apart_at(last: &Property, fields: &TokenStream, p: &TokenStream) -> Vec<TokenStream> {
    let span = last.ty.span();
    let twice = "a member of this type is declared beside it too; rename one of the two";
    let maps = "two maps are flattened into one object; keep one";
    vec![
        quote_spanned!(span=> ::core::assert!(#p::distinct(#fields), #twice)),
        quote_spanned!(span=> ::core::assert!(#p::rests(#fields) < 2, #maps)),
    ]
}

fn words(variants: &[Variant], p: &TokenStream) -> Parts {
    let cursor = cursor();
    let names = variants.iter().map(|variant| &variant.name);
    let aliases = variants.iter().flat_map(|variant| &variant.aliases);
    let arms = variants.iter().map(|variant| {
        let (ident, names) = (&variant.ident, variant.names());
        quote!(#(#names)|* => ::core::result::Result::Ok(Self::#ident),)
    });
    let back = variants.iter().map(|variant| {
        let (ident, name) = (&variant.ident, &variant.name);
        quote!(Self::#ident { .. } => #name,)
    });
    let read = quote! {
        let start = #cursor.position();
        let word = #cursor.string()?;
        match &*word {
            #(#arms)*
            _ => ::core::result::Result::Err(#p::unknown_word(#cursor, start)),
        }
    };
    let json = quote! {
        fn to_json(&self) -> ::core::option::Option<#p::serde_json::Value> {
            #[allow(unreachable_patterns)]
            let word = match self { #(#back)* _ => return ::core::option::Option::None };
            ::core::option::Option::Some(#p::serde_json::Value::from(word))
        }
    };
    let node = quote! {
        #p::Node::new(#p::Kind::Words(#p::Words { shown: &[#(#names),*], aliases: &[#(#aliases),*] }))
    };
    Parts {
        node,
        read,
        items: json,
        also: None,
    }
}

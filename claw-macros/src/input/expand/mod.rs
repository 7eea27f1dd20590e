//! Model to tokens; decides nothing.

mod body;
mod union;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::Generics;
use syn::spanned::Spanned as _;

use self::body::{node, reader, table};
use super::model::{Body, Form, Input, Shape, Variant};

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
    let assertions: TokenStream = bodies
        .iter()
        .flat_map(|body| body.properties())
        .map(|property| property.constraints(p))
        .collect();
    let generic = input.generics.type_params().next().is_some();
    // What is asserted of a type parameter is known where it is named; of other types, at once.
    let (outside, inside) = if generic {
        (TokenStream::new(), assertions)
    } else {
        (assertions, TokenStream::new())
    };
    let parts = match &input.shape {
        Shape::Struct(body) => structure(body, inside, p),
        Shape::Words(variants) => words(variants, p),
        Shape::Union(tagging, variants) => union::parts(tagging, variants, &inside, p),
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

fn structure(body: &Body, assertions: TokenStream, p: &TokenStream) -> Parts {
    let this = quote!(Self);
    if body.form != Form::Members {
        let node = node(body, p);
        let node = if assertions.is_empty() {
            node
        } else {
            quote!({ #assertions #node })
        };
        return Parts {
            node,
            read: reader(body, &this, &TokenStream::new(), p),
            items: TokenStream::new(),
            also: None,
        };
    }
    let fields = quote!(<Self as #p::Flatten>::FLAT.fields);
    let table = table(body, &TokenStream::new(), p);
    let none = quote!(::core::option::Option::None);
    let checked = distinct(body, &quote!(fields), p);
    let table = quote!({
        #assertions
        let fields: &'static [#p::Property] = #table;
        #checked
        fields
    });
    Parts {
        node: quote!(#p::Node::new(#p::Kind::Object(#fields))),
        read: reader(body, &this, &fields, p),
        items: TokenStream::new(),
        also: Some((quote!(#p::Flatten), flat(&table, &none, p))),
    }
}

/// Returns the statement that refuses members declared twice, where types are flattened.
fn distinct(body: &Body, fields: &TokenStream, p: &TokenStream) -> TokenStream {
    body.wire()
        .filter(|(_, flat)| *flat)
        .take(1)
        .map(|(property, _)| {
            let span = property.ty.span();
            let fields = fields.clone().into_token_stream();
            quote_spanned!(span=> #p::distinct(#fields);)
        })
        .collect()
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

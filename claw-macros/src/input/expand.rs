//! Model to tokens; decides nothing.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::model::{Body, Input, Shape, Tagging, Variant};
use crate::property::{Property, located, slots};

/// Returns the implementation.
pub(crate) fn input(ident: &Ident, input: &Input, p: &TokenStream) -> TokenStream {
    let (node, read, more) = match &input.shape {
        Shape::Struct(body) => {
            let node = content(body, p);
            (named(ident, &node, p), reader(body, &quote!(Self), p), None)
        }
        Shape::Words(variants) => words(variants, p),
        Shape::Union(tagging, variants) => {
            let nodes = union_nodes(tagging, variants, p);
            let node = quote!(#p::Node::new(#p::Kind::Union(&const { [#nodes] })));
            let read = match tagging {
                Tagging::External => external(variants, p),
                Tagging::Internal(tag) => internal(tag, variants, p),
                Tagging::Adjacent(tag, content) => adjacent(tag, content, variants, p),
            };
            (named(ident, &node, p), read, None)
        }
    };
    let bodies: Vec<&Body> = match &input.shape {
        Shape::Struct(body) => vec![body],
        Shape::Words(variants) | Shape::Union(_, variants) => {
            variants.iter().map(|variant| &variant.body).collect()
        }
    };
    let assertions: TokenStream = bodies
        .iter()
        .flat_map(|body| body.properties())
        .flat_map(|property| [property.constraints(p), property.literals(p)])
        .collect();
    let cursor = cursor();
    quote! {
        const _: () = {
            #[allow(unused_imports)]
            use #p::ViaSchemars as _;
            #assertions
            #[automatically_derived]
            impl #p::ToolInput for #ident {
                const NODE: &'static #p::Node = &#node;

                fn read(#cursor: &mut #p::Cursor<'_>) -> ::core::result::Result<Self, #p::Reject> {
                    #read
                }

                #more
            }
        };
    }
}

/// Returns an implementation that is never used, for a type with faults.
pub(crate) fn stub(ident: &Ident, p: &TokenStream) -> TokenStream {
    let cursor = cursor();
    quote! {
        impl #p::ToolInput for #ident {
            const NODE: &'static #p::Node = &#p::Node::new(#p::Kind::Any);

            fn read(#cursor: &mut #p::Cursor<'_>) -> ::core::result::Result<Self, #p::Reject> {
                ::core::result::Result::Err(#cursor.reject("a type that does not compile"))
            }
        }
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
            node: || {
                static __NODE: #p::Node = #node;
                &__NODE
            },
        }))
    }
}

/// Returns the node of what a struct or variant holds.
fn content(body: &Body, p: &TokenStream) -> TokenStream {
    match body {
        Body::Unit => quote!(#p::Node::new(#p::Kind::Any)),
        Body::Newtype(property) => {
            let via = property.via(p);
            let node = quote_spanned!(property.ty.span()=> #p::field(#via.source));
            match property.bounds(p) {
                Some(bounds) => quote!(#p::Node::within(#node, #bounds)),
                None => quote!(*#node),
            }
        }
        Body::Fields(_) => {
            let rows = rows(body, p);
            quote!(#p::Node::new(#p::Kind::Object(&const { [#rows] })))
        }
    }
}

fn rows(body: &Body, p: &TokenStream) -> TokenStream {
    let rows = body.properties().map(|property| property.row(p));
    quote!(#(#rows),*)
}

/// Returns the expression that reads what a struct or variant holds, and builds it.
fn reader(body: &Body, this: &TokenStream, p: &TokenStream) -> TokenStream {
    let cursor = cursor();
    match body {
        Body::Unit => quote!(::core::result::Result::Ok(#this)),
        Body::Newtype(property) => {
            let span = property.ty.span();
            let slot = Ident::new("slot", Span::mixed_site().located_at(span));
            let place = quote_spanned!(span=> &mut #slot);
            let make = property.slot(p, &slot);
            let bounds = match property.bounds(p) {
                Some(bounds) => quote!(::core::option::Option::Some(&const { #bounds })),
                None => quote!(::core::option::Option::None),
            };
            let value = owned(property, &slot, p);
            quote!({
                #make
                #p::Slot::read(#place, #cursor, #bounds)?;
                ::core::result::Result::Ok(#this(#value))
            })
        }
        Body::Fields(_) => fields(body, this, None, p),
    }
}

/// Returns the block that reads named fields, after a `tag` that is known already.
fn fields(
    body: &Body,
    this: &TokenStream,
    tag: Option<&TokenStream>,
    p: &TokenStream,
) -> TokenStream {
    let cursor = cursor();
    let properties: Vec<&Property> = body.properties().collect();
    let slots = slots(properties.iter().copied());
    let each = || properties.iter().zip(&slots);
    let make = each().map(|(property, slot)| property.slot(p, slot));
    let fill = each().map(|(property, slot)| property.fill(p, slot));
    let places = each().map(|(property, slot)| quote_spanned!(property.ty.span()=> &mut #slot));
    let known = tag.map(|_| quote!(&mut #p::Known,));
    let mut next = slots.iter();
    let values = match body {
        Body::Fields(fields) => fields.as_slice(),
        Body::Unit | Body::Newtype(_) => &[],
    }
    .iter()
    .map(|field| {
        let ident = &field.ident;
        match (
            &field.property,
            field.property.as_ref().and_then(|_| next.next()),
        ) {
            (Some(property), Some(slot)) => {
                let value = owned(property, slot, p);
                quote!(#ident: #value)
            }
            _ => quote!(#ident: ::core::default::Default::default()),
        }
    });
    let rows = rows(body, p);
    let tag = tag.map(|tag| quote!(#tag,));
    quote!({
        static __PROPERTIES: &[#p::Property] = &[#tag #rows];
        #(#make)*
        #p::members(#cursor, __PROPERTIES, &mut [#known #(#places),*])?;
        #(#fill)*
        ::core::result::Result::Ok(#this { #(#values),* })
    })
}

fn owned(property: &Property, slot: &Ident, p: &TokenStream) -> TokenStream {
    let p = located(p, property.ty.span());
    quote_spanned!(property.ty.span()=> #p::owned(&mut #slot)?)
}

fn words(variants: &[Variant], p: &TokenStream) -> (TokenStream, TokenStream, Option<TokenStream>) {
    let cursor = cursor();
    let names = variants.iter().map(|variant| &variant.name);
    let arms = variants.iter().map(|variant| {
        let (ident, names) = (&variant.ident, variant.names());
        quote!(#(#names)|* => ::core::result::Result::Ok(Self::#ident),)
    });
    let back = variants.iter().map(|variant| {
        let (ident, name) = (&variant.ident, &variant.name);
        quote!(Self::#ident => #name,)
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
    let node = quote!(#p::Node::new(#p::Kind::Words(&[#(#names),*])));
    (node, read, Some(json))
}

/// Returns the row of the property that names a variant.
fn tag_row(tag: &str, variant: &Variant, p: &TokenStream) -> TokenStream {
    let (name, docs) = (&variant.name, &variant.docs);
    quote!(#p::Property::new(#tag, #docs, #p::Source {
        node: ::core::option::Option::Some(&const { #p::Node::new(#p::Kind::Words(&[#name])) }),
        need: ::core::option::Option::None,
    }))
}

/// Returns the row of the property that holds what a variant holds.
fn content_row(name: &str, docs: &str, variant: &Variant, p: &TokenStream) -> TokenStream {
    let node = content(&variant.body, p);
    quote!(#p::Property::new(#name, #docs, #p::Source {
        node: ::core::option::Option::Some(&const { #node }),
        need: ::core::option::Option::None,
    }))
}

fn union_nodes(tagging: &Tagging, variants: &[Variant], p: &TokenStream) -> TokenStream {
    let object = |rows: TokenStream| quote!(#p::Node::new(#p::Kind::Object(&const { [#rows] })),);
    let mut nodes = TokenStream::new();
    if let Tagging::External = tagging {
        let units: Vec<&String> = variants
            .iter()
            .filter(|variant| matches!(variant.body, Body::Unit))
            .map(|variant| &variant.name)
            .collect();
        if !units.is_empty() {
            nodes.extend(quote!(#p::Node::new(#p::Kind::Words(&[#(#units),*])),));
        }
    }
    for variant in variants {
        match (tagging, &variant.body) {
            (Tagging::External, Body::Unit) => {}
            (Tagging::External, _) => {
                nodes.extend(object(content_row(
                    &variant.name,
                    &variant.docs,
                    variant,
                    p,
                )));
            }
            (Tagging::Internal(tag), body) => {
                let (tag, rows) = (tag_row(tag, variant, p), rows(body, p));
                nodes.extend(object(quote!(#tag, #rows)));
            }
            (Tagging::Adjacent(tag, _), Body::Unit) => {
                nodes.extend(object(tag_row(tag, variant, p)));
            }
            (Tagging::Adjacent(tag, content), _) => {
                let (tag, row) = (
                    tag_row(tag, variant, p),
                    content_row(content, "", variant, p),
                );
                nodes.extend(object(quote!(#tag, #row)));
            }
        }
    }
    nodes
}

/// Returns a `match` on the name of a variant.
fn on_name<'a>(
    subject: &TokenStream,
    variants: impl Iterator<Item = &'a Variant>,
    p: &TokenStream,
    arm: impl Fn(&Variant, &TokenStream) -> TokenStream,
) -> TokenStream {
    let cursor = cursor();
    let arms = variants.map(|variant| {
        let ident = &variant.ident;
        let arm = arm(variant, &quote!(Self::#ident));
        let names = variant.names();
        quote!(#(#names)|* => #arm,)
    });
    quote! {
        match #subject {
            #(#arms)*
            _ => ::core::result::Result::Err(#p::unknown_variant(#cursor)),
        }
    }
}

fn external(variants: &[Variant], p: &TokenStream) -> TokenStream {
    let cursor = cursor();
    let [word, name] = ["word", "name"].map(|name| Ident::new(name, Span::mixed_site()));
    let is_unit = |variant: &&Variant| matches!(variant.body, Body::Unit);
    let units = on_name(
        &quote!(&*#word),
        variants.iter().filter(is_unit),
        p,
        |_, this| quote!(::core::result::Result::Ok(#this)),
    );
    let others = on_name(
        &quote!(#name),
        variants.iter().filter(|variant| !is_unit(variant)),
        p,
        |variant, this| reader(&variant.body, this, p),
    );
    quote! {
        if #cursor.peek() == ::core::option::Option::Some(b'"') {
            let #word = #cursor.string()?;
            return #units;
        }
        #p::variant(#cursor, |#cursor, #name| #others)
    }
}

fn internal(tag: &str, variants: &[Variant], p: &TokenStream) -> TokenStream {
    let cursor = cursor();
    let name = Ident::new("name", Span::mixed_site());
    let arms = on_name(&quote!(&*#name), variants.iter(), p, |variant, this| {
        let row = tag_row(tag, variant, p);
        match variant.body {
            Body::Fields(_) => fields(&variant.body, this, Some(&row), p),
            Body::Unit | Body::Newtype(_) => fields(&Body::Fields(Vec::new()), this, Some(&row), p),
        }
    });
    quote! {
        let #name = #cursor.find(#tag)?;
        #arms
    }
}

fn adjacent(tag: &str, content: &str, variants: &[Variant], p: &TokenStream) -> TokenStream {
    let cursor = cursor();
    let name = Ident::new("name", Span::mixed_site());
    let arms = on_name(&quote!(&*#name), variants.iter(), p, |variant, this| {
        let tag = tag_row(tag, variant, p);
        if let Body::Unit = variant.body {
            return fields(&Body::Fields(Vec::new()), this, Some(&tag), p);
        }
        let row = content_row(content, "", variant, p);
        let read = reader(&variant.body, this, p);
        quote!({
            static __CONTENT: &[#p::Property] = &[#tag, #row];
            let mut content = #p::With::new(|#cursor: &mut #p::Cursor<'_>| #read);
            #p::members(#cursor, __CONTENT, &mut [&mut #p::Known, &mut content])?;
            content.owned(#cursor)
        })
    });
    quote! {
        let #name = #cursor.find(#tag)?;
        #arms
    }
}

//! What a struct or a variant holds: its schema, and the reader that builds it.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::cursor;
use crate::input::model::{Body, Form, Role};
use crate::property::{self, Property, located, slots};

/// Returns the node.
pub(super) fn node(body: &Body, p: &TokenStream) -> TokenStream {
    match body.form {
        Form::Unit => quote!(#p::Node::new(#p::Kind::Null)),
        Form::One => body.properties().map(|property| one(property, p)).collect(),
        Form::Places => {
            let rows = body.properties().map(|property| property.row(p));
            quote!(#p::Node::new(#p::Kind::Tuple(&const { [#(#rows),*] })))
        }
        Form::Members => {
            let table = table(body, &TokenStream::new(), p);
            quote!(#p::Node::new(#p::Kind::Object(#table)))
        }
    }
}

fn one(property: &Property, p: &TokenStream) -> TokenStream {
    let via = property.via(p);
    let node = quote_spanned!(property.ty.span()=> #p::field(#via.source));
    match property.bounds(p) {
        Some(bounds) => quote!(#p::Node::within(#node, #bounds)),
        None => quote!(*#node),
    }
}

/// Returns the table of the members, after those of `before`.
pub(super) fn table(body: &Body, before: &TokenStream, p: &TokenStream) -> TokenStream {
    let rows = body.wire().map(|(property, flat)| {
        if flat {
            flattened(property, p)
        } else {
            property.row(p)
        }
    });
    quote!(&const { [#before #(#rows),*] })
}

/// Returns the row of a field whose members stand among the others.
pub(super) fn flattened(property: &Property, p: &TokenStream) -> TokenStream {
    let ty = &property.ty;
    quote_spanned!(ty.span()=> #p::Property::flat(<#ty as #p::Flatten>::FLAT))
}

/// Returns the expression that reads what a struct or variant holds, and builds it. `table` is the expression that
/// gives the members.
pub(super) fn reader(
    body: &Body,
    this: &TokenStream,
    table: &TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let cursor = cursor();
    match body.form {
        Form::Unit => quote!({
            <() as #p::ToolInput>::read(#cursor)?;
            ::core::result::Result::Ok(#this {})
        }),
        Form::One => {
            let read = |slot: &Ident, property: &Property| place(slot, property, p);
            build(body, this, false, |slots| each(body, slots, read), p)
        }
        Form::Places => {
            let is_empty = body.properties().next().is_none();
            let statements = |slots: &[Ident]| {
                let mut first = true;
                let places = each(body, slots, |slot, property| {
                    let is_first = std::mem::take(&mut first);
                    let read = place(slot, property, p);
                    quote!(#cursor.place(#is_first)?; #read)
                });
                quote! {
                    #cursor.enter(b'[', "expected an array")?;
                    #places
                    #cursor.close(#is_empty)?;
                }
            };
            build(body, this, false, statements, p)
        }
        Form::Members => members(body, this, table, Beside::Nothing, p),
    }
}

fn each(
    body: &Body,
    slots: &[Ident],
    mut read: impl FnMut(&Ident, &Property) -> TokenStream,
) -> TokenStream {
    slots
        .iter()
        .zip(body.properties())
        .map(|(slot, property)| read(slot, property))
        .collect()
}

/// Returns the statement that reads a value without a name.
fn place(slot: &Ident, property: &Property, p: &TokenStream) -> TokenStream {
    let cursor = cursor();
    let place = quote_spanned!(property.ty.span()=> &mut #slot);
    let bounds = match property.bounds(p) {
        Some(bounds) => quote!(::core::option::Option::Some(&const { #bounds })),
        None => quote!(::core::option::Option::None),
    };
    quote!(#p::Slot::read(#place, #cursor, #bounds)?;)
}

/// What stands in an object beside the fields of a variant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// Nothing.
    Nothing,
    /// The tag; what one field holds stands among the members.
    Tag,
    /// The tag; what one field holds is a member.
    TagAndContent,
}

/// Returns the block that reads an object.
pub(super) fn members(
    body: &Body,
    this: &TokenStream,
    table: &TokenStream,
    beside: Beside,
    p: &TokenStream,
) -> TokenStream {
    let cursor = cursor();
    // The tag was read before.
    let known = (beside != Beside::Nothing).then(|| quote!(&mut #p::Known,));
    let statements = |slots: &[Ident]| {
        let places = slots
            .iter()
            .zip(body.wire())
            .map(|(slot, (property, _))| quote_spanned!(property.ty.span()=> &mut #slot));
        quote!(#p::members(#cursor, #table, &mut [#known #(#places),*])?;)
    };
    let flat_one = body.form == Form::One && beside == Beside::Tag;
    build(body, this, flat_one, statements, p)
}

/// Returns the block that makes a slot a field, reads into them, fills in defaults, and builds the value. Under
/// `all_flat` every field is flattened, whatever it says of itself.
fn build(
    body: &Body,
    this: &TokenStream,
    all_flat: bool,
    read: impl FnOnce(&[Ident]) -> TokenStream,
    p: &TokenStream,
) -> TokenStream {
    let slots = slots(body.wire().map(|(property, _)| property));
    let wire = || body.wire().zip(&slots);
    let make = wire().map(|((property, flat), slot)| {
        if flat || all_flat {
            let ty = &property.ty;
            quote_spanned!(ty.span()=> let mut #slot = <#p::Arg<#ty> as ::core::default::Default>::default();)
        } else {
            property.slot(p, slot)
        }
    });
    let read = read(&slots);
    let fill = wire().map(|((property, _), slot)| property.fill(p, slot));
    let mut next = wire();
    let values = body.fields.iter().map(|field| {
        let member = &field.member;
        let value = match &field.role {
            Role::Skipped(default) => Some(property::value(default, p)),
            Role::Value(_) | Role::Flat(_) => next
                .next()
                .map(|((property, _), slot)| owned(property, slot, p)),
        };
        quote!(#member: #value)
    });
    let values = quote!(#(#values),*);
    quote!({
        #(#make)*
        #read
        #(#fill)*
        ::core::result::Result::Ok(#this { #values })
    })
}

fn owned(property: &Property, slot: &Ident, p: &TokenStream) -> TokenStream {
    let p = located(p, property.ty.span());
    quote_spanned!(property.ty.span()=> #p::owned(&mut #slot)?)
}

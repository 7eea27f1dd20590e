//! Enums whose variants hold something: one table of shapes for schema and reader, and a reader a way of tagging.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use super::body::{Beside, flattened, members, node, reader, table};
use super::{Parts, apart, apart_at, cursor};
use crate::input::model::{Body, Form, Tagging, Variant};

/// Returns what the implementation consists of.
pub(super) fn parts(tagging: &Tagging, variants: &[Variant], p: &TokenStream) -> Parts {
    let this = quote!(Self);
    let shapes = Shapes {
        variants,
        this: &this,
        p,
    };
    let (nodes, read) = match tagging {
        Tagging::External => (shapes.external(), shapes.read_external()),
        Tagging::Internal(tag) => (shapes.internal(tag), shapes.read_internal(tag)),
        Tagging::Adjacent(tag, content) => {
            (shapes.adjacent(tag, content), shapes.read_adjacent(tag))
        }
        Tagging::Untagged => (shapes.untagged(), shapes.read_untagged()),
    };
    let table = quote! {
        const SHAPES: &'static [#p::Node] = &const { [#nodes] };
    };
    Parts {
        node: quote!(#p::Node::new(#p::Kind::Union(<Self as #p::Shapes>::SHAPES))),
        read,
        items: TokenStream::new(),
        also: Some((quote!(#p::Shapes), table)),
    }
}

/// Returns the assertions that members of a variant which come together stay apart. `this` names the type.
pub(super) fn apart_each(
    tagging: &Tagging,
    variants: &[Variant],
    this: &TokenStream,
    p: &TokenStream,
) -> Vec<TokenStream> {
    let shapes = Shapes { variants, this, p };
    let units = variants.iter().any(is_unit);
    // The words of unit variants are one shape, the first.
    let mut next = usize::from(units);
    let each = variants.iter().enumerate().flat_map(|(at, variant)| {
        let (body, table) = (&variant.body, shapes.table(at));
        match tagging {
            Tagging::External if is_unit(variant) => Vec::new(),
            Tagging::External => {
                next += 1;
                apart(body, &shapes.inner_table(next - 1), p)
            }
            Tagging::Adjacent(..) => apart(body, &shapes.inner_table(at), p),
            Tagging::Untagged => apart(body, &table, p),
            Tagging::Internal(_) if body.form == Form::One => body
                .properties()
                .flat_map(|property| apart_at(property, &table, p))
                .collect(),
            Tagging::Internal(_) => apart(body, &table, p),
        }
    });
    each.collect()
}

struct Shapes<'a> {
    variants: &'a [Variant],
    /// The name of the type.
    this: &'a TokenStream,
    p: &'a TokenStream,
}

fn is_unit(variant: &Variant) -> bool {
    variant.body.form == Form::Unit
}

impl Shapes<'_> {
    fn object(&self, rows: &TokenStream) -> TokenStream {
        let p = self.p;
        quote!(#p::Node::new(#p::Kind::Object(&const { [#rows] })),)
    }

    /// Returns the row of the property that names a variant.
    fn tag(&self, tag: &str, variant: &Variant) -> TokenStream {
        let p = self.p;
        let (name, aliases, docs) = (&variant.name, &variant.aliases, &variant.docs);
        quote!(#p::Property::new(#tag, #docs, #p::Source {
            node: ::core::option::Option::Some(&const {
                #p::Node::new(#p::Kind::Words(#p::Words { shown: &[#name], aliases: &[#(#aliases),*] }))
            }),
            need: ::core::option::Option::None,
        }))
    }

    /// Returns the row of the property that holds what a variant holds.
    fn content(&self, name: &str, docs: &str, body: &Body) -> TokenStream {
        let p = self.p;
        if let (Form::One, Some(property)) = (body.form, body.properties().next()) {
            return property.row_as(name, docs, p);
        }
        let node = node(body, p);
        quote!(#p::Property::new(#name, #docs, #p::Source {
            node: ::core::option::Option::Some(&const { #node }),
            need: ::core::option::Option::None,
        }))
    }

    /// Returns the expression that gives the members of the shape at `at`.
    fn table(&self, at: usize) -> TokenStream {
        let (p, this) = (self.p, self.this);
        quote!(#p::shape::<#this>(#at))
    }

    /// Returns the expression that gives the members of the last member of the shape at `at`.
    fn inner_table(&self, at: usize) -> TokenStream {
        let (p, table) = (self.p, self.table(at));
        quote!(#p::content(#table))
    }

    /// Returns a `match` on the name of a variant, one arm for each variant and its shape.
    fn on_name<'v>(
        &self,
        subject: &TokenStream,
        variants: impl Iterator<Item = (usize, &'v Variant)>,
        arm: impl Fn(usize, &Variant, &TokenStream) -> TokenStream,
    ) -> TokenStream {
        let (p, cursor) = (self.p, cursor());
        let arms = variants.map(|(at, variant)| {
            let ident = &variant.ident;
            let arm = arm(at, variant, &quote!(Self::#ident));
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

    /// The words of unit variants first, then an object for each other variant.
    fn external(&self) -> TokenStream {
        let p = self.p;
        let units = || self.variants.iter().filter(|variant| is_unit(variant));
        let (names, aliases) = (
            units().map(|variant| &variant.name),
            units().flat_map(|variant| &variant.aliases),
        );
        let mut nodes = quote! {
            #p::Node::new(#p::Kind::Words(#p::Words { shown: &[#(#names),*], aliases: &[#(#aliases),*] })),
        };
        if units().next().is_none() {
            nodes = TokenStream::new();
        }
        for variant in self.variants.iter().filter(|variant| !is_unit(variant)) {
            let row = self.content(&variant.name, &variant.docs, &variant.body);
            let aliases = &variant.aliases;
            nodes.extend(self.object(&quote!(#row.aliases(&[#(#aliases),*]).always())));
        }
        nodes
    }

    fn read_external(&self) -> TokenStream {
        let (p, cursor) = (self.p, cursor());
        let [word, name] = ["word", "name"].map(|name| Ident::new(name, Span::mixed_site()));
        let mut units = self
            .variants
            .iter()
            .filter(|variant| is_unit(variant))
            .peekable();
        let before = usize::from(units.peek().is_some());
        let units = self.on_name(
            &quote!(&*#word),
            units.map(|unit| (0, unit)),
            |_, _, this| quote!(::core::result::Result::Ok(#this {})),
        );
        let others = self.variants.iter().filter(|variant| !is_unit(variant));
        let others = (before..).zip(others);
        let others = self.on_name(&quote!(#name), others, |at, variant, this| {
            reader(&variant.body, this, &self.inner_table(at), p)
        });
        quote! {
            if #cursor.peek() == ::core::option::Option::Some(b'"') {
                let #word = #cursor.string()?;
                return #units;
            }
            #p::variant(#cursor, |#cursor, #name| #others)
        }
    }

    /// An object a variant: the tag, and its own members.
    fn internal(&self, tag: &str) -> TokenStream {
        let p = self.p;
        let objects = self.variants.iter().map(|variant| {
            let tag = self.tag(tag, variant);
            let table = if variant.body.form == Form::One {
                let fields = variant.body.properties();
                let rows = fields.map(|property| flattened(property, p));
                quote!(&const { [#tag, #(#rows),*] })
            } else {
                table(&variant.body, &quote!(#tag,), p)
            };
            quote!(#p::Node::new(#p::Kind::Object(#table)),)
        });
        objects.collect()
    }

    fn read_internal(&self, tag: &str) -> TokenStream {
        let (p, cursor) = (self.p, cursor());
        let name = Ident::new("name", Span::mixed_site());
        let variants = self.variants.iter().enumerate();
        let arms = self.on_name(&quote!(&*#name), variants, |at, variant, this| {
            members(&variant.body, this, &self.table(at), Beside::Tag, p)
        });
        quote! {
            let #name = #cursor.find(#tag)?;
            #arms
        }
    }

    /// An object a variant: the tag, and what the variant holds.
    fn adjacent(&self, tag: &str, content: &str) -> TokenStream {
        let objects = self.variants.iter().map(|variant| {
            let tag = self.tag(tag, variant);
            if is_unit(variant) {
                return self.object(&tag);
            }
            let field = variant.body.properties().next();
            let docs = field.and_then(|field| field.description.as_deref());
            let docs = docs.filter(|_| variant.body.form == Form::One);
            let row = self.content(content, docs.unwrap_or_default(), &variant.body);
            self.object(&quote!(#tag, #row))
        });
        objects.collect()
    }

    fn read_adjacent(&self, tag: &str) -> TokenStream {
        let (p, cursor) = (self.p, cursor());
        let name = Ident::new("name", Span::mixed_site());
        let variants = self.variants.iter().enumerate();
        let arms = self.on_name(&quote!(&*#name), variants, |at, variant, this| {
            let table = self.table(at);
            let body = &variant.body;
            match body.form {
                Form::Unit | Form::One => members(body, this, &table, Beside::TagAndContent, p),
                Form::Places | Form::Members => {
                    let read = reader(body, this, &self.inner_table(at), p);
                    quote!({
                        let mut content = #p::With::new(|#cursor: &mut #p::Cursor<'_>| #read);
                        #p::members(#cursor, #table, &mut [&mut #p::Known, &mut content])?;
                        content.owned(#cursor)
                    })
                }
            }
        });
        quote! {
            let #name = #cursor.find(#tag)?;
            #arms
        }
    }

    /// What each variant holds.
    fn untagged(&self) -> TokenStream {
        let nodes = self
            .variants
            .iter()
            .map(|variant| node(&variant.body, self.p));
        quote!(#(#nodes),*)
    }

    fn read_untagged(&self) -> TokenStream {
        let (p, cursor) = (self.p, cursor());
        let attempts = self.variants.iter().enumerate().map(|(at, variant)| {
            let ident = &variant.ident;
            let read = reader(&variant.body, &quote!(Self::#ident), &self.table(at), p);
            quote! {
                if let ::core::option::Option::Some(value) = #cursor.attempt(|#cursor| #read)? {
                    return ::core::result::Result::Ok(value);
                }
            }
        });
        quote! {
            #(#attempts)*
            ::core::result::Result::Err(#p::unknown_variant(#cursor))
        }
    }
}

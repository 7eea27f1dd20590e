//! One parameter or field, and the tokens it becomes. Shared by `#[tool]` and `derive(ToolInput)`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::visit_mut::VisitMut;
use syn::{Expr, ExprLit, Lit, Type};

use crate::arg::{Arg, Default};
use crate::errors::Errors;
use crate::literal::{Number, quoted};

/// The most properties an object may declare; claw-runtime counts them in a `u64`.
pub(crate) const MOST: usize = 64;

/// One parameter or field.
pub(crate) struct Property {
    /// Its name on the wire.
    pub(crate) name: String,
    /// Where its name stands in the source.
    pub(crate) span: Span,
    /// Its type, lifetimes elided.
    pub(crate) ty: Type,
    /// What it is, for the model; `None` when nothing was written.
    pub(crate) description: Option<String>,
    /// What `#[arg]` says.
    pub(crate) arg: Arg,
}

impl Property {
    /// Returns the property of `ident`; `docs` is its doc comment.
    pub(crate) fn new(ident: &Ident, mut ty: Type, docs: String, mut arg: Arg) -> Self {
        use syn::ext::IdentExt as _;
        ElideLifetimes.visit_type_mut(&mut ty);
        let name = match &arg.rename {
            Some((_, name)) => name.clone(),
            None => ident.unraw().to_string(),
        };
        let description = arg
            .description
            .take()
            .or_else(|| (!docs.is_empty()).then_some(docs));
        Self {
            name,
            span: ident.span(),
            ty,
            description,
            arg,
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.name).chain(self.arg.aliases.iter().map(String::as_str))
    }

    /// Returns the expression that asks the type system how the type is read. It is the same wherever it stands, so
    /// that the compiler reports a type that cannot be read once.
    pub(crate) fn via(&self, p: &TokenStream) -> TokenStream {
        let ty = &self.ty;
        let p = located(p, ty.span());
        quote_spanned!(ty.span()=> #p::via(&<#p::Probe<'_, #ty>>::VIA))
    }

    /// Returns the row of the property table.
    pub(crate) fn row(&self, p: &TokenStream) -> TokenStream {
        let description = self.description.as_deref().unwrap_or_default();
        self.row_as(&self.name, description, p)
    }

    /// Returns the row under another name and description.
    pub(crate) fn row_as(&self, name: &str, description: &str, p: &TokenStream) -> TokenStream {
        let via = self.via(p);
        let source = quote_spanned!(self.ty.span()=> #via.source);
        let mut row = quote!(#p::Property::new(#name, #description, #source));
        if !self.arg.aliases.is_empty() {
            let aliases = &self.arg.aliases;
            row.extend(quote!(.aliases(&[#(#aliases),*])));
        }
        if let Some(bounds) = self.bounds(p) {
            row.extend(quote!(.bounds(&#bounds)));
        }
        if self.arg.secret {
            row.extend(quote!(.secret()));
        }
        if let Some(default) = &self.arg.default {
            let preset = match literal(default) {
                Some(json) => quote!(#p::Preset::Json(#json)),
                None => {
                    let value = value(default, p);
                    quote!(#p::Preset::Made(|| {
                        let mut slot = (#via.slot)();
                        slot.fill(|| #value);
                        #p::Slot::json(&slot)
                    }))
                }
            };
            row.extend(quote!(.default(#preset)));
        }
        row
    }

    /// Returns the declared bounds, where there are some.
    pub(crate) fn bounds(&self, p: &TokenStream) -> Option<TokenStream> {
        let mut fields = TokenStream::new();
        if let Some((_, range)) = self.arg.range {
            if let Some(min) = range.min {
                let min = min.tokens(p);
                fields.extend(quote!(min: ::core::option::Option::Some(#min),));
            }
            if let Some(max) = range.max {
                let max = max.tokens(p);
                let below = range.below_max;
                fields.extend(quote!(max: ::core::option::Option::Some(#max), below_max: #below,));
            }
        }
        if let Some((_, step)) = self.arg.multiple_of {
            fields.extend(quote!(multiple_of: ::core::option::Option::Some(#step),));
        }
        if let Some((_, min, max)) = self.arg.len {
            if let Some(min) = min {
                fields.extend(quote!(min_len: ::core::option::Option::Some(#min),));
            }
            if let Some(max) = max {
                fields.extend(quote!(max_len: ::core::option::Option::Some(#max),));
            }
        }
        if let Some((_, texts)) = &self.arg.one_of {
            fields.extend(quote!(one_of: &[#(#texts),*],));
        }
        (!fields.is_empty()).then(|| quote!(#p::Bounds { #fields ..#p::Bounds::NONE }))
    }

    /// Returns the assertions that only the type system can decide: whether constraints fit the type.
    pub(crate) fn constraints(&self, p: &TokenStream) -> TokenStream {
        let (via, name) = (self.via(p), &self.name);
        let mut out = TokenStream::new();
        let mut constraint = |span: Span, kind: &str, message: String| {
            let kind = Ident::new(kind, Span::mixed_site());
            out.extend(quote_spanned! {span=>
                const _: () = ::core::assert!(#p::takes(#via.source, #p::Constraint::#kind), #message);
            });
        };
        if let Some((span, _)) = self.arg.range {
            let message = format!("`range` needs a number; `{name}` is none");
            constraint(span, "Range", message);
        }
        if let Some((span, _)) = self.arg.multiple_of {
            let message = format!("`multiple_of` needs a number; `{name}` is none");
            constraint(span, "MultipleOf", message);
        }
        if let Some((span, ..)) = self.arg.len {
            let message = format!("`len` needs text, an array or a map; `{name}` is none");
            constraint(span, "Len", message);
        }
        if let Some((span, _)) = self.arg.one_of {
            let message = format!("`one_of` needs text; `{name}` is none");
            constraint(span, "OneOf", message);
        }
        out
    }

    /// Returns the assertion that there is a description, unless the type is injected.
    pub(crate) fn described(&self, p: &TokenStream) -> TokenStream {
        if self.description.is_some() {
            return TokenStream::new();
        }
        let (via, name) = (self.via(p), &self.name);
        let message = format!(
            "parameter `{name}` has no description: write a `///` comment before it, or `#[arg(description = \"\")]` when its name says it all"
        );
        quote_spanned! {self.span=>
            const _: () = ::core::assert!(#via.source.node.is_none(), #message);
        }
    }

    /// Returns the statement that makes the slot named `slot`.
    pub(crate) fn slot(&self, p: &TokenStream, slot: &Ident) -> TokenStream {
        let via = self.via(p);
        quote_spanned!(self.ty.span()=> let mut #slot = (#via.slot)();)
    }

    /// Returns the statement that fills a default into `slot`, where there is one.
    pub(crate) fn fill(&self, p: &TokenStream, slot: &Ident) -> TokenStream {
        match &self.arg.default {
            None => TokenStream::new(),
            Some(default) => {
                let value = value(default, p);
                quote!(#slot.fill(|| #value);)
            }
        }
    }
}

/// Returns the local variables of the slots of properties. Each is located at its type, so that a type that cannot be
/// read is reported there and nowhere else.
pub(crate) fn slots<'a>(properties: impl IntoIterator<Item = &'a Property>) -> Vec<Ident> {
    let slot = |(at, property): (usize, &Property)| {
        let span = Span::mixed_site().located_at(property.ty.span());
        format_ident!("slot{at}", span = span)
    };
    properties.into_iter().enumerate().map(slot).collect()
}

/// Returns `tokens` as if they stood at `span`: an error in an expression is reported at its first token.
pub(crate) fn located(tokens: &TokenStream, span: Span) -> TokenStream {
    tokens
        .clone()
        .into_iter()
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}

/// Checks names and counts of all properties of one object.
pub(crate) fn check(properties: &[&Property], what: &str, errors: &mut Errors) {
    if let Some(extra) = properties.get(MOST) {
        errors.push(
            extra.span,
            format_args!("a call takes at most {MOST} {what}s; gather some in a type with `#[derive(ToolInput)]`"),
        );
    }
    for (at, property) in properties.iter().enumerate() {
        let span = match &property.arg.rename {
            Some((span, _)) => *span,
            None => property.span,
        };
        for name in property.names() {
            if !is_name(name) {
                errors.push(
                    span,
                    format_args!(
                        "no provider takes `{name}` as the name of a {what}; use at most 64 letters, digits, `_`, `-`, not starting with a digit"
                    ),
                );
            }
            let taken = properties[..at]
                .iter()
                .flat_map(|earlier| earlier.names())
                .any(|earlier| earlier == name);
            if taken {
                errors.push(
                    span,
                    format_args!("two {what}s are named `{name}`; rename one"),
                );
            }
        }
    }
}

/// Tells whether every provider takes `name`.
pub(crate) fn is_name(name: &str) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    first
        && name.len() <= 64
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Returns the JSON text of a literal default.
fn literal(default: &Default) -> Option<String> {
    let Default::Value(value) = default else {
        return None;
    };
    if let Some(number) = Number::of(value) {
        return Some(number.json());
    }
    match value {
        Expr::Lit(ExprLit { lit, .. }) => match lit {
            Lit::Str(text) => Some(quoted(&text.value())),
            Lit::Bool(flag) => Some(flag.value.to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the expression of a default. Text and paths are converted: a constant `&str` may stand in for a `String`.
pub(crate) fn value(default: &Default, p: &TokenStream) -> TokenStream {
    match default {
        Default::OfType(span) => {
            quote_spanned!(*span=> ::core::default::Default::default())
        }
        Default::Value(
            value @ (Expr::Path(_)
            | Expr::Lit(ExprLit {
                lit: Lit::Str(_), ..
            })),
        ) => {
            let p = located(p, value.span());
            quote_spanned!(value.span()=> #p::preset(#value))
        }
        Default::Value(value) => quote!(#value),
    }
}

/// Replaces every named lifetime by `'_`: the shim has no lifetime parameters.
struct ElideLifetimes;

impl VisitMut for ElideLifetimes {
    fn visit_lifetime_mut(&mut self, lifetime: &mut syn::Lifetime) {
        if lifetime.ident != "static" {
            lifetime.ident = Ident::new("_", lifetime.ident.span());
        }
    }
}

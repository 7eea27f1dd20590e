//! One parameter or field, and the tokens it becomes. Shared by `#[tool]` and `derive(ToolInput)`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, ExprLit, Lit, Type};

use crate::arg::{Arg, Default};
use crate::errors::Errors;
use crate::literal::Literal;

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
        if let Some(level) = self.arg.coerce {
            row.extend(quote!(.coerce(#level)));
        }
        match &self.arg.default {
            Some(Default::Value(value)) => {
                let preset = self.preset(value, p);
                row.extend(quote!(.default(#preset)));
            }
            Some(Default::OfType(span)) => {
                let default = quote_spanned!(*span=> ::core::default::Default::default());
                let made = self.made(&default, p);
                row.extend(quote!(.default(#made)));
            }
            None => {}
        }
        if let Some(example) = &self.arg.example {
            let preset = self.preset(example, p);
            row.extend(quote!(.example(#preset)));
        }
        row
    }

    /// Returns the `Preset` of a value of this property: JSON text for a literal, a function that makes it otherwise.
    pub(crate) fn preset(&self, value: &Expr, p: &TokenStream) -> TokenStream {
        match Literal::of(value) {
            Some(literal) => {
                let json = literal.json();
                quote!(#p::Preset::Json(#json))
            }
            None => self.made(&converted(value, p), p),
        }
    }

    fn made(&self, value: &TokenStream, p: &TokenStream) -> TokenStream {
        let via = self.via(p);
        quote!(#p::Preset::Made(|| {
            let mut slot = (#via.slot)();
            slot.fill(|| #value);
            #p::Slot::json(&slot)
        }))
    }

    /// Tells whether a default or an example has a value that the compiler cannot hold against the whole schema.
    pub(crate) fn needs_test(&self) -> bool {
        let rules = &self.arg.rules;
        let default = match &self.arg.default {
            Some(Default::Value(value)) if Literal::of(value).is_some() => rules.need_run_time(),
            Some(_) => !rules.is_empty(),
            None => false,
        };
        default || self.arg.example.is_some()
    }

    /// Returns the assertion that a literal is a value of this property; `what` says which.
    pub(crate) fn fits(&self, value: &Expr, what: &str, p: &TokenStream) -> Option<TokenStream> {
        let literal = Literal::of(value)?;
        let (via, literal) = (self.via(p), literal.tokens(p));
        let bounds = match self.bounds(p) {
            Some(bounds) => quote!(#bounds),
            None => quote!(#p::Bounds::NONE),
        };
        let message = format!(
            "the {what} does not fit the type of `{}` and its constraints",
            self.name
        );
        Some(quote_spanned! {value.span()=>
            ::core::assert!(#p::fits(#via.source, #bounds, &#literal), #message)
        })
    }

    /// Returns the declared bounds, where there are some.
    pub(crate) fn bounds(&self, p: &TokenStream) -> Option<TokenStream> {
        self.arg.rules.bounds(p)
    }

    /// Returns the assertions that only the type system can decide: whether constraints fit the type.
    pub(crate) fn constraints(&self, p: &TokenStream) -> Vec<TokenStream> {
        let via = self.via(p);
        let what = format!("`{}`", self.name);
        self.arg.rules.assertions(&quote!(#via.source), &what, p)
    }

    /// Returns the assertion that a type does not nest deeper than every provider takes, for one that nests at all deep.
    pub(crate) fn nesting(&self, p: &TokenStream) -> Option<TokenStream> {
        let mut levels = Levels::default();
        levels.visit_type_mut(&mut self.ty.clone());
        if levels.deepest < SUSPICIOUS {
            return None;
        }
        let via = self.via(p);
        let message = format!(
            "`{}` nests deeper than every provider takes: ten levels, the arguments themselves included; flatten it, or split the tool",
            self.name
        );
        Some(quote_spanned! {self.ty.span()=>
            ::core::assert!(#p::nests_portably(#via.source), #message)
        })
    }

    /// Returns the assertions that literals fit the type and the constraints.
    pub(crate) fn literals(&self, p: &TokenStream) -> Vec<TokenStream> {
        let mut out = Vec::new();
        if let Some(example) = &self.arg.example {
            out.extend(self.fits(example, "example", p));
        }
        if let Some(Default::Value(value)) = &self.arg.default
            && self.bounds(p).is_some()
        {
            out.extend(self.fits(value, "default", p));
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
            // A closure would be one more function a tool.
            Some(Default::Value(value)) if is_plain(value) => quote!(#slot.or(#value);),
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
            if !is_member(name) {
                errors.push(
                    span,
                    format_args!(
                        "not every provider takes `{name}` as the name of a {what}; use at most 64 letters, digits and `_`, not starting with a digit"
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

/// Tells whether every provider takes `name` as the name of a member.
pub(crate) fn is_member(name: &str) -> bool {
    is_name(name) && !name.contains('-')
}

/// Tells whether a value is a number or a boolean, which costs nothing to make.
fn is_plain(value: &Expr) -> bool {
    matches!(
        Literal::of(value),
        Some(Literal::Number(_) | Literal::Boolean(_))
    )
}

/// Returns the expression of a default.
pub(crate) fn value(default: &Default, p: &TokenStream) -> TokenStream {
    match default {
        Default::OfType(span) => {
            quote_spanned!(*span=> ::core::default::Default::default())
        }
        Default::Value(value) => converted(value, p),
    }
}

/// Returns a value as an expression of its property's type. Text and paths are converted: a constant `&str` may stand in
/// for a `String`; so are lists, item by item.
fn converted(value: &Expr, p: &TokenStream) -> TokenStream {
    match value {
        Expr::Path(_)
        | Expr::Lit(ExprLit {
            lit: Lit::Str(_), ..
        }) => {
            let p = located(p, value.span());
            quote_spanned!(value.span()=> #p::preset(#value))
        }
        Expr::Array(array) => {
            let items = array.elems.iter().map(|item| converted(item, p));
            let p = located(p, value.span());
            quote_spanned!(value.span()=> #p::preset([#(#items),*]))
        }
        _ => quote!(#value),
    }
}

/// Returns a type with its lifetimes elided.
pub(crate) fn elided(ty: &Type) -> Type {
    let mut ty = ty.clone();
    ElideLifetimes.visit_type_mut(&mut ty);
    ty
}

/// How many types within types are worth an assertion.
const SUSPICIOUS: usize = 8;

/// Counts types within types.
#[derive(Default)]
struct Levels {
    level: usize,
    deepest: usize,
}

impl VisitMut for Levels {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        self.level += 1;
        self.deepest = self.deepest.max(self.level);
        visit_mut::visit_type_mut(self, ty);
        self.level -= 1;
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

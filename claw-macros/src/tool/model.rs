//! What we know of the function after parsing.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, FnArg, Generics, ItemFn, Pat, ReturnType, Safety, Type, Visibility};

use super::attr::Attr;
use crate::arg::Arg;
use crate::docs;
use crate::errors::Errors;
use crate::property::{Property, located};

/// A tool function.
pub(crate) struct Tool {
    pub(crate) attr: Attr,
    pub(crate) ident: Ident,
    pub(crate) vis: Visibility,
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) generics: Generics,
    pub(crate) docs: String,
    pub(crate) is_async: bool,
    pub(crate) is_unsafe: Option<Span>,
    pub(crate) parameters: Vec<Parameter>,
    /// Where the type of the result stands.
    pub(crate) returns: Span,
}

/// One parameter of it.
pub(crate) struct Parameter {
    /// Its name in the function.
    pub(crate) ident: Ident,
    pub(crate) property: Property,
    /// Whether `#[state]` stands on it.
    pub(crate) state: bool,
}

impl Tool {
    /// Reads the function; returns it without what is ours, too.
    pub(crate) fn of(mut function: ItemFn, attr: Attr, errors: &mut Errors) -> (ItemFn, Self) {
        let docs = docs::text(&function.attrs, errors);
        let krate = krate(&attr);
        let mut parameters = Vec::new();
        for input in &mut function.sig.inputs {
            if let Some(parameter) = Parameter::of(input, &krate, errors) {
                parameters.push(parameter);
            }
        }
        let returns = match &function.sig.output {
            ReturnType::Default => function.sig.ident.span(),
            ReturnType::Type(_, ty) => ty.span(),
        };
        let tool = Self {
            attr,
            ident: function.sig.ident.clone(),
            vis: function.vis.clone(),
            cfgs: function
                .attrs
                .iter()
                .filter(|attr| attr.path().is_ident("cfg"))
                .cloned()
                .collect(),
            generics: function.sig.generics.clone(),
            docs,
            is_async: function.sig.asyncness.is_some(),
            is_unsafe: match &function.sig.safety {
                Safety::Unsafe(token) => Some(token.span()),
                _ => None,
            },
            parameters,
            returns,
        };
        (function, tool)
    }

    /// Returns what the model calls the tool.
    pub(crate) fn name(&self) -> String {
        match &self.attr.name {
            Some((_, name)) => name.clone(),
            None => self.ident.unraw().to_string(),
        }
    }

    /// Returns what the tool does, for the model.
    pub(crate) fn description(&self) -> &str {
        self.attr.description.as_deref().unwrap_or(&self.docs)
    }

    /// Returns the effect as declared, or the careful one.
    pub(crate) fn effect(&self) -> &'static str {
        self.attr.effect.map_or("once", |(_, effect)| effect)
    }

    /// Returns the path of what expansions name.
    pub(crate) fn private(&self) -> TokenStream {
        krate(&self.attr)
    }

    /// Returns the parameter named `ident` in the function.
    pub(crate) fn parameter(&self, ident: &Ident) -> Option<&Parameter> {
        self.parameters
            .iter()
            .find(|parameter| parameter.ident == *ident)
    }
}

fn krate(attr: &Attr) -> TokenStream {
    match &attr.krate {
        // Not where it was written: lints would take the expansion for the user's code.
        Some(path) => located(&quote!(#path::__private), Span::call_site()),
        None => quote!(::claw::__private),
    }
}

impl Parameter {
    /// Reads one parameter and strips it of our attributes and its doc comment.
    fn of(input: &mut FnArg, p: &TokenStream, errors: &mut Errors) -> Option<Self> {
        let input = match input {
            FnArg::Typed(input) => input,
            FnArg::Receiver(receiver) => {
                errors.push_on(
                    receiver,
                    "a tool takes no `self`; take `State<'_, T>` and write a free function",
                );
                return None;
            }
        };
        let docs = docs::text(&input.attrs, errors);
        input.attrs.retain(|attr| !docs::is_doc(attr));
        let arg = Arg::take(&mut input.attrs, errors);
        let mut state = false;
        input.attrs.retain(|attr| {
            let is_state = attr.path().is_ident("state");
            state |= is_state;
            !is_state
        });
        let Pat::Ident(pattern) = &*input.pat else {
            errors.push_on(
                &input.pat,
                "expected a plain name: a parameter's name is what the model reads; destructure in the body",
            );
            return None;
        };
        if pattern.by_ref.is_some() || pattern.subpat.is_some() {
            errors.push_on(pattern, "expected a plain name, without `ref` and `@`");
            return None;
        }
        let ident = pattern.ident.clone();
        let mut ty = (*input.ty).clone();
        if let Type::Reference(reference) = &ty
            && reference.mutability.is_some()
        {
            errors.push_on(
                &ty,
                "a tool cannot borrow mutably; take it by value, or use a lock inside the state",
            );
            return None;
        }
        if let Type::ImplTrait(_) = &ty {
            errors.push_on(
                &ty,
                "expected a type: a schema needs one, `impl Trait` is many",
            );
            return None;
        }
        if state {
            let Type::Reference(reference) = &ty else {
                errors.push_on(&ty, "expected a reference: write `#[state] name: &T`");
                return None;
            };
            let inner = reference.elem.to_token_stream();
            ty = Type::Verbatim(quote_spanned!(ty.span()=> #p::State<'_, #inner>));
        }
        Some(Self {
            property: Property::new(&ident, ty, docs, arg),
            ident,
            state,
        })
    }
}

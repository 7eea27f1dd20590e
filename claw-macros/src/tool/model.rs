//! What we know of the function after parsing.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Attribute, FnArg, Generics, ItemFn, Pat, Receiver, ReceiverKind, ReturnType, Safety, Type,
    Visibility,
};

use super::attr::Attr;
use crate::arg::Arg;
use crate::docs;
use crate::errors::Errors;
use crate::keys::nearest;
use crate::property::{Property, located};

/// A tool function.
pub(crate) struct Tool {
    pub(crate) attr: Attr,
    pub(crate) ident: Ident,
    pub(crate) vis: Visibility,
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) generics: Generics,
    pub(crate) docs: String,
    /// The type whose method it is.
    pub(crate) owner: Option<Type>,
    pub(crate) is_async: bool,
    pub(crate) is_unsafe: Option<Span>,
    pub(crate) parameters: Vec<Parameter>,
    /// The parameters that cannot be read, which have been reported.
    pub(crate) faulty: Vec<Ident>,
    /// The type of the result; `None` for nothing.
    pub(crate) output: Option<Type>,
    /// Where it stands.
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
    pub(crate) fn of(
        mut function: ItemFn,
        attr: Attr,
        owner: Option<Type>,
        errors: &mut Errors,
    ) -> (ItemFn, Self) {
        let docs = docs::sections(&function.attrs, errors);
        let krate = krate(&attr);
        let mut parameters = Vec::new();
        let mut faulty = Vec::new();
        for input in &mut function.sig.inputs {
            let name = named(input);
            match Parameter::of(input, owner.as_ref(), &krate, errors) {
                Some(parameter) => parameters.push(parameter),
                None => faulty.extend(name),
            }
        }
        document(
            &mut parameters,
            &faulty,
            docs.arguments,
            docs.faulty,
            errors,
        );
        let output = match &function.sig.output {
            ReturnType::Default => None,
            ReturnType::Type(_, ty) => Some(written_out(ty, owner.as_ref())),
        };
        let returns = match &function.sig.output {
            ReturnType::Default => function.sig.ident.span(),
            ReturnType::Type(_, ty) => ty.span(),
        };
        let tool = Self {
            attr,
            owner,
            faulty,
            output,
            ident: function.sig.ident.clone(),
            vis: function.vis.clone(),
            cfgs: function
                .attrs
                .iter()
                .filter(|attr| attr.path().is_ident("cfg"))
                .cloned()
                .collect(),
            generics: function.sig.generics.clone(),
            docs: docs.text,
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

/// Returns the name of a parameter, where it has one.
fn named(input: &FnArg) -> Option<Ident> {
    match input {
        FnArg::Typed(input) => match &*input.pat {
            Pat::Ident(pattern) => Some(pattern.ident.clone()),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    }
}

/// Gives parameters the descriptions of `# Arguments`; names must be those of parameters. `in_vain` tells that a part of
/// the section could not be read.
fn document(
    parameters: &mut [Parameter],
    faulty: &[Ident],
    arguments: Vec<docs::Argument>,
    mut in_vain: bool,
    errors: &mut Errors,
) {
    let names: Vec<String> = parameters
        .iter()
        .map(|parameter| parameter.ident.unraw().to_string())
        .collect();
    for argument in arguments {
        let at = names.iter().position(|name| *name == argument.name);
        match at.map(|at| &mut parameters[at].property) {
            Some(property) if property.description.is_some() => errors.push(
                argument.span,
                format_args!(
                    "`{}` is described twice; keep one, here or at the parameter",
                    argument.name
                ),
            ),
            Some(property) => property.description = Some(argument.text),
            None if faulty.iter().any(|ident| *ident == argument.name) => {}
            None => {
                in_vain = true;
                let known: Vec<&str> = names.iter().map(String::as_str).collect();
                errors.push(
                    argument.span,
                    format_args!(
                        "no parameter is named `{}`{}",
                        argument.name,
                        nearest(&argument.name, &known)
                    ),
                );
            }
        }
    }
    if in_vain {
        // What is described under a name that is wrong is not undescribed, too.
        for parameter in parameters {
            parameter.property.description.get_or_insert_default();
        }
    }
}

/// Returns a type as it is written outside of an `impl` block, where `Self` says nothing.
fn written_out(ty: &Type, owner: Option<&Type>) -> Type {
    let mut ty = ty.clone();
    if let Some(owner) = owner {
        Unself(owner).visit_type_mut(&mut ty);
    }
    ty
}

/// Replaces `Self` by a type.
struct Unself<'a>(&'a Type);

impl VisitMut for Unself<'_> {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        visit_mut::visit_type_mut(self, ty);
        let Type::Path(path) = ty else { return };
        if path.qself.is_some()
            || path
                .path
                .segments
                .first()
                .is_none_or(|it| it.ident != "Self")
        {
            return;
        }
        let owner = self.0;
        let rest = path.path.segments.iter().skip(1);
        *ty = match path.path.segments.len() {
            1 => owner.clone(),
            _ => Type::Verbatim(quote!(<#owner>::#(#rest)::*)),
        };
    }
}

/// Finds `impl Trait` anywhere in a type.
#[derive(Default)]
struct Opaque(bool);

impl VisitMut for Opaque {
    fn visit_type_impl_trait_mut(&mut self, _: &mut syn::TypeImplTrait) {
        self.0 = true;
    }
}

/// Tells whether a type says `impl Trait` anywhere.
pub(crate) fn is_opaque(ty: &Type) -> bool {
    let mut opaque = Opaque::default();
    opaque.visit_type_mut(&mut ty.clone());
    opaque.0
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
    fn of(
        input: &mut FnArg,
        owner: Option<&Type>,
        p: &TokenStream,
        errors: &mut Errors,
    ) -> Option<Self> {
        let input = match input {
            FnArg::Typed(input) => input,
            FnArg::Receiver(receiver) => return Self::receiver(receiver, owner, p, errors),
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
        let mut ty = written_out(&input.ty, owner);
        if let Type::Reference(reference) = &ty
            && reference.mutability.is_some()
        {
            errors.push_on(
                &ty,
                "a tool cannot borrow mutably; take it by value, or use a lock inside the state",
            );
            return None;
        }
        if is_opaque(&ty) {
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

    /// Reads `&self` of a method: the state the tool works on.
    fn receiver(
        receiver: &Receiver,
        owner: Option<&Type>,
        p: &TokenStream,
        errors: &mut Errors,
    ) -> Option<Self> {
        let Some(owner) = owner else {
            errors.push_on(
                receiver,
                "`self` needs its `impl` block: write `#[tools]` on the block, or take `State<'_, T>` in a free function",
            );
            return None;
        };
        if !matches!(receiver.kind, ReceiverKind::Reference(_, _, None)) {
            errors.push_on(
                receiver,
                "expected `&self`: calls run side by side; use a lock inside to change something",
            );
            return None;
        }
        let ident = Ident::new("self", receiver.span());
        let ty = Type::Verbatim(quote_spanned!(receiver.span()=> #p::State<'_, #owner>));
        Some(Self {
            property: Property::new(&ident, ty, String::new(), Arg::default()),
            ident,
            state: true,
        })
    }
}

//! `#[derive(ToolInput)]`: parse, model, expand.

mod attr;
mod case;
mod expand;
mod model;

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::errors::Errors;

/// Expands the derive. On a fault an implementation is still there, so that one mistake is one error.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut errors = Errors::default();
    let ident = input.ident.clone();
    let container = attr::Container::take(&input.attrs, &mut errors);
    let input = model::Input::of(input, &container, &mut errors);
    let Some(errors) = errors.into_tokens() else {
        return expand::input(&ident, &input, &container.private());
    };
    let stub = expand::stub(&ident, &container.private());
    // A generic type is refused; a stub without its parameters would be a second error.
    let stub = (!input.generic).then_some(stub);
    quote!(#errors #stub)
}

//! `#[derive(ToolInput)]`: parse, model, check, expand.

mod attr;
mod case;
mod check;
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
    let container = attr::Container::take(&input.attrs, &mut errors);
    let input = model::Input::of(input, &container, &mut errors);
    let p = container.private();
    match errors.into_tokens() {
        None => expand::input(&input, &p),
        Some(errors) => {
            let stub = expand::stub(&input, &p);
            quote!(#errors #stub)
        }
    }
}

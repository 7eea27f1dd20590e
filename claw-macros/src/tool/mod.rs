//! `#[tool]`: parse, model, check, expand.

mod attr;
mod check;
mod expand;
mod model;

use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemFn;

use crate::errors::Errors;

/// Expands the attribute. Whatever is wrong, the function itself is emitted, and a stub of the tool's hidden type.
pub(crate) fn expand(attr: TokenStream, item: TokenStream) -> TokenStream {
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => {
            let error = syn::Error::new(
                error.span(),
                format!("expected a function: `#[tool]` stands on a `fn` ({error})"),
            )
            .into_compile_error();
            return quote!(#item #error);
        }
    };
    let mut errors = Errors::default();
    let attr = attr::Attr::parse(attr, &mut errors);
    let (function, tool) = model::Tool::of(function, attr, &mut errors);
    check::check(&tool, &mut errors);
    match errors.into_tokens() {
        None => expand::tool(&function, &tool),
        Some(errors) => expand::stub(&function, &tool, &errors),
    }
}

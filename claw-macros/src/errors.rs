//! Faults of one item, gathered so that all are reported at once.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The faults found so far.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// Adds a fault at `span`.
    pub(crate) fn push(&mut self, span: Span, message: impl std::fmt::Display) {
        self.add(syn::Error::new(span, message));
    }

    /// Adds a fault over all of `tokens`.
    pub(crate) fn push_on(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.add(syn::Error::new_spanned(tokens, message));
    }

    /// Adds a fault of the parser.
    pub(crate) fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Tells whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns `compile_error!` calls for all faults; `None` when there are none.
    pub(crate) fn into_tokens(self) -> Option<TokenStream> {
        self.0.map(|errors| errors.into_compile_error())
    }
}

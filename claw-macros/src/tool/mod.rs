//! `#[tool]`: parse, model, check, expand.

pub(crate) mod attr;
mod borrow;
pub(crate) mod check;
pub(crate) mod expand;
pub(crate) mod model;

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
    let (function, tool) = model::Tool::of(function, attr, None, &mut errors);
    check::check(&tool, &mut errors);
    match errors.into_tokens() {
        None => expand::tool(&function, &tool),
        Some(errors) => expand::stub(&function, &tool, &errors),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(attr: TokenStream, item: TokenStream) -> String {
        let file: syn::File = syn::parse2(expand(attr, item)).unwrap();
        prettyplease::unparse(&file)
    }

    #[test]
    fn a_tool_is_a_table_and_a_shim() {
        let expanded = expanded(
            quote!(effect = read, timeout = "10s"),
            quote! {
                /// Current weather.
                pub async fn weather(
                    ctx: &ToolContext,
                    /// The city.
                    #[arg(len = 1..=80)]
                    city: &str,
                    /// The unit.
                    #[arg(default = Unit::Celsius)]
                    unit: Unit,
                ) -> Result<String, Error> {
                    ask(ctx, city, unit).await
                }
            },
        );
        insta::assert_snapshot!(expanded);
    }

    #[test]
    fn a_renamed_crate_is_named_everywhere() {
        let expanded = expand(
            quote!(crate = ::agent),
            quote! {
                /// Waits.
                fn wait(
                    #[state] clock: &Clock,
                    /// How long.
                    #[arg(default, range = 1..)]
                    time: u8,
                ) {}
            },
        );
        assert!(!expanded.to_string().contains("claw"), "{expanded}");
    }

    #[test]
    fn a_fault_keeps_the_function() {
        let expanded = expanded(
            quote!(timout = "10s"),
            quote!(
                /// Waits.
                fn wait(#[arg(rang = 1..)] time: u8) {
                    sleep(time);
                }
            ),
        );
        assert!(
            expanded.contains("fn wait(time: u8) {\n    sleep(time);\n}"),
            "{expanded}"
        );
        assert_eq!(expanded.matches("compile_error").count(), 2, "{expanded}");
        assert!(expanded.contains("enum wait {}"), "{expanded}");
        assert!(!expanded.contains("linkme"), "{expanded}");
    }
}

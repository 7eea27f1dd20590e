//! Compile time of claw: reads a function, writes its schema and shim.
//!
//! The macros are documented where they are exported, in `claw`.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arg;
mod docs;
mod errors;
mod input;
mod keys;
mod literal;
mod pattern;
mod property;
mod range;
mod rules;
mod tool;
mod tools;

/// Turns a function into a tool. See the documentation of `claw::tool`.
#[proc_macro_attribute]
pub fn tool(
    attr: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    tool::expand(attr.into(), item.into()).into()
}

/// Makes the `#[tool]` methods of an `impl` block tools. See the documentation of `claw::tools`.
#[proc_macro_attribute]
pub fn tools(
    attr: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    tools::expand(attr.into(), item.into()).into()
}

/// Makes a struct or an enum an argument of tools. See the documentation of `claw::ToolInput`.
#[proc_macro_derive(ToolInput, attributes(arg, serde, tool_input))]
pub fn tool_input(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    input::expand(item.into()).into()
}

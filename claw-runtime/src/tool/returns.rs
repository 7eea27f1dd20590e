//! From what a tool function returns to what the model reads.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt::Display;
use std::marker::PhantomData;
use std::pin::pin;

use futures_util::{Stream, StreamExt as _};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ToolContext, ToolError, ToolOutput};
use crate::message::{ContentBlock, text_of};
use crate::schema::{ToolInput, normalise, render};

/// What a function returned; [`Returned::split`] separates a `Result`, whatever name its type goes by.
pub struct Returned<T>(pub T);

impl<T, E> Returned<Result<T, E>> {
    /// Returns the result.
    pub fn split(self) -> Result<T, E> {
        self.0
    }
}

/// The way of what is no `Result`.
pub trait Whole {
    /// The type.
    type T;

    /// Returns the value.
    ///
    /// # Errors
    ///
    /// Never fails.
    fn split(self) -> Result<Self::T, Infallible>;
}

impl<T> Whole for Returned<T> {
    type T = T;

    fn split(self) -> Result<T, Infallible> {
        Ok(self.0)
    }
}

/// An error that can be told to a model.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool: a model reads text",
    label = "this error has no text",
    note = "implement `std::fmt::Display` for `{Self}`, or return `Result<_, ToolError>`"
)]
pub trait Failure {
    /// Returns what the model reads.
    fn tell(self) -> ToolError;
}

#[diagnostic::do_not_recommend]
impl<E: Display> Failure for E {
    fn tell(self) -> ToolError {
        ToolError::new(self.to_string())
    }
}

/// What a function returns, as a type. [`Told::schema`], called on many references to it, tells the schema of a result
/// where there is one: of the implementations, that for the most references which fits. No name is compared.
pub struct Returns<T>(PhantomData<fn() -> T>);

impl<T> Returns<T> {
    /// Returns the type as a value.
    #[expect(clippy::new_without_default, reason = "only expansions make one")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

/// A result that may have a schema. One trait for all of them: each more in scope makes every tool dearer to compile.
pub trait Told {
    /// Returns the schema as JSON text.
    fn schema(&self) -> Option<String>;
}

macro_rules! schemas {
    ($([$($generics:tt)*] $t:ty => $schema:expr;)*) => {$(
        impl<$($generics)*> Told for $t {
            fn schema(&self) -> Option<String> {
                $schema
            }
        }
    )*};
}

schemas! {
    [T: JsonSchema, E] &&&&&Returns<Result<T, E>> => normalise::output::<T>();
    [T: ToolInput, E] &&&&Returns<Result<T, E>> => render::output(T::NODE);
    [T, E] &&&Returns<Result<T, E>> => None;
    [T: JsonSchema] &&Returns<T> => normalise::output::<T>();
    [T: ToolInput] &Returns<T> => render::output(T::NODE);
    [T] Returns<T> => None;
}

/// A type of values on their way out; [`Out::form`] tells their form.
pub struct Out<T>(PhantomData<fn() -> T>);

/// The form of nothing.
pub struct AsNothing;
/// The form of text.
pub struct AsText;
/// The form of a finished output.
pub struct AsOutput;
/// The form of content blocks.
pub struct AsBlocks;
/// The form of anything else: JSON.
pub struct AsJson;

macro_rules! forms {
    ($($t:ty: $form:ident;)*) => {$(
        impl Out<$t> {
            /// Tells the form.
            pub const fn form(&self) -> $form {
                $form
            }
        }
    )*};
}

forms! {
    (): AsNothing;
    String: AsText;
    Box<str>: AsText;
    &str: AsText;
    Cow<'_, str>: AsText;
    ToolOutput: AsOutput;
    Vec<ContentBlock>: AsBlocks;
}

/// The way of types without a form of their own.
pub trait Otherwise {
    /// Tells the form.
    fn form(&self) -> AsJson {
        AsJson
    }
}

impl<T> Otherwise for Out<T> {}

/// A form that values of type `T` can take.
#[diagnostic::on_unimplemented(
    message = "a tool cannot return `{T}`: a model reads text or JSON",
    label = "this value has no JSON form",
    note = "derive `serde::Serialize` for `{T}`, or return `String` or `ToolOutput`"
)]
pub trait Form<T> {
    /// Converts a value.
    ///
    /// # Errors
    ///
    /// Fails when the value cannot be written as JSON.
    fn convert(self, value: T) -> Result<ToolOutput, ToolError>;
}

impl Form<()> for AsNothing {
    fn convert(self, (): ()) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("done"))
    }
}

impl<T: Into<String>> Form<T> for AsText {
    fn convert(self, value: T) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(value))
    }
}

impl Form<ToolOutput> for AsOutput {
    fn convert(self, value: ToolOutput) -> Result<ToolOutput, ToolError> {
        Ok(value)
    }
}

impl Form<Vec<ContentBlock>> for AsBlocks {
    fn convert(self, content: Vec<ContentBlock>) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput {
            content,
            ..ToolOutput::default()
        })
    }
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> Form<T> for AsJson {
    fn convert(self, value: T) -> Result<ToolOutput, ToolError> {
        // The text first: a `Value` would sort the fields.
        let text = serde_json::to_string(&value).map_err(|error| unwritten(&error))?;
        let structured = serde_json::from_str(&text).map_err(|error| unwritten(&error))?;
        Ok(ToolOutput {
            structured: Some(structured),
            ..ToolOutput::text(text)
        })
    }
}

fn unwritten(error: &serde_json::Error) -> ToolError {
    ToolError::new(format!(
        "the tool ran, but its result has no JSON form: {error}"
    ))
}

/// Returns what tells the form of a result.
pub const fn out<T, E>(_: &Result<T, E>) -> Out<T> {
    Out(PhantomData)
}

/// Converts what a tool returned.
///
/// # Errors
///
/// Fails as the tool did, and where its value has no form.
pub fn convert<T, F: Form<T>>(
    form: F,
    result: Result<T, ToolError>,
) -> Result<ToolOutput, ToolError> {
    form.convert(result?)
}

/// Converts why a tool failed.
pub fn failure<E: Failure>(error: E) -> ToolError {
    error.tell()
}

/// Runs a stream to its end: each item is told as progress, and the last is the result.
///
/// # Errors
///
/// Fails with the first item that cannot be converted, and without any item.
pub async fn stream<S: Stream>(
    ctx: &ToolContext,
    stream: S,
    convert: impl Fn(S::Item) -> Result<ToolOutput, ToolError>,
) -> Result<ToolOutput, ToolError> {
    let mut stream = pin!(stream);
    let mut last = None;
    while let Some(item) = stream.next().await {
        let output = convert(item)?;
        ctx.progress(&text_of(&output.content));
        last = Some(output);
    }
    last.ok_or_else(|| ToolError::new("the tool ended without a result"))
}

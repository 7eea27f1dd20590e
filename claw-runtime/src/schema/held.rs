//! What a shim holds for a parameter whose value is not simply moved out: borrowed text and lists, context, state.
//!
//! Each gives its value by a method of its own named `take`, as [`Arg`] does. The shim calls it without asking the type
//! system again what the parameter is: that question is most of what a tool costs to compile.

use std::any::{Any, type_name};
use std::borrow::Cow;
use std::marker::PhantomData;

use serde_json::Value;

use super::bounds::Bounds;
use super::cursor::Cursor;
use super::input::{State, ToolInput};
use super::slot::{Arg, Read, Slot};
use crate::tool::{Reject, ToolContext, ToolError};

/// The place for a value that the tool borrows while it runs.
#[derive(Debug)]
pub struct Lent<T>(Arg<T>);

impl<T> Default for Lent<T> {
    fn default() -> Self {
        Self(Arg::default())
    }
}

impl<T> Lent<T> {
    /// Fills in a default where there is no value.
    pub fn fill(&mut self, value: impl FnOnce() -> T) {
        self.0.fill(value);
    }
}

impl<'de, T: Read<'de>> Slot<'de> for Lent<T> {
    fn read(&mut self, cursor: &mut Cursor<'de>, bounds: Option<&Bounds>) -> Result<(), Reject> {
        self.0.read(cursor, bounds)
    }

    fn finish(&mut self) -> bool {
        self.0.finish()
    }

    fn json(&self) -> Option<Value> {
        self.0.json()
    }
}

impl Lent<Cow<'_, str>> {
    /// Returns the text.
    ///
    /// # Errors
    ///
    /// Fails when nothing was read.
    pub fn take(&mut self, _: &ToolContext) -> Result<&str, ToolError> {
        self.0.value().map(|text| &**text)
    }
}

impl Lent<Option<Cow<'_, str>>> {
    /// Returns the text, where there is one.
    ///
    /// # Errors
    ///
    /// Fails when nothing was read.
    pub fn take(&mut self, _: &ToolContext) -> Result<Option<&str>, ToolError> {
        self.0.value().map(Option::as_deref)
    }
}

impl Lent<Vec<Cow<'_, str>>> {
    /// Returns the texts.
    ///
    /// # Errors
    ///
    /// Fails when nothing was read.
    pub fn take(&mut self, _: &ToolContext) -> Result<Vec<&str>, ToolError> {
        let texts = self.0.value()?;
        Ok(texts.iter().map(|text| &**text).collect())
    }
}

impl<T: ToolInput> Lent<Vec<T>> {
    /// Returns the items.
    ///
    /// # Errors
    ///
    /// Fails when nothing was read.
    pub fn take(&mut self, _: &ToolContext) -> Result<&[T], ToolError> {
        self.0.value().map(|items| &**items)
    }
}

/// Refuses an argument for a parameter that no argument fills.
fn refuse(cursor: &Cursor<'_>) -> Result<(), Reject> {
    Err(cursor.reject("unknown parameter"))
}

/// The place of the call's context.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context;

impl Context {
    /// Returns the context.
    ///
    /// # Errors
    ///
    /// Never fails.
    pub fn take<'h>(&mut self, ctx: &'h ToolContext) -> Result<&'h ToolContext, ToolError> {
        Ok(ctx)
    }
}

impl<'de> Slot<'de> for Context {
    fn read(&mut self, cursor: &mut Cursor<'de>, _: Option<&Bounds>) -> Result<(), Reject> {
        refuse(cursor)
    }

    fn finish(&mut self) -> bool {
        true
    }
}

/// The place of a part of the agent's state.
#[derive(Debug)]
pub struct StateOf<T>(PhantomData<fn() -> T>);

impl<T> Default for StateOf<T> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T: Any + Send + Sync> StateOf<T> {
    /// Returns the state.
    ///
    /// # Errors
    ///
    /// Fails when the agent has none of this type.
    pub fn take<'h>(&mut self, ctx: &'h ToolContext) -> Result<State<'h, T>, ToolError> {
        ctx.state().map(State).ok_or_else(|| {
            ToolError::new(format!(
                "the tool needs `State<{}>`; none was given to the agent",
                type_name::<T>()
            ))
        })
    }
}

impl<'de, T> Slot<'de> for StateOf<T> {
    fn read(&mut self, cursor: &mut Cursor<'de>, _: Option<&Bounds>) -> Result<(), Reject> {
        refuse(cursor)
    }

    fn finish(&mut self) -> bool {
        true
    }
}

//! What a shim holds for a parameter whose value is not simply moved out: borrowed text and lists, context, state.
//!
//! Each gives its value by a method of its own named `take`, as [`Arg`] does. The shim calls it without asking the type
//! system again what the parameter is: that question is most of what a tool costs to compile.

use std::any::Any;
use std::borrow::Cow;
use std::marker::PhantomData;

use serde_json::Value;

use super::bounds::Bounds;
use super::cursor::Cursor;
use super::input::{State, ToolInput};
use super::node::Property;
use super::slot::{Arg, Read, Slot, parse};
use crate::tool::{Need, Prepared, Reject, ToolContext, ToolError};

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

    /// Fills in a default that costs nothing to make, where there is no value.
    pub fn or(&mut self, value: T) {
        self.0.or(value);
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
    pub fn take(&mut self, _: &ToolContext) -> &str {
        self.0.value()
    }
}

impl Lent<Option<Cow<'_, str>>> {
    /// Returns the text, where there is one.
    pub fn take(&mut self, _: &ToolContext) -> Option<&str> {
        self.0.value().as_deref()
    }
}

impl Lent<Vec<Cow<'_, str>>> {
    /// Returns the texts.
    pub fn take(&mut self, _: &ToolContext) -> Vec<&str> {
        self.0.value().iter().map(|text| &**text).collect()
    }
}

impl<T: ToolInput> Lent<Vec<T>> {
    /// Returns the items.
    pub fn take(&mut self, _: &ToolContext) -> &[T] {
        self.0.value()
    }
}

/// Reads the arguments of a call into slots, one a property, and returns its context: the call may run.
///
/// # Errors
///
/// Returns what the shim gives when it may not: what parsing refuses, nothing more without a context, and the fault of
/// an agent without the state that the tool needs.
pub fn begin<'a>(
    ctx: Option<&'a ToolContext>,
    text: &'a str,
    properties: &'static [Property],
    slots: &mut [&mut dyn Slot<'a>],
) -> Result<&'a ToolContext, Result<Prepared<'a>, Reject>> {
    parse(text, properties, slots).map_err(Err)?;
    let ctx = ctx.ok_or(Ok(Prepared::Checked))?;
    match missing(ctx, properties) {
        None => Ok(ctx),
        Some(need) => Err(Ok(without(need))),
    }
}

#[cold]
fn without<'a>(need: Need) -> Prepared<'a> {
    Prepared::Done(Err(ToolError::new(format!(
        "the tool needs `State<{}>`; none was given to the agent",
        (need.name)()
    ))))
}

#[inline]
fn missing(ctx: &ToolContext, properties: &'static [Property]) -> Option<Need> {
    let mut needs = properties.iter().filter_map(|property| property.need);
    needs.find(|need| !ctx.has_state((need.id)()))
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
    pub fn take<'h>(&mut self, ctx: &'h ToolContext) -> &'h ToolContext {
        ctx
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
    /// # Panics
    ///
    /// When the agent has none of this type, which [`begin`] has seen before.
    pub fn take<'h>(&mut self, ctx: &'h ToolContext) -> State<'h, T> {
        State(
            ctx.state()
                .expect("a call without the state it needs is not ready"),
        )
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

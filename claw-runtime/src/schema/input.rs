//! What makes a type an argument: [`ToolInput`] for owned types, `Param` for whatever may stand in a parameter list.

use std::any::{Any, TypeId, type_name};
use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::bounds::Bounds;
use super::cursor::Cursor;
use super::held::{Context, Lent, StateOf};
use super::node::{Foreign, Kind, Node, Property, Source};
use super::pattern::Engine;
use super::slot::{Arg, ForeignArg, Owned, Slot};
use crate::tool::{Need, Reject, ToolContext};

/// A type whose values a model can write.
///
/// Implemented for the types of the standard library that have a JSON form, and by `#[derive(ToolInput)]`; its items are
/// for generated code.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a tool argument",
    label = "no schema for this type",
    note = "write `#[derive(ToolInput)]` on it"
)]
pub trait ToolInput: Sized {
    /// The schema.
    #[doc(hidden)]
    const NODE: &'static Node;

    /// Reads a value, strictly.
    #[doc(hidden)]
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject>;

    /// Returns the value of an absent argument, when it may be absent.
    #[doc(hidden)]
    fn absent() -> Option<Self> {
        None
    }

    /// Tells whether the value keeps within bounds.
    #[doc(hidden)]
    fn fits(&self, bounds: &Bounds) -> bool {
        let _ = bounds;
        true
    }

    /// Returns the value as JSON, where the type has a simple form: for defaults in a schema.
    #[doc(hidden)]
    fn to_json(&self) -> Option<Value> {
        None
    }
}

/// A type that may stand in a tool's parameter list: read from the arguments, or injected.
pub trait Param<'h>: Sized {
    /// Where the value comes from.
    const SOURCE: Source;

    /// What is kept while the call runs; `'de` is the life of the call's text. It gives the value by a method `take`.
    type Held<'de>: Slot<'de> + Default
    where
        'de: 'h;
}

/// State of the agent, injected by type: `State<'_, Db>` is the `Db` that was given to `AgentBuilder::state`.
#[derive(Debug)]
pub struct State<'h, T>(pub &'h T);

impl<T> Deref for State<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

impl<T> Clone for State<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for State<'_, T> {}

const fn text(node: &'static Node) -> Source {
    Source {
        node: Some(node),
        need: None,
    }
}

macro_rules! held {
    ($held:ty) => {
        type Held<'de>
            = $held
        where
            'de: 'h;
    };
}

impl<'h, T: ToolInput + 'h> Param<'h> for T {
    const SOURCE: Source = text(T::NODE);
    held!(Arg<T>);
}

impl<'h> Param<'h> for &'h str {
    const SOURCE: Source = text(<String as ToolInput>::NODE);
    held!(Lent<Cow<'de, str>>);
}

impl<'h> Param<'h> for Cow<'h, str> {
    const SOURCE: Source = text(<String as ToolInput>::NODE);
    held!(Arg<Cow<'de, str>>);
}

impl<'h> Param<'h> for Option<&'h str> {
    const SOURCE: Source = text(<Option<String> as ToolInput>::NODE);
    held!(Lent<Option<Cow<'de, str>>>);
}

impl<'h> Param<'h> for Vec<&'h str> {
    const SOURCE: Source = text(<Vec<String> as ToolInput>::NODE);
    held!(Lent<Vec<Cow<'de, str>>>);
}

impl<'h, T: ToolInput> Param<'h> for &'h [T] {
    const SOURCE: Source = text(<Vec<T> as ToolInput>::NODE);
    held!(Lent<Vec<T>>);
}

impl<'h> Param<'h> for &'h ToolContext {
    const SOURCE: Source = Source {
        node: None,
        need: None,
    };
    held!(Context);
}

impl<'h, T: Any + Send + Sync> Param<'h> for State<'h, T> {
    const SOURCE: Source = Source {
        node: None,
        need: Some(Need {
            name: type_name::<T>,
            id: TypeId::of::<T>,
        }),
    };
    held!(StateOf<T>);
}

/// Asks the type system what `T` is: [`Probe::VIA`] is `Native` for a `Param` and `Schemars` for anything else.
///
/// The inherent constant wins where its bound holds, the trait's stands in where it does not; no name is compared.
pub struct Probe<'h, T>(PhantomData<&'h ()>, PhantomData<T>);

/// A type claw reads itself.
pub struct Native<T>(PhantomData<fn() -> T>);

/// A type that schemars describes and serde reads.
pub struct Schemars<T>(PhantomData<fn() -> T>);

impl<'h, T: Param<'h>> Probe<'h, T> {
    /// How `T` is read.
    pub const VIA: Native<T> = Native(PhantomData);
}

/// The way of types that are no `Param`.
pub trait ViaSchemars {
    /// The type.
    type T;
    /// How it is read.
    const VIA: Schemars<Self::T>;
}

impl<T> ViaSchemars for Probe<'_, T> {
    type T = T;
    const VIA: Schemars<T> = Schemars(PhantomData);
}

/// A way to read `T`.
#[diagnostic::on_unimplemented(
    message = "`{T}` cannot be a tool argument",
    label = "no schema for this type",
    note = "write `#[derive(ToolInput)]` on it; for a type of another crate, it needs schemars 1 `JsonSchema` and serde `Deserialize`",
    note = "of references, only `&str`, `&[T]`, `Option<&str>`, `Vec<&str>` and `&ToolContext` are read: take others by value"
)]
pub trait Via<'h, T> {
    /// Where the value comes from.
    const SOURCE: Source;

    /// What is kept while the call runs.
    type Held<'de>: Slot<'de> + Default
    where
        'de: 'h;
}

impl<'h, T: Param<'h>> Via<'h, T> for Native<T> {
    const SOURCE: Source = T::SOURCE;
    held!(T::Held<'de>);
}

#[diagnostic::do_not_recommend]
impl<'h, T: schemars::JsonSchema + DeserializeOwned + 'h> Via<'h, T> for Schemars<T> {
    const SOURCE: Source = text(&Node::new(Kind::Foreign(&Foreign {
        schema: |generator| generator.subschema_for::<T>(),
        optional: || ForeignArg::<T>::absent().is_some(),
        engine: Engine::REGEX,
    })));
    held!(ForeignArg<T>);
}

/// How a parameter is read, as data: one function asks, so that a type that cannot be read is one error.
pub struct Way<H> {
    /// Where the value comes from.
    pub source: Source,
    /// Returns the place for a value to come.
    pub slot: fn() -> H,
}

/// Returns how a value is read.
pub const fn via<'h, 'de: 'h, T, V: Via<'h, T>>(_: &V) -> Way<V::Held<'de>> {
    Way {
        source: V::SOURCE,
        slot: Default::default,
    }
}

/// Returns the value of a field.
///
/// # Errors
///
/// Refuses when nothing was read.
pub fn owned<T, H: Owned<T>>(held: &mut H) -> Result<T, Reject> {
    held.owned().ok_or(Reject {
        name: None,
        what: Cow::Borrowed("required, missing"),
        at: 0,
    })
}

/// Converts a default that was written as text or as a constant.
pub fn preset<T: From<U>, U>(value: U) -> T {
    value.into()
}

/// Returns the schema of a field without a name.
///
/// # Panics
///
/// At compile time, when the type is injected.
pub const fn field(source: Source) -> &'static Node {
    match source.node {
        Some(node) => node,
        None => panic!("contexts and state belong in the parameter list of the tool"),
    }
}

/// Reads `{"name": value}`, the value by the name.
///
/// # Errors
///
/// Refuses anything else, and what `read` refuses.
pub fn variant<'de, T>(
    cursor: &mut Cursor<'de>,
    read: impl FnOnce(&mut Cursor<'de>, &str) -> Result<T, Reject>,
) -> Result<T, Reject> {
    cursor.enter(b'{', "expected an object with one member")?;
    if !cursor.more(b'}', true)? {
        return Err(cursor.reject("expected an object with one member"));
    }
    let name = cursor.key()?;
    let value = read(cursor, &name)?;
    if cursor.more(b'}', false)? {
        return Err(cursor.reject("expected an object with one member"));
    }
    Ok(value)
}

/// The shapes of a tagged enum: one table for schema and reader.
pub trait Shapes {
    /// The shapes, those with members as objects.
    const SHAPES: &'static [Node];
}

/// Returns the members of a shape.
pub const fn shape<T: Shapes>(at: usize) -> &'static [Property] {
    match T::SHAPES[at].kind {
        Kind::Object(members) => members,
        _ => &[],
    }
}

/// Returns the members of the last of these members.
pub const fn content(members: &[Property]) -> &'static [Property] {
    match members.last() {
        Some(Property {
            node:
                Some(Node {
                    kind: Kind::Object(inner),
                    ..
                }),
            ..
        }) => inner,
        _ => &[],
    }
}

/// Refuses a word that is not declared.
#[cold]
pub fn unknown_word(cursor: &mut Cursor<'_>, start: usize) -> Reject {
    cursor.rewind(start);
    cursor.reject("expected one of the declared words")
}

/// Refuses a variant that is not declared.
#[cold]
pub fn unknown_variant(cursor: &Cursor<'_>) -> Reject {
    cursor.reject("expected one of the declared variants")
}

//! Slots: where the values of an object's properties go, and the loop that fills them.

use std::borrow::Cow;

use serde::de::value::Error as NoValue;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde_json::Value;

use super::bounds::Bounds;
use super::cursor::Cursor;
use super::flatten;
use super::input::ToolInput;
use super::node::Property;
use crate::tool::{Reject, ToolContext};

/// The most properties an object may declare.
pub(crate) const MOST: usize = 64;

/// The place for the value of one property.
pub trait Slot<'de> {
    /// Reads the value.
    ///
    /// # Errors
    ///
    /// Refuses what does not fit.
    fn read(&mut self, cursor: &mut Cursor<'de>, bounds: Option<&Bounds>) -> Result<(), Reject>;

    /// Tells whether there is a value, filling in the one of an optional property.
    fn finish(&mut self) -> bool;

    /// Returns the value as JSON, where there is one with a simple form.
    fn json(&self) -> Option<Value> {
        None
    }
}

/// What an [`Arg`] can hold: every [`ToolInput`], and text borrowed from the call.
pub trait Read<'de>: Sized {
    /// Reads a value.
    ///
    /// # Errors
    ///
    /// Refuses what does not fit.
    fn read(cursor: &mut Cursor<'de>) -> Result<Self, Reject>;

    /// Returns the value of an absent property.
    fn absent() -> Option<Self> {
        None
    }

    /// Tells whether the value keeps within bounds.
    fn fits(&self, bounds: &Bounds) -> bool;

    /// Returns the value as JSON, where it has a simple form.
    fn to_json(&self) -> Option<Value> {
        None
    }
}

impl<'de, T: ToolInput> Read<'de> for T {
    #[inline]
    fn read(cursor: &mut Cursor<'de>) -> Result<Self, Reject> {
        T::read(cursor)
    }

    #[inline]
    fn absent() -> Option<Self> {
        T::absent()
    }

    #[inline]
    fn fits(&self, bounds: &Bounds) -> bool {
        T::fits(self, bounds)
    }

    fn to_json(&self) -> Option<Value> {
        T::to_json(self)
    }
}

impl<'de> Read<'de> for Cow<'de, str> {
    #[inline]
    fn read(cursor: &mut Cursor<'de>) -> Result<Self, Reject> {
        cursor.string()
    }

    fn fits(&self, bounds: &Bounds) -> bool {
        bounds.allows_text(self)
    }

    fn to_json(&self) -> Option<Value> {
        Some(Value::from(&**self))
    }
}

impl<'de> Read<'de> for Option<Cow<'de, str>> {
    fn read(cursor: &mut Cursor<'de>) -> Result<Self, Reject> {
        if cursor.null() {
            return Ok(None);
        }
        cursor.string().map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn fits(&self, bounds: &Bounds) -> bool {
        self.as_deref().is_none_or(|text| bounds.allows_text(text))
    }
}

impl<'de> Read<'de> for Vec<Cow<'de, str>> {
    fn read(cursor: &mut Cursor<'de>) -> Result<Self, Reject> {
        let mut texts = Self::new();
        cursor.array(|cursor| {
            texts.push(cursor.string()?);
            Ok(())
        })?;
        Ok(texts)
    }

    fn fits(&self, bounds: &Bounds) -> bool {
        let fit = |items: &Bounds| self.iter().all(|text| items.allows_text(text));
        bounds.allows_len(|| self.len()) && bounds.items.is_none_or(fit)
    }

    fn to_json(&self) -> Option<Value> {
        Some(self.iter().map(|text| Value::from(&**text)).collect())
    }
}

/// The place for a value that claw reads itself.
#[derive(Debug)]
pub struct Arg<T>(Option<T>);

impl<T> Default for Arg<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Arg<T> {
    /// Fills in a default where there is no value.
    pub fn fill(&mut self, value: impl FnOnce() -> T) {
        if self.0.is_none() {
            self.0 = Some(value());
        }
    }

    /// Fills in a default that costs nothing to make, where there is no value.
    pub fn or(&mut self, value: T) {
        self.0.get_or_insert(value);
    }

    /// Returns the value by reference.
    ///
    /// # Panics
    ///
    /// When nothing was read; parsing refuses that.
    pub fn value(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => unread(),
        }
    }

    /// Returns the value.
    ///
    /// # Panics
    ///
    /// When nothing was read; parsing refuses that.
    pub fn take(&mut self, _: &ToolContext) -> T {
        match self.0.take() {
            Some(value) => value,
            None => unread(),
        }
    }
}

#[cold]
fn unread() -> ! {
    unreachable!("parsing leaves no slot empty")
}

impl<'de, T: Read<'de>> Slot<'de> for Arg<T> {
    fn read(&mut self, cursor: &mut Cursor<'de>, bounds: Option<&Bounds>) -> Result<(), Reject> {
        let start = cursor.position();
        let value = T::read(cursor)?;
        if let Some(bounds) = bounds
            && !value.fits(bounds)
        {
            cursor.rewind(start);
            return Err(cursor.reject("outside the declared bounds"));
        }
        self.0 = Some(value);
        Ok(())
    }

    fn finish(&mut self) -> bool {
        if self.0.is_none() {
            self.0 = T::absent();
        }
        self.0.is_some()
    }

    fn json(&self) -> Option<Value> {
        self.0.as_ref()?.to_json()
    }
}

/// The place for a value that serde reads. What it needs of the type stands in pointers, not in bounds, so that a type
/// that cannot be read is reported where it is named and nowhere else.
#[derive(Debug)]
pub struct ForeignArg<T> {
    value: Option<T>,
    read: fn(&str) -> serde_json::Result<T>,
    absent: fn() -> Option<T>,
}

impl<T: DeserializeOwned> Default for ForeignArg<T> {
    fn default() -> Self {
        Self {
            value: None,
            read: |text| serde_json::from_str(text),
            absent: Self::absent,
        }
    }
}

impl<T: DeserializeOwned> ForeignArg<T> {
    /// Returns the value serde makes when there is none.
    pub(crate) fn absent() -> Option<T> {
        T::deserialize(Nothing).ok()
    }
}

impl<T> ForeignArg<T> {
    /// Fills in a default where there is no value.
    pub fn fill(&mut self, value: impl FnOnce() -> T) {
        if self.value.is_none() {
            self.value = Some(value());
        }
    }

    /// Fills in a default that costs nothing to make, where there is no value.
    pub fn or(&mut self, value: T) {
        self.value.get_or_insert(value);
    }

    /// Returns the value.
    ///
    /// # Panics
    ///
    /// When nothing was read; parsing refuses that.
    pub fn take(&mut self, _: &ToolContext) -> T {
        match self.value.take() {
            Some(value) => value,
            None => unread(),
        }
    }
}

impl<'de, T> Slot<'de> for ForeignArg<T> {
    fn read(&mut self, cursor: &mut Cursor<'de>, _: Option<&Bounds>) -> Result<(), Reject> {
        cursor.peek();
        let start = cursor.position();
        let text = cursor.skip()?;
        self.value = Some((self.read)(text).map_err(|error| Reject {
            name: None,
            what: Cow::Owned(error.to_string()),
            at: start,
        })?);
        Ok(())
    }

    fn finish(&mut self) -> bool {
        if self.value.is_none() {
            self.value = (self.absent)();
        }
        self.value.is_some()
    }
}

/// Deserializes nothing: what serde does for a field that is missing.
struct Nothing;

impl<'de> Deserializer<'de> for Nothing {
    type Error = NoValue;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoValue> {
        Err(NoValue::custom("missing"))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NoValue> {
        visitor.visit_none()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The place of a member that was read before, such as the one that names a variant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known;

impl<'de> Slot<'de> for Known {
    fn read(&mut self, cursor: &mut Cursor<'de>, _: Option<&Bounds>) -> Result<(), Reject> {
        cursor.skip().map(drop)
    }

    fn finish(&mut self) -> bool {
        true
    }
}

/// The place for a value that a function reads.
pub struct With<T, F> {
    read: F,
    value: Option<T>,
}

impl<T, F: FnMut(&mut Cursor<'_>) -> Result<T, Reject>> With<T, F> {
    /// Returns the place for what `read` reads.
    pub const fn new(read: F) -> Self {
        Self { read, value: None }
    }

    /// Returns the value.
    ///
    /// # Errors
    ///
    /// Refuses when nothing was read.
    pub fn owned(self, cursor: &Cursor<'_>) -> Result<T, Reject> {
        self.value.ok_or_else(|| cursor.reject("required, missing"))
    }
}

impl<'de, T, F: FnMut(&mut Cursor<'_>) -> Result<T, Reject>> Slot<'de> for With<T, F> {
    fn read(&mut self, cursor: &mut Cursor<'de>, _: Option<&Bounds>) -> Result<(), Reject> {
        self.value = Some((self.read)(cursor)?);
        Ok(())
    }

    fn finish(&mut self) -> bool {
        self.value.is_some()
    }
}

/// A slot that gives its value away: what a field of a declared type is read into.
#[diagnostic::on_unimplemented(
    message = "`{T}` cannot be a field of a tool argument",
    label = "borrowed or injected",
    note = "take it by value: `String` for `&str`; contexts and state belong in the parameter list of the tool"
)]
pub trait Owned<T> {
    /// Returns the value.
    fn owned(&mut self) -> Option<T>;
}

impl<T> Owned<T> for Arg<T> {
    fn owned(&mut self) -> Option<T> {
        self.0.take()
    }
}

impl<T> Owned<T> for ForeignArg<T> {
    fn owned(&mut self) -> Option<T> {
        self.value.take()
    }
}

/// Reads the arguments of a call into slots, one a property. Blank text and `null` are no arguments.
///
/// # Errors
///
/// Refuses text that is not one JSON object, unknown and repeated names, and what a slot refuses.
pub fn parse<'de>(
    text: &'de str,
    properties: &'static [Property],
    slots: &mut [&mut dyn Slot<'de>],
) -> Result<(), Reject> {
    let mut cursor = Cursor::new(text);
    if cursor.peek() == Some(b'{') {
        members(&mut cursor, properties, slots)?;
    } else if cursor.peek().is_none() || cursor.null() {
        finish(&cursor, properties, slots, 0)?;
    } else {
        return Err(cursor.reject("expected an object"));
    }
    cursor.end()
}

/// Reads an object into slots, one a property.
///
/// # Errors
///
/// As for the arguments of a tool.
pub fn members<'de>(
    cursor: &mut Cursor<'de>,
    properties: &'static [Property],
    slots: &mut [&mut dyn Slot<'de>],
) -> Result<(), Reject> {
    cursor.peek();
    let object = cursor.position();
    let whole = cursor.whole();
    cursor.enter(b'{', "expected an object")?;
    let mut seen = 0_u64;
    let mut next = 0;
    let mut first = true;
    while cursor.more(b'}', first)? {
        first = false;
        let start = cursor.position();
        // Models mostly keep the declared order.
        while properties.get(next).is_some_and(|next| next.node.is_none()) {
            next += 1;
        }
        let at = match properties.get(next) {
            Some(property) if cursor.key_is(property.name) => next,
            _ => match position(cursor, properties, whole, start)? {
                Some(at) => at,
                None => {
                    cursor.skip()?;
                    continue;
                }
            },
        };
        let property = &properties[at];
        let bit = 1 << (at % MOST);
        if seen & bit != 0 {
            cursor.rewind(start);
            return Err(named(property, cursor.reject("given twice")));
        }
        seen |= bit;
        next = at + 1;
        // A `null` stands for an absent argument.
        if property.has_default() && cursor.null() {
            continue;
        }
        let Some(slot) = slots.get_mut(at) else {
            return Err(named(property, cursor.reject("unknown parameter")));
        };
        slot.read(cursor, property.bounds)
            .map_err(|reject| named(property, reject))?;
    }
    if seen.count_ones() as usize == properties.len() {
        return Ok(());
    }
    if properties.iter().any(|property| property.flat.is_some()) {
        parts(cursor, object, properties, slots)?;
    }
    finish(cursor, properties, slots, seen)
}

/// Reads the object again for each flattened type.
#[cold]
fn parts<'de>(
    cursor: &mut Cursor<'de>,
    object: usize,
    properties: &'static [Property],
    slots: &mut [&mut dyn Slot<'de>],
) -> Result<(), Reject> {
    for (property, slot) in properties.iter().zip(slots) {
        if property.flat.is_some() {
            cursor.part(object, properties, |cursor| slot.read(cursor, None))?;
        }
    }
    Ok(())
}

/// Fills in the optional values that were not `seen`, a bit a property.
#[inline]
fn finish<'de>(
    cursor: &Cursor<'de>,
    properties: &'static [Property],
    slots: &mut [&mut dyn Slot<'de>],
    seen: u64,
) -> Result<(), Reject> {
    for (at, (property, slot)) in properties.iter().zip(slots).enumerate() {
        let settled = seen & (1 << (at % MOST)) != 0 || property.has_default();
        if !settled && !slot.finish() {
            return Err(named(property, cursor.reject("required, missing")));
        }
    }
    Ok(())
}

#[cold]
fn named(property: &Property, reject: Reject) -> Reject {
    Reject {
        name: Some(property.name),
        ..reject
    }
}

/// Reads a name and finds its property; `None` when it belongs to another part of the object.
fn position(
    cursor: &mut Cursor<'_>,
    properties: &'static [Property],
    whole: Option<&'static [Property]>,
    start: usize,
) -> Result<Option<usize>, Reject> {
    let key = cursor.key()?;
    let is = |property: &Property| {
        property.node.is_some() && (property.name == key || property.aliases.contains(&&*key))
    };
    let found = properties.iter().position(is);
    let whole = whole.unwrap_or(properties);
    if found.is_some() || flatten::declares(whole, &key) || flatten::is_open(whole) {
        return Ok(found);
    }
    cursor.rewind(start);
    Err(cursor.reject("unknown parameter"))
}

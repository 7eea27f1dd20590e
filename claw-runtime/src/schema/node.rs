//! The const schema tree: what the compiler knows of an argument type.

/// What the compiler knows of a type: its kind, for checks at compile time, and its JSON Schema as text.
///
/// Kind and bounds stand apart from each other, so that a constraint on a parameter replaces the bounds of its type.
#[derive(Debug)]
pub struct Node {
    /// The kind of value.
    pub kind: Kind,
    /// The members of the JSON Schema object without its braces and without bounds.
    pub json: &'static [Piece],
    /// The bounds that the type itself brings, as members with a leading comma, for example `,"minimum":0`.
    pub bounds: &'static [Piece],
}

/// The kind of value a [`Node`] describes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Kind {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// Any finite number.
    Number,
    /// True or false.
    Boolean,
    /// Absent, null, or the inner kind.
    Optional(&'static Node),
    /// An array of the inner kind.
    Array(&'static Node),
    /// An object with free keys.
    Map(&'static Node),
    /// An object with declared keys.
    Object,
    /// One of a list of words.
    Enum,
    /// One of several shapes.
    Union,
    /// Anything.
    Any,
    /// Known only at run time: filled by schemars.
    Foreign,
    /// The type contains itself.
    Recursive(fn() -> &'static Node),
}

/// A piece of JSON Schema text.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Piece {
    /// Text that stands as it is.
    Text(&'static str),
    /// More pieces.
    Many(&'static [Piece]),
    /// Members that only claw itself reads (aliases of a nested property); left out of what a provider gets.
    Internal(&'static str),
    /// Members that schemars makes, once, when a toolset is built.
    Foreign(fn(&mut schemars::SchemaGenerator) -> schemars::Schema),
}

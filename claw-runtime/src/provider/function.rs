//! Function calls in the form of chat completions, which other formats took over.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::DeltaSink;
use super::calls::{Arguments, CallPiece};
use super::draft::Draft;
use super::lenient::{number, text, written};

/// A call, or a piece of one.
#[derive(Deserialize)]
pub(super) struct Call<'a> {
    #[serde(borrow, default)]
    index: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

impl<'a> Call<'a> {
    /// Returns the function; some servers write what it has beside the id.
    pub(super) fn function(self) -> Option<Function<'a>> {
        let beside = Function {
            name: self.name,
            arguments: self.arguments,
        };
        self.function.or(beside.name.is_some().then_some(beside))
    }
}

#[derive(Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default)]
    name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

/// What arguments are that come as text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Texts {
    /// What follows the piece before.
    Pieces,
    /// All of them, whatever came before.
    Whole,
}

/// Takes the calls of one document; `whole` says that it is the only one.
pub(super) fn take_all(
    calls: Option<Vec<Option<Call<'_>>>>,
    whole: bool,
    texts: Texts,
    draft: &mut Draft,
    sink: &mut dyn DeltaSink,
) {
    let calls = calls.unwrap_or_default();
    let several = calls.len() > 1;
    for (at, call) in calls.into_iter().enumerate() {
        let Some(call) = call else { continue };
        let id = text(call.id);
        let index = number(call.index).or_else(|| {
            // Calls that nothing tells apart are told apart by their place.
            (whole || (several && id.is_empty())).then_some(at as u64)
        });
        take(index, &id, call.function(), texts, draft, sink);
    }
}

/// Takes a call, or a piece of one.
pub(super) fn take(
    index: Option<u64>,
    id: &str,
    function: Option<Function<'_>>,
    texts: Texts,
    draft: &mut Draft,
    sink: &mut dyn DeltaSink,
) {
    let (name, arguments) = function.map_or((None, None), |it| (it.name, it.arguments));
    let (name, said) = (text(name), written(arguments));
    let arguments = match arguments {
        Some(raw) if raw.get().starts_with(['{', '[']) => Arguments::Whole(raw.get()),
        _ if texts == Texts::Whole => Arguments::Whole(&said),
        _ => Arguments::Text(&said),
    };
    if !matches!(arguments, Arguments::Text("")) || !name.is_empty() {
        draft.advance();
    }
    let piece = CallPiece {
        index,
        id,
        name: &name,
        arguments,
    };
    let calls = draft.assembler.call(piece, sink);
    draft.bound_calls(calls);
}

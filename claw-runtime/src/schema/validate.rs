//! From the text of a call to arguments that fit, or to everything that is wrong with them.

use serde_json::Value;

use super::check::Checker;
use super::coerce::Coerce;
use super::json::Json;
use super::reader::{self, Fault};
use super::report::{Invalid, Path, clip, shown};
use super::tree::Schema;

/// What becomes of an argument nobody declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The call is refused: a dropped `dry_run` does harm.
    Refuse,
    /// The argument is dropped with a note, unless it looks like a misspelling of a declared one.
    Drop,
}

/// Arguments that fit the schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Valid {
    /// The arguments after coercion, as JSON text: keys in the order they came, numbers as they were written.
    pub text: String,
    /// The same as a value; integers of more than 64 bits are floats here.
    pub value: Value,
    /// What was coerced or dropped, in document order.
    pub notes: Vec<Note>,
}

/// Something validation changed, told to the model with the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// JSON pointer.
    pub pointer: String,
    /// One line.
    pub text: String,
}

/// Writes `/limit: "5" became 5`.
impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut place = String::new();
        clip(&self.pointer, &mut place);
        match place.as_str() {
            "" => write!(f, "arguments: {}", self.text),
            place => write!(f, "{place}: {}", self.text),
        }
    }
}

/// Checks `text` against `schema`, collecting every problem, coercing as `coerce` allows.
///
/// Blank text and `null` are no arguments; a JSON string that holds an object is unwrapped once.
///
/// # Errors
///
/// Returns every problem when at least one remains.
pub fn validate(
    schema: &Schema,
    text: &str,
    coerce: Coerce,
    unknown: Unknown,
) -> Result<Valid, Invalid> {
    let tree = &*schema.tree;
    let mut notes = Vec::new();
    let (mut json, odd) = arguments(text, tree.secrets, &mut notes)?;
    let mut checker = Checker::new(tree, Some(coerce), unknown, text.len());
    checker.notes = notes;
    if odd {
        checker.survey(&mut json, &Path::root(tree.secrets));
    }
    let (value, notes) = walk(schema, checker, &mut json, text.len())?;
    Ok(Valid {
        text: json.to_text(),
        value,
        notes,
    })
}

impl Schema {
    /// Checks any value, collecting every problem.
    ///
    /// # Errors
    ///
    /// Returns every problem when there is one.
    pub fn check(&self, value: &Value) -> Result<(), Invalid> {
        let mut json = Json::from_value(value);
        let length = json.weight();
        let strict = Some(Coerce::Strict);
        let checker = Checker::new(&self.tree, strict, Unknown::Refuse, length);
        walk(self, checker, &mut json, length).map(|_| ())
    }
}

/// Walks the tree, and then asks for what the tree does not read.
fn walk(
    schema: &Schema,
    mut checker: Checker<'_>,
    json: &mut Json<'_>,
    length: usize,
) -> Result<(Value, Vec<Note>), Invalid> {
    let tree = &*schema.tree;
    checker.check(tree.root, json, &Path::root(false));
    if checker.gave_up() {
        // A schema that is too much for a walk that counts is not given to one that does not.
        return checker.finish().map(|notes| (Value::Null, notes));
    }
    let mut found = checker.finish();
    if found.as_ref().is_ok_and(|notes| !notes.is_empty()) {
        // A change may break a rule that was looked at before it: what leaves here fits as it is.
        let mut again = Checker::new(tree, None, Unknown::Refuse, length);
        again.check(tree.root, json, &Path::root(false));
        found = again.finish().and(found);
    }
    let notes = schema.completed(json, found)?;
    Ok((json.to_value(), notes))
}

/// Reads the arguments as an object, and whether they need a survey.
fn arguments<'a>(
    text: &'a str,
    secret: bool,
    notes: &mut Vec<Note>,
) -> Result<(Json<'a>, bool), Invalid> {
    if text.trim().is_empty() {
        return Ok((Json::Object(Vec::new()), false));
    }
    let broken = |text: &str, fault: &Fault| {
        Invalid::one(format!(
            "expected an object, got text that is {}",
            fault_text(text, fault, !secret)
        ))
    };
    let read = reader::read(text).map_err(|fault| broken(text, &fault))?;
    let inner = match read.json {
        Json::Object(_) => return Ok((read.json, read.odd)),
        Json::Null => return Ok((Json::Object(Vec::new()), false)),
        Json::String(inner) if inner.trim().is_empty() => {
            return Ok((Json::Object(Vec::new()), false));
        }
        Json::String(inner) if inner.trim_start().starts_with('{') => inner,
        other => {
            let got = shown(&other, secret);
            return Err(Invalid::one(format!("expected an object, got {got}")));
        }
    };
    let read = reader::read(&inner).map_err(|fault| broken(&inner, &fault))?;
    notes.push(Note {
        pointer: String::new(),
        text: "a string that holds an object became the object".to_owned(),
    });
    Ok((read.json.into_owned(), read.odd))
}

/// Returns where and why text is not JSON; with a piece of it when nothing in it is secret.
pub(super) fn fault_text(text: &str, fault: &Fault, quotes: bool) -> String {
    const BEFORE: usize = 24;
    const AFTER: usize = 16;
    let (before, after) = text.split_at(fault.at);
    let line = 1 + before.matches('\n').count();
    let column = 1 + before
        .rsplit('\n')
        .next()
        .map_or(0, |rest| rest.chars().count());
    let expected = fault.expected;
    let mut out = format!("not JSON at line {line}, column {column}: expected {expected}, found ");
    match after.chars().next() {
        None => out.push_str("the end"),
        Some(_) if !quotes => out.push_str("something else"),
        Some(found) => {
            out.push('`');
            clip(found.encode_utf8(&mut [0; 4]), &mut out);
            out.push('`');
        }
    }
    if quotes {
        let start = before.char_indices().rev().take(BEFORE).last();
        let end = after.char_indices().nth(AFTER);
        out.push_str(" near `");
        clip(&before[start.map_or(0, |(at, _)| at)..], &mut out);
        clip(&after[..end.map_or(after.len(), |(at, _)| at)], &mut out);
        out.push('`');
    }
    out
}

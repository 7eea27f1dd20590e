//! Bounds on the validator's work, which it has none of: a schema of a few lines may ask the same question in
//! exponentially many ways, or recur until the stack is gone.
//!
//! A keyword of ours stands in every schema object. The validator meets it before any other keyword of that object, and it
//! counts. When too much was counted the check is unwound, without a panic's message.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value};

/// The keyword. It sorts before all that JSON Schema knows, since the validator takes keywords in the map's order.
pub(super) const NAME: &str = "!claw";
/// Stack that a check or a compilation may take, in bytes: a quarter of a worker thread's. A chain of bare references is
/// not counted, so their number is limited apart.
const STACK: usize = 512 * 1024;

thread_local! {
    /// Steps left, and where the stack began.
    static LEFT: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// What unwinds.
struct Spent;

/// Runs a check of at most `steps` schema objects; `None` when that was not enough.
pub(super) fn within<T>(steps: usize, check: impl FnOnce() -> T) -> Option<T> {
    let outer = LEFT.replace((steps, stack()));
    let outcome = catch_unwind(AssertUnwindSafe(check));
    LEFT.set(outer);
    match outcome {
        Ok(value) => Some(value),
        Err(cause) if cause.is::<Spent>() => None,
        Err(cause) => resume_unwind(cause),
    }
}

/// Returns the schema with our keyword in every object that may be a schema.
pub(super) fn counted(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let mut counted = Map::new();
            counted.insert(NAME.to_owned(), Value::Bool(true));
            for (name, member) in members {
                counted.insert(name.clone(), part(name, member));
            }
            Value::Object(counted)
        }
        Value::Array(items) => Value::Array(items.iter().map(self::counted).collect()),
        other => other.clone(),
    }
}

fn part(keyword: &str, value: &Value) -> Value {
    match (keyword, value) {
        // Names that are chosen freely, with a schema each.
        (
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
            | "dependencies",
            Value::Object(members),
        ) => Value::Object(
            members
                .iter()
                .map(|(name, member)| (name.clone(), counted(member)))
                .collect(),
        ),
        ("const" | "enum" | "default" | "examples" | "dependentRequired" | "$vocabulary", _) => {
            value.clone()
        }
        _ => counted(value),
    }
}

/// Our keyword where the validator meets it. Every value fits.
struct Count;

impl<'i> Keyword<'i> for Count {
    fn validate(&self, _: &'i Value) -> Result<(), ValidationError<'i>> {
        spend();
        Ok(())
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        spend();
        true
    }
}

/// Makes our keyword; refuses when the compilation has come too deep.
pub(super) fn keyword<'s>(
    _: &'s Map<String, Value>,
    _: &'s Value,
    _: jsonschema::paths::Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'s>> {
    if LEFT.get().1.abs_diff(stack()) > STACK {
        return Err(ValidationError::custom("references lead too deep"));
    }
    Ok(Box::new(Count))
}

fn spend() {
    let (steps, base) = LEFT.get();
    if steps == 0 || base.abs_diff(stack()) > STACK {
        resume_unwind(Box::new(Spent));
    }
    LEFT.set((steps - 1, base));
}

/// Returns about where the stack ends.
#[inline(never)]
fn stack() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

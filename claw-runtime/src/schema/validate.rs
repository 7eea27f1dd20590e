//! Placeholder of the slow path; replaced as a whole.
use serde_json::Value;

/// A JSON Schema read into a tree.
#[derive(Clone, Debug)]
pub struct Schema(Value);

impl Schema {
    /// Reads a JSON Schema. Keywords it does not know are ignored.
    pub fn parse(json: &Value) -> Self {
        Self(json.clone())
    }
    /// Returns the parameters as one compact typed line: `path: string, limit?: integer`.
    pub fn signature(&self) -> String {
        self.0.to_string()
    }
}

/// How far a value of the wrong type may be brought to the right one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coerce {
    /// Not at all.
    Strict,
    /// Only where nothing is lost and nothing guessed: `"5"` for an integer, `null` for an absent option.
    #[default]
    Safe,
    /// Also a scalar where a string is declared, and one value where a list is.
    Lenient,
}

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
    /// The arguments after coercion.
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

/// Everything that is wrong with a call's arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Invalid {
    /// In document order, all of them.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// JSON pointer; empty for the arguments as a whole.
    pub pointer: String,
    /// What was expected and what was found.
    pub text: String,
}

impl Invalid {
    /// Writes the report a model reads (see the design of the report in the module docs).
    pub fn report(&self, tool: &str, schema: &Schema) -> String {
        format!(
            "Tool call to `{tool}` was not run: {} problems. {}",
            self.problems.len(),
            schema.signature()
        )
    }
}

/// Checks `text` against `schema`, collecting every problem, coercing as `coerce` allows.
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
    let _ = (schema, coerce, unknown);
    let text = if text.trim().is_empty() { "{}" } else { text };
    match serde_json::from_str(text) {
        Ok(value) => Ok(Valid {
            value,
            notes: Vec::new(),
        }),
        Err(error) => Err(Invalid {
            problems: vec![Problem {
                pointer: String::new(),
                text: error.to_string(),
            }],
        }),
    }
}

//! All of JSON Schema, drafts 4 to 2020-12: a schema made ready once, to be held against many values.
//!
//! First the [documents] are searched for what has an address; then every schema object that can be reached from the root
//! becomes a node of a [program]; then values [run] against it. Nothing here follows references on the stack but a run,
//! which counts its steps. The [draft] decides which keywords there are, and a [pattern] is ECMA's. Formats are notes.

use std::collections::BTreeMap;

use serde_json::Value;

use self::documents::Documents;
use self::program::Program;
use self::run::Spent;
use super::{Fault, SchemaError};
use crate::schema::json::Json;

mod documents;
mod draft;
mod keywords;
mod pattern;
mod program;
mod run;
mod uri;
mod words;

/// A compiled schema. Formats are notes to the reader, as the drafts since 2019 have it.
#[derive(Debug)]
pub(in crate::schema) struct Complete(Program);

impl Complete {
    /// Compiles a schema.
    pub(super) fn new(
        schema: &Value,
        documents: &BTreeMap<String, Value>,
    ) -> Result<Option<Self>, SchemaError> {
        let documents = Documents::new(schema, documents)?;
        Ok(Some(Self(program::program(documents)?)))
    }

    /// Lists what is wrong with a value; with `unread`, only what the tree had no opinion on.
    pub(super) fn faults(&self, value: &Json<'_>, unread: bool) -> Vec<Fault> {
        match run::faults(&self.0, value) {
            Ok(mut faults) => {
                faults.retain(|fault| !unread || fault.unread);
                faults
            }
            Err(Spent) => vec![Fault {
                steps: Vec::new(),
                text: "too much to check; send less".to_owned(),
                shows: false,
                unread: true,
            }],
        }
    }
}

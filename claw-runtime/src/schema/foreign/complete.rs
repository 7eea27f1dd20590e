//! The `jsonschema` crate behind two functions: compile, and list what is wrong. Its types stay here and in `words`.

use std::collections::BTreeMap;

use jsonschema::{PatternOptions, Registry, Retrieve, Uri, ValidationError, Validator};
use serde_json::Value;

use super::{Fault, SchemaError, fuel, words};

/// Steps a pattern with look-around may take.
const BACKTRACKS: usize = 100_000;
/// Largest compiled pattern, in bytes.
const PATTERN_SIZE: usize = 1 << 20;
/// Schema objects that may be looked at in a check, beside those for its length.
const STEPS: usize = 100_000;
/// The same for each value that is checked.
const STEPS_A_VALUE: usize = 1_000;
/// Most faults that are looked at: many more than a report lists.
const FAULTS: usize = 200;

/// A compiled schema.
pub(in crate::schema) struct Complete {
    validator: Validator,
    schema: Value,
}

impl Complete {
    /// Compiles a schema. Formats are notes to the reader, as the draft has it.
    pub(super) fn new(
        schema: &Value,
        documents: &BTreeMap<String, Value>,
    ) -> Result<Option<Self>, SchemaError> {
        let documents: BTreeMap<String, Value> = documents
            .iter()
            .map(|(uri, document)| (uri.clone(), fuel::counted(document)))
            .collect();
        let options = jsonschema::options()
            .with_keyword(fuel::NAME, fuel::keyword)
            .with_pattern_options(
                PatternOptions::fancy_regex()
                    .backtrack_limit(BACKTRACKS)
                    .size_limit(PATTERN_SIZE)
                    .dfa_size_limit(PATTERN_SIZE),
            )
            .with_retriever(Documents(documents.clone()));
        let counted = fuel::counted(schema);
        let built = fuel::within(0, || {
            if documents.is_empty() {
                return Ok(options.build(&counted));
            }
            // A dialect of its own is looked for in the registry alone.
            let root = schema
                .get("$id")
                .and_then(Value::as_str)
                .unwrap_or("json-schema:///");
            let registry = Registry::new()
                .retriever(Documents(documents.clone()))
                .add(root, &counted)
                .and_then(jsonschema::RegistryBuilder::prepare)
                .map_err(|error| SchemaError::new("", &error.to_string()))?;
            Ok(options.with_registry(&registry).build(&counted))
        });
        match built.unwrap_or_else(|| Err(SchemaError::new("", "too much to compile")))? {
            Ok(validator) => Ok(Some(Self {
                validator,
                schema: schema.clone(),
            })),
            Err(error) => Err(SchemaError::new(
                error.instance_path().as_str(),
                &error.to_string(),
            )),
        }
    }

    /// Lists what is wrong with a value; with `unread`, only what the tree had no opinion on.
    pub(super) fn faults(&self, value: &Value, unread: bool) -> Vec<Fault> {
        let steps = STEPS.saturating_add(STEPS_A_VALUE.saturating_mul(weight(value)));
        let found = fuel::within(steps, || {
            if self.validator.is_valid(value) {
                return Vec::new();
            }
            let mut faults = Vec::new();
            for error in self.validator.iter_errors(value).take(FAULTS) {
                self.add(&error, unread, &mut faults);
            }
            faults
        });
        found.unwrap_or_else(|| {
            vec![Fault {
                steps: Vec::new(),
                text: "too much to check; send less".to_owned(),
                shows: false,
            }]
        })
    }

    fn add(&self, error: &ValidationError<'_>, unread: bool, faults: &mut Vec<Fault>) {
        if let Some(branch) = words::meant(error) {
            for error in branch {
                self.add(error, unread, faults);
            }
        } else if !unread || words::is_unread(error) {
            words::tell(error, &self.schema, faults);
        }
    }
}

impl std::fmt::Debug for Complete {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Complete").finish_non_exhaustive()
    }
}

/// Returns how many values a value consists of.
fn weight(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => members.values().map(weight).sum(),
        _ => 0,
    }
}

/// The documents a schema may refer to; there are no others.
struct Documents(BTreeMap<String, Value>);

impl Retrieve for Documents {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        let name = uri.as_str().trim_end_matches('#');
        let found = self.0.get(name).cloned();
        found.ok_or_else(|| "references out of the schema are not followed".into())
    }
}

//! Schemas in every dialect, and arguments to the wire and back.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cases;
mod keywords;
mod offers;
mod properties;
mod public;
mod turn;

use claw_runtime::dialect::{Dialect, Lowered};
use claw_runtime::schema::{Coerce, Schema, Unknown, validate};
use serde_json::Value;

/// Lowers in a dialect, or in the first laxer one that takes the schema.
fn lowered(dialect: &'static Dialect, schema: &Value) -> (&'static Dialect, Lowered) {
    match (dialect.lower_value(schema), dialect.laxer()) {
        (Ok(lowered), _) => (dialect, lowered),
        (Err(_), Some(laxer)) => self::lowered(laxer, schema),
        (Err(why), None) => panic!("{why}: {schema}"),
    }
}

/// Whether a value fits a schema just as it is.
fn fits(schema: &Value, value: &Value) -> bool {
    let schema = Schema::parse(schema);
    let valid = validate(&schema, &value.to_string(), Coerce::Strict, Unknown::Refuse);
    valid.is_ok_and(|valid| valid.value == *value)
}

fn encode(lowered: &Lowered, value: &Value) -> Value {
    serde_json::from_str(&lowered.encode(&value.to_string())).unwrap()
}

fn lift(lowered: &Lowered, value: &Value) -> Value {
    serde_json::from_str(&lowered.lift(&value.to_string())).unwrap()
}

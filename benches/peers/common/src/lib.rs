//! What the measured programs share: the scripted service, and the modes each of them is run in.
//!
//! `benches/peers/measure.py` starts them. Each prints its figures as lines of JSON, so that a program in another
//! language can take part.

pub mod figures;
pub mod mock;
pub mod modes;

/// The arguments of `get_weather` that calls are measured with.
pub const ARGUMENTS: &str = r#"{"city":"Oslo","days":3,"metric":true}"#;
/// What stands before every conversation.
pub const SYSTEM: &str = "You are a helpful agent.";
/// What every turn asks.
pub const PROMPT: &str = "What is the weather in Oslo?";

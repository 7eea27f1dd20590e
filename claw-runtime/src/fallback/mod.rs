//! The prompt protocol: tool calls in prose, for models without native calling.
//!
//! Tools are documented in the system prompt, calls are found in the reply, results go back as text. What comes out is
//! the same as a native call; nothing later knows the difference.

use crate::message::{Message, StopReason};
use crate::registry::Toolset;

/// Texts that end a reply: a model must not invent a tool's answer.
pub const STOP: &[&str] = &["<tool_response>"];

/// What a reply holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The text for the user, without calls, markers and reasoning.
    pub text: String,
    /// The reasoning, where the reply marked some.
    pub reasoning: String,
    /// The calls, in order; names are registered, arguments are JSON text after repair and not yet validated.
    pub calls: Vec<FoundCall>,
    /// What looked like a call and cannot be run.
    pub faults: Vec<Fault>,
}

/// A call found in a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCall {
    /// The registered tool.
    pub name: String,
    /// JSON text.
    pub arguments: String,
}

/// Something that looked like a call and cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub code: FaultCode,
    /// One or two sentences for the model: what was wrong, what to send.
    pub message: String,
}

/// What is wrong with something that looked like a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultCode {
    /// It was cut off.
    Truncated,
    /// It is not JSON, even after repair.
    InvalidJson,
    /// No such tool.
    UnknownTool,
    /// The arguments are no object, or there are two readings.
    InvalidArguments,
    /// It stands inside reasoning that never ended.
    CallInReasoning,
    /// It is not marked and not the last thing said.
    UnmarkedCall,
    /// There is neither a call nor an answer.
    NoAnswer,
}

/// Returns the system prompt with the protocol's rules and the tools' documentation.
pub fn system(system: &str, tools: &Toolset) -> String {
    let _ = tools;
    system.to_owned()
}

/// Returns the conversation as plain text messages: calls and results in the protocol's form.
pub fn messages(messages: &[Message]) -> Vec<Message> {
    messages.to_vec()
}

/// Finds the calls in a finished reply.
pub fn find(reply: &str, stop: &StopReason, tools: &Toolset) -> Found {
    let _ = (stop, tools);
    Found {
        text: reply.to_owned(),
        ..Found::default()
    }
}

//! The prompt protocol: tool calls in prose, for models without native calling.
//!
//! Tools are documented in the system prompt, calls are found in the reply, results go back as text. What comes out is
//! the same as a native call; nothing later knows the difference.
//!
//! The form is Hermes': `<tool_call>{"name": …, "arguments": …}</tool_call>`, which many models have seen. Forms that other
//! models fall into are recognised. Reading is tolerant in syntax and strict in meaning: quoted examples, prose and
//! reasoning never run, a value that was cut is never closed, and a tool is never guessed. What is missed costs one more
//! round; what is wrongly run may do harm.

mod answering;
mod blame;
pub mod constrained;
mod effort;
mod fault;
mod formed;
mod marker;
mod payload;
mod python;
mod react;
mod render;
mod repair;
mod resolve;
mod scan;
mod tags;
mod tokens;
mod typed;

#[cfg(test)]
mod tests;

use crate::message::{Message, StopReason};
use crate::registry::Toolset;
pub use answering::Answering;
pub(crate) use blame::blamed;
#[cfg(feature = "local")]
pub(crate) use render::{Results, results};

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

/// Returns the system prompt with the protocol's rules and the tools' documentation; without tools, `system` as it is.
pub fn system(system: &str, tools: &Toolset) -> String {
    render::system(system, render::RULES, tools)
}

/// Returns the conversation as plain text messages: calls and results in the protocol's form.
///
/// Reasoning and opaque blocks are left out, images stay blocks, neighbours of one role become one message. What whole
/// rounds are rendered to does not depend on what follows them.
pub fn messages(messages: &[Message]) -> Vec<Message> {
    render::messages(messages, render::Said::Tagged)
}

/// Finds the calls in a finished reply. Time is linear in its length.
///
/// When there are neither calls nor faults, `text` is the answer; an empty answer is a fault.
pub fn find(reply: &str, stop: &StopReason, tools: &Toolset) -> Found {
    let tools = resolve::Tools::new(tools);
    let found = scan::Scan::new(reply, &tools, scan::Within::Reply).run();
    let text = found.text.trim_matches(repair::is_blank).to_owned();
    let mut faults = found.faults;
    if found.calls.is_empty() && faults.is_empty() {
        if found.invented || text.is_empty() {
            let thought = found.reasoning.contains("<tool_call>");
            faults.push(no_answer(found.invented, thought, stop));
        } else if found.unmarked {
            faults.push(fault::fault(
                FaultCode::UnmarkedCall,
                "A tool call was not run: it stands in the middle of the reply without its tags. When it is meant, put \
                 it last and between tags; when it is an example, put it in a code fence."
                    .to_owned(),
                None,
            ));
        }
    }
    Found {
        text,
        reasoning: found.reasoning,
        calls: found.calls,
        faults,
    }
}

fn no_answer(invented: bool, thought: bool, stop: &StopReason) -> Fault {
    let message = if invented {
        "There is no answer: the reply holds a tool's response that no tool gave. Call the tool and wait for its response."
    } else if thought {
        "There is no answer: calls inside reasoning are not run. End the reasoning, then answer, or call a tool."
    } else if *stop == StopReason::Length {
        "There is no answer: the output limit was reached before one. Think less and answer, or call a tool."
    } else {
        "There is no answer: the reply is empty. Answer, or call a tool."
    };
    Fault {
        code: FaultCode::NoAnswer,
        message: message.to_owned(),
    }
}

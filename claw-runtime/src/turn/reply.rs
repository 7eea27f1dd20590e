//! Reads a model's reply: text, calls and faults, the same for native calls and for calls in prose.

use super::ids::Ids;
use super::secret::{may_hold_secrets, without_secrets};
use crate::event::ReAsk;
use crate::fallback;
use crate::message::{ContentBlock, StopReason, ToolCall, text_of};
use crate::provider::{Protocol, Reply};
use crate::registry::Toolset;
use crate::session::View;

/// Characters of a faulty reply that the model is shown again.
const SAID_CHARS: usize = 2_000;

/// What is said of a faulty reply that must not be quoted.
const UNREADABLE: &str = "What looked like a tool call could not be read, and nothing of it was run. Send it again as \
     <tool_call>{\"name\": \"…\", \"arguments\": {…}}</tool_call>, with arguments that are one whole JSON object.";

/// What a reply holds.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// What enters the journal, calls with their ids: native ones in their place, those found in prose or cut last.
    pub(super) content: Vec<ContentBlock>,
    pub(super) calls: Vec<Asked>,
    pub(super) stop: Option<StopReason>,
    /// What looked like calls and cannot be read, in words for the model.
    pub(super) fault: Option<String>,
    /// The faulty text, bounded.
    pub(super) said: String,
}

/// A call as the model asked for it.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) call: ToolCall,
    /// Whether its arguments break off.
    pub(super) cut: bool,
}

impl Reading {
    /// Tells whether the reply says nothing and asks for nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && !self.content.iter().any(is_said)
    }

    pub(super) fn text(&self) -> String {
        text_of(&self.content)
    }

    pub(super) fn has_reasoning(&self) -> bool {
        let is_reasoning = |block: &ContentBlock| matches!(block, ContentBlock::Reasoning { .. });
        self.content.iter().any(is_reasoning)
    }

    pub(super) fn re_ask(&self) -> Option<ReAsk> {
        let fault = self.fault.clone()?;
        Some(ReAsk {
            said: self.said.clone(),
            fault,
        })
    }
}

/// Reads a reply that may call tools, `held` to the form or not.
pub(super) fn read(
    reply: Reply,
    protocol: Protocol,
    held: bool,
    tools: &Toolset,
    view: &View,
) -> Reading {
    let Reply {
        content,
        cut_calls,
        stop,
        ..
    } = reply;
    let mut ids = Ids::new(view);
    let mut calls: Vec<Asked> = Vec::new();
    let mut asked = |mut call: ToolCall, cut| {
        call.id = ids.next(call.id);
        call.name = declared(call.name, tools);
        Asked { call, cut }
    };
    let sent = content.into_iter().filter(is_sayable);
    let mut content: Vec<ContentBlock> = Vec::new();
    for block in sent {
        match block {
            ContentBlock::ToolCall(_) if protocol == Protocol::Chat => {}
            ContentBlock::ToolCall(call) => {
                calls.push(asked(call, false));
                // A signed part belongs to what stands beside it, so a native call keeps its place.
                if let (Protocol::Native, Some(last)) = (protocol, calls.last()) {
                    content.push(ContentBlock::ToolCall(without_secrets(&last.call, tools)));
                }
            }
            other => content.push(other),
        }
    }
    let placed = content.iter().filter(|block| is_call(block)).count();
    if protocol != Protocol::Chat {
        calls.extend(cut_calls.into_iter().map(|call| asked(call, true)));
    }
    let mut reading = Reading::default();
    if protocol == Protocol::Prompt {
        let prose = text_of(&content);
        let found = if held {
            fallback::constrained::read(&prose, &stop, tools)
        } else {
            fallback::find(&prose, &stop, tools)
        };
        content.retain(|block| !matches!(block, ContentBlock::Text { .. }));
        if !found.reasoning.trim().is_empty() {
            content.push(ContentBlock::Reasoning {
                text: found.reasoning,
            });
        }
        if !found.text.trim().is_empty() {
            content.push(ContentBlock::text(found.text));
        }
        calls.extend(found.calls.into_iter().map(|call| {
            let call = ToolCall {
                id: String::new(),
                name: call.name,
                arguments: call.arguments,
            };
            asked(call, false)
        }));
        if !found.faults.is_empty() && may_hold_secrets(&prose, tools) {
            reading.fault = Some(UNREADABLE.to_owned());
        } else if !found.faults.is_empty() {
            let faults: Vec<_> = found
                .faults
                .into_iter()
                .map(|fault| fault.message)
                .collect();
            reading.fault = Some(faults.join("\n"));
            reading.said = clip(&prose, SAID_CHARS);
        }
    }
    content.extend(
        calls[placed..]
            .iter()
            .map(|asked| ContentBlock::ToolCall(without_secrets(&asked.call, tools))),
    );
    reading.stop = Some(stop_reason(stop, &calls));
    reading.content = content;
    reading.calls = calls;
    reading
}

/// Returns the name a tool is declared by: journal and policy know no other.
fn declared(name: String, tools: &Toolset) -> String {
    match tools.get(&name) {
        Some(tool) if tool.name() != name => tool.name().to_owned(),
        _ => name,
    }
}

/// Reads a reply whose calls do not count: the wrap-up, and what came before a stream broke.
pub(super) fn read_text(
    content: Vec<ContentBlock>,
    protocol: Protocol,
    tools: &Toolset,
) -> Vec<ContentBlock> {
    let mut content: Vec<_> = content
        .into_iter()
        .filter(|block| is_sayable(block) && !is_call(block))
        .collect();
    if protocol == Protocol::Prompt {
        let prose = text_of(&content);
        let text = match fallback::constrained::answer_of(&prose) {
            Some(text) => text,
            None => fallback::find(&prose, &StopReason::Stop, tools).text,
        };
        content.retain(|block| !matches!(block, ContentBlock::Text { .. }));
        if !text.trim().is_empty() {
            content.push(ContentBlock::text(text));
        }
    }
    content
}

/// Tells whether a model can say such a block at all.
fn is_sayable(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::ToolResult(_) => false,
        ContentBlock::Text { text } => !text.trim().is_empty(),
        _ => true,
    }
}

fn is_call(block: &ContentBlock) -> bool {
    matches!(block, ContentBlock::ToolCall(_))
}

fn is_said(block: &ContentBlock) -> bool {
    !matches!(
        block,
        ContentBlock::Reasoning { .. } | ContentBlock::Opaque { .. }
    )
}

/// The content decides, not the provider's word.
fn stop_reason(stop: StopReason, calls: &[Asked]) -> StopReason {
    match stop {
        stop if calls.iter().any(|asked| asked.cut) => match stop {
            StopReason::ContentFilter => stop,
            _ => StopReason::Length,
        },
        _ if !calls.is_empty() => StopReason::ToolCalls,
        StopReason::ToolCalls => StopReason::Stop,
        stop => stop,
    }
}

/// Returns the beginning of `text`, at most `chars` characters and a mark that it was cut.
pub(super) fn clip(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

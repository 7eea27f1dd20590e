//! A round whose calls are not all answered yet, and the answers made up for them meanwhile.

use std::collections::{BTreeMap, HashSet};

use serde::de::{MapAccess, SeqAccess, Visitor};

use crate::event::Status;
use crate::message::{ContentBlock, Message, Role, ToolCall, ToolResult};
use crate::tool::Effect;

const NOT_STARTED: &str = "Not run: the turn was interrupted before this call started.";
const HARMLESS: &str =
    "Interrupted while it ran; no result was obtained. The call may be sent again.";
const UNKNOWN: &str = "Interrupted while it ran: whether it took effect is unknown. \
                       Find out before you send it again.";
const NO_OUTPUT: &str = "(no output)";

/// A call of the last round.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// The call's id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them.
    pub arguments: String,
    /// How it was started, when it was.
    pub started: Option<Started>,
    status: Option<Status>,
}

/// How a call was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// The declared effect.
    pub effect: Effect,
    /// How often, from 1.
    pub attempt: u32,
    /// Digest of tool and canonical arguments.
    pub digest: String,
}

impl OpenCall {
    pub(super) fn new(call: &ToolCall) -> Self {
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            started: None,
            status: None,
        }
    }
}

/// The calls of the last assistant message; the last message of the conversation holds their answers, in call order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Round {
    calls: Vec<OpenCall>,
    /// Where the unanswered ones stand: a model may ask for a great many.
    open: BTreeMap<String, usize>,
}

impl Round {
    /// Answers every call for the time being.
    pub(super) fn open(messages: &mut Vec<Message>, calls: Vec<OpenCall>) -> Self {
        let content = calls
            .iter()
            .map(|call| {
                ContentBlock::ToolResult(ToolResult {
                    call_id: call.id.clone(),
                    name: call.name.clone(),
                    content: vec![ContentBlock::text(NOT_STARTED)],
                    is_error: true,
                })
            })
            .collect();
        messages.push(Message {
            role: Role::Tool,
            content,
        });
        let open = (0..calls.len())
            .map(|at| (calls[at].id.clone(), at))
            .collect();
        Self { calls, open }
    }

    pub(super) fn open_call(&self, id: &str) -> Option<&OpenCall> {
        self.open.get(id).map(|at| &self.calls[*at])
    }

    pub(super) fn open_calls(&self) -> impl Iterator<Item = &OpenCall> {
        self.calls.iter().filter(|call| call.status.is_none())
    }

    pub(super) fn is_answered(&self) -> bool {
        self.open.is_empty()
    }

    pub(super) fn started(
        &mut self,
        messages: &mut [Message],
        id: &str,
        effect: Effect,
        attempt: u32,
        digest: &str,
    ) {
        let Some(&at) = self.open.get(id) else { return };
        self.calls[at].started = Some(Started {
            effect,
            attempt,
            digest: digest.to_owned(),
        });
        let text = if effect == Effect::Once {
            UNKNOWN
        } else {
            HARMLESS
        };
        fill(messages, at, vec![ContentBlock::text(text)], true);
    }

    pub(super) fn answer(
        &mut self,
        messages: &mut [Message],
        id: &str,
        status: Status,
        content: &[ContentBlock],
    ) {
        // The first answer is the one that counts.
        let Some(at) = self.open.remove(id) else {
            return;
        };
        self.calls[at].status = Some(status);
        let mut content: Vec<_> = content
            .iter()
            .filter(|block| is_output(block))
            .cloned()
            .collect();
        if content.is_empty() {
            content.push(ContentBlock::text(NO_OUTPUT));
        }
        fill(messages, at, content, status.is_error());
    }

    /// Notes which calls may have had their effect without anybody knowing, and which are known after all.
    pub(super) fn settle(self, unknown: &mut HashSet<String>) {
        for call in self.calls {
            let Some(Started { effect, digest, .. }) = call.started else {
                continue;
            };
            match call.status {
                Some(Status::Ok) => {
                    unknown.remove(&digest);
                }
                Some(Status::Unknown) => {
                    unknown.insert(digest);
                }
                None if effect == Effect::Once => {
                    unknown.insert(digest);
                }
                _ => {}
            }
        }
    }
}

fn fill(messages: &mut [Message], at: usize, content: Vec<ContentBlock>, is_error: bool) {
    let results = messages.last_mut().map(|message| &mut message.content);
    if let Some(ContentBlock::ToolResult(result)) = results.and_then(|results| results.get_mut(at))
    {
        result.content = content;
        result.is_error = is_error;
    }
}

fn is_output(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Text { text } => !text.is_empty(),
        block => matches!(
            block,
            ContentBlock::Image(_) | ContentBlock::Resource { .. }
        ),
    }
}

/// Returns the call as it may be sent again: many services refuse a conversation that holds arguments which are no JSON
/// object, so broken ones become `{}`; the answer says what was wrong with them.
pub(super) fn sendable(call: &ToolCall) -> ToolCall {
    let text = call.arguments.trim();
    let whole = text.starts_with('{') && serde_json::from_str::<Readable>(text).is_ok();
    ToolCall {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: if whole {
            call.arguments.clone()
        } else {
            "{}".to_owned()
        },
    }
}

/// Any JSON that a value can be read from: half a character and a number beyond all floats are none. Builds nothing.
struct Readable;

impl<'de> serde::Deserialize<'de> for Readable {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Readable;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_str<E>(self, _: &str) -> Result<Readable, E> {
                Ok(Readable)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Readable, A::Error> {
                while items.next_element::<Readable>()?.is_some() {}
                Ok(Readable)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Readable, A::Error> {
                while members.next_entry::<Readable, Readable>()?.is_some() {}
                Ok(Readable)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn readable_is_what_a_value_can_be_read_from(json in r#"([{}\[\],:]|"[a\\ud8]{0,6}"|-?[0-9.e]{1,5}|true|null| ){0,12}"#) {
            let value = serde_json::from_str::<serde_json::Value>(&json);
            proptest::prop_assert_eq!(serde_json::from_str::<Readable>(&json).is_ok(), value.is_ok());
        }
    }

    #[test]
    fn what_no_value_can_be_read_from_is_sent_as_nothing() {
        let deep = format!("{}{}", "{\"a\":".repeat(200), "}".repeat(200));
        for (arguments, sent) in [
            (r#" {"a":[1,-2,0.5,true,null,"\ud83c\udf27",{}]} "#, None),
            (r#"{"a":"\ud83c"}"#, Some("{}")),
            (r#"{"a":1e999}"#, Some("{}")),
            (r#"{"a":1} {}"#, Some("{}")),
            ("[1]", Some("{}")),
            (&deep, Some("{}")),
        ] {
            let call = ToolCall {
                id: "1".to_owned(),
                name: "t".to_owned(),
                arguments: arguments.to_owned(),
            };
            assert_eq!(sendable(&call).arguments, sent.unwrap_or(arguments));
        }
    }
}

//! A round whose calls are not all answered yet, and the answers made up for them meanwhile.

use std::collections::{HashMap, HashSet};

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

/// A call of the last round that has no answer yet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenCall<'v> {
    /// The call's id.
    pub id: &'v str,
    /// The tool.
    pub name: &'v str,
    /// The arguments, as they are sent again.
    pub arguments: &'v str,
    /// How it was started, when it was.
    pub started: Option<&'v Started>,
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

/// Rounds of more calls than these have an index: a model may ask for a great many.
const FEW: usize = 16;

/// The calls of the last assistant message; the last message of the conversation holds their answers, in call order, and
/// with those their ids and tools.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Round {
    calls: Vec<Call>,
    /// Where the calls stand by their ids, unless there are few.
    index: HashMap<String, usize>,
    /// How many have no answer yet.
    open: usize,
}

/// What became of a call so far.
#[derive(Clone, Debug, Default, PartialEq)]
struct Call {
    started: Option<Started>,
    status: Option<Status>,
}

impl Round {
    /// Answers the calls of the last message for the time being; `None` when there are none.
    pub(super) fn open(messages: &mut Vec<Message>) -> Option<Self> {
        let asked = messages.last()?.calls();
        let content: Vec<_> = asked
            .map(|call| {
                ContentBlock::ToolResult(ToolResult {
                    call_id: call.id.clone(),
                    name: call.name.clone(),
                    content: vec![ContentBlock::text(made_up(NOT_STARTED))],
                    is_error: true,
                })
            })
            .collect();
        let open = content.len();
        if open == 0 {
            return None;
        }
        let ids = content.iter().filter_map(result).enumerate();
        let index = match open > FEW {
            true => ids.map(|(at, call)| (call.call_id.clone(), at)).collect(),
            false => HashMap::new(),
        };
        messages.push(Message {
            role: Role::Tool,
            content,
        });
        Some(Self {
            calls: vec![Call::default(); open],
            index,
            open,
        })
    }

    /// Returns where an unanswered call stands.
    fn position(&self, messages: &[Message], id: &str) -> Option<usize> {
        let at = match self.calls.len() > FEW {
            true => self.index.get(id).copied(),
            false => results(messages).position(|call| call.call_id == id),
        };
        at.filter(|at| self.calls[*at].status.is_none())
    }

    /// Returns the tool of a call that has no answer yet.
    pub(super) fn tool<'v>(&self, messages: &'v [Message], id: &str) -> Option<&'v str> {
        let at = self.position(messages, id)?;
        let result = messages.last()?.content.get(at).and_then(result)?;
        Some(&result.name)
    }

    pub(super) fn open_calls<'v>(
        &'v self,
        messages: &'v [Message],
    ) -> impl Iterator<Item = OpenCall<'v>> {
        let asked = messages.iter().rev().nth(1);
        let asked = asked.into_iter().flat_map(Message::calls);
        let both = asked.zip(&self.calls);
        let open = both.filter(|(_, call)| call.status.is_none());
        open.map(|(asked, call)| OpenCall {
            id: &asked.id,
            name: &asked.name,
            arguments: &asked.arguments,
            started: call.started.as_ref(),
        })
    }

    pub(super) fn is_answered(&self) -> bool {
        self.open == 0
    }

    pub(super) fn started(
        &mut self,
        messages: &mut [Message],
        id: &str,
        effect: Effect,
        attempt: u32,
        digest: &str,
    ) {
        let Some(at) = self.position(messages, id) else {
            return;
        };
        self.calls[at].started = Some(Started {
            effect,
            attempt,
            digest: digest.to_owned(),
        });
        let interrupted = if effect == Effect::Once {
            UNKNOWN
        } else {
            HARMLESS
        };
        if let Some(result) = result_at(messages, at)
            && let [ContentBlock::Text { text }] = &mut *result.content
        {
            text.clear();
            text.push_str(interrupted);
        }
    }

    pub(super) fn answer(
        &mut self,
        messages: &mut [Message],
        id: &str,
        status: Status,
        content: &[ContentBlock],
    ) {
        // The first answer is the one that counts.
        let Some(at) = self.position(messages, id) else {
            return;
        };
        self.calls[at].status = Some(status);
        self.open -= 1;
        let Some(result) = result_at(messages, at) else {
            return;
        };
        result.is_error = status.is_error();
        result.content.clear();
        let said = content.iter().filter(|block| is_output(block));
        result.content.extend(said.cloned());
        if result.content.is_empty() {
            result.content.push(ContentBlock::text(NO_OUTPUT));
        }
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

/// Returns a text that the others made up for the same call fit in, too.
fn made_up(text: &str) -> String {
    let mut room = String::with_capacity(UNKNOWN.len());
    room.push_str(text);
    room
}

fn result(block: &ContentBlock) -> Option<&ToolResult> {
    match block {
        ContentBlock::ToolResult(result) => Some(result),
        _ => None,
    }
}

/// Iterates over the answers of the open round, in call order.
fn results(messages: &[Message]) -> impl Iterator<Item = &ToolResult> {
    let last = messages.last();
    let content = last.into_iter().flat_map(|message| &message.content);
    content.filter_map(result)
}

fn result_at(messages: &mut [Message], at: usize) -> Option<&mut ToolResult> {
    match messages.last_mut()?.content.get_mut(at)? {
        ContentBlock::ToolResult(result) => Some(result),
        _ => None,
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
    fn few_calls_and_many_are_answered_in_their_places_whatever_the_order() {
        for count in [1, FEW, FEW + 1, 40] {
            let call = |at: usize| {
                ContentBlock::ToolCall(ToolCall {
                    id: format!("c{at}"),
                    name: format!("tool{at}"),
                    arguments: "{}".to_owned(),
                })
            };
            let mut messages = vec![Message::assistant((0..count).map(call).collect())];
            let mut round = Round::open(&mut messages).unwrap();
            for at in (0..count).rev() {
                let id = format!("c{at}");
                assert_eq!(round.tool(&messages, &id), Some(&*format!("tool{at}")));
                round.started(&mut messages, &id, Effect::Once, 1, "digest");
                assert_eq!(
                    crate::message::text_of(&results(&messages).nth(at).unwrap().content),
                    UNKNOWN
                );
                for said in [format!("said {at}"), "said again".to_owned()] {
                    let content = [ContentBlock::text(said)];
                    round.answer(&mut messages, &id, Status::Ok, &content);
                }
                assert_eq!(round.tool(&messages, &id), None);
                let open: Vec<_> = round.open_calls(&messages).map(|call| call.id).collect();
                let expected: Vec<_> = (0..at).map(|at| format!("c{at}")).collect();
                assert_eq!(open, expected);
            }
            assert!(round.is_answered());
            for (at, result) in results(&messages).enumerate() {
                assert_eq!(
                    (&*result.call_id, result.is_error),
                    (&*format!("c{at}"), false)
                );
                assert_eq!(result.content, [ContentBlock::text(format!("said {at}"))]);
            }
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

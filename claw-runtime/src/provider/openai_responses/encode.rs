//! A [`Request`] to the JSON of a response.
//!
//! The conversation is a flat list of items: messages, calls, results, and reasoning as it came. A call and its result
//! are paired by `call_id`; the ids of the items themselves are left out, since the service stored none.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::dialect::Offer;
use crate::message::{ContentBlock, Image, Message, Role, ToolCall, ToolResult};
use crate::provider::content::{result_text, text_of, text_of_block, wire_call, with_mark};
use crate::provider::prefix::{self, Buffer};
use crate::provider::{Effort, Request, ToolChoice};

/// Who is asked, and how hard it is to reason.
pub(super) type Peer<'a> = prefix::Peer<'a, Option<Effort>>;

/// The longest `call_id` the service takes.
const LONGEST_ID: usize = 64;

/// Returns the request's body. What an earlier request of the session wrote of it is taken over; see [`prefix`].
pub(super) fn encode(request: &Request<'_>, peer: Peer<'_>, stream: bool) -> Bytes {
    let offer = request.tools.map(|tools| tools.offer(request.dialect));
    let fresh = || Body {
        out: Buffer::new(),
        request,
        stream,
        peer,
        offer: offer.clone(),
    };
    prefix::encode(request, &peer, offer.as_ref(), usize::MAX, fresh)
}

struct Body<'a> {
    out: Buffer,
    request: &'a Request<'a>,
    stream: bool,
    peer: Peer<'a>,
    offer: Option<Arc<Offer>>,
}

impl prefix::Body for Body<'_> {
    fn buffer(&mut self) -> &mut Buffer {
        &mut self.out
    }

    fn begin(&mut self) {
        self.out.raw("{\"model\":");
        self.out.string(self.request.model);
        self.out.raw(",\"store\":false");
        if self.peer.capabilities.reasoning {
            // Models that do not reason refuse this.
            self.out
                .raw(",\"include\":[\"reasoning.encrypted_content\"]");
            if let Some(effort) = self.peer.quirks {
                self.out.raw(",\"reasoning\":{\"effort\":");
                self.out.string(effort.as_str());
                self.out.raw("}");
            }
        }
        self.tools();
        if !self.request.system.is_empty() {
            self.out.raw(",\"instructions\":");
            self.out.string(self.request.system);
        }
        self.out.raw(",\"input\":[");
    }

    fn messages(&mut self, messages: &[Message]) {
        for message in messages {
            match message.role {
                Role::System => self.said("developer", &text_of(&message.content, false), None),
                Role::User => self.user(&message.content),
                Role::Assistant => self.assistant(&message.content),
                Role::Tool => self.results(&message.content),
            }
        }
    }

    fn end(&mut self) {
        self.out.raw("]");
        if self.offers_tools() {
            match self.request.tool_choice {
                ToolChoice::Auto => {}
                ToolChoice::None => self.out.raw(",\"tool_choice\":\"none\""),
                ToolChoice::Required => self.out.raw(",\"tool_choice\":\"required\""),
            }
            if !self.peer.capabilities.parallel_calls {
                self.out.raw(",\"parallel_tool_calls\":false");
            }
        }
        if let Some(most) = self.request.max_output_tokens {
            self.out.raw(&format!(",\"max_output_tokens\":{most}"));
        }
        if self.stream {
            self.out.raw(",\"stream\":true");
        }
        self.out.raw("}");
    }
}

impl Body<'_> {
    fn offers_tools(&self) -> bool {
        self.offer
            .as_ref()
            .is_some_and(|offer| offer.iter().len() > 0)
    }

    fn tools(&mut self) {
        let Some(offer) = self.offer.clone().filter(|_| self.offers_tools()) else {
            return;
        };
        self.out.raw(",\"tools\":[");
        for (at, offered) in offer.iter().enumerate() {
            if at > 0 {
                self.out.raw(",");
            }
            self.out.raw("{\"type\":\"function\",\"name\":");
            self.out.string(&offered.name);
            self.out.raw(",\"description\":");
            self.out.string(&offered.tool.spec().description);
            // Left out, it means strict here.
            self.out.raw(",\"strict\":");
            self.out.value(&offered.strict);
            self.out.raw(",\"parameters\":");
            self.out.raw(&offered.lowered.schema);
            self.out.raw("}");
        }
        self.out.raw("]");
    }

    fn said(&mut self, role: &str, text: &str, phase: Option<&str>) {
        self.out.next_message();
        self.out.raw("{\"role\":\"");
        self.out.raw(role);
        self.out.raw("\",\"content\":");
        self.out.string(text);
        if let Some(phase) = phase {
            self.out.raw(",\"phase\":");
            self.out.string(phase);
        }
        self.out.raw("}");
    }

    fn user(&mut self, content: &[ContentBlock]) {
        self.out.next_message();
        self.out.raw("{\"role\":\"user\",\"content\":");
        self.parts(content, &text_of(content, self.peer.capabilities.vision));
        self.out.raw("}");
    }

    /// Writes content that may hold images: `text`, or a list of parts where there are any.
    fn parts(&mut self, content: &[ContentBlock], text: &str) {
        let takes_images = self.peer.capabilities.vision;
        let is_image = |block: &&ContentBlock| matches!(block, ContentBlock::Image(_));
        if !takes_images || !content.iter().any(|block| is_image(&block)) {
            return self.out.string(text);
        }
        self.out.raw("[");
        if !text.is_empty() {
            self.out.raw("{\"type\":\"input_text\",\"text\":");
            self.out.string(text);
            self.out.raw("},");
        }
        for (at, block) in content.iter().filter(is_image).enumerate() {
            let ContentBlock::Image(image) = block else {
                continue;
            };
            if at > 0 {
                self.out.raw(",");
            }
            self.out
                .raw("{\"type\":\"input_image\",\"detail\":\"auto\",\"image_url\":");
            match image {
                Image::Url(url) => self.out.string(url),
                Image::Data { media_type, base64 } => {
                    self.out
                        .string(&format!("data:{media_type};base64,{base64}"));
                }
            }
            self.out.raw("}");
        }
        self.out.raw("]");
    }

    /// Writes what the model said, in the order it said it. Reasoning goes back in front of what it led to; where nothing
    /// followed it, the service would refuse it.
    fn assistant(&mut self, content: &[ContentBlock]) {
        let mut reasoning: Vec<&Value> = Vec::new();
        let mut phase = None;
        for block in content {
            match block {
                ContentBlock::Opaque {
                    provider,
                    model,
                    value,
                } if provider == self.peer.provider && model == self.request.model => {
                    if value["type"] == "reasoning" {
                        reasoning.push(value);
                    }
                    phase = value["phase"].as_str().or(phase);
                }
                ContentBlock::ToolCall(call) => {
                    self.reasoning(&mut reasoning);
                    self.call(call);
                }
                block => {
                    let Some(text) = text_of_block(block, true).filter(|text| !text.is_empty())
                    else {
                        continue;
                    };
                    self.reasoning(&mut reasoning);
                    self.said("assistant", &text, phase.take());
                }
            }
        }
    }

    fn reasoning(&mut self, items: &mut Vec<&Value>) {
        for item in items.drain(..) {
            self.out.next_message();
            let is_null = item
                .as_object()
                .is_some_and(|it| it.values().any(Value::is_null));
            if is_null {
                // Answers have fields that are null, and requests may not.
                let mut item = item.clone();
                if let Value::Object(fields) = &mut item {
                    fields.retain(|_, value| !value.is_null());
                }
                self.out.value(&item);
            } else {
                self.out.value(item);
            }
        }
    }

    fn call(&mut self, call: &ToolCall) {
        self.out.next_message();
        self.out.raw("{\"type\":\"function_call\",\"call_id\":");
        self.id(&call.id);
        self.out.raw(",\"name\":");
        let offer = self.offer.clone();
        let (name, arguments) = wire_call(offer.as_deref(), self.request.dialect, call);
        self.out.string(&name);
        self.out.raw(",\"arguments\":");
        self.out.string(&arguments);
        self.out.raw("}");
    }

    fn id(&mut self, id: &str) {
        if id.len() > LONGEST_ID {
            self.out.string(&crate::digest::of(id.as_bytes())[..32]);
        } else {
            self.out.string(id);
        }
    }

    fn results(&mut self, content: &[ContentBlock]) {
        for block in content {
            if let ContentBlock::ToolResult(result) = block {
                self.result(result);
            }
        }
    }

    fn result(&mut self, result: &ToolResult) {
        self.out.next_message();
        self.out
            .raw("{\"type\":\"function_call_output\",\"call_id\":");
        self.id(&result.call_id);
        self.out.raw(",\"output\":");
        let text = with_mark(result, result_text(result, self.peer.capabilities.vision));
        self.parts(&result.content, &text);
        self.out.raw("}");
    }
}

#[cfg(test)]
mod tests;

//! A [`Request`] to the JSON of a message request.
//!
//! Marks for the prompt cache stand behind the tools, the instructions, the newest message and the one that was newest a
//! request before, so that a service finds what it kept. Messages that may carry a mark are written anew each time;
//! those before them are kept as bytes.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::Options;
use crate::dialect::Offer;
use crate::message::{ContentBlock, Image, Message, Role, ToolCall, ToolResult};
use crate::provider::content::{image_data, result_text, text_of_block, wire_call};
use crate::provider::prefix::{self, Buffer};
use crate::provider::{Request, Thinking, ToolChoice};

/// Who is asked.
pub(super) type Peer<'a> = prefix::Peer<'a, Options>;

const MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";

/// The fewest tokens a model may be told to think in.
const LEAST_BUDGET: u64 = 1024;

/// The images the service takes by value.
const MEDIA_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Returns the request's body. What an earlier request of the session wrote of it is taken over; see [`prefix`].
pub(super) fn encode(request: &Request<'_>, peer: Peer<'_>, stream: bool) -> Bytes {
    let offer = request.tools.map(|tools| tools.offer(request.dialect));
    let marked = marked(request.messages);
    let fresh = || Body {
        out: Buffer::new(),
        in_block: false,
        request,
        stream,
        peer,
        marked: &request.messages[marked.min(request.messages.len())..],
        offer: offer.clone(),
    };
    prefix::encode(request, &peer, offer.as_ref(), marked, fresh)
}

/// Returns where the messages begin that may carry a mark: at the last but one of those that are not the model's.
fn marked(messages: &[Message]) -> usize {
    let others = messages.iter().enumerate().rev();
    let mut others = others.filter(|(_, message)| message.role != Role::Assistant);
    others.nth(1).map_or(0, |(at, _)| at)
}

struct Body<'a> {
    out: Buffer,
    /// Whether a content block is not closed yet: a mark may follow.
    in_block: bool,
    request: &'a Request<'a>,
    stream: bool,
    peer: Peer<'a>,
    /// The messages that carry a mark, but for the model's own.
    marked: &'a [Message],
    offer: Option<Arc<Offer>>,
}

impl prefix::Body for Body<'_> {
    fn buffer(&mut self) -> &mut Buffer {
        &mut self.out
    }

    fn begin(&mut self) {
        self.raw("{\"model\":");
        self.string(self.request.model);
        self.tools();
        if !self.request.system.trim().is_empty() {
            self.raw(",\"system\":[");
            self.text_block(self.request.system);
            self.end_blocks(true);
        }
        self.raw(",\"messages\":[");
    }

    fn messages(&mut self, messages: &[Message]) {
        for message in messages {
            let is_marked = self.marked.iter().any(|it| std::ptr::eq(it, message));
            match message.role {
                Role::System | Role::User => self.user(&message.content, is_marked),
                Role::Assistant => self.assistant(message),
                Role::Tool => self.results(&message.content, is_marked),
            }
        }
    }

    fn end(&mut self) {
        let request = self.request;
        let most = request
            .max_output_tokens
            .unwrap_or(self.peer.quirks.max_tokens);
        self.raw("],\"max_tokens\":");
        self.value(&most);
        let thinks = self.thinking(most);
        if self.offers_tools() {
            match request.tool_choice {
                // A model that thinks cannot be made to call.
                ToolChoice::Required if !thinks => self.raw(",\"tool_choice\":{\"type\":\"any\"}"),
                ToolChoice::Auto | ToolChoice::Required => {}
                ToolChoice::None => self.raw(",\"tool_choice\":{\"type\":\"none\"}"),
            }
        }
        if !request.stop.is_empty() {
            self.raw(",\"stop_sequences\":");
            self.value(request.stop);
        }
        if self.stream {
            self.raw(",\"stream\":true");
        }
        self.raw("}");
    }
}

impl Body<'_> {
    fn raw(&mut self, text: &str) {
        self.out.raw(text);
    }

    fn string(&mut self, text: &str) {
        self.out.string(text);
    }

    fn value(&mut self, value: &(impl serde::Serialize + ?Sized)) {
        self.out.value(value);
    }

    fn offers_tools(&self) -> bool {
        self.offer
            .as_ref()
            .is_some_and(|offer| offer.iter().len() > 0)
    }

    /// Says whether the model is to think; returns whether it is known that it does.
    fn thinking(&mut self, most: u64) -> bool {
        match self.peer.quirks.thinking {
            Thinking::Unsaid => false,
            Thinking::Off => {
                self.raw(",\"thinking\":{\"type\":\"disabled\"}");
                false
            }
            Thinking::Adaptive => {
                self.raw(",\"thinking\":{\"type\":\"adaptive\"}");
                true
            }
            // Both bounds are the service's; an output limit below them leaves no room to think.
            Thinking::Budget(_) if most <= LEAST_BUDGET => false,
            Thinking::Budget(tokens) => {
                self.raw(",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":");
                self.value(&tokens.clamp(LEAST_BUDGET, most - 1));
                self.raw("}");
                true
            }
        }
    }

    fn tools(&mut self) {
        let Some(offer) = self.offer.clone().filter(|_| self.offers_tools()) else {
            return;
        };
        self.raw(",\"tools\":[");
        for offered in offer.iter() {
            self.begin_block("{\"name\":");
            self.string(&offered.name);
            self.raw(",\"description\":");
            self.string(&offered.tool.spec().description);
            if offered.strict {
                self.raw(",\"strict\":true");
            }
            self.raw(",\"input_schema\":");
            self.raw(&offered.lowered.schema);
        }
        self.end_blocks(true);
    }

    /// Ends the block before and begins one.
    fn begin_block(&mut self, head: &str) {
        if std::mem::replace(&mut self.in_block, true) {
            self.raw("},");
        }
        self.raw(head);
    }

    /// Ends the last block, with a mark, and the list of blocks.
    fn end_blocks(&mut self, mark: bool) {
        if std::mem::take(&mut self.in_block) {
            if mark && self.peer.quirks.cache {
                self.raw(MARK);
            }
            self.raw("}");
        }
        self.raw("]");
    }

    fn begin_message(&mut self, role: &str) {
        self.out.next_message();
        self.raw("{\"role\":\"");
        self.raw(role);
        self.raw("\",\"content\":[");
    }

    fn text_block(&mut self, text: &str) {
        self.begin_block("{\"type\":\"text\",\"text\":");
        self.string(text);
    }

    fn user(&mut self, content: &[ContentBlock], mark: bool) {
        self.begin_message("user");
        self.content(content);
        if !self.in_block {
            // A message without content is refused, as is blank text.
            self.text_block("[empty message]");
        }
        self.end_blocks(mark);
        self.raw("}");
    }

    /// Writes texts and images, each as a block.
    fn content(&mut self, content: &[ContentBlock]) {
        let takes_images = self.peer.capabilities.vision;
        for block in content {
            match block {
                ContentBlock::Image(image) if takes_images => self.image(image),
                block => match text_of_block(block, takes_images) {
                    Some(text) if !text.trim().is_empty() => self.text_block(&text),
                    _ => {}
                },
            }
        }
    }

    fn image(&mut self, image: &Image) {
        match (image_data(image), image) {
            (Some((media_type, base64)), _) if MEDIA_TYPES.contains(&media_type) => {
                self.begin_block(
                    "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":",
                );
                self.string(media_type);
                self.raw(",\"data\":");
                self.string(base64);
                self.raw("}");
            }
            (None, Image::Url(url)) => {
                self.begin_block("{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":");
                self.string(url);
                self.raw("}");
            }
            (Some((media_type, _)), _) => {
                self.text_block(&format!("[image left out: `{media_type}` is not taken]"));
            }
            (None, Image::Data { .. }) => {}
        }
    }

    fn assistant(&mut self, message: &Message) {
        let is_said = |block: &ContentBlock| match block {
            ContentBlock::ToolCall(_) => true,
            block => text_of_block(block, true).is_some_and(|text| !text.trim().is_empty()),
        };
        // A message that says nothing is refused, and one that ends with its thinking.
        let Some(last) = message.content.iter().rposition(is_said) else {
            return;
        };
        self.begin_message("assistant");
        for block in &message.content[..=last] {
            match block {
                ContentBlock::ToolCall(call) => self.call(call),
                ContentBlock::Opaque {
                    provider,
                    model,
                    value,
                } if provider == self.peer.provider && model == self.request.model => {
                    self.thought(value);
                }
                block if is_said(block) => {
                    let text = text_of_block(block, true).unwrap_or_default();
                    self.text_block(&text);
                }
                _ => {}
            }
        }
        self.end_blocks(false);
        self.raw("}");
    }

    /// Gives back a block that this very model sent, as it came.
    fn thought(&mut self, value: &Value) {
        if matches!(
            value["type"].as_str(),
            Some("thinking" | "redacted_thinking")
        ) {
            let text = value.to_string();
            self.begin_block(text.strip_suffix('}').unwrap_or("{"));
        }
    }

    fn call(&mut self, call: &ToolCall) {
        self.begin_block("{\"type\":\"tool_use\",\"id\":");
        self.id(&call.id);
        self.raw(",\"name\":");
        let offer = self.offer.clone();
        let (name, arguments) = wire_call(offer.as_deref(), self.request.dialect, call);
        self.string(&name);
        self.raw(",\"input\":");
        self.raw(arguments.trim());
    }

    /// Writes an id of letters, digits, `_` and `-`; another service's may have more.
    fn id(&mut self, id: &str) {
        let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if !id.is_empty() && id.bytes().all(is_taken) {
            self.string(id);
        } else {
            self.string(&format!(
                "toolu_{}",
                &crate::digest::of(id.as_bytes())[..24]
            ));
        }
    }

    fn results(&mut self, content: &[ContentBlock], mark: bool) {
        self.begin_message("user");
        for block in content {
            if let ContentBlock::ToolResult(result) = block {
                self.result(result);
            }
        }
        self.end_blocks(mark);
        self.raw("}");
    }

    fn result(&mut self, result: &ToolResult) {
        let takes_images = self.peer.capabilities.vision;
        self.begin_block("{\"type\":\"tool_result\",\"tool_use_id\":");
        self.id(&result.call_id);
        let is_image = |block: &ContentBlock| matches!(block, ContentBlock::Image(_));
        if takes_images && result.content.iter().any(is_image) {
            self.raw(",\"content\":[");
            self.in_block = false;
            self.content(&result.content);
            self.end_blocks(false);
            self.in_block = true;
        } else {
            self.raw(",\"content\":");
            self.string(&result_text(result, takes_images));
        }
        if result.is_error {
            self.raw(",\"is_error\":true");
        }
    }
}

/// Returns the ids of the models in the answer to `GET /v1/models`.
pub(super) fn model_ids(body: &Value) -> Option<Vec<String>> {
    let list = body.get("data")?.as_array()?;
    let id = |model: &Value| model.get("id")?.as_str().map(str::to_owned);
    Some(list.iter().filter_map(id).collect())
}

#[cfg(test)]
mod tests;

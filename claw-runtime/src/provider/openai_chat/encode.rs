//! A [`Request`] to the JSON of a chat completion.
//!
//! Written straight into the body's bytes, in one pass: schemas and texts are borrowed, and equal messages give equal
//! bytes, so that a service's prompt cache holds, and so that the next request of a session can go on from the bytes of
//! the last.

mod prefix;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use prefix::{Head, Prefix};
use serde_json::Value;
use serde_json::value::RawValue;

use super::Quirks;
use crate::dialect::{Dialect, Offer};
use crate::message::{ContentBlock, Image, Message, Role, ToolCall, ToolResult};
use crate::provider::{Capabilities, Request, ToolChoice};

/// Who is asked: what an encoding depends on beside the request.
#[derive(Clone, Copy)]
pub(super) struct Peer<'a> {
    pub(super) provider: &'a str,
    pub(super) quirks: Quirks,
    pub(super) capabilities: Capabilities,
}

/// Returns the request's body. What an earlier request of the session wrote of it is taken over; see [`prefix`].
pub(super) fn encode(request: &Request<'_>, peer: Peer<'_>, stream: bool) -> Bytes {
    let offer = request.tools.map(|tools| tools.offer(request.dialect));
    let settled = request.history.map_or(0, |history| history.settled);
    let (settled, open) = request
        .messages
        .split_at(settled.min(request.messages.len()));
    let kept = request
        .history
        .and_then(|history| history.kept.take::<Prefix>())
        .filter(|kept| kept.messages <= settled.len())
        .filter(|kept| kept.head.fits(request, peer, offer.as_ref()));
    let mut body = Body {
        out: BytesMut::new(),
        first: true,
        model: request.model,
        peer,
        fold: String::new(),
        dialect: request.dialect,
        offer,
    };
    let (head, written) = match kept {
        Some(kept) => {
            body.first = kept.first;
            let written = kept.messages;
            let (head, out) = kept.into_bytes();
            body.out = out;
            (Some(head), written)
        }
        None => {
            body.begin_body(request);
            (None, 0)
        }
    };
    body.messages(&settled[written..]);
    let (length, first) = (body.out.len(), body.first);
    let is_whole = body.fold.is_empty();
    body.messages(open);
    body.end_body(request, stream);
    let offer = body.offer;
    let bytes = body.out.freeze();
    if let Some(history) = request.history.filter(|_| is_whole) {
        debug_assert_eq!(
            bytes,
            encode(
                &Request {
                    history: None,
                    ..*request
                },
                peer,
                stream
            ),
            "what is kept is what would be written"
        );
        history.kept.keep(Prefix {
            head: head.unwrap_or_else(|| Head::of(request, peer, offer.as_ref())),
            body: bytes.clone(),
            length,
            messages: settled.len(),
            first,
        });
    }
    bytes
}

struct Body<'a> {
    out: BytesMut,
    /// Whether no message is written yet.
    first: bool,
    model: &'a str,
    peer: Peer<'a>,
    /// Standing instructions that wait for the first user message, for a model without a system role.
    fold: String,
    dialect: &'static Dialect,
    offer: Option<Arc<Offer>>,
}

impl Body<'_> {
    /// Writes what stands before the conversation. It stays the same from round to round.
    fn begin_body(&mut self, request: &Request<'_>) {
        self.out.reserve(4096);
        self.raw("{\"model\":");
        self.string(request.model);
        self.tools();
        self.raw(",\"messages\":[");
        if !request.system.is_empty() {
            self.system(request.system);
        }
    }

    /// Writes what stands after the conversation.
    fn end_body(&mut self, request: &Request<'_>, stream: bool) {
        if !self.fold.is_empty() {
            self.user(&[]);
        }
        self.raw("]");
        if self.offers_tools() {
            match request.tool_choice {
                // What services do unasked; some refuse the field.
                ToolChoice::Auto => {}
                ToolChoice::None => self.raw(",\"tool_choice\":\"none\""),
                ToolChoice::Required => self.raw(",\"tool_choice\":\"required\""),
            }
        }
        let quirks = self.peer.quirks;
        if let Some(most) = request.max_output_tokens {
            self.raw(&format!(",\"{}\":{most}", quirks.max_tokens.as_str()));
        }
        if !request.stop.is_empty() {
            // Services take four at most.
            self.raw(",\"stop\":");
            self.value(&request.stop[..request.stop.len().min(4)]);
        }
        if stream {
            self.raw(",\"stream\":true");
            if quirks.stream_usage {
                self.raw(",\"stream_options\":{\"include_usage\":true}");
            }
        }
        self.raw("}");
    }

    fn offers_tools(&self) -> bool {
        self.offer
            .as_ref()
            .is_some_and(|offer| offer.iter().len() > 0)
    }

    fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn string(&mut self, text: &str) {
        self.value(text);
    }

    fn value(&mut self, value: &(impl serde::Serialize + ?Sized)) {
        serde_json::to_writer((&mut self.out).writer(), value)
            .expect("text and JSON values serialise, and a buffer takes all bytes");
    }

    fn begin(&mut self, role: &str) {
        if !std::mem::take(&mut self.first) {
            self.raw(",");
        }
        self.raw("{\"role\":\"");
        self.raw(role);
        self.raw("\",\"content\":");
    }

    fn messages(&mut self, messages: &[Message]) {
        for message in messages {
            match message.role {
                Role::System => self.system(&text_of(&message.content, false)),
                Role::User => self.user(&message.content),
                Role::Assistant => self.assistant(message),
                Role::Tool => self.results(&message.content),
            }
        }
    }

    fn system(&mut self, text: &str) {
        if self.peer.capabilities.system_role {
            self.begin("system");
            self.string(text);
            self.raw("}");
        } else {
            self.fold.push_str(text);
            self.fold.push_str("\n\n");
        }
    }

    fn user(&mut self, content: &[ContentBlock]) {
        let fold = std::mem::take(&mut self.fold);
        self.begin("user");
        self.content(&fold, content);
        self.raw("}");
    }

    /// Writes content that may hold images: a string, or a list of parts where there are any.
    fn content(&mut self, before: &str, content: &[ContentBlock]) {
        let takes_images = self.peer.capabilities.vision;
        let is_image = |block: &&ContentBlock| matches!(block, ContentBlock::Image(_));
        let mut text = text_of(content, takes_images);
        if !before.is_empty() {
            text = format!("{before}{text}").trim_end().to_owned().into();
        }
        if !takes_images || !content.iter().any(|block| is_image(&block)) {
            return self.string(&text);
        }
        self.raw("[");
        if !text.is_empty() {
            self.raw("{\"type\":\"text\",\"text\":");
            self.string(&text);
            self.raw("},");
        }
        for (at, block) in content.iter().filter(is_image).enumerate() {
            let ContentBlock::Image(image) = block else {
                continue;
            };
            if at > 0 {
                self.raw(",");
            }
            self.raw("{\"type\":\"image_url\",\"image_url\":{\"url\":");
            match image {
                Image::Url(url) => self.string(url),
                Image::Data { media_type, base64 } => {
                    self.string(&format!("data:{media_type};base64,{base64}"));
                }
            }
            self.raw("}}");
        }
        self.raw("]");
    }

    fn assistant(&mut self, message: &Message) {
        let text = text_of(&message.content, true);
        let has_calls = message.calls().next().is_some();
        if text.is_empty() && !has_calls {
            // Services refuse an assistant message that says nothing.
            return;
        }
        self.begin("assistant");
        if text.is_empty() {
            self.raw("null");
        } else {
            self.string(&text);
        }
        if has_calls {
            if self.peer.quirks.replay_reasoning {
                self.raw(",\"reasoning_content\":");
                self.string(&reasoning_of(&message.content));
            }
            self.own_parts(&message.content);
            self.raw(",\"tool_calls\":[");
            for (at, call) in message.calls().enumerate() {
                if at > 0 {
                    self.raw(",");
                }
                self.call(call);
            }
            self.raw("]");
        }
        self.raw("}");
    }

    /// Gives back the parts that this very model sent and wants to see again.
    fn own_parts(&mut self, content: &[ContentBlock]) {
        let details = content.iter().find_map(|block| match block {
            ContentBlock::Opaque {
                provider,
                model,
                value,
            } if provider == self.peer.provider && model == self.model => {
                value.get("reasoning_details")
            }
            _ => None,
        });
        if let Some(details) = details {
            self.raw(",\"reasoning_details\":");
            self.value(details);
        }
    }

    fn call(&mut self, call: &ToolCall) {
        self.raw("{\"id\":");
        self.id(&call.id);
        self.raw(",\"type\":\"function\",\"function\":{\"name\":");
        let offer = self.offer.clone();
        let (name, arguments) = match &offer {
            Some(offer) => offer.encode(call),
            None => {
                let name = self.dialect.tool_names.wire(&call.name);
                (name, Cow::Borrowed(call.arguments.as_str()))
            }
        };
        self.string(&name);
        self.raw(",\"arguments\":");
        let is_object = arguments.trim_start().starts_with('{')
            && serde_json::from_str::<&RawValue>(&arguments).is_ok();
        if is_object {
            self.string(&arguments);
        } else {
            // Servers parse the arguments of old calls and refuse the conversation for a bad one.
            self.string(&serde_json::json!({ "unreadable_arguments": call.arguments }).to_string());
        }
        self.raw("}}");
    }

    fn id(&mut self, id: &str) {
        let is_short = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if self.peer.quirks.short_call_ids && !is_short {
            self.string(&crate::digest::of(id.as_bytes())[..9]);
        } else {
            self.string(id);
        }
    }

    /// Writes one message a result. Results are text on this wire; images follow as a user message.
    fn results(&mut self, content: &[ContentBlock]) {
        let mut images = Vec::new();
        for block in content {
            let ContentBlock::ToolResult(result) = block else {
                continue;
            };
            self.begin("tool");
            self.string(&result_text(result, self.peer.capabilities.vision));
            self.raw(",\"tool_call_id\":");
            self.id(&result.call_id);
            self.raw("}");
            let of_result = result.content.iter();
            images.extend(
                of_result
                    .filter(|block| matches!(block, ContentBlock::Image(_)))
                    .cloned(),
            );
        }
        if !images.is_empty() && self.peer.capabilities.vision {
            images.insert(0, ContentBlock::text("Images of the tool results above:"));
            self.user(&images);
        }
    }

    fn tools(&mut self) {
        let Some(offer) = self.offer.clone().filter(|_| self.offers_tools()) else {
            return;
        };
        self.raw(",\"tools\":[");
        for (at, offered) in offer.iter().enumerate() {
            if at > 0 {
                self.raw(",");
            }
            self.raw("{\"type\":\"function\",\"function\":{\"name\":");
            self.string(&offered.name);
            self.raw(",\"description\":");
            self.string(&offered.tool.spec().description);
            if offered.strict {
                self.raw(",\"strict\":true");
            }
            self.raw(",\"parameters\":");
            self.raw(&offered.lowered.schema);
            self.raw("}}");
        }
        self.raw("]");
    }
}

/// Returns content as one text, borrowed where it is one block.
fn text_of(content: &[ContentBlock], takes_images: bool) -> Cow<'_, str> {
    let mut all = content
        .iter()
        .filter_map(|block| text_of_block(block, takes_images));
    let mut text = all.next().unwrap_or_default();
    all.for_each(|more| text.to_mut().push_str(&more));
    text
}

fn text_of_block(block: &ContentBlock, takes_images: bool) -> Option<Cow<'_, str>> {
    Some(match block {
        ContentBlock::Text { text } => text.into(),
        ContentBlock::Resource { uri, description } if description.is_empty() => uri.into(),
        ContentBlock::Resource { uri, description } => format!("{description}: {uri}").into(),
        ContentBlock::Image(_) if !takes_images => "[image left out: the model takes none]".into(),
        _ => return None,
    })
}

fn reasoning_of(content: &[ContentBlock]) -> String {
    let mut out = String::new();
    for block in content {
        if let ContentBlock::Reasoning { text } = block {
            out.push_str(text);
        }
    }
    out
}

/// Returns what the model reads; this wire has no mark for a failed call but words.
fn result_text(result: &ToolResult, takes_images: bool) -> Cow<'_, str> {
    let mut text = text_of(&result.content, takes_images);
    if text.trim().is_empty() {
        text = "(no text)".into();
    }
    let says_so = ["error", "tool call to"].iter().any(|start| {
        text.get(..start.len())
            .is_some_and(|it| it.eq_ignore_ascii_case(start))
    });
    if result.is_error && !says_so {
        text.to_mut().insert_str(0, "Error: ");
    }
    text
}

/// Returns the ids of the models in the answer to `GET /models`.
pub(super) fn model_ids(body: &Value) -> Option<Vec<String>> {
    let list = match body {
        Value::Array(list) => list,
        body => body
            .get("data")
            .or_else(|| body.get("models"))?
            .as_array()?,
    };
    let id = |model: &Value| {
        let id = model.get("id").or_else(|| model.get("name"))?;
        id.as_str().map(str::to_owned)
    };
    Some(list.iter().filter_map(id).collect())
}

#[cfg(test)]
mod tests;

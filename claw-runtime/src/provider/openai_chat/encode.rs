//! A [`Request`] to the JSON of a chat completion.
//!
//! Written straight into the body's bytes, in one pass: schemas and texts are borrowed, and equal messages give equal
//! bytes, so that a service's prompt cache holds, and so that the next request of a session can go on from the bytes of
//! the last.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::{Quirks, Replay};
use crate::dialect::Offer;
use crate::message::{ContentBlock, Image, Message, Role, ToolCall};
use crate::provider::content::{
    images_of_results, reasoning_of, result_text, text_of, wire_call, with_mark, write_functions,
};
use crate::provider::prefix::{self, Buffer};
use crate::provider::{Request, ToolChoice};

/// Who is asked.
pub(crate) type Peer<'a> = prefix::Peer<'a, Quirks>;

/// Returns the request's body. What an earlier request of the session wrote of it is taken over; see [`prefix`].
pub(crate) fn encode(request: &Request<'_>, peer: Peer<'_>, stream: bool) -> Bytes {
    let offer = request.tools.map(|tools| tools.offer(request.dialect));
    let fresh = || Body {
        out: Buffer::new(),
        request,
        stream,
        peer,
        fold: String::new(),
        offer: offer.clone(),
    };
    prefix::encode(request, &peer, offer.as_ref(), usize::MAX, fresh)
}

struct Body<'a> {
    out: Buffer,
    request: &'a Request<'a>,
    stream: bool,
    peer: Peer<'a>,
    /// Standing instructions that wait for the first user message, for a model without a system role.
    fold: String,
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
        self.raw(",\"messages\":[");
        if !self.request.system.is_empty() {
            self.system(self.request.system);
        }
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

    fn is_whole(&self) -> bool {
        self.fold.is_empty()
    }

    fn end(&mut self) {
        if !self.fold.is_empty() {
            self.user(&[]);
        }
        self.raw("]");
        let request = self.request;
        let quirks = self.peer.quirks;
        if self.offers_tools() && quirks.tool_choice {
            match request.tool_choice {
                // What services do unasked; some refuse the field.
                ToolChoice::Auto => {}
                ToolChoice::None => self.raw(",\"tool_choice\":\"none\""),
                ToolChoice::Required => self.raw(",\"tool_choice\":\"required\""),
            }
        }
        if self.offers_tools() && quirks.ask_parallel {
            let parallel = self.peer.capabilities.parallel_calls;
            self.raw(&format!(",\"parallel_tool_calls\":{parallel}"));
        }
        if let Some(most) = request.max_output_tokens {
            self.raw(&format!(",\"{}\":{most}", quirks.max_tokens.as_str()));
        }
        if !request.stop.is_empty() && quirks.stop {
            // Services take four at most.
            self.raw(",\"stop\":");
            self.value(&request.stop[..request.stop.len().min(4)]);
        }
        if let Some(form) = request.form {
            self.raw(",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"reply\",\"schema\":");
            self.raw(form);
            self.raw(",\"strict\":true}}");
        }
        if self.stream {
            self.raw(",\"stream\":true");
            if quirks.stream_usage {
                self.raw(",\"stream_options\":{\"include_usage\":true}");
            }
            if quirks.prompt_progress {
                self.raw(",\"return_progress\":true");
            }
        }
        self.raw("}");
    }
}

impl Body<'_> {
    fn offers_tools(&self) -> bool {
        self.offer
            .as_ref()
            .is_some_and(|offer| offer.iter().len() > 0)
    }

    fn raw(&mut self, text: &str) {
        self.out.raw(text);
    }

    fn string(&mut self, text: &str) {
        self.out.string(text);
    }

    fn value(&mut self, value: &(impl serde::Serialize + ?Sized)) {
        self.out.value(value);
    }

    fn begin_message(&mut self, role: Role) {
        self.out.next_message();
        self.raw(match role {
            Role::System => r#"{"role":"system","content":"#,
            Role::User => r#"{"role":"user","content":"#,
            Role::Assistant => r#"{"role":"assistant","content":"#,
            Role::Tool => r#"{"role":"tool","content":"#,
        });
    }

    fn system(&mut self, text: &str) {
        if self.peer.capabilities.system_role {
            self.begin_message(Role::System);
            self.string(text);
            self.raw("}");
        } else {
            self.fold.push_str(text);
            self.fold.push_str("\n\n");
        }
    }

    fn user(&mut self, content: &[ContentBlock]) {
        let fold = std::mem::take(&mut self.fold);
        self.begin_message(Role::User);
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
        let mut text = text_of(&message.content, true);
        let has_calls = message.calls().next().is_some();
        if text.is_empty() && !has_calls {
            // Services refuse an assistant message that says nothing.
            return;
        }
        let replay = self.peer.quirks.replay;
        let reasoning = match replay {
            Replay::Never => String::new(),
            _ => reasoning_of(&message.content),
        };
        if replay == Replay::InText && !reasoning.is_empty() {
            text = format!("<think>\n{}\n</think>\n\n{text}", reasoning.trim()).into();
        }
        self.begin_message(Role::Assistant);
        if text.is_empty() {
            self.raw("null");
        } else {
            self.string(&text);
        }
        if has_calls {
            let has_field = match replay {
                Replay::WithCalls => true,
                Replay::WhereGiven => !reasoning.is_empty(),
                Replay::Never | Replay::InText => false,
            };
            if has_field {
                self.raw(",\"reasoning_content\":");
                self.string(&reasoning);
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
            } if provider == self.peer.provider && model == self.request.model => {
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
        let (name, arguments) = wire_call(offer.as_deref(), self.request.dialect, call);
        self.string(&name);
        self.raw(",\"arguments\":");
        self.string(&arguments);
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
        for block in content {
            let ContentBlock::ToolResult(result) = block else {
                continue;
            };
            self.begin_message(Role::Tool);
            let text = with_mark(result, result_text(result, self.peer.capabilities.vision));
            self.string(&text);
            self.raw(",\"tool_call_id\":");
            self.id(&result.call_id);
            self.raw("}");
        }
        let images = images_of_results(content);
        if !images.is_empty() && self.peer.capabilities.vision {
            self.user(&images);
        }
    }

    fn tools(&mut self) {
        let Some(offer) = self.offer.clone().filter(|_| self.offers_tools()) else {
            return;
        };
        write_functions(&mut self.out, &offer);
    }
}

/// Returns the ids of the models in the answer to `GET /models`.
pub(crate) fn model_ids(body: &Value) -> Option<Vec<String>> {
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

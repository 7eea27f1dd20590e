//! A [`Request`] to the JSON of a generation.
//!
//! What stays the same from round to round stands in front: the model and the conversation. Tools and options follow it
//! in `parameters`.

use std::sync::Arc;

use bytes::Bytes;

use super::Pieces;
use crate::dialect::Offer;
use crate::message::{ContentBlock, Image, Message, Role, ToolCall};
use crate::provider::content::{
    images_of_results, result_text, text_of, wire_call, with_mark, write_functions,
};
use crate::provider::prefix::{self, Buffer};
use crate::provider::{Request, Thinking, ToolChoice};

/// Who is asked. `capabilities.vision` decides about the form of content.
pub(super) type Peer<'a> = prefix::Peer<'a, Options>;

/// What is asked for beside the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) pieces: Pieces,
    /// Whether the model reasons first.
    pub(super) thinking: Thinking,
}

/// Returns the request's body. What an earlier request of the session wrote of it is taken over; see [`prefix`].
pub(super) fn encode(request: &Request<'_>, peer: Peer<'_>) -> Bytes {
    let offer = request.tools.map(|tools| tools.offer(request.dialect));
    let fresh = || Body {
        out: Buffer::new(),
        request,
        peer,
        offer: offer.clone(),
    };
    prefix::encode(request, &peer, offer.as_ref(), usize::MAX, fresh)
}

struct Body<'a> {
    out: Buffer,
    request: &'a Request<'a>,
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
        self.out.raw(",\"input\":{\"messages\":[");
        if !self.request.system.is_empty() {
            self.said("system", self.request.system);
            self.out.raw("}");
        }
    }

    fn messages(&mut self, messages: &[Message]) {
        for message in messages {
            match message.role {
                Role::System => {
                    self.said("system", &text_of(&message.content, false));
                    self.out.raw("}");
                }
                Role::User => self.user(&message.content),
                Role::Assistant => self.assistant(message),
                Role::Tool => self.results(&message.content),
            }
        }
    }

    fn end(&mut self) {
        self.out
            .raw("]},\"parameters\":{\"result_format\":\"message\",\"incremental_output\":");
        self.out.value(&(self.peer.quirks.pieces == Pieces::New));
        self.thinking();
        self.tools();
        if let Some(most) = self.request.max_output_tokens {
            self.out.raw(&format!(",\"max_tokens\":{most}"));
        }
        if !self.request.stop.is_empty() {
            self.out.raw(",\"stop\":");
            self.out.value(self.request.stop);
        }
        self.out.raw("}}");
    }
}

impl Body<'_> {
    fn thinking(&mut self) {
        match self.peer.quirks.thinking {
            Thinking::Unsaid => {}
            Thinking::Adaptive => self.out.raw(",\"enable_thinking\":true"),
            Thinking::Budget(most) => self.out.raw(&format!(
                ",\"enable_thinking\":true,\"thinking_budget\":{most}"
            )),
            Thinking::Off => self.out.raw(",\"enable_thinking\":false"),
        }
    }

    fn tools(&mut self) {
        let Some(offer) = self.offer.clone().filter(|offer| offer.iter().len() > 0) else {
            return;
        };
        write_functions(&mut self.out, &offer);
        if self.peer.capabilities.parallel_calls {
            // Off unless asked for.
            self.out.raw(",\"parallel_tool_calls\":true");
        }
        match self.request.tool_choice {
            // The service knows no word for `required`.
            ToolChoice::Auto | ToolChoice::Required => {}
            ToolChoice::None => self.out.raw(",\"tool_choice\":\"none\""),
        }
    }

    fn begin_message(&mut self, role: &str) {
        self.out.next_message();
        self.out.raw("{\"role\":\"");
        self.out.raw(role);
        self.out.raw("\",\"content\":");
    }

    /// Begins a message that is text.
    fn said(&mut self, role: &str, text: &str) {
        self.begin_message(role);
        if self.peer.capabilities.vision {
            self.out.raw("[{\"text\":");
            self.out.string(text);
            self.out.raw("}]");
        } else {
            self.out.string(text);
        }
    }

    fn user(&mut self, content: &[ContentBlock]) {
        let text = text_of(content, self.peer.capabilities.vision);
        let images: Vec<&Image> = content
            .iter()
            .filter_map(|block| match block {
                ContentBlock::Image(image) if self.peer.capabilities.vision => Some(image),
                _ => None,
            })
            .collect();
        if images.is_empty() {
            self.said("user", &text);
            return self.out.raw("}");
        }
        self.begin_message("user");
        self.out.raw("[");
        for (at, image) in images.into_iter().enumerate() {
            if at > 0 {
                self.out.raw(",");
            }
            self.out.raw("{\"image\":");
            match image {
                Image::Url(url) => self.out.string(url),
                Image::Data { media_type, base64 } => {
                    self.out
                        .string(&format!("data:{media_type};base64,{base64}"));
                }
            }
            self.out.raw("}");
        }
        if !text.is_empty() {
            self.out.raw(",{\"text\":");
            self.out.string(&text);
            self.out.raw("}");
        }
        self.out.raw("]}");
    }

    fn assistant(&mut self, message: &Message) {
        let text = text_of(&message.content, true);
        let has_calls = message.calls().next().is_some();
        if text.is_empty() && !has_calls {
            return;
        }
        self.said("assistant", &text);
        if has_calls {
            self.out.raw(",\"tool_calls\":[");
            for (at, call) in message.calls().enumerate() {
                if at > 0 {
                    self.out.raw(",");
                }
                self.call(at, call);
            }
            self.out.raw("]");
        }
        self.out.raw("}");
    }

    fn call(&mut self, at: usize, call: &ToolCall) {
        self.out.raw(&format!("{{\"index\":{at},\"id\":"));
        self.out.string(&call.id);
        self.out
            .raw(",\"type\":\"function\",\"function\":{\"name\":");
        let offer = self.offer.clone();
        let (name, arguments) = wire_call(offer.as_deref(), self.request.dialect, call);
        self.out.string(&name);
        self.out.raw(",\"arguments\":");
        self.out.string(&arguments);
        self.out.raw("}}");
    }

    fn results(&mut self, content: &[ContentBlock]) {
        for block in content {
            let ContentBlock::ToolResult(result) = block else {
                continue;
            };
            let text = with_mark(result, result_text(result, self.peer.capabilities.vision));
            self.said("tool", &text);
            self.out.raw(",\"tool_call_id\":");
            self.out.string(&result.call_id);
            self.out.raw("}");
        }
        let images = images_of_results(content);
        if !images.is_empty() && self.peer.capabilities.vision {
            self.user(&images);
        }
    }
}

#[cfg(test)]
mod tests;

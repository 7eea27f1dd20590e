//! A [`Request`] to the JSON of `/api/chat`.

use std::sync::Arc;

use bytes::Bytes;

use crate::dialect::Offer;
use crate::message::{ContentBlock, Message, Role, ToolCall};
use crate::provider::content::{
    image_data, images_of_results, reasoning_of, result_text, text_of, wire_call, wire_name,
    with_mark, write_functions,
};
use crate::provider::prefix::{self, Buffer};
use crate::provider::{Request, Thinking};

/// Who is asked.
pub(super) type Peer<'a> = prefix::Peer<'a, Options>;

/// What is asked for beside the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// The context window, in tokens.
    pub(super) window: Option<u64>,
    /// Whether the model reasons first.
    pub(super) thinking: Thinking,
}

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
        self.tools();
        self.out.raw(",\"messages\":[");
        if !self.request.system.is_empty() {
            self.begin_message("system", self.request.system);
            self.out.raw("}");
        }
    }

    fn messages(&mut self, messages: &[Message]) {
        for message in messages {
            match message.role {
                Role::System => {
                    self.begin_message("system", &text_of(&message.content, false));
                    self.out.raw("}");
                }
                Role::User => self.user(&message.content),
                Role::Assistant => self.assistant(message),
                Role::Tool => self.results(&message.content),
            }
        }
    }

    fn end(&mut self) {
        // Left out, the service streams.
        self.out.raw("],\"stream\":");
        self.out.value(&self.stream);
        match self.peer.quirks.thinking {
            // Models that cannot think refuse to be asked for it.
            Thinking::Unsaid => {}
            // The service knows no bound.
            Thinking::Adaptive | Thinking::Budget(_) => self.out.raw(",\"think\":true"),
            Thinking::Off => self.out.raw(",\"think\":false"),
        }
        if let Some(form) = self.request.form {
            self.out.raw(",\"format\":");
            self.out.raw(form);
        }
        self.options();
        self.out.raw("}");
    }
}

impl Body<'_> {
    fn tools(&mut self) {
        let Some(offer) = self.offer.clone().filter(|offer| offer.iter().len() > 0) else {
            return;
        };
        write_functions(&mut self.out, &offer);
    }

    /// Writes the options. A prompt longer than the window would lose its front without a word, and the window is small
    /// unless it is set.
    fn options(&mut self) {
        let mut options = Vec::new();
        if let Some(window) = self.peer.quirks.window {
            options.push(format!("\"num_ctx\":{window}"));
        }
        if let Some(most) = self.request.max_output_tokens {
            options.push(format!("\"num_predict\":{most}"));
        }
        let has_options = !options.is_empty() || !self.request.stop.is_empty();
        if !has_options {
            return;
        }
        self.out.raw(",\"options\":{");
        self.out.raw(&options.join(","));
        if !self.request.stop.is_empty() {
            self.out.raw(if options.is_empty() {
                "\"stop\":"
            } else {
                ",\"stop\":"
            });
            self.out.value(self.request.stop);
        }
        self.out.raw("}");
    }

    fn begin_message(&mut self, role: &str, text: &str) {
        self.out.next_message();
        self.out.raw("{\"role\":\"");
        self.out.raw(role);
        self.out.raw("\",\"content\":");
        self.out.string(text);
    }

    fn user(&mut self, content: &[ContentBlock]) {
        let takes_images = self.peer.capabilities.vision;
        let mut text = text_of(content, takes_images);
        let images = content.iter().filter_map(|block| match block {
            ContentBlock::Image(image) if takes_images => Some(image),
            _ => None,
        });
        let (mut inline, mut linked) = (Vec::new(), 0);
        for image in images {
            match image_data(image) {
                Some((_, base64)) => inline.push(base64),
                None => linked += 1,
            }
        }
        if linked > 0 {
            text.to_mut()
                .push_str("[image left out: this service takes images by value only]");
        }
        self.begin_message("user", &text);
        if !inline.is_empty() {
            self.out.raw(",\"images\":");
            self.out.value(&inline);
        }
        self.out.raw("}");
    }

    fn assistant(&mut self, message: &Message) {
        let text = text_of(&message.content, true);
        let has_calls = message.calls().next().is_some();
        if text.is_empty() && !has_calls {
            return;
        }
        self.begin_message("assistant", &text);
        if has_calls {
            let reasoning = reasoning_of(&message.content);
            if !reasoning.is_empty() {
                // Why it made the calls, while their results are still new to it.
                self.out.raw(",\"thinking\":");
                self.out.string(&reasoning);
            }
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
        self.out.raw("{\"id\":");
        self.out.string(&call.id);
        self.out
            .raw(&format!(",\"function\":{{\"index\":{at},\"name\":"));
        let offer = self.offer.clone();
        let (name, arguments) = wire_call(offer.as_deref(), self.request.dialect, call);
        self.out.string(&name);
        self.out.raw(",\"arguments\":");
        self.out.raw(&arguments);
        self.out.raw("}}");
    }

    /// Writes one message a result. Images follow as a user message, where every template looks for them.
    fn results(&mut self, content: &[ContentBlock]) {
        for block in content {
            let ContentBlock::ToolResult(result) = block else {
                continue;
            };
            let text = with_mark(result, result_text(result, self.peer.capabilities.vision));
            self.begin_message("tool", &text);
            self.out.raw(",\"tool_name\":");
            let name = wire_name(self.offer.as_deref(), self.request.dialect, &result.name);
            self.out.string(&name);
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

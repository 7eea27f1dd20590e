//! A [`Request`] to the JSON of a `generateContent` request.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::Options;
use crate::dialect::Offer;
use crate::message::{ContentBlock, Image, Message, Role, ToolCall, ToolResult};
use crate::provider::content::{image_data, result_text, text_of_block, wire_call, wire_name};
use crate::provider::prefix::{self, Buffer};
use crate::provider::{Request, Thinking, ToolChoice};

/// Who is asked.
pub(super) type Peer<'a> = prefix::Peer<'a, Options>;

/// The images the service takes.
const MEDIA_TYPES: [&str; 5] = [
    "image/png",
    "image/jpeg",
    "image/webp",
    "image/heic",
    "image/heif",
];

/// Stands for the signature of a call that another model made: the vendor's own word for such a history.
const FOREIGN: &str = "skip_thought_signature_validator";

/// The most stop sequences the service takes.
const MOST_STOPS: usize = 5;

/// Returns the request's body. What an earlier request of the session wrote of it is taken over; see [`prefix`].
pub(super) fn encode(request: &Request<'_>, peer: Peer<'_>) -> Bytes {
    let offer = request.tools.map(|tools| tools.offer(request.dialect));
    let fresh = || Body {
        out: Buffer::new(),
        in_parts: false,
        request,
        peer,
        offer: offer.clone(),
        wants_signatures: wants_signatures(request.model),
    };
    prefix::encode(request, &peer, offer.as_ref(), usize::MAX, fresh)
}

/// Tells whether a model refuses an earlier call without a signature: Gemini 3 and later, and what is always the latest.
fn wants_signatures(model: &str) -> bool {
    let Some(rest) = model
        .rsplit('/')
        .next()
        .and_then(|it| it.strip_prefix("gemini-"))
    else {
        return false;
    };
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    match digits.parse::<u32>() {
        Ok(generation) => generation >= 3,
        Err(_) => rest.ends_with("-latest"),
    }
}

struct Body<'a> {
    out: Buffer,
    /// Whether a part precedes the next one.
    in_parts: bool,
    request: &'a Request<'a>,
    peer: Peer<'a>,
    offer: Option<Arc<Offer>>,
    wants_signatures: bool,
}

impl prefix::Body for Body<'_> {
    fn buffer(&mut self) -> &mut Buffer {
        &mut self.out
    }

    fn begin(&mut self) {
        self.raw("{");
        if !self.request.system.trim().is_empty() {
            self.raw("\"systemInstruction\":{\"parts\":[{\"text\":");
            self.string(self.request.system);
            self.raw("}]},");
        }
        self.tools();
        self.raw("\"contents\":[");
    }

    fn messages(&mut self, messages: &[Message]) {
        for message in messages {
            match message.role {
                Role::System | Role::User => self.user(&message.content),
                Role::Assistant => self.assistant(message),
                Role::Tool => self.results(&message.content),
            }
        }
    }

    fn end(&mut self) {
        self.raw("]");
        if self.offers_tools() {
            let mode = match self.request.tool_choice {
                ToolChoice::Auto => None,
                ToolChoice::None => Some("NONE"),
                ToolChoice::Required => Some("ANY"),
            };
            if let Some(mode) = mode {
                self.raw(",\"toolConfig\":");
                self.value(&json!({"functionCallingConfig": {"mode": mode}}));
            }
        }
        let mut config = serde_json::Map::new();
        if let Some(most) = self.request.max_output_tokens {
            config.insert("maxOutputTokens".to_owned(), most.into());
        }
        if !self.request.stop.is_empty() {
            let stop = &self.request.stop[..self.request.stop.len().min(MOST_STOPS)];
            config.insert("stopSequences".to_owned(), json!(stop));
        }
        let thinking = match self.peer.quirks.thinking {
            Thinking::Unsaid => None,
            Thinking::Adaptive => Some(json!({"includeThoughts": true})),
            Thinking::Budget(most) => {
                Some(json!({"includeThoughts": true, "thinkingBudget": most}))
            }
            Thinking::Off => Some(json!({"thinkingBudget": 0})),
        };
        if let Some(thinking) = thinking {
            config.insert("thinkingConfig".to_owned(), thinking);
        }
        if !config.is_empty() {
            self.raw(",\"generationConfig\":");
            self.value(&config);
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

    fn tools(&mut self) {
        let Some(offer) = self.offer.clone().filter(|_| self.offers_tools()) else {
            return;
        };
        let is_subset = self.request.dialect.name == "gemini-parameters";
        self.raw("\"tools\":[{\"functionDeclarations\":[");
        for (at, offered) in offer.iter().enumerate() {
            if at > 0 {
                self.raw(",");
            }
            self.raw("{\"name\":");
            self.string(&offered.name);
            self.raw(",\"description\":");
            self.string(&offered.tool.spec().description);
            if !is_subset {
                self.raw(",\"parametersJsonSchema\":");
                self.raw(&offered.lowered.schema);
            } else if has_properties(&offered.lowered.to_value()) {
                // The older field refuses an object without properties.
                self.raw(",\"parameters\":");
                self.raw(&offered.lowered.schema);
            }
            self.raw("}");
        }
        self.raw("]}],");
    }

    fn begin_content(&mut self, role: &str) {
        self.out.next_message();
        self.in_parts = false;
        self.raw("{\"role\":\"");
        self.raw(role);
        self.raw("\",\"parts\":[");
    }

    fn begin_part(&mut self, head: &str) {
        if std::mem::replace(&mut self.in_parts, true) {
            self.raw(",");
        }
        self.raw(head);
    }

    fn text_part(&mut self, text: &str, signature: Option<&str>) {
        self.begin_part("{\"text\":");
        self.string(text);
        self.end_part(signature);
    }

    fn end_part(&mut self, signature: Option<&str>) {
        if let Some(signature) = signature {
            self.raw(",\"thoughtSignature\":");
            self.string(signature);
        }
        self.raw("}");
    }

    fn user(&mut self, content: &[ContentBlock]) {
        self.begin_content("user");
        let takes_images = self.peer.capabilities.vision;
        for block in content {
            match block {
                ContentBlock::Image(image) if takes_images => self.image(image),
                block => match text_of_block(block, takes_images) {
                    Some(text) if !text.trim().is_empty() => self.text_part(&text, None),
                    _ => {}
                },
            }
        }
        if !self.in_parts {
            // A content without parts is refused.
            self.text_part("[empty message]", None);
        }
        self.raw("]}");
    }

    fn image(&mut self, image: &Image) {
        match (image_data(image), image) {
            (Some((media_type, base64)), _) if MEDIA_TYPES.contains(&media_type) => {
                self.begin_part("{\"inlineData\":{\"mimeType\":");
                self.string(media_type);
                self.raw(",\"data\":");
                self.string(base64);
                self.raw("}}");
            }
            (None, Image::Url(url)) => {
                self.begin_part("{\"fileData\":{");
                if let Some(media_type) = media_type_of(url) {
                    self.raw("\"mimeType\":");
                    self.string(media_type);
                    self.raw(",");
                }
                self.raw("\"fileUri\":");
                self.string(url);
                self.raw("}}");
            }
            (Some((media_type, _)), _) => {
                let text = format!("[image left out: `{media_type}` is not taken]");
                self.text_part(&text, None);
            }
            (None, Image::Data { .. }) => {}
        }
    }

    fn assistant(&mut self, message: &Message) {
        let text = |block| text_of_block(block, true).filter(|text| !text.trim().is_empty());
        let is_said = |block| matches!(block, &ContentBlock::ToolCall(_)) || text(block).is_some();
        if !message.content.iter().any(is_said) {
            return;
        }
        self.begin_content("model");
        let mut has_called = false;
        let mut signature = None;
        for block in &message.content {
            match block {
                ContentBlock::Opaque {
                    provider,
                    model,
                    value,
                } if provider == self.peer.provider && model == self.request.model => {
                    if value["thoughtSignature"].is_string() && value["text"].is_string() {
                        self.begin_part("");
                        self.value(value);
                    } else {
                        signature = Some(value);
                    }
                }
                ContentBlock::ToolCall(call) => {
                    let own = signed(signature.take(), "functionCall");
                    let foreign = (self.wants_signatures && !has_called).then_some(FOREIGN);
                    has_called = true;
                    self.call(call);
                    self.end_part(own.or(foreign));
                }
                block => {
                    if let Some(text) = text(block) {
                        self.text_part(&text, signed(signature.take(), "text"));
                    }
                }
            }
        }
        self.raw("]}");
    }

    fn call(&mut self, call: &ToolCall) {
        self.begin_part("{\"functionCall\":{");
        self.id(&call.id);
        let offer = self.offer.clone();
        let (name, arguments) = wire_call(offer.as_deref(), self.request.dialect, call);
        self.raw("\"name\":");
        self.string(&name);
        self.raw(",\"args\":");
        self.raw(arguments.trim());
        self.raw("}");
    }

    /// Writes an id that a service gave. One of ours stands for none: the call then goes back as it came, and is known
    /// by its name and place.
    fn id(&mut self, id: &str) {
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if id.len() != 9 || !id.bytes().all(is_hex) {
            self.raw("\"id\":");
            self.string(id);
            self.raw(",");
        }
    }

    fn results(&mut self, content: &[ContentBlock]) {
        self.begin_content("user");
        let results = || {
            content.iter().filter_map(|block| match block {
                ContentBlock::ToolResult(result) => Some(result),
                _ => None,
            })
        };
        results().for_each(|result| self.result(result));
        if self.peer.capabilities.vision {
            let of_results = results().flat_map(|result| &result.content);
            let images = of_results.filter_map(|block| match block {
                ContentBlock::Image(image) => Some(image),
                _ => None,
            });
            for (at, image) in images.enumerate() {
                if at == 0 {
                    self.text_part("Images of the tool results above:", None);
                }
                self.image(image);
            }
        }
        self.raw("]}");
    }

    fn result(&mut self, result: &ToolResult) {
        self.begin_part("{\"functionResponse\":{");
        self.id(&result.call_id);
        let offer = self.offer.clone();
        let name = wire_name(offer.as_deref(), self.request.dialect, &result.name);
        self.raw("\"name\":");
        self.string(&name);
        let field = if result.is_error { "error" } else { "output" };
        self.raw(&format!(",\"response\":{{\"{field}\":"));
        self.string(&result_text(result, self.peer.capabilities.vision));
        self.raw("}}}");
    }
}

/// Returns the signature of a part of this kind.
fn signed<'v>(value: Option<&'v Value>, part: &str) -> Option<&'v str> {
    value.filter(|value| value["part"] == part)?["thoughtSignature"].as_str()
}

fn has_properties(schema: &Value) -> bool {
    schema["properties"]
        .as_object()
        .is_some_and(|properties| !properties.is_empty())
}

fn media_type_of(url: &str) -> Option<&'static str> {
    let path = url.split(['?', '#']).next()?;
    let (_, extension) = path.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "heic" => "image/heic",
        "heif" => "image/heif",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;

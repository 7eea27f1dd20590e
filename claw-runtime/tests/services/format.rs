//! The wire formats that have a service: how each says a text, an error, and nothing at all.

use std::sync::Arc;

use claw_runtime::provider::{
    Anthropic, Azure, DashScope, Gemini, Ollama, OpenAiChat, OpenAiResponses, Provider,
};
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::support::{Act, Server};

pub(crate) const KEY: &str = "key-1234567890";

/// One wire format.
pub(crate) struct Format {
    pub(crate) name: &'static str,
    connect: fn(&str, &Server) -> Arc<dyn Provider>,
    /// The beginning of a stream that says this text.
    pub(crate) text: fn(&str) -> String,
    /// The end of such a stream.
    pub(crate) end: &'static str,
    /// What keeps a silent stream open.
    pub(crate) keep_alive: &'static str,
    /// The body of a refusal with this status, code and message.
    pub(crate) refusal: fn(u16, &str, &str) -> Value,
    /// The same as a piece of a stream.
    pub(crate) broken: fn(&Value) -> String,
}

impl Format {
    /// Returns a provider called `name` that asks `server`.
    pub(crate) fn connect(&self, name: &str, server: &Server) -> Arc<dyn Provider> {
        (self.connect)(name, server)
    }

    /// Returns an answer that streams these pieces and stays open.
    pub(crate) fn open(&self, pieces: &[&str]) -> Vec<Act> {
        let mut acts = crate::support::open_stream(pieces);
        if self.name == "ollama" {
            acts = vec![Act::Send(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n"
                    .iter()
                    .copied()
                    .chain(pieces.iter().flat_map(|piece| crate::support::chunk(piece)))
                    .collect(),
            )];
        }
        acts
    }

    /// Returns the bytes of a body that streams this text to its end.
    pub(crate) fn body(&self, text: &str) -> String {
        format!("{}{}", (self.text)(text), self.end)
    }

    /// Returns an answer that says this text.
    pub(crate) fn says(&self, text: &str) -> Vec<Act> {
        let mut acts = self.open(&[&self.body(text)]);
        acts.push(Act::Send(b"0\r\n\r\n".to_vec()));
        acts
    }
}

fn key() -> Option<SecretString> {
    Some(SecretString::from(KEY.to_owned()))
}

/// Returns the server's address without a path.
fn root(server: &Server) -> &str {
    server.base.trim_end_matches("/v1")
}

fn event(document: &Value) -> String {
    format!("data: {document}\n\n")
}

fn named(document: &Value) -> String {
    format!(
        "event: {}\ndata: {document}\n\n",
        document["type"].as_str().unwrap()
    )
}

fn openai_text(text: &str) -> String {
    event(&json!({"choices": [{"delta": {"content": text}}]}))
}

fn openai_refusal(_: u16, code: &str, message: &str) -> Value {
    json!({"error": {"message": message, "type": "an_error", "param": null, "code": code}})
}

const OPENAI_END: &str =
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

pub(crate) const FORMATS: [Format; 7] = [
    Format {
        name: "openai_chat",
        connect: |name, server| Arc::new(OpenAiChat::new(name, &server.base, key()).unwrap()),
        text: openai_text,
        end: OPENAI_END,
        keep_alive: ": ping\n\n",
        refusal: openai_refusal,
        broken: event,
    },
    Format {
        name: "azure",
        connect: |name, server| Arc::new(Azure::new(name, root(server), key()).unwrap()),
        text: openai_text,
        end: OPENAI_END,
        keep_alive: ": ping\n\n",
        refusal: openai_refusal,
        broken: event,
    },
    Format {
        name: "openai_responses",
        connect: |name, server| Arc::new(OpenAiResponses::new(name, &server.base, key()).unwrap()),
        text: |text| {
            named(&json!({"type": "response.output_text.delta", "output_index": 0, "delta": text}))
        },
        end: concat!(
            "event: response.completed\n",
            "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n"
        ),
        keep_alive: "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":3}\n\n",
        refusal: openai_refusal,
        broken: |body| {
            let (code, message) = (&body["error"]["code"], &body["error"]["message"]);
            named(&json!({"type": "error", "code": code, "message": message, "param": null}))
        },
    },
    Format {
        name: "anthropic",
        connect: |name, server| Arc::new(Anthropic::new(name, root(server), key()).unwrap()),
        text: |text| {
            let start = json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [],
                "usage": {"input_tokens": 3, "output_tokens": 1}}});
            let block = json!({"type": "content_block_start", "index": 0,
                "content_block": {"type": "text", "text": ""}});
            let delta = json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "text_delta", "text": text}});
            [named(&start), named(&block), named(&delta)].concat()
        },
        end: concat!(
            "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
            "event: message_delta\n",
            "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\n",
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
        ),
        keep_alive: "event: ping\ndata: {\"type\": \"ping\"}\n\n",
        refusal: |_, code, message| json!({"type": "error", "error": {"type": code, "message": message}}),
        broken: named,
    },
    Format {
        name: "gemini",
        connect: |name, server| Arc::new(Gemini::new(name, &server.base, key()).unwrap()),
        text: |text| {
            event(
                &json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]}),
            )
        },
        end: concat!(
            "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"\"}]},",
            "\"finishReason\":\"STOP\"}]}\n\n"
        ),
        keep_alive: ": ping\n\n",
        refusal: |status, code, message| json!({"error": {"code": status, "message": message, "status": code}}),
        broken: event,
    },
    Format {
        name: "ollama",
        connect: |name, server| Arc::new(Ollama::new(name, root(server), None).unwrap()),
        text: |text| {
            let message = json!({"role": "assistant", "content": text});
            format!(
                "{}\n",
                json!({"model": "m", "message": message, "done": false})
            )
        },
        end: concat!(
            "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},",
            "\"done\":true,\"done_reason\":\"stop\"}\n"
        ),
        keep_alive: "\n",
        refusal: |_, code, message| json!({"error": format!("{message} ({code})")}),
        broken: |body| format!("{body}\n"),
    },
    Format {
        name: "dashscope",
        connect: |name, server| Arc::new(DashScope::new(name, root(server), key()).unwrap()),
        text: |text| {
            let message = json!({"role": "assistant", "content": text});
            let choices = json!([{"message": message, "finish_reason": "null"}]);
            format!(
                "id:1\nevent:result\n:HTTP_STATUS/200\ndata:{}\n\n",
                json!({"output": {"choices": choices}, "request_id": "r"})
            )
        },
        end: concat!(
            "id:2\nevent:result\n:HTTP_STATUS/200\ndata:{\"output\":{\"choices\":[{\"message\":",
            "{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":\"stop\"}]},\"request_id\":\"r\"}\n\n"
        ),
        keep_alive: ":\n\n",
        refusal: |_, code, message| json!({"code": code, "message": message, "request_id": "r"}),
        broken: |body| format!("id:2\nevent:error\n:HTTP_STATUS/429\ndata:{body}\n\n"),
    },
];

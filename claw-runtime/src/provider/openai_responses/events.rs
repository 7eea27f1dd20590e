//! The events of one response, and the response itself when it comes whole.
//!
//! The same thing is said up to four times: in pieces, as a finished text, as a finished item, and in the whole response
//! at the end. Each is taken once, from the first that has it; servers that leave some of them out are read all the same.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use crate::message::{StopReason, Usage};
use crate::provider::calls::{Arguments, CallPiece};
use crate::provider::decode::Format;
use crate::provider::draft::Draft;
use crate::provider::failure::{Complaint, bounded};
use crate::provider::lenient::{MOST, count, document, parts, text_of};
use crate::provider::{DeltaSink, FailureClass, ProviderError};

/// Reads the events of one response.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// What is known of each output item, by its place.
    items: HashMap<u64, Item>,
    refusal: String,
}

#[derive(Debug, Default)]
struct Item {
    /// Its text, reasoning or arguments came in pieces.
    said: bool,
    /// It came as a whole.
    done: bool,
    /// The places of the texts that were said; a service may leave them out.
    texts: BTreeSet<Option<u64>>,
}

impl Item {
    /// Notes that the text at this place is said; tells whether it was not before.
    fn says(&mut self, place: Option<u64>) -> bool {
        let said = |place| self.texts.contains(&place);
        let is_new = match self.texts.is_empty() {
            true => !self.said,
            false => place.is_some() && !said(place) && !said(None),
        };
        self.said = true;
        if self.texts.len() < MOST {
            self.texts.insert(place);
        }
        is_new && !self.done
    }
}

impl Format for Events {
    fn name(&self) -> &'static str {
        "a response"
    }

    fn document(
        &mut self,
        json: &str,
        whole: bool,
        draft: &mut Draft,
        sink: &mut dyn DeltaSink,
    ) -> bool {
        let Some(event) = document(json) else {
            return false;
        };
        if whole {
            return self.response(&event, draft, sink) || draft.complain(json, true);
        }
        match event["type"].as_str() {
            Some(kind) => {
                self.event(kind, &event, draft, sink);
                true
            }
            None => draft.complain(json, false) || event.is_object(),
        }
    }

    fn end(&mut self, draft: &mut Draft) {
        if !self.refusal.is_empty() {
            draft.keep(json!({ "refusal": self.refusal }));
        }
    }
}

impl Events {
    fn event(&mut self, kind: &str, event: &Value, draft: &mut Draft, sink: &mut dyn DeltaSink) {
        let at = event["output_index"].as_u64();
        let piece = text_of(&event["delta"]);
        match kind {
            "response.output_text.delta" => {
                self.item(at).says(event["content_index"].as_u64());
                draft.text(piece, sink);
            }
            "response.output_text.done" => {
                let is_new = self.item(at).says(event["content_index"].as_u64());
                let text = event["text"].as_str().filter(|_| is_new);
                draft.text(text.unwrap_or_default(), sink);
            }
            "response.refusal.delta" => {
                self.item(at).said = true;
                self.refuse(piece, draft, sink);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.item(at).said = true;
                draft.reasoning(piece, sink);
            }
            "response.reasoning_summary_part.added" if self.item(at).said => {
                draft.reasoning("\n\n", sink);
            }
            "response.function_call_arguments.delta" => {
                self.item(at).said = true;
                call(at, "", "", Arguments::Text(piece), draft, sink);
            }
            "response.function_call_arguments.done" => {
                let arguments = written(&event["arguments"]);
                if !event["arguments"].is_null() {
                    call(at, "", "", Arguments::Whole(&arguments), draft, sink);
                }
            }
            "response.output_item.added" => self.added(at, &event["item"], draft, sink),
            "response.output_item.done" => self.done(at, &event["item"], draft, sink),
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled"
            | "response.done" => {
                if !self.response(&event["response"], draft, sink) {
                    // The end without what ended; its name tells enough.
                    self.status(kind.trim_start_matches("response."), event, draft);
                }
                draft.end();
            }
            "error" => fail(event, draft),
            // Events of kinds this version does not know, and those that repeat others.
            _ => {}
        }
    }

    /// Returns what is known of the item at this place. A service that makes up places does not fill the memory.
    fn item(&mut self, at: Option<u64>) -> &mut Item {
        let at = at.unwrap_or(0).min(MOST as u64);
        self.items.entry(at).or_default()
    }

    fn refuse(&mut self, piece: &str, draft: &mut Draft, sink: &mut dyn DeltaSink) {
        self.refusal.push_str(piece);
        draft.text(piece, sink);
    }

    fn added(
        &mut self,
        at: Option<u64>,
        item: &Value,
        draft: &mut Draft,
        sink: &mut dyn DeltaSink,
    ) {
        self.item(at);
        match item["type"].as_str() {
            Some("function_call") => {
                let arguments = Arguments::Text(item["arguments"].as_str().unwrap_or(""));
                call(at, call_id(item), name(item), arguments, draft, sink);
            }
            Some("message") => phase(item, draft),
            // A model that has begun to think may be silent for minutes, so that is no progress yet.
            _ => {}
        }
    }

    fn done(&mut self, at: Option<u64>, item: &Value, draft: &mut Draft, sink: &mut dyn DeltaSink) {
        let known = self.item(at);
        if std::mem::replace(&mut known.done, true) {
            return;
        }
        let said = known.said;
        match item["type"].as_str() {
            None if item.is_string() && !said => draft.text(text_of(item), sink),
            Some("function_call") => {
                let said = written(&item["arguments"]);
                let arguments = match &item["arguments"] {
                    Value::Null => Arguments::Text(""),
                    _ => Arguments::Whole(&said),
                };
                call(at, call_id(item), name(item), arguments, draft, sink);
            }
            Some("message") if !said => {
                for part in parts(&item["content"]) {
                    if let Some(refusal) = part["refusal"].as_str() {
                        self.refuse(refusal, draft, sink);
                    } else {
                        draft.text(text_of(part), sink);
                    }
                }
            }
            Some("reasoning") => {
                if !said {
                    draft.reasoning(&summary(item), sink);
                }
                draft.advance();
                // Without it the service would look the item up, and it stored none.
                if item["encrypted_content"].is_string() {
                    draft.keep(item.clone());
                }
            }
            _ => {}
        }
    }

    /// Takes the whole response; returns `false` when it is none.
    fn response(&mut self, response: &Value, draft: &mut Draft, sink: &mut dyn DeltaSink) -> bool {
        let status = response["status"].as_str();
        // Servers that speak this format beside their own leave the status out.
        let output = match &response["output"] {
            // What libraries make of the output.
            Value::Null => &response["output_text"],
            output => output,
        };
        let implied = (output.is_array() || output.is_string()).then_some("completed");
        let Some(status) = status.or(implied) else {
            return false;
        };
        for (at, item) in parts(output).iter().enumerate() {
            let at = Some(at as u64);
            let is_new = at.is_some_and(|at| !self.items.contains_key(&at));
            if is_new {
                self.added(at, item, draft, sink);
            }
            self.done(at, item, draft, sink);
        }
        if let Some(usage) = usage(&response["usage"]) {
            draft.assembler.usage(usage);
        }
        self.status(status, response, draft);
        true
    }

    fn status(&mut self, status: &str, response: &Value, draft: &mut Draft) {
        draft.advance();
        match status {
            "completed" | "done" => draft.assembler.stop(StopReason::Stop),
            "incomplete" => {
                let reason = response["incomplete_details"]["reason"].as_str();
                draft.assembler.stop(match reason {
                    Some("max_output_tokens" | "max_tokens") | None => StopReason::Length,
                    Some("content_filter") => StopReason::ContentFilter,
                    Some(other) => StopReason::Other(other.chars().take(64).collect()),
                });
            }
            "failed" => fail(&response["error"], draft),
            other => draft.fail(ProviderError::new(
                FailureClass::Overloaded,
                bounded(&format!("the service ended the response as `{other}`")),
            )),
        }
    }
}

/// Keeps what a message is for: newer models want to be told which of their messages were comments on the way.
fn phase(item: &Value, draft: &mut Draft) {
    if let Some(phase) = item["phase"].as_str() {
        draft.keep(json!({ "phase": phase }));
    }
}

fn call(
    at: Option<u64>,
    id: &str,
    name: &str,
    arguments: Arguments<'_>,
    draft: &mut Draft,
    sink: &mut dyn DeltaSink,
) {
    draft.advance();
    let piece = CallPiece {
        index: at,
        id,
        name,
        arguments,
    };
    let calls = draft.assembler.call(piece, sink);
    draft.bound_calls(calls);
}

/// Returns the id that a result answers to. The item's own id is another one, and the best there is without it.
fn call_id(item: &Value) -> &str {
    let id = item["call_id"].as_str().filter(|id| !id.is_empty());
    id.or(item["id"].as_str()).unwrap_or("")
}

/// Returns arguments as they are written, in a text or as they are.
fn written(arguments: &Value) -> Cow<'_, str> {
    match arguments {
        Value::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

fn name(item: &Value) -> &str {
    item["name"].as_str().unwrap_or("")
}

/// Returns what a reasoning item lets be read: its summary, or the reasoning of an open model.
fn summary(item: &Value) -> String {
    let said = ["summary", "content"]
        .iter()
        .map(|key| parts(&item[*key]))
        .find(|parts| !parts.is_empty());
    let texts: Vec<&str> = said.into_iter().flatten().map(text_of).collect();
    texts.join("\n\n")
}

/// Fails with the error that an event or a response holds.
fn fail(error: &Value, draft: &mut Draft) {
    let complaint = Complaint::find(error).or_else(|| Complaint::in_body(error));
    draft.fail(complaint.unwrap_or_default().into_error(200));
}

fn usage(usage: &Value) -> Option<Usage> {
    let input = count(usage, &["/input_tokens"]);
    let output = count(usage, &["/output_tokens"]);
    if input.is_none() && output.is_none() {
        return None;
    }
    let of = |path| count(usage, &[path]).unwrap_or(0);
    Some(Usage {
        input_tokens: input.unwrap_or(0),
        output_tokens: output.unwrap_or(0),
        cached_tokens: of("/input_tokens_details/cached_tokens"),
        reasoning_tokens: of("/output_tokens_details/reasoning_tokens"),
    })
}

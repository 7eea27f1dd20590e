//! Replies with the values in the place of the placeholders, also where a stream cuts one.

use std::borrow::Cow;
use std::sync::Arc;

use super::names::Names;
use crate::message::{ContentBlock, ToolCall};
use crate::provider::{Delta, DeltaSink};

/// The longest placeholder, in bytes; what is longer is none.
pub(super) const LONGEST: usize = 64;

/// Returns `text` with the values in the place of the placeholders, each as `write` has it.
fn restored<'t>(names: &Names, text: &'t str, write: fn(&str) -> Cow<'_, str>) -> Cow<'t, str> {
    let mut out = String::new();
    let mut done = 0;
    for (begin, _) in text.match_indices('[') {
        let Some(length) = text[begin..].find(']').filter(|it| *it < LONGEST) else {
            continue;
        };
        let end = begin + length + 1;
        if let Some(value) = names.value(&text[begin..end]) {
            out.push_str(&text[done..begin]);
            out.push_str(&write(value));
            done = end;
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

fn plain(value: &str) -> Cow<'_, str> {
    Cow::Borrowed(value)
}

/// Writes a value as it stands within a JSON string.
fn within_json(value: &str) -> Cow<'_, str> {
    let quoted = serde_json::Value::from(value).to_string();
    Cow::Owned(quoted[1..quoted.len() - 1].to_owned())
}

/// Restores what a reply says and calls with. Parts that belong to the service go back to it as they came.
pub(super) fn content(names: &Names, content: &mut [ContentBlock]) {
    for block in content {
        match block {
            ContentBlock::Text { text } | ContentBlock::Reasoning { text } => {
                if let Cow::Owned(restored) = restored(names, text, plain) {
                    *text = restored;
                }
            }
            ContentBlock::ToolCall(made) => call(names, made),
            _ => {}
        }
    }
}

/// Restores the arguments of a call. A placeholder is JSON within a string only, so that is where a value goes.
pub(super) fn call(names: &Names, call: &mut ToolCall) {
    if let Cow::Owned(restored) = restored(names, &call.arguments, within_json) {
        call.arguments = restored;
    }
}

/// Restores the pieces of a reply.
pub(super) struct Restoring<'a> {
    pub(super) sink: Box<dyn DeltaSink + 'a>,
    pub(super) names: Arc<Names>,
    /// What may be the beginning of a placeholder, and whether it is reasoning.
    pub(super) held: String,
    pub(super) reasons: bool,
}

impl Restoring<'_> {
    fn give(&mut self, text: &str) {
        let text = restored(&self.names, text, plain).into_owned();
        if text.is_empty() {
            return;
        }
        self.sink.delta(match self.reasons {
            true => Delta::Reasoning { text },
            false => Delta::Text { text },
        });
    }

    fn give_rest(&mut self) {
        let rest = std::mem::take(&mut self.held);
        self.give(&rest);
    }
}

impl DeltaSink for Restoring<'_> {
    fn delta(&mut self, delta: Delta) {
        let (text, reasons) = match delta {
            Delta::Text { text } => (text, false),
            Delta::Reasoning { text } => (text, true),
            other => {
                self.give_rest();
                return self.sink.delta(other);
            }
        };
        if reasons != self.reasons {
            self.give_rest();
            self.reasons = reasons;
        }
        self.held.push_str(&text);
        let open = self.held.rfind('[').filter(|begin| {
            let rest = &self.held[*begin..];
            !rest.contains(']') && rest.len() < LONGEST
        });
        let rest = open.map(|begin| self.held.split_off(begin));
        self.give_rest();
        self.held = rest.unwrap_or_default();
    }
}

impl Drop for Restoring<'_> {
    fn drop(&mut self) {
        self.give_rest();
    }
}

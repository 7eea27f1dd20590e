//! What a llama.cpp server tells of itself at `/props`.
//!
//! Its server answers a request with tools in prose, even one that demands a call, when the model's chat template has no
//! place for tools; nothing in the answer says so. What it serves does not change while it runs, so it is asked once a model.

use serde_json::Value;

use crate::provider::Capabilities;

/// What is told of one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Props {
    /// Whether the template has a place for tools; `true` where nothing is told.
    pub(super) takes_tools: bool,
    window: Option<u64>,
    vision: Option<bool>,
}

impl Props {
    /// Reads the document; `None` when it is another one.
    pub(super) fn read(document: &Value) -> Option<Self> {
        let template = &document["chat_template_caps"];
        let settings = &document["default_generation_settings"];
        if !template.is_object() && !settings.is_object() {
            return None;
        }
        let denies = |key: &str| template[key].as_bool() == Some(false);
        Some(Self {
            takes_tools: !denies("supports_tools") && !denies("supports_tool_calls"),
            window: settings["n_ctx"].as_u64().filter(|tokens| *tokens > 0),
            vision: document["modalities"]["vision"].as_bool(),
        })
    }

    /// Returns `usual` with what is told.
    pub(super) fn apply(self, usual: Capabilities) -> Capabilities {
        Capabilities {
            native_tools: usual.native_tools && self.takes_tools,
            window: self.window.or(usual.window),
            vision: self.vision.unwrap_or(usual.vision),
            ..usual
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_without_a_place_for_tools_is_told() {
        let read = |document: Value| Props::read(&document);
        let small = read(json!({
            "default_generation_settings": {"n_ctx": 2048},
            "chat_template_caps": {"supports_tools": false, "supports_tool_calls": false},
            "modalities": {"vision": false},
        }));
        let small = small.expect("props").apply(Capabilities::FULL);
        assert_eq!(
            (small.native_tools, small.window, small.vision),
            (false, Some(2048), false)
        );
        let able = read(
            json!({"chat_template_caps": {"supports_tools": true, "supports_tool_calls": true}}),
        );
        assert_eq!(
            able.expect("props").apply(Capabilities::FULL),
            Capabilities::FULL
        );
        // Before the server told of templates.
        let old = read(json!({"default_generation_settings": {"n_ctx": 0}}));
        assert_eq!(
            old.expect("props").apply(Capabilities::FULL),
            Capabilities::FULL
        );
        for other in [json!([]), json!({"error": {"code": 404}}), json!("x")] {
            assert_eq!(read(other), None);
        }
    }
}

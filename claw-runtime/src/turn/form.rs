//! Holding a model to a form under the prompt protocol: which requests carry it, and what is learnt when it is not heeded.
//!
//! The ladder after replies that cannot be read: asked again freely with the fault named; the last time held to the form;
//! then the wrap-up. The first request with a form is also the probe of whether the service heeds it.
//!
//! Who is held from the start is held in the wrap-up too, to an answer: free, a small model copies a tool's response.

use super::{Phase, Turn};
use crate::event::{Event, Fact, ReAsk};
use crate::fallback::blamed;
use crate::provider::{Constrain, FailureClass, Protocol};

/// What a model that was told to use tags is told of the form.
const TOLD: &str = "\nThis time reply with one JSON object and nothing else. To call a tool: {\"name\": \"tool name\", \
                    \"arguments\": {\"parameter\": \"value\"}}. To answer: {\"answer\": \"text\"}.";

/// What services name when they refuse a form.
const NAMES: &[&str] = &[
    "response_format",
    "json_schema",
    "format",
    "schema",
    "grammar",
    "xgrammar",
    "guided_json",
    "structured_outputs",
];

/// What they name when it is the form's schema that they cannot follow.
const SCHEMA: &[&str] = &[
    "schema", "grammar", "xgrammar", "pattern", "regex", "ref", "keyword",
];

/// Tells whether a failed request with a form failed for it.
pub(super) fn is_refusal(class: FailureClass, message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let mut words = message.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    match class {
        // Servers on the user's own machine answer 500 to a schema that they cannot turn into a grammar.
        FailureClass::BadRequest | FailureClass::Overloaded => {
            words.any(|word| NAMES.contains(&word))
        }
        // Such a request has no tools, so it is the form that is spoken of.
        FailureClass::SchemaRefused | FailureClass::ToolsUnsupported => true,
        _ => false,
    }
}

/// Tells whether a form was refused for what it asks, as against for being one.
fn is_about_schema(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let mut words = message.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|word| SCHEMA.contains(&word))
}

/// Returns a re-ask as it was before the form was told in it.
pub(super) fn untold(mut re_ask: ReAsk) -> ReAsk {
    if let Some(fault) = re_ask.fault.strip_suffix(TOLD) {
        re_ask.fault.truncate(fault.len());
    }
    re_ask
}

impl Turn {
    fn constrain(&self) -> Constrain {
        let of_target = self.setup.constrain.get(self.target);
        of_target.copied().unwrap_or(Constrain::Never)
    }

    /// Tells whether the request about to be made carries the form.
    pub(super) fn holds(&self) -> bool {
        let Phase::Asking(asking) = &self.phase else {
            return false;
        };
        if self.setup.tools.is_empty() || self.protocol() != Protocol::Prompt {
            return false;
        }
        match self.constrain() {
            Constrain::Always => true,
            Constrain::OnFailure => {
                let again = asking.wrap_up.is_none() && asking.re_asks > 0;
                again && asking.re_asks >= self.setup.limits.re_asks
            }
            Constrain::Never => false,
        }
    }

    /// Returns the re-ask of the request about to be made, with the form told where the system prompt does not.
    pub(super) fn told(&self, re_ask: Option<&ReAsk>) -> Option<ReAsk> {
        let mut re_ask = re_ask?.clone();
        if self.holds() && self.constrain() == Constrain::OnFailure {
            re_ask.fault.push_str(TOLD);
        }
        Some(re_ask)
    }

    /// Learns that the model is not to be held to a form.
    pub(super) fn learn_no_forms(&mut self) {
        if self.constrain() == Constrain::Never {
            return;
        }
        self.setup.constrain[self.target] = Constrain::Never;
        let Some(target) = self.setup.targets.get(self.target) else {
            return;
        };
        let (provider, model) = (target.provider.clone(), target.model.clone());
        let fact = Fact::NoForms;
        if !self.view.has_learnt(&provider, &model, &fact) {
            self.out.event(Event::Learnt {
                provider,
                model,
                fact,
            });
        }
    }

    /// Learns it of a model whose reply holds reasoning, before the form would take the place of that.
    pub(super) fn spare_reasoning(&mut self) {
        if self.constrain() == Constrain::OnFailure {
            self.learn_no_forms();
        }
    }

    /// Asks the same again after the form was refused: with the arguments open that the service cannot follow, or without
    /// it where nothing is left to open.
    pub(super) fn ask_in_another_form(&mut self, message: &str) {
        let target = self.setup.targets.get(self.target).cloned();
        let Some(target) = target.filter(|_| is_about_schema(message)) else {
            return self.ask_without_form();
        };
        let loose = self.view.loose(&target.provider, &target.model);
        let tools = blamed(&self.setup.tools, &loose, message);
        if tools.is_empty() {
            return self.ask_without_form();
        }
        self.out.event(Event::Learnt {
            provider: target.provider.clone(),
            model: target.model.clone(),
            fact: Fact::FormRefused { tools },
        });
        self.request_anew();
    }

    /// Asks the same again without the form.
    pub(super) fn ask_without_form(&mut self) {
        self.learn_no_forms();
        self.request_anew();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_a_form_names_it() {
        use FailureClass::{Auth, BadRequest, Overloaded, SchemaRefused, ToolsUnsupported};
        for (class, message) in [
            (BadRequest, "Unknown parameter: 'response_format'."),
            (BadRequest, "response_format.type: unsupported value"),
            (BadRequest, "invalid JSON schema in format"),
            (Overloaded, "Failed to parse grammar"),
            (SchemaRefused, "tools[0].parameters: no"),
            (ToolsUnsupported, "tool calls are not supported"),
        ] {
            assert!(is_refusal(class, message), "{message}");
        }
        for (class, message) in [
            (BadRequest, "unknown field `top_p`"),
            (Overloaded, "busy; see the status page for more information"),
            (Auth, "your key may not use response_format"),
        ] {
            assert!(!is_refusal(class, message), "{message}");
        }
    }

    #[test]
    fn a_schema_that_cannot_be_followed_is_told_from_a_place_that_is_unknown() {
        for message in [
            "failed to parse grammar",
            "JSON schema conversion failed: Error resolving ref #/$defs/a.b",
            "Invalid schema for response_format 'reply'",
            "xgrammar: unsupported regex",
        ] {
            assert!(is_about_schema(message), "{message}");
        }
        for message in [
            "Unknown parameter: 'response_format'.",
            "'response_format' of type 'json_schema' is not supported with this model",
        ] {
            assert!(!is_about_schema(message), "{message}");
        }
    }

    #[test]
    fn what_was_told_is_taken_back() {
        let plain = ReAsk {
            said: "x".to_owned(),
            fault: "It is broken.".to_owned(),
        };
        let told = ReAsk {
            fault: format!("{}{TOLD}", plain.fault),
            ..plain.clone()
        };
        assert_eq!(untold(told), plain);
        assert_eq!(untold(plain.clone()), plain);
    }
}

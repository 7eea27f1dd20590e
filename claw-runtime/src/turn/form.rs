//! Holding a model to a form under the prompt protocol: which requests carry it, and what is learnt when it is not heeded.
//!
//! The ladder after replies that cannot be read: asked again freely with the fault named; the last time held to the form;
//! then the wrap-up. The first request with a form is also the probe of whether the service heeds it.

use super::{Phase, Turn};
use crate::event::{Event, Fact, ReAsk};
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

/// Tells whether a failed request with a form failed for it.
pub(super) fn is_refusal(class: FailureClass, message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    let mut words = message.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    // Servers on the user's own machine answer 500 to a schema that they cannot turn into a grammar.
    matches!(class, FailureClass::BadRequest | FailureClass::Overloaded)
        && words.any(|word| NAMES.contains(&word))
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
        let may_call = asking.wrap_up.is_none() && !self.setup.tools.is_empty();
        if !may_call || self.protocol() != Protocol::Prompt {
            return false;
        }
        match self.constrain() {
            Constrain::Always => true,
            Constrain::OnFailure => {
                asking.re_asks > 0 && asking.re_asks >= self.setup.limits.re_asks
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

    /// Asks the same again without the form.
    pub(super) fn ask_without_form(&mut self) {
        self.learn_no_forms();
        if let Phase::Asking(asking) = &mut self.phase {
            asking.tries = asking.tries.saturating_sub(1);
        }
        self.request();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_of_a_form_names_it() {
        use FailureClass::{Auth, BadRequest, Overloaded};
        for (class, message) in [
            (BadRequest, "Unknown parameter: 'response_format'."),
            (BadRequest, "response_format.type: unsupported value"),
            (BadRequest, "invalid JSON schema in format"),
            (Overloaded, "Failed to parse grammar"),
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

//! What a model is told: its instructions and the conversation, as the protocol and the form have them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Inner, Model};
use crate::fallback;
use crate::message::Message;
use crate::provider::{Constrain, Protocol, ToolChoice};
use crate::registry::Toolset;
use crate::turn::Turn;

/// Forms that are kept: sessions learn one after the other which tools' arguments a service cannot follow.
const FORMS: usize = 8;

/// Returns the instructions and the conversation for a request that carries the form or not.
pub(super) fn prompt<'t>(
    agent: &'t Inner,
    model: &Model,
    turn: &'t Turn,
    protocol: Protocol,
    constrained: bool,
) -> (Cow<'t, str>, Cow<'t, [Message]>) {
    let messages = turn.request_messages();
    match protocol {
        // After a failure the prompt stays what it is, for caches; the re-ask tells of the form.
        Protocol::Prompt if constrained && agent.constrain(model) == Constrain::Always => (
            fallback::constrained::system(&agent.system, &agent.tools).into(),
            fallback::constrained::messages(&messages).into(),
        ),
        Protocol::Prompt => (
            fallback::system(&agent.system, &agent.tools).into(),
            fallback::messages(&messages).into(),
        ),
        _ => (Cow::Borrowed(&*agent.system), messages),
    }
}

/// Returns the form a model's reply is held to.
pub(super) fn form(agent: &Inner, model: &Model, turn: &Turn, tool_choice: ToolChoice) -> Arc<str> {
    match tool_choice {
        ToolChoice::None => fallback::constrained::ANSWER.into(),
        _ => {
            let loose = turn.view().loose(model.provider.name(), &model.name);
            agent.forms.of(&agent.tools, &loose)
        }
    }
}

/// The forms of a set of tools, each made by the first request that carries it.
#[derive(Debug, Default)]
pub(super) struct Forms(Mutex<Vec<Form>>);

/// The tools whose arguments are left open, and the form.
type Form = (BTreeSet<String>, Arc<str>);

impl Forms {
    /// Returns the form that leaves the arguments of the tools in `loose` open.
    fn of(&self, tools: &Toolset, loose: &BTreeSet<&str>) -> Arc<str> {
        let is_it = |(open, _): &&Form| open.iter().map(String::as_str).eq(loose.iter().copied());
        let made = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, form)) = made().iter().find(is_it) {
            return form.clone();
        }
        // Not under the lock, as it may take a while.
        let form: Arc<str> = fallback::constrained::schema(tools, loose).into();
        let open = loose.iter().map(|name| (*name).to_owned()).collect();
        let mut made = made();
        made.truncate(FORMS - 1);
        made.insert(0, (open, form.clone()));
        form
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{Spec, Tool, ToolOutput};

    #[test]
    fn a_form_is_made_once_for_each_set_of_open_tools() {
        let tool = |name: &'static str| {
            Arc::new(Tool::dynamic(
                Spec::new(name.into(), String::new().into()),
                serde_json::json!({"type": "object", "properties": {"a": {"type": "string"}}}),
                Arc::new(|_, _| Box::pin(async { Ok(ToolOutput::default()) })),
            ))
        };
        let tools = Toolset::new(["a", "b"].map(tool)).expect("two names");
        let forms = Forms::default();
        let of = |names: &[&'static str]| forms.of(&tools, &names.iter().copied().collect());
        let (whole, open) = (of(&[]), of(&["a"]));
        assert!(Arc::ptr_eq(&whole, &of(&[])) && Arc::ptr_eq(&open, &of(&["a"])));
        for (form, names) in [(&whole, &[][..]), (&open, &["a"])] {
            let made = fallback::constrained::schema(&tools, &names.iter().copied().collect());
            assert_eq!(**form, *made);
        }
        // Names that are no tool's are other sets too: only so many are kept.
        for name in ["1", "2", "3", "4", "5", "6", "7"] {
            of(&[name]);
        }
        assert_eq!(*of(&["a"]), *open);
        assert_eq!(forms.0.lock().expect("no panic").len(), FORMS);
    }
}

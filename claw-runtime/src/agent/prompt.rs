//! What a model is told: its instructions and the conversation, as the protocol and the form have them.

use std::borrow::Cow;

use super::{Inner, Model};
use crate::fallback;
use crate::message::Message;
use crate::provider::{Constrain, Protocol};
use crate::turn::Turn;

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

/// Returns the form a model's replies are held to; unless parts of it were refused, made by the first request that carries
/// it.
pub(super) fn form<'t>(agent: &'t Inner, model: &Model, turn: &Turn) -> Cow<'t, str> {
    let loose = turn.view().loose(model.provider.name(), &model.name);
    let form = || fallback::constrained::schema(&agent.tools, &loose);
    match loose.is_empty() {
        true => Cow::Borrowed(agent.form.get_or_init(form)),
        false => Cow::Owned(form()),
    }
}

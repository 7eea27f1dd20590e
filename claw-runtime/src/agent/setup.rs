//! What a turn is given at its start: tools, limits, the models to ask with their room, price and form, and what may be spent.

use super::{Agent, Model};
use crate::budget::Allowance;
use crate::event::Fact;
use crate::fallback;
use crate::provider::{Constrain, Protocol};
use crate::session::{Lease, View};
use crate::tokens;
use crate::turn::{Room, Setup};

impl Agent {
    /// Returns the room each model has for a conversation.
    fn rooms(&self, view: &View) -> Vec<Room> {
        let inner = &self.inner;
        let [native, prompted] = *inner.prompt_tokens.get_or_init(|| {
            let prompt = fallback::system(&inner.system, &inner.tools);
            let system = tokens::estimate(&inner.system);
            [
                system + tokens::of_tools(&inner.tools),
                tokens::estimate(&prompt),
            ]
        });
        let targets = self.targets(view);
        let models = inner.models.iter().zip(targets);
        models
            .map(|(model, target)| Room {
                window: model.provider.capabilities(&model.name).window,
                prompt: match target.protocol {
                    Protocol::Prompt => prompted,
                    _ => native,
                },
            })
            .collect()
    }

    /// Returns when each model is held to a form.
    fn constrains(&self, view: &View) -> Vec<Constrain> {
        let of = |model: &Model| {
            let Model { provider, name } = model;
            let takes_it = provider.takes_form(name)
                && !provider.capabilities(name).reasoning
                && !view.has_learnt(provider.name(), name, &Fact::NoForms);
            if takes_it {
                self.inner.constrain(model)
            } else {
                Constrain::Never
            }
        };
        self.inner.models.iter().map(of).collect()
    }

    pub(super) fn setup(&self, view: &View, lease: &Lease, events: u64) -> Setup {
        let inner = &self.inner;
        let seed = lease
            .session
            .bytes()
            .fold(events, |seed, byte| seed.rotate_left(7) ^ u64::from(byte));
        Setup {
            tools: inner.tools.clone(),
            policy: inner.policy.clone(),
            limits: inner.limits.clone(),
            coerce: inner.coerce,
            targets: self.targets(view),
            otherwise: inner.models.iter().map(|it| inner.otherwise(it)).collect(),
            allowance: self.allowance(view),
            room: self.rooms(view),
            constrain: self.constrains(view),
            system: crate::digest::of(inner.system.as_bytes()),
            seed,
        }
    }

    fn allowance(&self, view: &View) -> Allowance {
        let inner = &self.inner;
        let spending = &inner.spending;
        let mut allowance = Allowance {
            turn: spending.turn,
            session: spending.session,
            watched: !spending.shared.is_empty(),
            prices: inner
                .models
                .iter()
                .map(|model| inner.price(model))
                .collect(),
        };
        if let Some(purse) = &inner.nest.purse {
            // What the turn has spent before a crash is drawn already.
            let left = purse.left().plus(view.ledger().turn());
            allowance.turn = allowance.turn.within(left);
            allowance.watched |= !left.is_unlimited();
        }
        allowance
    }
}

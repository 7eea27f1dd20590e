//! The budget of a turn: each request is reserved before it is made, or the turn wraps up with what is left.

use super::{Phase, Turn};
use crate::budget::{Budget, Ledger, Price, Reserved, money};
use crate::event::{EndReason, Event};
use crate::provider::FailureClass;

/// Tokens an answer may take where only the budget limits it.
const OUTPUT: u64 = 8_192;
/// The least an answer needs to be worth a request.
const LEAST_OUTPUT: u64 = 1_024;
/// The same for the last answer of a turn.
const LEAST_WRAP_UP: u64 = 256;

impl Turn {
    /// Returns what the next request of the conversation holds back, or the limit it would go over, with its sizes.
    pub(super) fn reserve(
        &self,
        wraps_up: bool,
        conversation: u64,
    ) -> Result<Option<Reserved>, String> {
        let wanted = self.setup.limits.max_output_tokens.unwrap_or(OUTPUT);
        let least = if wraps_up {
            LEAST_WRAP_UP
        } else {
            LEAST_OUTPUT
        };
        self.reserve_for(self.prompt_tokens(conversation), wanted, least)
    }

    /// Returns what a request holds back that sends about `prompt` tokens, wants so many for its answer and needs so many.
    pub(super) fn reserve_for(
        &self,
        prompt: u64,
        wanted: u64,
        least: u64,
    ) -> Result<Option<Reserved>, String> {
        let allowance = &self.setup.allowance;
        let price = allowance.prices.get(self.target).copied().flatten();
        if !allowance.is_limited() {
            return Ok(price.map(|price| Reserved {
                price: Some(price),
                ..Reserved::default()
            }));
        }
        let ledger = self.ledger();
        let least = least.min(wanted);
        let mut output = wanted;
        for (whose, most, spent) in [
            ("turn", allowance.turn, ledger.turn()),
            ("session", allowance.session, ledger.spent()),
        ] {
            let left = most.less(spent);
            output = output.min(affordable(left, prompt, price));
            if output < least {
                return Err(beyond(whose, most, left, prompt, least));
            }
        }
        Ok(Some(Reserved {
            prompt,
            output,
            price,
        }))
    }

    /// Returns what was spent, with what this step is about to append.
    fn ledger(&self) -> Ledger {
        let mut ledger = self.view.ledger().clone();
        self.out
            .events()
            .iter()
            .for_each(|event| ledger.apply(event));
        ledger
    }

    /// Returns what is left for the turn and what it calls.
    pub fn left(&self) -> Budget {
        let allowance = &self.setup.allowance;
        let ledger = self.ledger();
        let session = allowance.session.less(ledger.spent());
        allowance.turn.less(ledger.turn()).within(session)
    }

    /// Takes it that the next request would go over a limit: the turn wraps up, if that much is left, or ends at once.
    ///
    /// A turn that could not ask at all has nothing to wrap up.
    pub(super) fn beyond(&mut self, reason: EndReason, asked: u64) {
        let before = match &self.phase {
            Phase::Asking(asking) => asking.wraps_up().cloned(),
            _ => None,
        };
        match before {
            Some(before) => self.finish_composed(before),
            None if asked == 0 => self.finish_composed(reason),
            None => self.wrap_up(reason),
        }
    }

    /// The driver did not make the request: a limit shared with others is used up.
    pub(super) fn over_budget(&mut self, limit: String) {
        if self.asking().is_none() {
            return;
        }
        self.out.event(Event::ModelFailed {
            class: FailureClass::Quota,
            message: limit.clone(),
            retry_ms: None,
            usage: None,
        });
        if self.is_summarising() {
            return self.summary_is_missing(limit);
        }
        self.beyond(EndReason::Limit { limit }, self.requests - 1);
    }
}

/// Returns how many tokens of answer are left for after a prompt.
fn affordable(left: Budget, prompt: u64, price: Option<Price>) -> u64 {
    let by_tokens = left
        .tokens
        .map_or(u64::MAX, |left| left.saturating_sub(prompt));
    let by_cost = match (left.cost, price) {
        (Some(left), Some(price)) => {
            let rest = left as f64 - prompt as f64 * price.input;
            match price.output > 0.0 {
                true => (rest / price.output).max(0.0) as u64,
                false if rest >= 0.0 => u64::MAX,
                false => 0,
            }
        }
        // No price known: tokens only.
        _ => u64::MAX,
    };
    by_tokens.min(by_cost)
}

fn beyond(whose: &str, most: Budget, left: Budget, prompt: u64, least: u64) -> String {
    let mut limits = Vec::new();
    if let (Some(most), Some(left)) = (most.tokens, left.tokens) {
        limits.push(format!("{left} of {most} tokens"));
    }
    if let (Some(most), Some(left)) = (most.cost, left.cost) {
        limits.push(format!("{} of {}", money(left), money(most)));
    }
    format!(
        "the {whose}'s budget: {} left; the next request is about {prompt} tokens and its answer needs {least}",
        limits.join(" and ")
    )
}

//! What may be spent: tokens and money, reserved before a request is made and charged by what it came to.
//!
//! A turn and a session have limits that follow from their journal alone ([`Ledger`]). Limits of a day or a user are
//! counters in the session store that all hosts share ([`SharedBudget`]). A sub-agent draws on what is left of the call that
//! started it ([`Purse`]). Whatever runs side by side, the sum goes over a limit by at most what one request turns out to
//! take beyond its reservation.

mod ledger;
mod purse;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use ledger::Ledger;
pub use purse::Purse;

use crate::message::{ContentBlock, Usage};
use crate::provider::FailureClass;
use crate::tokens;

/// Money in millionths of the currency that the prices are in.
pub type Micros = u64;

/// How much may be spent; what is `None` is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Tokens, prompt and answer together.
    pub tokens: Option<u64>,
    /// Money. Requests to models without a known price do not count.
    pub cost: Option<Micros>,
}

impl Budget {
    /// Tells whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        self.tokens.is_none() && self.cost.is_none()
    }

    /// Returns what is left after `spent`.
    #[must_use]
    pub fn less(self, spent: Spent) -> Self {
        Self {
            tokens: self.tokens.map(|most| most.saturating_sub(spent.tokens)),
            cost: self.cost.map(|most| most.saturating_sub(spent.cost)),
        }
    }

    /// Returns what there was before `spent`.
    #[must_use]
    pub fn plus(self, spent: Spent) -> Self {
        Self {
            tokens: self.tokens.map(|left| left.saturating_add(spent.tokens)),
            cost: self.cost.map(|left| left.saturating_add(spent.cost)),
        }
    }

    /// Returns the tighter of both limits, each for itself.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        let tighter = |one: Option<u64>, two: Option<u64>| match (one, two) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Self {
            tokens: tighter(self.tokens, other.tokens),
            cost: tighter(self.cost, other.cost),
        }
    }

    /// Tells whether `amount` fits.
    pub fn covers(&self, amount: Spent) -> bool {
        self.tokens.is_none_or(|left| amount.tokens <= left)
            && self.cost.is_none_or(|left| amount.cost <= left)
    }
}

/// What was or will be spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Tokens, prompt and answer together.
    pub tokens: u64,
    /// Money, as far as prices are known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost: Micros,
}

impl Spent {
    /// Tells whether nothing was spent.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Returns what this is more than `other`, nothing where it is less.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_sub(other.tokens),
            cost: self.cost.saturating_sub(other.cost),
        }
    }
}

impl std::ops::AddAssign for Spent {
    /// Counts come from services and may be anything, so a sum stops at the greatest number.
    fn add_assign(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost = self.cost.saturating_add(other.cost);
    }
}

/// What a model costs, for a million tokens each, in the currency of the price table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Of the prompt.
    pub input: f64,
    /// Of the answer, reasoning included.
    pub output: f64,
    /// Of what of the prompt comes from a cache; as the rest of it when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
}

impl Price {
    /// Returns what `usage` costs, rounded up.
    pub fn of(&self, usage: Usage) -> Micros {
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let fresh = (usage.input_tokens - cached) as f64;
        // Money for a million tokens is millionths for one.
        let cost = fresh * self.input
            + cached as f64 * self.cached.unwrap_or(self.input)
            + usage.output_tokens as f64 * self.output;
        // A tenth of a millionth is lost in rounding before it is paid.
        (cost - 0.1).ceil().max(0.0) as Micros
    }
}

/// What a request holds back before it is made; stands in the journal with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reserved {
    /// Tokens of the prompt, estimated; 0 when nothing limits the request.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub prompt: u64,
    /// Tokens the answer may take; 0 when nothing limits the request.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub output: u64,
    /// What they cost, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

impl Reserved {
    /// Returns all of it.
    pub fn whole(&self) -> Spent {
        self.charge(self.usage(self.output))
    }

    /// Returns what a request of this usage is charged.
    pub fn charge(&self, usage: Usage) -> Spent {
        Spent {
            tokens: usage.input_tokens.saturating_add(usage.output_tokens),
            cost: self.price.map_or(0, |price| price.of(usage)),
        }
    }

    /// Returns what a request with this reply is charged: what it says, or what it seems where the service does not tell.
    pub(crate) fn of_reply(&self, content: &[ContentBlock], usage: Option<Usage>) -> Spent {
        self.charge(usage.unwrap_or_else(|| self.usage(tokens::of_content(content))))
    }

    /// Returns what a request that failed so is charged: what the service says, or all of it when it may have worked on it.
    pub(crate) fn of_failure(&self, class: FailureClass, usage: Option<Usage>) -> Spent {
        if let Some(usage) = usage {
            return self.charge(usage);
        }
        let begun = matches!(
            class,
            FailureClass::Network
                | FailureClass::Stalled
                | FailureClass::IncompleteStream
                | FailureClass::BadResponse
                | FailureClass::MalformedCall
                | FailureClass::Filtered
        );
        match begun {
            true => self.whole(),
            false => Spent::default(),
        }
    }

    /// Returns the usage of a request with an answer of so many tokens whose service does not tell.
    fn usage(&self, output_tokens: u64) -> Usage {
        Usage {
            input_tokens: self.prompt,
            output_tokens,
            ..Usage::default()
        }
    }
}

/// A limit that sessions and hosts share, as of a day or of a user.
#[derive(Clone)]
pub struct SharedBudget {
    /// Returns the counter that counts now: `day 2026-02-28`. A new name is a new count.
    pub counter: Arc<dyn Fn() -> String + Send + Sync>,
    /// How much.
    pub budget: Budget,
}

impl fmt::Debug for SharedBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBudget")
            .field("counter", &(self.counter)())
            .field("budget", &self.budget)
            .finish()
    }
}

/// What a turn may spend, and at what price.
#[derive(Clone, Debug, Default)]
pub struct Allowance {
    /// In this turn.
    pub turn: Budget,
    /// In the session, all its turns together.
    pub session: Budget,
    /// Whether something beside these limits must know what a request will take: a counter, or who started the turn.
    pub watched: bool,
    /// The prices of the models to ask, in their order.
    pub prices: Vec<Option<Price>>,
}

impl Allowance {
    /// Tells whether requests are to be reserved.
    pub fn is_limited(&self) -> bool {
        self.watched || !self.turn.is_unlimited() || !self.session.is_unlimited()
    }
}

/// Returns an amount of money for people: `0.25`.
pub fn money(micros: Micros) -> String {
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    let digits = format!("{rest:06}");
    let mut shown = digits.trim_end_matches('0').len();
    shown = shown.max(2);
    format!("{whole}.{}", &digits[..shown])
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_for_a_million_tokens_and_rounds_up() {
        let price = Price {
            input: 2.5,
            output: 10.0,
            cached: Some(0.25),
        };
        let usage = |input_tokens, cached_tokens, output_tokens| Usage {
            input_tokens,
            output_tokens,
            cached_tokens,
            ..Usage::default()
        };
        // 1,000 × 2.5 + 500 × 10 = 7,500 millionths.
        assert_eq!(price.of(usage(1_000, 0, 500)), 7_500);
        // 200 × 2.5 + 800 × 0.25 + 0 = 700.
        assert_eq!(price.of(usage(1_000, 800, 0)), 700);
        assert_eq!(price.of(usage(1, 0, 0)), 3);
        // More from the cache than there was is no gain.
        assert_eq!(price.of(usage(10, 1_000, 0)), 3);
        assert_eq!(price.of(usage(u64::MAX, 0, u64::MAX)), u64::MAX);
        assert_eq!(price.of(usage(0, 0, 0)), 0);
        let cheap = Price {
            input: 0.1,
            output: 0.1,
            cached: None,
        };
        assert_eq!(cheap.of(usage(30, 30, 0)), 3);
    }

    #[test]
    fn money_is_written_for_people() {
        for (micros, text) in [
            (0, "0.00"),
            (1_000_000, "1.00"),
            (250_000, "0.25"),
            (1_234_567, "1.234567"),
            (7, "0.000007"),
        ] {
            assert_eq!(money(micros), text);
        }
    }

    #[test]
    fn the_tighter_limit_counts() {
        let one = Budget {
            tokens: Some(5),
            cost: None,
        };
        let two = Budget {
            tokens: Some(3),
            cost: Some(9),
        };
        assert_eq!(
            one.within(two),
            Budget {
                tokens: Some(3),
                cost: Some(9)
            }
        );
        assert!(one.covers(Spent {
            tokens: 5,
            cost: 1_000
        }));
        assert!(!two.covers(Spent {
            tokens: 3,
            cost: 10
        }));
        assert_eq!(
            two.less(Spent { tokens: 4, cost: 4 }),
            Budget {
                tokens: Some(0),
                cost: Some(5)
            }
        );
    }
}

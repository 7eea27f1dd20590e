//! What may be spent, and what models cost.

use claw_runtime::budget::{Budget, Price};
use serde::{Deserialize, Deserializer, de};

/// Declares the settings once; the names and what they raise follow.
macro_rules! budget {
    ($($name:ident: $type:ty,)*) => {
        /// Limits of spending, as far as they are set.
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub(crate) struct BudgetConfig {
            $($name: Option<$type>,)*
        }

        impl BudgetConfig {
            /// The names of all limits.
            pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// Returns the names of the limits that are set higher than those of `bound`.
            pub(super) fn raised_over(&self, bound: &Self) -> Vec<&'static str> {
                let mut raised = Vec::new();
                $(if let (Some(ours), Some(most)) = (self.$name, bound.$name)
                    && ours > most
                {
                    raised.push(stringify!($name));
                })*
                raised
            }
        }
    };
}

budget! {
    turn_tokens: u64,
    turn_cost: Money,
    session_tokens: u64,
    session_cost: Money,
    day_tokens: u64,
    day_cost: Money,
}

impl BudgetConfig {
    /// Returns what one turn may spend.
    pub(crate) fn turn(&self) -> Budget {
        budget(self.turn_tokens, self.turn_cost)
    }

    /// Returns what one session may spend.
    pub(crate) fn session(&self) -> Budget {
        budget(self.session_tokens, self.session_cost)
    }

    /// Returns what all sessions together may spend on a day.
    pub(crate) fn day(&self) -> Budget {
        budget(self.day_tokens, self.day_cost)
    }
}

fn budget(tokens: Option<u64>, cost: Option<Money>) -> Budget {
    Budget {
        tokens,
        // Millionths; a cast stops at the greatest number.
        cost: cost.map(|Money(cost)| (cost * 1e6).round() as u64),
    }
}

/// An amount of money.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Money(f64);

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let amount = f64::deserialize(deserializer)?;
        match amount.is_finite() && amount >= 0.0 {
            true => Ok(Self(amount)),
            false => Err(de::Error::custom(format!(
                "expected an amount from 0, found `{amount}`"
            ))),
        }
    }
}

/// What a million tokens of a model cost.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelConfig {
    input: Money,
    output: Money,
    cached: Option<Money>,
}

impl ModelConfig {
    /// Returns the model's price.
    pub(crate) fn price(self) -> Price {
        Price {
            input: self.input.0,
            output: self.output.0,
            cached: self.cached.map(|Money(cached)| cached),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_prices_are_read_and_bad_ones_refused() {
        let read: BudgetConfig =
            toml::from_str("turn_tokens = 5\nday_cost = 1\nturn_cost = 0.25").unwrap();
        assert_eq!(
            read.turn(),
            Budget {
                tokens: Some(5),
                cost: Some(250_000)
            }
        );
        assert_eq!(read.day().cost, Some(1_000_000));
        assert!(read.session().is_unlimited());
        for bad in [
            "turn_cost = -1",
            "turn_cost = nan",
            "turn_cost = inf",
            "turn_tokens = 1.5",
        ] {
            assert!(toml::from_str::<BudgetConfig>(bad).is_err(), "{bad}");
        }
        let model: ModelConfig = toml::from_str("input = 1\noutput = 2.5").unwrap();
        let price = model.price();
        assert_eq!((price.input, price.output, price.cached), (1.0, 2.5, None));
        assert!(toml::from_str::<ModelConfig>("input = 1").is_err());
    }

    #[test]
    fn a_lower_limit_raises_nothing() {
        let read = |text| toml::from_str::<BudgetConfig>(text).unwrap();
        let trusted = read("turn_tokens = 100\nday_cost = 1.0");
        assert_eq!(
            read("turn_tokens = 50\nday_cost = 0.5\nsession_tokens = 7").raised_over(&trusted),
            [""; 0]
        );
        assert_eq!(
            read("turn_tokens = 101\nday_cost = 2").raised_over(&trusted),
            ["turn_tokens", "day_cost"]
        );
    }
}

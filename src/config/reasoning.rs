//! Whether and how hard models reason, as the settings say it.

use std::fmt;
use std::str::FromStr;

use claw_runtime::provider::{Effort, Thinking};
use serde::{Deserialize, Deserializer, de};

use super::value::quoted;

/// How hard models reason, for the Responses API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EffortConfig(pub(crate) Effort);

impl FromStr for EffortConfig {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Effort::named(text).map(Self).ok_or_else(|| {
            let words = Effort::ALL.map(|(word, _)| format!("`{word}`"));
            format!(
                "expected one of {}, found {}",
                words.join(", "),
                quoted(text)
            )
        })
    }
}

/// Whether models reason before they answer: `"adaptive"`, `"off"` or the most tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThinkingConfig(pub(crate) Thinking);

impl<'de> Deserialize<'de> for ThinkingConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl de::Visitor<'_> for Read {
            type Value = ThinkingConfig;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`adaptive`, `off` or a number of tokens")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ThinkingConfig, E> {
                match text {
                    "adaptive" => Ok(ThinkingConfig(Thinking::Adaptive)),
                    "off" => Ok(ThinkingConfig(Thinking::Off)),
                    _ => Err(E::custom(format!(
                        "expected `adaptive`, `off` or a number of tokens, found {}",
                        quoted(text)
                    ))),
                }
            }

            fn visit_i64<E: de::Error>(self, tokens: i64) -> Result<ThinkingConfig, E> {
                match u64::try_from(tokens) {
                    Ok(tokens @ 1..) => Ok(ThinkingConfig(Thinking::Budget(tokens))),
                    _ => Err(E::custom(format!(
                        "expected a number of tokens of at least 1, found `{tokens}`; `off` is for none"
                    ))),
                }
            }
        }
        deserializer.deserialize_any(Read)
    }
}

impl<'de> Deserialize<'de> for EffortConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

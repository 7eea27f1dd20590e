//! How much a model reads, and what a service says about it when it was too much.

use super::{Fit, Turn};
use crate::event::{Event, Fact};

/// What a model reads at least, in tokens, as long as nobody says otherwise.
pub(super) const UNKNOWN: u64 = 8_192;

/// A smaller number is no window, nor is a greater one than the other.
const PLAUSIBLE: std::ops::RangeInclusive<u64> = 256..=100_000_000;

/// Words that stand before the number of tokens a model reads.
const BEFORE: [&str; 14] = [
    "maximum context length is",
    "maximum context length of",
    "context length is",
    "context length of",
    "context window of",
    "context window is",
    "context size of",
    "context size is",
    "context size (",
    "n_ctx",
    "maximum number of tokens allowed",
    "maximum prompt length is",
    "tokens >",
    "limit of",
];

impl Turn {
    /// Returns what a service's refusal teaches about its model.
    pub(super) fn learn_window(&self, message: &str) -> Option<Event> {
        let tokens = named(message)?;
        let target = self.setup.targets.get(self.target)?;
        let (provider, model) = (target.provider.clone(), target.model.clone());
        (self.view.window(&provider, &model) != Some(tokens)).then_some(Event::Learnt {
            provider,
            model,
            fact: Fact::Window { tokens },
        })
    }

    /// Returns why the next request cannot be sent, whose conversation is about so many tokens, with the sizes.
    pub(in crate::turn) fn too_long(&self, conversation: u64) -> Option<String> {
        let fit = self.fit();
        let Fit { window, prompt, .. } = fit;
        if !fit.known || prompt.saturating_add(conversation) <= window {
            return None;
        }
        let model = self
            .setup
            .targets
            .get(self.target)
            .map_or_else(String::new, |target| {
                format!("{}:{}", target.provider, target.model)
            });
        Some(if prompt >= window {
            format!(
                "instructions and tools take about {prompt} tokens, and `{model}` reads {window}: shorten the \
                 instructions, offer fewer tools, or set `window` if it reads more"
            )
        } else {
            format!(
                "the conversation takes about {conversation} tokens even when shortened, beside {prompt} of instructions \
                 and tools, and `{model}` reads {window}: send less at once, or set `window` if it reads more"
            )
        })
    }
}

/// Returns the window that a service's refusal names.
fn named(message: &str) -> Option<u64> {
    let message = message.to_lowercase();
    BEFORE.iter().find_map(|words| {
        let after = message.find(words)? + words.len();
        number(&message[after..])
    })
}

/// Reads the number that follows within a few words.
fn number(text: &str) -> Option<u64> {
    const NEAR: usize = 24;
    let start = text
        .char_indices()
        .take(NEAR)
        .find(|(_, c)| c.is_ascii_digit())?
        .0;
    let mut digits = String::new();
    for c in text[start..].chars() {
        match c {
            '0'..='9' => digits.push(c),
            ',' | '_' => {}
            _ => break,
        }
    }
    digits
        .parse()
        .ok()
        .filter(|number| PLAUSIBLE.contains(number))
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn services_name_their_window_in_many_words() {
        for (said, window) in [
            (
                "This model's maximum context length is 8192 tokens. However, you requested 9001 tokens (8001 in the \
                 messages, 1000 in the completion).",
                Some(8_192),
            ),
            (
                "prompt is too long: 215,301 tokens > 200,000 maximum",
                Some(200_000),
            ),
            (
                "the request exceeds the available context size (4096 tokens), try increasing it",
                Some(4_096),
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                Some(1_048_576),
            ),
            (
                "Requested tokens exceed context window of 2048",
                Some(2_048),
            ),
            ("input is too long", None),
            (
                "context length is what it is, and 99999999999999999999 is no number",
                None,
            ),
            ("maximum context length is 3", None),
        ] {
            assert_eq!(named(said), window, "{said}");
        }
    }
}

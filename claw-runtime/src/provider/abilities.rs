//! What models can do, by their names: a table of what is known, and changes to it from settings.
//!
//! The table is short on purpose. What it does not name is taken to be a current model that can do all its format can; a
//! service that refuses tools says so, and the session learns it. A cell that turns out wrong is corrected here.

use serde::{Deserialize, Serialize};

use super::{Capabilities, Constrain, Structured};
use crate::glob::glob;

/// A change to what a model is taken to be able to do. What is left out stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Change {
    /// Takes tool definitions and answers with calls.
    pub native_tools: Option<bool>,
    /// Follows the prompt protocol, where it takes no tool definitions.
    pub prompt_tools: Option<bool>,
    /// May answer with several calls in one round.
    pub parallel_calls: Option<bool>,
    /// Streams.
    pub streaming: Option<bool>,
    /// Streams while tools are offered.
    pub streaming_with_tools: Option<bool>,
    /// Takes images.
    pub vision: Option<bool>,
    /// Takes a system message.
    pub system_role: Option<bool>,
    /// Sends reasoning apart from text.
    pub reasoning: Option<bool>,
    /// How far it can be held to a form.
    pub structured: Option<Structured>,
    /// When it is held to a form, where it can be.
    pub constrain: Option<Constrain>,
    /// How many tokens a conversation may have, the reply included.
    pub window: Option<u64>,
}

impl Change {
    const NONE: Self = Self {
        native_tools: None,
        prompt_tools: None,
        parallel_calls: None,
        streaming: None,
        streaming_with_tools: None,
        vision: None,
        system_role: None,
        reasoning: None,
        structured: None,
        constrain: None,
        window: None,
    };

    /// Returns `capabilities` with this change.
    pub fn apply(&self, capabilities: Capabilities) -> Capabilities {
        let of = |change: Option<bool>, before| change.unwrap_or(before);
        Capabilities {
            native_tools: of(self.native_tools, capabilities.native_tools),
            prompt_tools: of(self.prompt_tools, capabilities.prompt_tools),
            parallel_calls: of(self.parallel_calls, capabilities.parallel_calls),
            streaming: of(self.streaming, capabilities.streaming),
            streaming_with_tools: of(self.streaming_with_tools, capabilities.streaming_with_tools),
            vision: of(self.vision, capabilities.vision),
            system_role: of(self.system_role, capabilities.system_role),
            reasoning: of(self.reasoning, capabilities.reasoning),
            structured: self.structured.unwrap_or(capabilities.structured),
            constrain: self.constrain.unwrap_or(capabilities.constrain),
            window: self.window.or(capabilities.window),
        }
    }
}

/// A change for all models whose name matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// A model's name, in which `*` stands for any run of characters.
    pub models: String,
    /// What is changed for them.
    pub change: Change,
    /// Whether it is guessed by the name, so that what the service itself tells weighs more.
    pub is_guess: bool,
}

impl Rule {
    /// Tells whether the rule is about `model`. Upper and lower case are the same.
    pub fn covers(&self, model: &str) -> bool {
        let lower = |text: &str| text.to_ascii_lowercase();
        glob(lower(&self.models).as_bytes(), lower(model).as_bytes())
    }
}

/// Returns what is known of the models of a service, by the name of its [preset](super::presets); later rules weigh more.
pub fn known(provider: &str) -> Vec<Rule> {
    let of_provider = TABLE.iter().filter(|row| row.0.contains(&provider));
    let rules = of_provider.flat_map(|(_, models, change)| {
        models.iter().map(|models| Rule {
            models: (*models).to_owned(),
            change: *change,
            is_guess: true,
        })
    });
    rules.collect()
}

type Row = (&'static [&'static str], &'static [&'static str], Change);

const fn structured(structured: Structured) -> Change {
    Change {
        structured: Some(structured),
        ..Change::NONE
    }
}

const NO_IMAGES: Change = Change {
    vision: Some(false),
    ..Change::NONE
};
const IMAGES: Change = Change {
    vision: Some(true),
    ..Change::NONE
};
const REASONS: Change = Change {
    reasoning: Some(true),
    ..Change::NONE
};
const NO_TOOLS: Change = Change {
    native_tools: Some(false),
    ..Change::NONE
};
const NO_CALLS: Change = Change {
    native_tools: Some(false),
    prompt_tools: Some(false),
    ..Change::NONE
};

/// Services, patterns of model names, and what holds for them.
const TABLE: &[Row] = &[
    (
        &[
            "openai",
            "openai-responses",
            "azure",
            "openrouter",
            "xai",
            "mistral",
            "vllm",
            "lmstudio",
        ],
        &["*"],
        structured(Structured::Schema),
    ),
    (
        &["gemini", "ollama", "ollama-native", "fireworks", "together"],
        &["*"],
        structured(Structured::Schema),
    ),
    (
        &["deepseek", "groq", "moonshot", "qwen", "dashscope", "zhipu"],
        &["*"],
        structured(Structured::Object),
    ),
    (&["llamacpp"], &["*"], structured(Structured::Grammar)),
    (
        &["openai", "openai-responses", "azure"],
        &["o1*", "o3*", "o4*", "gpt-5*", "gpt-6*", "codex*"],
        REASONS,
    ),
    (
        &["openai", "openai-responses", "azure"],
        &["gpt-3.5*", "o1-mini*", "o3-mini*"],
        NO_IMAGES,
    ),
    (
        &["openai", "azure"],
        &["o1-mini*", "o1-preview*"],
        Change {
            native_tools: Some(false),
            system_role: Some(false),
            ..Change::NONE
        },
    ),
    (&["deepseek"], &["*"], NO_IMAGES),
    (&["deepseek"], &["*"], REASONS),
    (&["minimax"], &["*"], NO_IMAGES),
    (&["minimax"], &["*"], REASONS),
    (&["groq"], &["*"], NO_IMAGES),
    (&["groq"], &["*llama-4*"], IMAGES),
    (&["moonshot"], &["kimi-k2-*", "moonshot-v1-*"], NO_IMAGES),
    (&["moonshot"], &["*vision*"], IMAGES),
    (
        &["mistral"],
        &["codestral*", "devstral*", "ministral*"],
        NO_IMAGES,
    ),
    (&["qwen", "dashscope"], &["*"], NO_IMAGES),
    (
        &["qwen", "dashscope"],
        &["*-vl*", "qvq*", "*omni*", "*ocr*"],
        IMAGES,
    ),
    (
        &["ollama", "ollama-native", "llamacpp", "lmstudio"],
        // Their templates have no place for tools.
        &[
            "gemma:*",
            "gemma2:*",
            "llama2*",
            "codellama*",
            "phi3:*",
            "tinyllama*",
            "llava*",
            "smollm:*",
        ],
        NO_TOOLS,
    ),
    (
        &["ollama", "ollama-native", "llamacpp", "lmstudio", "vllm"],
        // So small that they write no valid call on their own.
        &["*smollm*", "*tinyllama*", "*135m*", "*360m*"],
        Change {
            constrain: Some(Constrain::Always),
            ..Change::NONE
        },
    ),
    (
        &[
            "openai",
            "openai-responses",
            "azure",
            "openrouter",
            "mistral",
            "qwen",
            "dashscope",
            "gemini",
            "ollama",
            "ollama-native",
            "llamacpp",
            "lmstudio",
            "vllm",
            "together",
        ],
        // They do not chat.
        &[
            "*embed*",
            "*whisper*",
            "*tts*",
            "*moderation*",
            "*rerank*",
            "*dall-e*",
        ],
        NO_CALLS,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::presets;

    fn of(provider: &str, model: &str) -> Capabilities {
        known(provider)
            .iter()
            .filter(|rule| rule.covers(model))
            .fold(Capabilities::FULL, |before, rule| rule.change.apply(before))
    }

    #[test]
    fn the_table_names_known_services() {
        for (providers, models, change) in TABLE {
            for name in *providers {
                assert!(presets::named(name).is_some(), "{name}");
            }
            assert!(!models.is_empty());
            assert_ne!(*change, Change::NONE);
        }
    }

    #[test]
    fn later_rules_weigh_more_and_leave_the_rest() {
        assert!(of("openai-responses", "gpt-5-mini").reasoning);
        assert!(!of("openai-responses", "gpt-4o").reasoning);
        assert!(!of("dashscope", "qwen-plus").vision);
        assert!(of("dashscope", "Qwen3-VL-Plus").vision);
        assert_eq!(of("llamacpp", "any").structured, Structured::Grammar);
        assert_eq!(of("llamacpp", "any").constrain, Constrain::OnFailure);
        let small = of("llamacpp", "SmolLM2-135M-Instruct.Q4_1.gguf");
        assert_eq!(small.constrain, Constrain::Always);
        let gemma = of("ollama-native", "gemma2:9b");
        assert!(!gemma.native_tools && gemma.prompt_tools && gemma.vision);
        let embedding = of("openai", "text-embedding-3-small");
        assert!(!embedding.native_tools && !embedding.prompt_tools);
        assert_eq!(of("nobody", "gpt-5"), Capabilities::FULL);
    }
}

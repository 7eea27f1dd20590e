//! Known services as data: address, the environment variable their key is usually in, and quirks.
//!
//! Nothing is read here. Whoever starts the program looks up the variable and hands the key over.

use super::openai_chat::{MaxTokens, Quirks, Replay};

/// The wire format that a service speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// [OpenAI chat completions](super::openai_chat), which most services speak beside their own.
    #[default]
    OpenAiChat,
    /// [OpenAI's Responses API](super::openai_responses).
    OpenAiResponses,
    /// Azure OpenAI: chat completions at addresses of its own.
    Azure,
    /// [Anthropic Messages](super::anthropic).
    Anthropic,
    /// [Gemini's `generateContent`](super::gemini).
    Gemini,
    /// [Ollama's own](super::ollama).
    Ollama,
    /// [DashScope's own](super::dashscope).
    DashScope,
}

impl Format {
    /// Every format, by the name it has in settings.
    pub const ALL: &[(&'static str, Self)] = &[
        ("openai-chat", Self::OpenAiChat),
        ("openai-responses", Self::OpenAiResponses),
        ("azure", Self::Azure),
        ("anthropic", Self::Anthropic),
        ("gemini", Self::Gemini),
        ("ollama", Self::Ollama),
        ("dashscope", Self::DashScope),
    ];

    /// Returns the format called `name` in settings.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, format)| *format)
    }
}

/// The name of the provider whose models run in this process: it is at no address, and so in no table.
pub const EMBEDDED: &str = "local";

/// A known service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The name before the colon in `provider:model`.
    pub name: &'static str,
    /// The wire format it speaks.
    pub format: Format,
    /// The address in front of what the format appends, `/chat/completions` as a rule; empty where everybody has one of
    /// their own.
    pub base_url: &'static str,
    /// The environment variable of its key; `None` for a server on this machine.
    pub key_env: Option<&'static str>,
    /// Where it departs from the common form of chat completions.
    pub quirks: Quirks,
}

/// Returns the preset called `name`.
pub fn named(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// Returns the service whose own `format` is, where it is one service's; `None` for a format that many speak.
pub fn of(format: Format) -> Option<&'static Preset> {
    if format == Format::OpenAiChat {
        return None;
    }
    PRESETS.iter().find(|preset| preset.format == format)
}

const COMMON: Quirks = Quirks::COMMON;
/// A gateway to models of many vendors, or a server of open ones: what one of them gave goes back.
const GATEWAY: Quirks = Quirks {
    replay: Replay::WhereGiven,
    ..COMMON
};

const fn speaking(dialect: &'static str) -> Quirks {
    Quirks { dialect, ..COMMON }
}

/// Every known service: hosted ones first, then servers on this machine.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "openai",
        format: Format::OpenAiChat,
        base_url: "https://api.openai.com/v1",
        key_env: Some("OPENAI_API_KEY"),
        quirks: Quirks {
            max_tokens: MaxTokens::MaxCompletionTokens,
            stop: false,
            ..COMMON
        },
    },
    native(
        "anthropic",
        Format::Anthropic,
        "https://api.anthropic.com/v1",
        Some("ANTHROPIC_API_KEY"),
    ),
    hosted(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        COMMON,
    ),
    hosted(
        "deepseek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        Quirks {
            dialect: "deepseek",
            replay: Replay::WithCalls,
            ..COMMON
        },
    ),
    hosted(
        "moonshot",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        Quirks {
            dialect: "moonshot",
            replay: Replay::WithCalls,
            ..COMMON
        },
    ),
    Preset {
        name: "mistral",
        format: Format::OpenAiChat,
        base_url: "https://api.mistral.ai/v1",
        key_env: Some("MISTRAL_API_KEY"),
        quirks: Quirks {
            // It tells the tokens unasked and refuses fields it does not know.
            stream_usage: false,
            short_call_ids: true,
            dialect: "mistral",
            ..COMMON
        },
    },
    hosted(
        "groq",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        COMMON,
    ),
    hosted(
        "xai",
        "https://api.x.ai/v1",
        "XAI_API_KEY",
        Quirks {
            max_tokens: MaxTokens::MaxCompletionTokens,
            stop: false,
            ..COMMON
        },
    ),
    hosted(
        "together",
        "https://api.together.xyz/v1",
        "TOGETHER_API_KEY",
        COMMON,
    ),
    hosted(
        "fireworks",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        COMMON,
    ),
    hosted(
        "minimax",
        "https://api.minimax.io/v1",
        "MINIMAX_API_KEY",
        Quirks {
            max_tokens: MaxTokens::MaxCompletionTokens,
            tool_choice: false,
            replay: Replay::InText,
            ..speaking("moonshot")
        },
    ),
    hosted(
        "qwen",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        Quirks {
            ask_parallel: true,
            ..speaking("dashscope")
        },
    ),
    hosted(
        "zhipu",
        "https://open.bigmodel.cn/api/paas/v4",
        "ZHIPU_API_KEY",
        GATEWAY,
    ),
    hosted("newapi", "", "NEWAPI_API_KEY", GATEWAY),
    hosted("onehub", "", "ONEHUB_API_KEY", GATEWAY),
    native(
        "gemini",
        Format::Gemini,
        "https://generativelanguage.googleapis.com/v1beta",
        Some("GEMINI_API_KEY"),
    ),
    native(
        "openai-responses",
        Format::OpenAiResponses,
        "https://api.openai.com/v1",
        Some("OPENAI_API_KEY"),
    ),
    native("azure", Format::Azure, "", Some("AZURE_OPENAI_API_KEY")),
    native(
        "dashscope",
        Format::DashScope,
        "https://dashscope.aliyuncs.com/api/v1",
        Some("DASHSCOPE_API_KEY"),
    ),
    local("ollama", "http://127.0.0.1:11434/v1", speaking("ollama")),
    local(
        "llamacpp",
        "http://127.0.0.1:8080/v1",
        Quirks {
            prompt_progress: true,
            props: true,
            replay: Replay::WhereGiven,
            ..speaking("llamacpp")
        },
    ),
    local("lmstudio", "http://127.0.0.1:1234/v1", COMMON),
    local("vllm", "http://127.0.0.1:8000/v1", GATEWAY),
    native(
        "ollama-native",
        Format::Ollama,
        "http://127.0.0.1:11434",
        None,
    ),
];

const fn native(
    name: &'static str,
    format: Format,
    base_url: &'static str,
    key_env: Option<&'static str>,
) -> Preset {
    Preset {
        name,
        format,
        base_url,
        key_env,
        quirks: COMMON,
    }
}

const fn hosted(
    name: &'static str,
    base_url: &'static str,
    key_env: &'static str,
    quirks: Quirks,
) -> Preset {
    Preset {
        name,
        format: Format::OpenAiChat,
        base_url,
        key_env: Some(key_env),
        quirks,
    }
}

const fn local(name: &'static str, base_url: &'static str, quirks: Quirks) -> Preset {
    Preset {
        name,
        format: Format::OpenAiChat,
        base_url,
        key_env: None,
        quirks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;

    #[test]
    fn names_are_unique_and_can_stand_before_a_colon() {
        for (at, preset) in PRESETS.iter().enumerate() {
            assert!(
                preset
                    .name
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'-'),
                "{}",
                preset.name
            );
            assert!(
                PRESETS[..at].iter().all(|other| other.name != preset.name),
                "{}",
                preset.name
            );
            assert_eq!(named(preset.name), Some(preset));
            assert!(
                Dialect::named(preset.quirks.dialect).is_some(),
                "{}",
                preset.name
            );
        }
        assert_eq!(named("nobody"), None);
        for (name, format) in Format::ALL {
            assert_eq!(Format::named(name), Some(*format));
            assert!(PRESETS.iter().any(|preset| preset.format == *format));
        }
        assert_eq!(Format::named("openai"), None);
    }

    #[cfg(feature = "http")]
    #[test]
    fn keys_travel_encrypted_and_local_servers_need_none() {
        for preset in PRESETS.iter().filter(|preset| !preset.base_url.is_empty()) {
            crate::provider::OpenAiChat::new(preset.name, preset.base_url, None).unwrap();
            let is_local = preset.base_url.starts_with("http://127.0.0.1:");
            let is_encrypted = preset.base_url.starts_with("https://");
            assert!(is_local != is_encrypted, "{}", preset.name);
            assert_eq!(is_local, preset.key_env.is_none(), "{}", preset.name);
        }
    }
}

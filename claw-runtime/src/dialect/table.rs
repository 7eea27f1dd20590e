//! The table: one record a dialect.
//!
//! Sources: the services' documentation, the schema transformers of their SDKs, and recorded refusals. A cell that turns
//! out wrong is corrected here, and nowhere else.

use super::{
    Any, Closed, Dialect, Enums, Keywords as K, Limits, Maps, Names, Null, Optional, Refs,
};

/// A schema sent as it is written: prompt text for the model.
pub(super) const WRITTEN: Dialect = Dialect {
    name: "json-schema",
    about: "JSON Schema, draft 2020-12",
    strict: false,
    laxer: None,
    keeps: K::DRAFT,
    typed: false,
    root_unions: true,
    null: Null::Types,
    optional: Optional::LeftOut,
    closed: Closed::AsDeclared,
    maps: Maps::Kept,
    any: Any::Untyped,
    enums: Enums::Any,
    refs: Refs::Kept,
    formats: None,
    lookaround: true,
    float_bounds: true,
    largest_count: usize::MAX,
    largest_min_items: usize::MAX,
    tool_names: Names::FREE,
    property_names: Names::FREE,
    limits: Limits::NONE,
};

/// A schema the model is held to: closed objects whose properties are all required, every value typed.
const STRICT: Dialect = Dialect {
    strict: true,
    keeps: K::BASE.and(K::ADDITIONAL_PROPERTIES).and(K::ANY_OF),
    typed: true,
    root_unions: false,
    optional: Optional::Null,
    closed: Closed::Always,
    maps: Maps::Listed,
    any: Any::Text,
    enums: Enums::Scalars,
    refs: Refs::Inlined,
    lookaround: false,
    ..WRITTEN
};

/// What most services say of the name of a function.
const FUNCTION: Names = Names {
    extra: "_-",
    letter_first: false,
    longest: 64,
};

/// Every dialect.
pub const DIALECTS: &[Dialect] = &[
    WRITTEN,
    Dialect {
        name: "mcp",
        about: "MCP, as a server of tools",
        tool_names: Names {
            extra: "_-./",
            letter_first: false,
            longest: 128,
        },
        ..WRITTEN
    },
    Dialect {
        name: "openai",
        about: "OpenAI and services like it, not strict",
        keeps: K::DRAFT.without(K::REMARKS),
        root_unions: false,
        tool_names: FUNCTION,
        limits: Limits {
            tools: Some(128),
            ..Limits::NONE
        },
        ..WRITTEN
    },
    Dialect {
        name: "openai-strict",
        about: "OpenAI, strict",
        laxer: Some("openai"),
        keeps: STRICT
            .keeps
            .and(K::CONST)
            .and(K::REFS)
            .and(K::NUMBERS)
            .and(K::PATTERN)
            .and(K::FORMAT)
            .and(K::COUNTS),
        refs: Refs::Alone,
        formats: Some(&[
            "date-time",
            "time",
            "date",
            "duration",
            "email",
            "hostname",
            "ipv4",
            "ipv6",
            "uuid",
        ]),
        tool_names: FUNCTION,
        limits: Limits {
            tools: Some(128),
            properties: Some(5_000),
            depth: Some(10),
            enum_values: Some(1_000),
            characters: Some(120_000),
            long_enum: Some((250, 15_000)),
            ..Limits::NONE
        },
        ..STRICT
    },
    Dialect {
        name: "anthropic",
        about: "Anthropic, not strict",
        keeps: K::DRAFT.without(K::REMARKS),
        root_unions: false,
        tool_names: FUNCTION,
        property_names: Names {
            extra: "_.-",
            letter_first: false,
            longest: 64,
        },
        ..WRITTEN
    },
    Dialect {
        name: "anthropic-strict",
        about: "Anthropic, strict",
        laxer: Some("anthropic"),
        keeps: STRICT.keeps.and(K::CONST).and(K::FORMAT).and(K::MIN_ITEMS),
        optional: Optional::LeftOut,
        formats: Some(&[
            "date-time",
            "time",
            "date",
            "duration",
            "email",
            "hostname",
            "ipv4",
            "ipv6",
            "uuid",
            "uri",
        ]),
        largest_min_items: 1,
        tool_names: FUNCTION,
        property_names: Names {
            extra: "_.-",
            letter_first: false,
            longest: 64,
        },
        limits: Limits {
            strict_tools: Some(20),
            // One schema alone may use up what all strict tools of a request share, and was then refused as too
            // complex: half of it.
            optional: Some(12),
            unions: Some(8),
            ..Limits::NONE
        },
        ..STRICT
    },
    Dialect {
        name: "gemini",
        about: "Gemini, `parametersJsonSchema`",
        laxer: Some("gemini-parameters"),
        keeps: STRICT
            .keeps
            .and(K::BOUNDS)
            .and(K::COUNTS)
            .and(K::PREFIX_ITEMS),
        strict: false,
        optional: Optional::LeftOut,
        closed: Closed::AsDeclared,
        maps: Maps::Kept,
        any: Any::Untyped,
        enums: Enums::StringsAndNumbers,
        tool_names: GEMINI_TOOLS,
        property_names: GEMINI_PROPERTIES,
        ..STRICT
    },
    Dialect {
        name: "gemini-parameters",
        about: "Gemini, `parameters`",
        keeps: K::BASE
            .and(K::ANY_OF)
            .and(K::NULLABLE)
            .and(K::BOUNDS)
            .and(K::LENGTHS)
            .and(K::PATTERN)
            .and(K::COUNTS),
        strict: false,
        null: Null::Nullable,
        optional: Optional::LeftOut,
        closed: Closed::Never,
        enums: Enums::Strings,
        tool_names: GEMINI_TOOLS,
        property_names: GEMINI_PROPERTIES,
        ..STRICT
    },
    Dialect {
        name: "mistral",
        about: "Mistral",
        keeps: K::DRAFT.without(K::REMARKS),
        root_unions: false,
        tool_names: FUNCTION,
        ..WRITTEN
    },
    Dialect {
        name: "deepseek",
        about: "DeepSeek, not strict",
        keeps: K::DRAFT.without(K::REMARKS),
        root_unions: false,
        tool_names: FUNCTION,
        limits: Limits {
            tools: Some(128),
            ..Limits::NONE
        },
        ..WRITTEN
    },
    Dialect {
        name: "deepseek-strict",
        about: "DeepSeek, strict (its beta address)",
        laxer: Some("deepseek"),
        keeps: STRICT.keeps.and(K::FORMAT),
        null: Null::ScalarTypes,
        formats: Some(&["email", "hostname", "ipv4", "ipv6", "uuid"]),
        tool_names: FUNCTION,
        limits: Limits {
            tools: Some(128),
            all_strict: true,
            ..Limits::NONE
        },
        ..STRICT
    },
    Dialect {
        name: "dashscope",
        about: "DashScope (Qwen)",
        keeps: K::DRAFT.without(K::REMARKS),
        root_unions: false,
        tool_names: FUNCTION,
        ..WRITTEN
    },
    Dialect {
        name: "moonshot",
        about: "Moonshot (Kimi), MiniMax",
        // Every schema must name its type, those in a union too.
        keeps: K::BASE
            .and(K::ADDITIONAL_PROPERTIES)
            .and(K::ANY_OF)
            .and(K::NUMBERS)
            .and(K::LENGTHS)
            .and(K::COUNTS)
            .and(K::PATTERN)
            .and(K::FORMAT)
            .and(K::DEFAULT),
        strict: false,
        null: Null::Union,
        optional: Optional::LeftOut,
        closed: Closed::AsDeclared,
        maps: Maps::Kept,
        tool_names: FUNCTION,
        ..STRICT
    },
    Dialect {
        name: "ollama",
        about: "Ollama",
        // Its templates show type, description and enum; what else stands there the model never sees.
        keeps: K::BASE.and(K::ANY_OF),
        strict: false,
        null: Null::Union,
        optional: Optional::LeftOut,
        closed: Closed::Never,
        maps: Maps::Plain,
        any: Any::Untyped,
        tool_names: FUNCTION,
        ..STRICT
    },
    Dialect {
        name: "llamacpp",
        about: "llama.cpp, for its grammar",
        // A pattern that its converter cannot take fails the whole request, so none is sent.
        keeps: STRICT
            .keeps
            .and(K::CONST)
            .and(K::REFS)
            .and(K::BOUNDS)
            .and(K::EXCLUSIVE_MINIMUM)
            .and(K::EXCLUSIVE_MAXIMUM)
            .and(K::LENGTHS)
            .and(K::COUNTS)
            .and(K::FORMAT),
        optional: Optional::LeftOut,
        closed: Closed::AsDeclared,
        maps: Maps::Kept,
        any: Any::Untyped,
        refs: Refs::Alone,
        formats: Some(&["date", "time", "date-time", "uuid"]),
        float_bounds: false,
        // Larger repetitions exceed its "sane defaults".
        largest_count: 1_000,
        tool_names: FUNCTION,
        ..STRICT
    },
];

const GEMINI_TOOLS: Names = Names {
    extra: "_-.:",
    letter_first: true,
    longest: 64,
};

const GEMINI_PROPERTIES: Names = Names {
    extra: "_",
    letter_first: true,
    longest: 64,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_somewhere() {
        for (at, dialect) in DIALECTS.iter().enumerate() {
            assert_eq!(Dialect::named(dialect.name), Some(dialect));
            assert!(
                DIALECTS[..at]
                    .iter()
                    .all(|other| other.name != dialect.name),
                "{}",
                dialect.name
            );
            assert!(dialect.keeps.has(K::BASE), "{}", dialect.name);
            if dialect.laxer.is_some() {
                // A turn makes room for one more request.
                let laxer = dialect.laxer().unwrap();
                assert_eq!(laxer.laxer, None, "{}", dialect.name);
            }
        }
        assert_eq!(Dialect::named("nobody"), None);
    }
}

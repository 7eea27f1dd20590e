//! Faults of a config file, each at its place: unknown keys with the nearest known one, inline secrets, bad values.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use serde::Deserialize;
use serde_path_to_error::Segment;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::{Config, LimitsConfig};
use claw_runtime::nearest::nearest;

/// Why the settings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConfigError {
    /// A file cannot be read.
    Unreadable { file: PathBuf, message: String },
    /// A file holds a fault.
    Fault {
        file: PathBuf,
        line: usize,
        column: usize,
        message: String,
    },
    /// An environment variable or flag holds a fault.
    Value { name: String, message: String },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { file, message } => {
                write!(f, "cannot read `{}`: {message}", file.display())
            }
            Self::Fault {
                file,
                line,
                column,
                message,
            } => write!(f, "{}:{line}:{column}: {message}", file.display()),
            Self::Value { name, message } => write!(f, "{name}: {message}"),
        }
    }
}

impl std::error::Error for ConfigError {}

/// A fault in a text, by byte range.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: Range<usize>,
    pub(crate) message: String,
}

impl Fault {
    /// Returns the error with line and column, both from 1, the column in characters.
    pub(crate) fn in_file(self, file: PathBuf, text: &str) -> ConfigError {
        let (line, column) = position(text, self.at.start);
        ConfigError::Fault {
            file,
            line,
            column,
            message: self.message,
        }
    }
}

/// Returns line and column of a byte, both from 1, the column in characters.
pub(super) fn position(text: &str, at: usize) -> (usize, usize) {
    let mut start = at.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let before = &text[..start];
    let column = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, column.chars().count() + 1)
}

/// What stands under a key.
enum Form {
    Value,
    Table(&'static [(&'static str, Form)]),
    /// A table whose keys are free and whose values are tables of this form.
    Each(&'static [(&'static str, Form)]),
    /// A table with free keys.
    Headers,
    /// The table of limits.
    Limits,
}

const ROOT: &[(&str, Form)] = &[
    ("model", Form::Value),
    ("base_url", Form::Value),
    ("ca_file", Form::Value),
    ("workspace", Form::Value),
    ("system", Form::Value),
    ("user_timezone", Form::Value),
    ("stamp", Form::Value),
    ("discover", Form::Value),
    ("protocol", Form::Value),
    ("must_call", Form::Value),
    ("providers", Form::Each(PROVIDER)),
    ("policy", Form::Table(POLICY)),
    ("limits", Form::Limits),
    ("budget", Form::Table(BUDGET)),
    ("mask", Form::Table(MASK)),
    ("models", Form::Each(MODEL)),
    ("sessions", Form::Table(SESSIONS)),
];

const PROVIDER: &[(&str, Form)] = &[
    ("base_url", Form::Value),
    ("format", Form::Value),
    ("key_env", Form::Value),
    ("key_file", Form::Value),
    ("key_command", Form::Value),
    ("ca_file", Form::Value),
    ("protocol", Form::Value),
    ("constrain", Form::Value),
    ("mask", Form::Value),
    ("headers", Form::Headers),
    ("models", Form::Value),
    ("thinking", Form::Value),
    ("effort", Form::Value),
    ("api_version", Form::Value),
    ("deployments", Form::Value),
    ("threads", Form::Value),
    ("context", Form::Value),
    ("memory", Form::Value),
    ("idle", Form::Value),
    ("temperature", Form::Value),
    ("seed", Form::Value),
    ("capabilities", Form::Each(CAPABILITIES)),
];

const CAPABILITIES: &[(&str, Form)] = &[
    ("native_tools", Form::Value),
    ("prompt_tools", Form::Value),
    ("parallel_calls", Form::Value),
    ("streaming", Form::Value),
    ("streaming_with_tools", Form::Value),
    ("vision", Form::Value),
    ("system_role", Form::Value),
    ("reasoning", Form::Value),
    ("structured", Form::Value),
    ("constrain", Form::Value),
    ("window", Form::Value),
];

const POLICY: &[(&str, Form)] = &[
    ("profile", Form::Value),
    ("allow", Form::Value),
    ("ask", Form::Value),
    ("deny", Form::Value),
];

const BUDGET: &[(&str, Form)] = &[
    ("turn_tokens", Form::Value),
    ("turn_cost", Form::Value),
    ("session_tokens", Form::Value),
    ("session_cost", Form::Value),
    ("day_tokens", Form::Value),
    ("day_cost", Form::Value),
];

const MASK: &[(&str, Form)] = &[
    ("patterns", Form::Value),
    ("own", Form::Value),
    ("images", Form::Value),
];

const MODEL: &[(&str, Form)] = &[
    ("input", Form::Value),
    ("output", Form::Value),
    ("cached", Form::Value),
];

const SESSIONS: &[(&str, Form)] = &[
    ("store", Form::Value),
    ("file", Form::Value),
    ("durability", Form::Value),
    ("url_env", Form::Value),
];

/// Checks one layer, syntax, keys, then types and values, and returns it.
pub(super) fn check(text: &str) -> Result<Table, Fault> {
    let places = DeTable::parse(text).map_err(|error| syntax(&error))?;
    keys(places.get_ref(), ROOT, "")?;
    let layer: Table = toml::from_str(text).map_err(|error| syntax(&error))?;
    match typed(layer.clone()) {
        Ok(_) => Ok(layer),
        Err(wrong) => Err(Fault {
            at: place(places.get_ref(), &wrong.path),
            message: format!("`{}`: {}", wrong.path, wrong.message),
        }),
    }
}

/// A value that is not what its key asks for.
pub(super) struct Wrong {
    path: serde_path_to_error::Path,
    pub(super) message: String,
}

/// Reads settings. All are read here and in one way, from a table: each way to read this type is 200 kB of the program.
pub(super) fn typed(table: Table) -> Result<Config, Wrong> {
    let mut track = serde_path_to_error::Track::new();
    let reader = serde_path_to_error::Deserializer::new(Value::Table(table), &mut track);
    Config::deserialize(reader).map_err(|error| Wrong {
        path: track.path(),
        message: plain(error.message()),
    })
}

/// Returns where the value of a path stands, or what is left of it.
fn place(table: &DeTable<'_>, path: &serde_path_to_error::Path) -> Range<usize> {
    let mut here: Option<&Spanned<DeValue<'_>>> = None;
    for step in path {
        let inner = match (step, here.map(Spanned::get_ref)) {
            (Segment::Map { key }, None) => table.get(key.as_str()),
            (Segment::Map { key }, Some(DeValue::Table(table))) => table.get(key.as_str()),
            (Segment::Seq { index }, Some(DeValue::Array(items))) => items.get(*index),
            _ => None,
        };
        let Some(inner) = inner else { break };
        here = Some(inner);
    }
    here.map(Spanned::span).unwrap_or_default()
}

fn syntax(error: &toml::de::Error) -> Fault {
    Fault {
        at: error.span().unwrap_or_default(),
        message: error.message().replace('\n', "; "),
    }
}

/// Refuses keys nobody knows, and secrets.
fn keys(
    table: &DeTable<'_>,
    known: &'static [(&'static str, Form)],
    path: &str,
) -> Result<(), Fault> {
    for (key, value) in table {
        let name = key.get_ref().as_ref();
        let Some((_, form)) = known.iter().find(|(word, _)| *word == name) else {
            let message = if is_secret(name) {
                format!(
                    "`{path}{name}`: a secret must not stand in a config file; name the variable that holds it with \
                     `key_env`, the file with `key_file` or what prints it with `key_command`, under `[providers.NAME]`"
                )
            } else {
                unknown(name, known.iter().map(|(word, _)| *word), path)
            };
            return Err(Fault {
                at: key.span(),
                message,
            });
        };
        let DeValue::Table(inner) = value.get_ref() else {
            continue;
        };
        match form {
            Form::Value => {}
            Form::Table(known) => keys(inner, known, &format!("{path}{name}."))?,
            Form::Each(known) => {
                for (key, value) in inner {
                    if let DeValue::Table(inner) = value.get_ref() {
                        keys(inner, known, &format!("{path}{name}.{}.", key.get_ref()))?;
                    }
                }
            }
            Form::Limits => {
                let names = LimitsConfig::NAMES.iter().copied();
                if let Some((key, _)) = inner
                    .iter()
                    .find(|(key, _)| names.clone().all(|name| name != key.get_ref()))
                {
                    return Err(Fault {
                        at: key.span(),
                        message: unknown(key.get_ref(), names, &format!("{path}{name}.")),
                    });
                }
            }
            Form::Headers => {
                if let Some((key, _)) = inner.iter().find(|(key, _)| is_secret(key.get_ref())) {
                    return Err(Fault {
                        at: key.span(),
                        message: format!(
                            "`{path}{name}.{}`: a secret must not stand in a config file; use `key_env` or `key_file`",
                            key.get_ref()
                        ),
                    });
                }
            }
        }
    }
    Ok(())
}

fn unknown(name: &str, known: impl Iterator<Item = &'static str> + Clone, path: &str) -> String {
    match nearest(name, known.clone()) {
        Some(word) => format!("unknown key `{path}{name}`; did you mean `{path}{word}`?"),
        None => format!(
            "unknown key `{path}{name}`; expected one of {}",
            known
                .map(|word| format!("`{word}`"))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    matches!(
        name.as_str(),
        "key" | "secret" | "token" | "password" | "authorization" | "cookie"
    ) || ["api_key", "apikey", "_token", "_secret", "access_key"]
        .iter()
        .any(|part| name.contains(part))
}

/// Puts serde's words into the user's.
fn plain(message: &str) -> String {
    let Some((found, expected)) = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))
        .and_then(|rest| rest.rsplit_once(", expected "))
    else {
        return message.to_owned();
    };
    let expected = match expected {
        "u32" | "u64" | "usize" => "a whole number from 0",
        "a nonzero u32" | "a nonzero usize" => "a whole number from 1",
        "a boolean" => "`true` or `false`",
        "a sequence" => "a list",
        "a map" => "a table",
        "path string" => "a path",
        other if other.starts_with("struct ") => "a table",
        other => other,
    };
    let mut short: String = found.chars().take(80).collect();
    if short.len() < found.len() {
        short.push('…');
    }
    format!("expected {expected}, found {short}")
}

#[cfg(test)]
mod tests {
    use super::super::{BudgetConfig, ProviderConfig};
    use super::*;

    const DOCUMENTED: &str = include_str!("claw.toml");

    fn message(text: &str) -> String {
        check(text)
            .unwrap_err()
            .in_file("claw.toml".into(), text)
            .to_string()
    }

    #[test]
    fn faults_name_file_line_column_and_the_way_out() {
        for (text, expected) in [
            (
                "model = \"a:b\"\nwrkspace = \".\"\n",
                "claw.toml:2:1: unknown key `wrkspace`; did you mean `workspace`?",
            ),
            (
                "[limits]\nround = 3\n",
                "claw.toml:2:1: unknown key `limits.round`; did you mean `limits.rounds`?",
            ),
            (
                "[limits]\nrounds = \"many\"\n",
                "claw.toml:2:10: `limits.rounds`: expected a whole number from 0, found string \"many\"",
            ),
            (
                "[policy]\nprofile = \"all\"",
                "claw.toml:2:11: `policy.profile`: expected one of `minimal`, `coding`, `messaging`, `local`, \
                 `full`, found \"all\"",
            ),
            (
                "stamp = 1",
                "claw.toml:1:9: `stamp`: expected `true` or `false`, found integer `1`",
            ),
            (
                "[providers.lab]\nbase_url = \"lab\"",
                "claw.toml:2:12: `providers.lab.base_url`: expected an address like `http://127.0.0.1:8080/v1`, \
                 found \"lab\"",
            ),
            (
                "[providers.local]\nthreads = 0",
                "claw.toml:2:11: `providers.local.threads`: expected a whole number from 1, found integer `0`",
            ),
            (
                "[providers.local]\nmemory = \"much\"",
                "claw.toml:2:10: `providers.local.memory`: expected an amount of memory like `4GB` or `512MB`, found \"much\"",
            ),
            (
                "[providers.local]\ntemperature = -1",
                "claw.toml:2:15: `providers.local.temperature`: expected a number from 0 to 2, found `-1`",
            ),
            (
                "policy = 3",
                "claw.toml:1:10: `policy`: expected a table, found integer `3`",
            ),
        ] {
            assert_eq!(message(text), expected);
        }
    }

    #[test]
    fn inline_secrets_are_refused_and_not_repeated() {
        for text in [
            "api_key = \"sk-1234\"",
            "[providers.lab]\napi_key = \"sk-1234\"",
            "[providers.lab]\nkey = \"sk-1234\"",
            "[providers.lab]\nkey_env = \"sk-1234\"",
            "[providers.lab.headers]\nAuthorization = \"Bearer sk-1234\"",
            "[providers.lab]\nheaders = { X-Api-Key = \"sk-1234\" }",
        ] {
            let message = message(text);
            assert!(message.contains("key_env"), "{message}");
            assert!(!message.contains("1234"), "{message}");
        }
    }

    #[test]
    fn the_documented_file_is_accepted() {
        assert_eq!(check(DOCUMENTED).map(drop), Ok(()));
        let known: Vec<_> = BUDGET.iter().map(|(name, _)| *name).collect();
        assert_eq!(known, BudgetConfig::NAMES);
        for name in LimitsConfig::NAMES
            .iter()
            .chain(BudgetConfig::NAMES)
            .copied()
            .chain(ROOT.iter().map(|(name, _)| *name))
            .chain(ProviderConfig::EMBEDDED.iter().copied())
        {
            assert!(DOCUMENTED.contains(name), "`{name}` is not documented");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_checked_without_panic(text in ".{0,200}", cut in 0usize..200) {
            if let Err(fault) = check(&text) {
                fault.in_file("f".into(), &text).to_string();
            }
            let cut: String = DOCUMENTED.chars().take(cut * 10).collect();
            if let Err(fault) = check(&cut) {
                fault.in_file("f".into(), &cut).to_string();
            }
        }
    }
}

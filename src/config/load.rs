//! The layers of the config, merged.

use std::path::{Path, PathBuf};

use claw_runtime::nearest::nearest;
use claw_runtime::provider::presets;
use toml::{Table, Value};

use super::check::{ConfigError, check, typed};
use super::trust::FolderFile;
use super::{BudgetConfig, Config, LimitsConfig};

/// A config file must not fill the memory.
const LARGEST: u64 = 1024 * 1024;

/// Where settings come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// The user's config folder.
    pub(crate) user_folder: Option<PathBuf>,
    /// The working folder.
    pub(crate) working_folder: PathBuf,
    /// The file named by `--config`; it takes the place of the working folder's.
    pub(crate) named: Option<PathBuf>,
    /// Environment variables.
    pub(crate) env: Vec<(String, String)>,
    /// Flags, as keys of the config.
    pub(crate) flags: Vec<(&'static str, &'static [&'static str], Value)>,
}

/// The settings, and where they come from.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) config: Config,
    /// Files that were read, the strongest last.
    pub(crate) files: Vec<PathBuf>,
    /// The one of them that is not trusted.
    pub(crate) untrusted: Option<PathBuf>,
    /// What was ignored, a line each.
    pub(crate) warnings: Vec<String>,
}

/// The single values that have an environment variable `CLAW_…`.
const VARIABLES: &[(&str, &[&str])] = &[
    ("CLAW_MODEL", &["model"]),
    ("CLAW_BASE_URL", &["base_url"]),
    ("CLAW_WORKSPACE", &["workspace"]),
    ("CLAW_SYSTEM", &["system"]),
    ("CLAW_USER_TIMEZONE", &["user_timezone"]),
    ("CLAW_STAMP", &["stamp"]),
    ("CLAW_DISCOVER", &["discover"]),
    ("CLAW_PROTOCOL", &["protocol"]),
    ("CLAW_MUST_CALL", &["must_call"]),
    ("CLAW_PROFILE", &["policy", "profile"]),
    ("CLAW_SESSIONS_STORE", &["sessions", "store"]),
    ("CLAW_SESSIONS_FILE", &["sessions", "file"]),
    ("CLAW_SESSIONS_URL_ENV", &["sessions", "url_env"]),
    ("CLAW_SESSIONS_DURABILITY", &["sessions", "durability"]),
];

/// Variables that are read elsewhere.
const OTHER_VARIABLES: &[&str] = &[
    "CLAW_CONFIG",
    "CLAW_LOG",
    "CLAW_LOG_JSON",
    "CLAW_API_KEY",
    "CLAW_DATABASE_URL",
];

/// Reads and merges all layers.
///
/// # Errors
///
/// Fails at the first fault of the first faulty layer. A file that nobody named may be absent.
pub(crate) fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
    let mut merged = Merged::default();
    // The same without the file that is not.
    let mut trusted = Merged::default();
    let (mut files, mut warnings, mut folder_file) = (Vec::new(), Vec::new(), None);
    let user = sources
        .user_folder
        .as_ref()
        .map(|folder| folder.join("claw.toml"));
    if let Some(file) = &user
        && let Some((layer, _)) = read(file, false)?
    {
        files.push(file.clone());
        merged.add(files.len(), layer.clone());
        trusted.add(files.len(), layer);
    }
    let (local, is_named) = match &sources.named {
        Some(file) => (sources.working_folder.join(file), true),
        None => (sources.working_folder.join("claw.toml"), false),
    };
    if !files.contains(&local)
        && let Some((mut layer, text)) = read(&local, is_named)?
    {
        files.push(local.clone());
        if is_named {
            trusted.add(files.len(), layer.clone());
        } else {
            let file = FolderFile::new(local, text, user.as_deref());
            warnings.extend(file.restrict(&mut layer, &trusted.table));
            folder_file = Some(file);
        }
        merged.add(files.len(), layer);
    }
    let (environment_rank, flags_rank) = (files.len() + 1, files.len() + 2);
    for (name, path, value) in environment(&sources.env) {
        let layer = single(&name, &path, value)?;
        merged.add(environment_rank, layer.clone());
        trusted.add(environment_rank, layer);
    }
    for (name, path, value) in &sources.flags {
        let layer = single(name, path, value.clone())?;
        merged.add(flags_rank, layer.clone());
        trusted.add(flags_rank, layer);
    }
    let mut config = merged.finish()?;
    if let Some(file) = &folder_file {
        file.mark(&mut config, &trusted.finish()?);
    }
    warnings.extend(misspelt(&sources.env, &config));
    Ok(Loaded {
        config,
        files,
        untrusted: folder_file.map(|file| file.path),
        warnings,
    })
}

/// The layers so far.
#[derive(Default)]
struct Merged {
    table: Table,
    /// The layer that set `model`, and the one that set `base_url`; the stronger the higher.
    model: usize,
    base_url: usize,
}

impl Merged {
    fn add(&mut self, rank: usize, layer: Table) {
        if layer.contains_key("model") {
            self.model = rank;
        }
        if layer.contains_key("base_url") {
            self.base_url = rank;
        }
        merge(&mut self.table, layer);
    }

    fn finish(mut self) -> Result<Config, ConfigError> {
        // `--model openai:…` over a file's `base_url` means that service, not its name and key at the file's address.
        if self.model > self.base_url && self.names_a_service() {
            self.table.remove("base_url");
        }
        typed(self.table).map_err(|wrong| ConfigError::Value {
            name: "config".to_owned(),
            message: wrong.message,
        })
    }

    fn names_a_service(&self) -> bool {
        let Some(model) = self.table.get("model").and_then(Value::as_str) else {
            return false;
        };
        let name = model.split_once(':').map_or(model, |(name, _)| name);
        let own = self.table.get("providers").and_then(Value::as_table);
        name == presets::EMBEDDED
            || presets::named(name).is_some()
            || own.is_some_and(|own| own.contains_key(name))
    }
}

/// Returns the settings of a file, and its text.
fn read(file: &Path, required: bool) -> Result<Option<(Table, String)>, ConfigError> {
    let unreadable = |message: String| ConfigError::Unreadable {
        file: file.to_owned(),
        message,
    };
    let about = match std::fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !required => return Ok(None),
        about => about.map_err(|error| unreadable(error.to_string()))?,
    };
    // Opening a pipe or a device could wait for ever.
    if !about.is_file() {
        return Err(unreadable("it is no regular file".to_owned()));
    }
    if about.len() > LARGEST {
        return Err(unreadable("it is larger than 1 MiB".to_owned()));
    }
    let bytes = std::fs::read(file).map_err(|error| unreadable(error.to_string()))?;
    let text =
        String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8 text".to_owned()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut layer = check(text).map_err(|fault| fault.in_file(file.to_owned(), text))?;
    anchor_paths(&mut layer, file.parent().unwrap_or(Path::new(".")));
    Ok(Some((layer, text.to_owned())))
}

/// Makes the paths of a file relative to its folder, wherever the program runs.
fn anchor_paths(layer: &mut Table, folder: &Path) {
    let anchor = |table: &mut Table, key: &str| {
        if let Some(Value::String(path)) = table.get_mut(key)
            && let Some(full) = folder.join(&*path).to_str()
        {
            *path = full.to_owned();
        }
    };
    anchor(layer, "workspace");
    anchor(layer, "ca_file");
    anchor_model(layer, folder);
    if let Some(Value::Table(sessions)) = layer.get_mut("sessions") {
        anchor(sessions, "file");
    }
    if let Some(Value::Table(providers)) = layer.get_mut("providers") {
        for (_, provider) in providers.iter_mut() {
            if let Value::Table(provider) = provider {
                anchor(provider, "key_file");
                anchor(provider, "ca_file");
                // A bare name is looked for as the shell does.
                if let Some(Value::Array(command)) = provider.get_mut("key_command")
                    && let Some(Value::String(program)) = command.first_mut()
                    && program.contains('/')
                    && let Some(full) = folder.join(&*program).to_str()
                {
                    *program = full.to_owned();
                }
            }
        }
    }
}

/// Does the same with a model that is a file.
fn anchor_model(layer: &mut Table, folder: &Path) {
    if let Some(Value::String(model)) = layer.get_mut("model")
        && let Some(file) = model.strip_prefix("local:")
        && is_file(file)
        && !file.starts_with('~')
        && let Some(full) = folder.join(file).to_str()
    {
        *model = format!("local:{full}");
    }
}

/// Tells whether the name of an embedded model is that of a file, and not of weights in the user's cache.
pub(crate) fn is_file(model: &str) -> bool {
    model.contains(['/', '\\']) || model.starts_with('~') || model.ends_with(".gguf")
}

fn merge(into: &mut Table, layer: Table) {
    for (key, value) in layer {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// Iterates over the variables that are settings, each with its key.
fn variables() -> impl Iterator<Item = (String, Vec<&'static str>)> {
    let limits = LimitsConfig::NAMES.iter().map(|name| {
        (
            format!("CLAW_LIMITS_{}", name.to_ascii_uppercase()),
            vec!["limits", *name],
        )
    });
    let budget = BudgetConfig::NAMES.iter().map(|name| {
        (
            format!("CLAW_BUDGET_{}", name.to_ascii_uppercase()),
            vec!["budget", *name],
        )
    });
    VARIABLES
        .iter()
        .map(|(name, path)| ((*name).to_owned(), path.to_vec()))
        .chain(limits)
        .chain(budget)
}

/// Warns of variables that look like a slip; other ones of the same prefix are somebody else's.
fn misspelt(env: &[(String, String)], config: &Config) -> Vec<String> {
    let known: Vec<String> = variables()
        .map(|(name, _)| name)
        .chain(OTHER_VARIABLES.iter().map(|name| (*name).to_owned()))
        .collect();
    let is_a_key = |name: &str| {
        let providers = config.providers.values();
        providers
            .filter_map(|provider| provider.key_env.as_ref())
            .any(|key| key.as_str() == name)
    };
    env.iter()
        .map(|(name, _)| name)
        .filter(|name| !known.contains(name) && !is_a_key(name))
        .filter_map(|name| {
            let near = nearest(name, known.iter().map(String::as_str))?;
            Some(format!(
                "`{name}` in the environment is no setting; did you mean `{near}`?"
            ))
        })
        .collect()
}

/// Returns the set variables in the order of their table, each with its key and value.
fn environment(env: &[(String, String)]) -> Vec<(String, Vec<&'static str>, Value)> {
    variables()
        .filter_map(|(name, path)| {
            // An empty variable is an unset one, as shells make it.
            let (_, text) = env
                .iter()
                .find(|(key, text)| *key == name && !text.is_empty())?;
            let value = match (path[0], text.parse::<i64>(), text.parse::<bool>()) {
                ("limits" | "budget", Ok(number), _) => Value::Integer(number),
                ("budget", ..) => text
                    .parse()
                    .map_or_else(|_| Value::String(text.clone()), Value::Float),
                ("stamp" | "discover" | "must_call", _, Ok(truth)) => Value::Boolean(truth),
                _ => Value::String(text.clone()),
            };
            Some((name, path, value))
        })
        .collect()
}

/// Checks one value from outside the files and returns it as a layer.
fn single(name: &str, path: &[&str], value: Value) -> Result<Table, ConfigError> {
    let (last, tables) = path.split_last().expect("a setting has a key");
    let leaf = Table::from_iter([((*last).to_owned(), value)]);
    let layer = tables.iter().rev().fold(leaf, |inner, key| {
        Table::from_iter([((*key).to_owned(), Value::Table(inner))])
    });
    typed(layer.clone()).map_err(|wrong| ConfigError::Value {
        name: format!("`{name}`"),
        message: wrong.message,
    })?;
    Ok(layer)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn sources(user: &str, local: &str) -> (tempfile::TempDir, Sources) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("user")).unwrap();
        fs::write(folder.path().join("user/claw.toml"), user).unwrap();
        fs::write(folder.path().join("claw.toml"), local).unwrap();
        let sources = Sources {
            user_folder: Some(folder.path().join("user")),
            working_folder: folder.path().to_owned(),
            ..Sources::default()
        };
        (folder, sources)
    }

    #[test]
    fn layers_merge_deep_and_the_nearer_one_wins() {
        let (folder, mut sources) = sources(
            "model = \"a:1\"\nsystem = \"user\"\n[limits]\nrounds = 3\nattempts = 9\n",
            "model = \"a:2\"\nworkspace = \"sub\"\n[limits]\nrounds = 2\n",
        );
        sources.env = vec![
            ("CLAW_MODEL".into(), "a:3".into()),
            ("CLAW_LIMITS_CALL_TIMEOUT".into(), "7".into()),
            ("CLAW_SYSTEM".into(), String::new()),
        ];
        sources.flags = vec![("--model", &["model"], "a:4".into())];
        let Loaded { config, files, .. } = load(&sources).unwrap();
        assert_eq!(config.model.as_deref(), Some("a:4"));
        assert_eq!(config.system.as_deref(), Some("user"));
        assert_eq!(config.workspace, Some(folder.path().join("sub")));
        let limits = config.limits.limits();
        assert_eq!((limits.rounds, limits.attempts), (2, 9));
        assert_eq!(limits.call_timeout.as_secs(), 7);
        assert_eq!(files.len(), 2);
    }

    #[test]
    fn an_address_serves_the_model_it_was_set_with() {
        for (flag, kept) in [
            ("openai:m", false),
            ("lab", false),
            ("local:m", false),
            ("other", true),
            ("x:y", true),
        ] {
            let (_folder, mut sources) = sources(
                "[providers.lab]\nbase_url = \"http://lab/v1\"",
                "model = \"m\"\nbase_url = \"http://here/v1\"",
            );
            sources.flags = vec![("--model", &["model"], flag.into())];
            let config = load(&sources).unwrap().config;
            assert_eq!(config.base_url.is_some(), kept, "{flag}");
        }
        let (_folder, mut sources) = sources("", "base_url = \"http://here/v1\"");
        sources.env = vec![
            ("CLAW_MODEL".into(), "openai:m".into()),
            ("CLAW_BASE_URL".into(), "http://proxy/v1".into()),
        ];
        let config = load(&sources).unwrap().config;
        assert_eq!(config.base_url.unwrap().as_str(), "http://proxy/v1");
    }

    #[test]
    fn a_model_that_is_a_file_is_relative_to_the_settings() {
        for (said, meant) in [
            ("local:sub/m.gguf", "local:FOLDER/sub/m.gguf"),
            ("local:m.gguf", "local:FOLDER/m.gguf"),
            ("local:/m.gguf", "local:/m.gguf"),
            ("local:~/m.gguf", "local:~/m.gguf"),
            ("local:m", "local:m"),
            ("other:a/b", "other:a/b"),
        ] {
            let (folder, sources) = sources("", &format!("model = \"{said}\""));
            let folder = folder.path().to_str().unwrap();
            let model = load(&sources).unwrap().config.model;
            assert_eq!(model, Some(meant.replace("FOLDER", folder)));
        }
    }

    #[test]
    fn faults_outside_files_name_their_variable() {
        let (_folder, mut sources) = sources("", "");
        sources.env = vec![("CLAW_LIMITS_ROUNDS".into(), "lots".into())];
        assert_eq!(
            load(&sources).unwrap_err().to_string(),
            "`CLAW_LIMITS_ROUNDS`: expected a whole number from 0, found string \"lots\""
        );
    }

    #[test]
    fn a_named_file_must_exist_and_be_a_file() {
        let (folder, mut sources) = sources("", "");
        sources.named = Some("none.toml".into());
        assert!(matches!(
            load(&sources),
            Err(ConfigError::Unreadable { .. })
        ));
        sources.named = Some(folder.path().to_owned());
        assert!(matches!(
            load(&sources),
            Err(ConfigError::Unreadable { .. })
        ));
    }
}

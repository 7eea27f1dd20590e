//! The provider `local`: which weights it has, how they run, and which are taken where none are named.

use std::path::PathBuf;
use std::sync::Arc;

use claw_runtime::provider::Provider;
use claw_runtime::provider::local::{Local, Settings};

use super::folder::Folder;
use super::show::bytes;
use super::table::USUAL;
use crate::cli::embedded::{self, NAME};
use crate::cli::exit::{Exit, Failure};
use crate::config::{Config, ProviderConfig, is_file};

/// The models in this program, as the settings describe them.
pub(crate) struct Embedded {
    settings: Settings,
    /// The models that the settings name, the preferred one first.
    named: Vec<String>,
}

impl Embedded {
    pub(crate) fn of(own: &ProviderConfig) -> Result<Self, Failure> {
        if let Some(key) = own.service_key() {
            return Err(Failure::usage(format!(
                "`providers.{NAME}.{key}` is set, and `{NAME}` is the model in this program"
            ))
            .hint("take it out: it is for a service; with a `base_url`, the provider is one"));
        }
        let usual = Settings::default();
        let context = own
            .context
            .map(|it| usize::try_from(it.get()).unwrap_or(usize::MAX));
        let settings = Settings {
            threads: own.threads,
            context: context.unwrap_or(usual.context),
            memory: own.memory.map_or(usual.memory, |it| it.bytes),
            idle: own.idle.map_or(usual.idle, |it| it.0),
            temperature: own.temperature.map_or(usual.temperature, |it| it.0),
            seed: own.seed.unwrap_or(usual.seed),
        };
        let named = own.models.clone();
        Ok(Self { settings, named })
    }

    /// Tells whether there are weights in the user's folder, or the settings name some.
    pub(crate) fn is_here(config: &Config) -> bool {
        let own = config.providers.get(NAME);
        let is_named = own.is_some_and(|own| !own.models.is_empty());
        let folder = || Folder::of_user().and_then(|folder| folder.all());
        embedded::is(config, NAME) && (is_named || folder().is_ok_and(|all| !all.is_empty()))
    }

    /// Returns the model taken where none is named: the settings' first, else the usual one, else any that is here.
    pub(crate) fn usual(&self) -> String {
        if let Some(first) = self.named.first() {
            return first.clone();
        }
        let here = Folder::of_user()
            .and_then(|folder| folder.all())
            .unwrap_or_default();
        let has_usual = here.iter().any(|kept| kept.name == USUAL.name);
        match here.into_iter().next() {
            Some(first) if !has_usual => first.name,
            _ => USUAL.name.to_owned(),
        }
    }

    /// Returns the models of the settings that are here.
    pub(crate) fn models(&self) -> Vec<String> {
        let is_here = |model: &&String| file(model).is_ok();
        self.named.iter().filter(is_here).cloned().collect()
    }

    /// Makes the provider; it has all weights that are here, and the file if `model` is one. Nothing is loaded yet.
    pub(crate) fn connect(self, model: &str) -> Result<Arc<dyn Provider>, Failure> {
        let mut local = Local::new(NAME, self.settings);
        for kept in Folder::of_user()?.all()? {
            local = local.weights(kept.name, kept.file);
        }
        for model in self.named.iter().map(String::as_str).chain([model]) {
            if is_file(model)
                && let Ok(file) = file(model)
            {
                local = local.weights(model, file);
            }
        }
        if !model.is_empty() {
            file(model)?;
        }
        Ok(Arc::new(local))
    }
}

/// Opens a model's file, and tells what is in it and whether it is as it was fetched.
pub(crate) async fn describe(provider: &dyn Provider, model: &str) -> Result<String, Failure> {
    let failed = |what: String| Failure::new(Exit::ModelFailed, what);
    let about = provider
        .about(model)
        .await
        .map_err(|error| failed(error.message))?;
    let folder = Folder::of_user()?;
    let state = match folder.find(model) {
        None => "",
        Some(kept) => match folder.is_whole(&kept)? {
            Some(true) => ", its digest is the one it was fetched with",
            None => ", nothing tells where it came from",
            Some(false) => {
                return Err(failed(format!(
                    "`{}` was changed since it was fetched",
                    kept.file.display()
                ))
                .hint(format!(
                    "`claw model rm {model}` and `claw model pull` fetch it anew"
                )));
            }
        },
    };
    let window = about.window.unwrap_or_default();
    Ok(format!(
        "runs in this program, {window} tokens of context{state}"
    ))
}

/// Returns the file of a model: a path, `~` being the home folder, or the name of weights that are here.
fn file(model: &str) -> Result<PathBuf, Failure> {
    if !is_file(model) {
        return Ok(Folder::of_user()?.get(model)?.file);
    }
    let path = match (model.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(model),
    };
    // The folder may be another one when the file is opened.
    let path = std::path::absolute(path)?;
    match path.is_file() {
        true => Ok(path),
        false => Err(Failure::new(
            Exit::NoModel,
            format!("there is no file `{}`", path.display()),
        )
        .hint("name a GGUF file, or weights of `claw model list`")),
    }
}

/// Says how to get a model, for somebody who has none.
pub(crate) fn offer() -> String {
    format!(
        "or have a small model run in this program: `claw model pull {}` fetches it ({}, {})",
        USUAL.name,
        bytes(USUAL.size),
        USUAL.licence
    )
}

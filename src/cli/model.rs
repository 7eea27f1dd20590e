//! Which model is asked: the one that is named, else the first that can be reached without being told how.

use std::sync::Arc;
use std::time::Duration;

use claw_runtime::nearest::nearest;
use claw_runtime::provider::presets::{PRESETS, Preset};
use claw_runtime::provider::veil::Veiled;
use claw_runtime::provider::{Protocol, Provider};

use super::embedded::{self, Embedded};
use super::exit::{Exit, Failure};
use super::key::variable;
use super::service::{Service, UNNAMED, usual_address, veil};
use crate::config::Config;

/// A model, and why it is this one.
#[derive(Clone)]
pub(crate) struct Choice {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) name: String,
    pub(crate) why: String,
    /// How calls travel, where the settings say so.
    pub(crate) protocol: Option<Protocol>,
}

impl Choice {
    /// Returns `provider:model`.
    pub(crate) fn label(&self) -> String {
        format!("{}:{}", self.provider.name(), self.name)
    }
}

/// Parts of the names of models that do not chat.
const NO_CHAT: &[&str] = &[
    "embed",
    "whisper",
    "tts",
    "moderation",
    "guard",
    "rerank",
    "image",
    "audio",
    "transcribe",
    "ocr",
];

/// How long a local server may take to show that it is there.
const KNOCK: Duration = Duration::from_millis(300);
/// How long a service may take to list its models.
const LISTING: Duration = Duration::from_secs(5);

/// Chooses the model: what the settings name, else what the program brings, else a service whose key is in the
/// environment, else a local server, else weights that run in this program.
pub(crate) async fn choose(
    config: &Config,
    own: Option<(Arc<dyn Provider>, String)>,
) -> Result<Choice, Failure> {
    if let Some(model) = &config.model {
        let (service, name) = named(config, model)?;
        return settle(service, name, "configured").await;
    }
    if config.base_url.is_some() {
        let service = Service::of(config, UNNAMED)?;
        return settle(service, String::new(), "`base_url` is configured").await;
    }
    if let Some((provider, name)) = own {
        let why = "the program's own".to_owned();
        let provider = match veil(config)? {
            Some(veil) => Arc::new(Veiled::new(provider, veil)),
            None => provider,
        };
        return Ok(Choice {
            provider,
            name,
            why,
            protocol: config.protocol,
        });
    }
    // Settings of the model in this program say how it runs, not that it comes before the others.
    let is_service = |name: &&String| !embedded::is(config, name);
    if let Some(name) = config.providers.keys().find(is_service) {
        let service = Service::of(config, name)?;
        return settle(service, String::new(), "the first provider configured").await;
    }
    for known in PRESETS {
        if usual_address(known).is_none() {
            continue;
        }
        if let Some(variable) = known.key_env.filter(|name| variable(name).is_some()) {
            let service = Service::of(config, known.name)?;
            return settle(service, String::new(), &format!("`{variable}` is set")).await;
        }
    }
    if config.discover.unwrap_or(true)
        && let Some(choice) = running(config).await
    {
        return Ok(choice);
    }
    if Embedded::is_here(config) {
        let service = Service::of(config, embedded::NAME)?;
        return settle(service, String::new(), "its weights are here").await;
    }
    Err(none())
}

fn none() -> Failure {
    Failure::new(Exit::NoModel, "no model is configured")
        .hint("set a key, as in `export OPENAI_API_KEY=…`, and run this again")
        .hint("or start a local server: Ollama, llama.cpp or LM Studio are found by themselves")
        .hint("or name one: `--model PROVIDER:MODEL`, with `--base-url URL` for any OpenAI-compatible service")
        .hint(embedded::offer())
}

/// Returns the service called `name`.
pub(crate) fn service(config: &Config, name: &str) -> Result<Service, Failure> {
    if Service::is_known(config, name) || (name == UNNAMED && config.base_url.is_some()) {
        return Service::of(config, name);
    }
    Err(unknown(
        config,
        name,
        format!("there is no provider `{name}`"),
    ))
}

/// Returns every service that can be asked: those in the settings, those with a key in the environment, and local servers
/// that answer; or why one of them cannot. Of services with one key or one address, the first in the table.
pub(crate) async fn services(config: &Config) -> Result<Vec<Result<Service, Failure>>, Failure> {
    let mut services = Vec::new();
    if config.base_url.is_some() {
        // The address is of one service, whatever else is configured.
        let named = config
            .model
            .as_ref()
            .and_then(|model| model.split_once(':'));
        let name = named.map_or(UNNAMED, |(provider, _)| provider);
        let name = if Service::is_known(config, name) {
            name
        } else {
            UNNAMED
        };
        services.push(Service::of(config, name));
        return Ok(services);
    }
    for name in config.providers.keys() {
        services.push(Service::of(config, name));
    }
    let mut taken: Vec<&str> = Vec::new();
    for known in PRESETS {
        let Some(key) = known.key_env.filter(|key| variable(key).is_some()) else {
            continue;
        };
        let is_new = !config.providers.contains_key(known.name) && !taken.contains(&key);
        if is_new && usual_address(known).is_some() {
            taken.push(key);
            services.push(Service::of(config, known.name));
        }
    }
    if config.discover.unwrap_or(true) {
        let mut hosts: Vec<&str> = Vec::new();
        for known in answering().await {
            let host = host(known.base_url).unwrap_or_default();
            if !config.providers.contains_key(known.name) && !hosts.contains(&host) {
                hosts.push(host);
                services.push(Service::of(config, known.name));
            }
        }
    }
    if Embedded::is_here(config) && !config.providers.contains_key(embedded::NAME) {
        services.push(Service::of(config, embedded::NAME));
    }
    if services.is_empty() {
        return Err(none());
    }
    Ok(services)
}

/// Chooses another model in the middle of a conversation: `provider:model`, a provider, or a model of the one in use.
pub(crate) async fn switch(
    config: &Config,
    current: &Choice,
    text: &str,
) -> Result<Choice, Failure> {
    let here = current.provider.name();
    let (provider, model) = text.split_once(':').unwrap_or((text, ""));
    if provider != here && Service::is_known(config, provider) {
        // The address in the settings belongs to the model there.
        let elsewhere = Config {
            base_url: None,
            ..config.clone()
        };
        let service = Service::of(&elsewhere, provider)?;
        return settle(service, model.to_owned(), "chosen in the chat").await;
    }
    let name = if provider == here && !model.is_empty() {
        model
    } else {
        text
    };
    Ok(Choice {
        provider: current.provider.clone(),
        name: name.to_owned(),
        why: "chosen in the chat".to_owned(),
        protocol: current.protocol,
    })
}

/// Reads `provider:model`. Models have colons in their names too, so only a known provider ends at the first one.
fn named(config: &Config, text: &str) -> Result<(Service, String), Failure> {
    let (provider, model) = text.split_once(':').unwrap_or((text, ""));
    if Service::is_known(config, provider) {
        return Ok((Service::of(config, provider)?, model.to_owned()));
    }
    if config.base_url.is_some() {
        return Ok((Service::of(config, UNNAMED)?, text.to_owned()));
    }
    let what = format!("model `{text}`: there is no provider `{provider}`");
    Err(unknown(config, provider, what))
}

fn unknown(config: &Config, provider: &str, what: String) -> Failure {
    let names = || {
        config
            .providers
            .keys()
            .map(String::as_str)
            .chain(PRESETS.iter().map(|known| known.name))
            .chain(embedded::is(config, embedded::NAME).then_some(embedded::NAME))
    };
    let failure = Failure::usage(what);
    match nearest(provider, names()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure
            .hint(format!(
                "write `provider:model` with one of {}",
                names().collect::<Vec<_>>().join(", ")
            ))
            .hint("or give the address of an OpenAI-compatible service with `--base-url`"),
    }
}

/// Connects, and takes the first model listed where none is named.
async fn settle(service: Service, name: String, why: &str) -> Result<Choice, Failure> {
    let name = if name.is_empty() {
        service.model.clone()
    } else {
        name
    };
    let protocol = service.protocol;
    let provider = service.connect(&name)?;
    let name = if name.is_empty() {
        first_listed(&*provider).await?
    } else {
        name
    };
    Ok(Choice {
        provider,
        name,
        why: why.to_owned(),
        protocol,
    })
}

async fn first_listed(provider: &dyn Provider) -> Result<String, Failure> {
    let failed = |what: String| {
        let name = provider.name();
        Failure::new(
            Exit::ModelFailed,
            format!("cannot list the models of `{name}`: {what}"),
        )
        .hint(format!("name one with `--model {name}:MODEL`"))
    };
    match tokio::time::timeout(LISTING, provider.models()).await {
        Ok(Ok(models)) => models
            .into_iter()
            .find(|model| {
                !NO_CHAT
                    .iter()
                    .any(|part| model.to_lowercase().contains(part))
            })
            .ok_or_else(|| failed("it has none for chat".to_owned())),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed(format!("no answer within {LISTING:?}"))),
    }
}

/// Looks for local servers, all at once, and returns the first in the order of the table.
async fn running(config: &Config) -> Option<Choice> {
    for known in answering().await {
        if let Ok(service) = Service::of(config, known.name) {
            let why = format!("a server answers at {}", known.base_url);
            // Something else may listen on that port.
            if let Ok(choice) = settle(service, String::new(), &why).await {
                return Some(choice);
            }
        }
    }
    None
}

/// Returns the local servers that answer, in the order of the table.
async fn answering() -> Vec<&'static Preset> {
    let local = || PRESETS.iter().filter(|known| known.key_env.is_none());
    let knocks: Vec<_> = local()
        .map(|known| tokio::spawn(answers(known.base_url)))
        .collect();
    let mut answering = Vec::new();
    for (known, knock) in local().zip(knocks) {
        if knock.await.unwrap_or(false) {
            answering.push(known);
        }
    }
    answering
}

/// Returns host and port of an address in the table of local servers.
fn host(base_url: &str) -> Option<&str> {
    base_url.strip_prefix("http://")?.split('/').next()
}

async fn answers(base_url: &str) -> bool {
    let Some(host) = host(base_url) else {
        return false;
    };
    matches!(
        tokio::time::timeout(KNOCK, tokio::net::TcpStream::connect(host)).await,
        Ok(Ok(_))
    )
}

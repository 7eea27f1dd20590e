//! `models`: the models that can be asked, and what each can do.
//!
//! What a model can do is what the table knows by its name, what its service shows of it, what the settings say, and what
//! kept sessions have learnt; later ones weigh more.

use std::collections::BTreeSet;
use std::time::Duration;

use claw_runtime::dialect::Dialect;
use claw_runtime::event::Fact;
use claw_runtime::provider::{Capabilities, Protocol, Provider, Structured};
use claw_runtime::session::{Query, View};
use serde_json::{Value, json};

use super::args::{Args, ModelsArgs};
use super::exit::{Exit, Failure, warn};
use super::service::Service;
use super::terminal::Screen;
use super::{json as lines, model, store, text};
use crate::config::{Config, load};
use crate::program::Program;

/// How long a service may take to list its models, or to show one.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many kept sessions are asked what they learnt.
const SESSIONS: usize = 20;

/// Runs `models`. Services that cannot be listed are warned of; it fails when that is all of them.
pub(crate) async fn models(
    program: &Program,
    args: &Args,
    wanted: &ModelsArgs,
) -> Result<Exit, Failure> {
    let loaded = load(&args.sources()?)?;
    loaded.warnings.iter().for_each(|text| warn(text));
    let config = &loaded.config;
    let services = match &wanted.provider {
        Some(name) => vec![model::service(config, name)],
        None => model::services(config).await?,
    };
    let learnt = learnt(program, config, args).await;
    let (mut found, mut failure) = (Vec::new(), None);
    for service in services {
        let listed = match service {
            Ok(service) => list(service, &learnt).await,
            Err(why) => Err(why),
        };
        match listed {
            Ok(models) => found.extend(models),
            Err(why) => {
                if let Some(before) = failure.replace(why) {
                    tell(&before);
                }
            }
        }
    }
    match failure {
        Some(failure) if found.is_empty() => return Err(failure),
        Some(failure) => tell(&failure),
        None => {}
    }
    if wanted.json {
        for model in &found {
            lines::print(&model.describe())?;
        }
        return Ok(Exit::Answered);
    }
    let mut screen = Screen::new(false);
    screen.answer(&table(&found));
    screen.finish()?;
    Ok(Exit::Answered)
}

fn tell(failure: &Failure) {
    warn(&failure.message);
}

/// One model, and what is known of it.
struct Model {
    provider: String,
    name: String,
    capabilities: Capabilities,
    /// How its calls travel.
    protocol: Protocol,
    /// Whether that was learnt from a request it refused.
    is_learnt: bool,
    /// What its tools are lowered to.
    dialect: &'static Dialect,
    /// The dialect it is said to take, where a request showed that it does not.
    refused: Option<&'static Dialect>,
}

/// Lists the models of one service: those in the settings first, then those it names itself.
async fn list(service: Service, learnt: &View) -> Result<Vec<Model>, Failure> {
    let fixed = service.protocol;
    let configured = service.models.clone();
    let provider = service.connect("")?;
    let listed = match tokio::time::timeout(PATIENCE, provider.models()).await {
        Ok(Ok(models)) => models,
        Ok(Err(error)) if configured.is_empty() => return Err(cannot(&*provider, &error)),
        Err(_) if configured.is_empty() => {
            return Err(cannot(
                &*provider,
                &format!("no answer within {PATIENCE:?}"),
            ));
        }
        // What is configured may be all that the service lets anybody see.
        _ => Vec::new(),
    };
    let mut seen = BTreeSet::new();
    let mut models = Vec::new();
    for name in configured.into_iter().chain(listed) {
        if !seen.insert(name.clone()) {
            continue;
        }
        let declared = provider.capabilities(&name);
        let shown = tokio::time::timeout(PATIENCE, provider.about(&name)).await;
        let capabilities = shown.ok().and_then(Result::ok).unwrap_or(declared);
        let is_learnt = learnt.has_learnt(provider.name(), &name, &Fact::NoNativeTools);
        let said = provider.dialect(&name);
        let dialect = learnt.dialect(provider.name(), &name, said);
        let fitting = if capabilities.native_tools && !is_learnt {
            Protocol::Native
        } else if capabilities.prompt_tools {
            Protocol::Prompt
        } else {
            Protocol::Chat
        };
        models.push(Model {
            provider: provider.name().to_owned(),
            name,
            capabilities,
            protocol: fixed.unwrap_or(fitting),
            is_learnt,
            dialect,
            refused: (dialect != said).then_some(said),
        });
    }
    Ok(models)
}

fn cannot(provider: &dyn Provider, why: &dyn std::fmt::Display) -> Failure {
    let name = provider.name();
    Failure::new(
        Exit::ModelFailed,
        format!("cannot list the models of `{name}`: {why}"),
    )
    .hint(format!(
        "name them with `models` under `[providers.{name}]`, or check its address and key with `claw doctor`"
    ))
}

/// Returns what was learnt of models in the sessions used last. Nothing kept, nothing learnt.
async fn learnt(program: &Program, config: &Config, args: &Args) -> View {
    let mut learnt = View::default();
    let Ok(store) = store::open(program.name, config, args).await else {
        return learnt;
    };
    let query = Query {
        program: Some(program.name.to_owned()),
        unfinished: false,
        limit: SESSIONS,
    };
    for session in store.sessions(&query).await.unwrap_or_default() {
        let records = store.records(&session.id, 0).await.unwrap_or_default();
        for record in records.iter().filter(|record| record.kind == "learnt") {
            if let Ok(event) = record.read() {
                learnt.apply(&event);
            }
        }
    }
    learnt
}

impl Model {
    fn label(&self) -> String {
        format!("{}:{}", self.provider, self.name)
    }

    fn describe(&self) -> Value {
        json!({
            "model": self.label(),
            "provider": self.provider,
            "name": self.name,
            "protocol": self.protocol,
            "learnt": self.is_learnt,
            "dialect": self.dialect.name,
            "refused_dialect": self.refused.map(|it| it.name),
            "capabilities": self.capabilities,
        })
    }

    /// Returns how calls travel, and what else it can do, in words.
    fn words(&self) -> [String; 3] {
        let mut how = match self.protocol {
            Protocol::Native if self.capabilities.parallel_calls => "native",
            Protocol::Native => "native, one at a time",
            Protocol::Prompt if self.is_learnt => "prompt (learnt)",
            Protocol::Prompt => "prompt",
            _ => "none",
        }
        .to_owned();
        if self.protocol == Protocol::Native && self.refused.is_some() {
            how.push_str(&format!(", {} schemas (learnt)", self.dialect.name));
        }
        let can = [
            (self.capabilities.vision, "images"),
            (self.capabilities.reasoning, "reasoning"),
            (self.capabilities.structured == Structured::Object, "json"),
            (self.capabilities.structured == Structured::Schema, "schema"),
            (
                self.capabilities.structured == Structured::Grammar,
                "grammar",
            ),
        ];
        let can: Vec<&str> = can
            .into_iter()
            .filter_map(|(can, word)| can.then_some(word))
            .collect();
        let window = self.capabilities.window.map(|it| it.to_string());
        [how, can.join(" "), window.unwrap_or_default()]
    }
}

/// Returns one line a model: name, how calls travel, what else it can do, how many tokens it takes.
fn table(models: &[Model]) -> String {
    let rows: Vec<[String; 4]> = models
        .iter()
        .map(|model| {
            let [how, can, window] = model.words();
            [text::line(&model.label(), 80), how, can, window]
        })
        .collect();
    let head = ["model", "calls", "also", "window"].map(str::to_owned);
    let width = |column: usize| {
        let cells = rows.iter().chain([&head]).map(|row| &row[column]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2)];
    [&head]
        .into_iter()
        .chain(&rows)
        .map(|[model, how, can, window]| {
            let line = format!(
                "{model:0$}  {how:1$}  {can:2$}  {window}",
                widths[0], widths[1], widths[2]
            );
            format!("{}\n", line.trim_end())
        })
        .collect()
}

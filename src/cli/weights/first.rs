//! The first `run` or `chat` of somebody who has no model: the small one is offered, or fetched where nobody can be asked.
//!
//! It is offered last, when there is neither a key nor a server, and never with `discover = false`. Weights that are named
//! and not here are treated alike.

use std::io::{IsTerminal, stderr, stdin};
use std::sync::Arc;

use claw_runtime::provider::Provider;
use rustyline::error::ReadlineError;

use super::pull;
use super::show::bytes;
use super::table::{Known, Source, USUAL, known};
use crate::cli::embedded::{self, NAME};
use crate::cli::exit::{Exit, Failure};
use crate::cli::model::{self, Choice};
use crate::cli::terminal::{self, ASK, Screen};
use crate::config::Config;

/// Chooses the model, and fetches weights where there is none and nobody says no; `yes` says yes.
pub(crate) async fn choose(
    config: &Config,
    own: Option<(Arc<dyn Provider>, String)>,
    yes: bool,
) -> Result<Choice, Failure> {
    let none = match model::choose(config, own).await {
        Err(failure) if failure.exit == Exit::NoModel => failure,
        chosen => return chosen,
    };
    let Some(known) = missing(config) else {
        return Err(none);
    };
    let mut screen = Screen::new(false);
    let places: Vec<_> = known.sources.iter().map(Source::place).collect();
    let what = format!(
        "`{}` ({}, {}, licence {}; from {})",
        known.name,
        known.about,
        bytes(known.size),
        known.licence,
        places.join(", else ")
    );
    let can_ask = stdin().is_terminal() && stderr().is_terminal();
    if can_ask && !yes {
        screen.note(
            ASK,
            &format!(
                "{}. This program can run a small model itself: {what}",
                none.message
            ),
        );
        // A question is a blocking read; nothing else runs yet.
        let agreed = tokio::task::spawn_blocking(agreed).await;
        match agreed.map_err(Failure::other)? {
            Ok(true) => {}
            Ok(false) => return Err(none),
            Err(Stopped) => return Err(Failure::new(Exit::Interrupted, "stopped")),
        }
    } else {
        screen.note(
            ASK,
            &format!(
                "{}: fetching {what}, to run it in this program",
                none.message
            ),
        );
    }
    let pulled = tokio::select! {
        pulled = pull::known_weights(known, &mut screen) => pulled,
        _ = tokio::signal::ctrl_c() => {
            return Err(Failure::new(Exit::Interrupted, "stopped; the same command goes on with it"));
        }
    };
    if let Err(failure) = pulled {
        let mut none = Failure::new(
            Exit::NoModel,
            format!("{}: {}", none.message, failure.message),
        );
        none.hints = failure.hints;
        return Err(none);
    }
    screen.note(
        ASK,
        "it is one of the smallest there are: it calls tools and says little; for more, set a key or name a larger GGUF file",
    );
    screen.finish()?;
    model::choose(config, None).await
}

/// Returns the known weights that would help.
fn missing(config: &Config) -> Option<&'static Known> {
    let mut names = config.providers.keys();
    let is_alone = config.base_url.is_none() && names.all(|name| embedded::is(config, name));
    if config.model.is_none() && !(is_alone && config.discover.unwrap_or(true)) {
        return None;
    }
    let model = config.model.as_deref().unwrap_or(NAME);
    let (provider, name) = model.split_once(':').unwrap_or((model, ""));
    if !embedded::is(config, provider) {
        return None;
    }
    let own = config.providers.get(NAME);
    match (name, own.and_then(|own| own.models.first())) {
        ("", None) => Some(USUAL),
        ("", Some(first)) => known(first),
        (name, _) => known(name),
    }
}

/// Somebody pressed Ctrl-C.
struct Stopped;

/// Asks until there is an answer; Enter alone is no consent.
fn agreed() -> Result<bool, Stopped> {
    let config = rustyline::Config::builder()
        .behavior(rustyline::Behavior::PreferTerm)
        .build();
    let history = rustyline::history::MemHistory::new();
    let Ok(mut editor) = rustyline::Editor::<(), _>::with_history(config, history) else {
        return Ok(false);
    };
    terminal::start_line();
    loop {
        match editor.readline("fetch it? [y]es, [n]o: ") {
            Ok(line) => match line.trim().to_lowercase().as_str() {
                "y" | "yes" => return Ok(true),
                "" | "n" | "no" => return Ok(false),
                _ => {}
            },
            Err(ReadlineError::Interrupted) => return Err(Stopped),
            // The end of the input, or none to read from.
            Err(_) => return Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_offered_to_those_who_have_no_other_model() {
        for (settings, offered) in [
            ("", true),
            ("[providers.local]\nthreads = 1", true),
            ("model = \"local\"", true),
            ("model = \"local:smollm2-135m\"\ndiscover = false", true),
            ("[providers.local]\nmodels = [\"smollm2-135m\"]", true),
            ("discover = false", false),
            ("model = \"local:mine\"", false),
            ("model = \"openai:m\"", false),
            ("base_url = \"http://127.0.0.1:9\"", false),
            ("[providers.lab]\nbase_url = \"http://127.0.0.1:9\"", false),
            (
                "[providers.local]\nbase_url = \"http://127.0.0.1:9\"",
                false,
            ),
            ("[providers.local]\nmodels = [\"mine\"]", false),
        ] {
            let config: Config = toml::from_str(settings).unwrap();
            assert_eq!(missing(&config).is_some(), offered, "{settings}");
        }
    }
}

//! `tools list`: what the model is offered, one line a tool.

use serde_json::Value;

use super::show::describe;
use super::{Exit, Failure, Screen, Setup, json, text, word};
use crate::cli::terminal::DIM;

/// Runs `tools list`.
pub(super) fn list(setup: &Setup, as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        let tools: Vec<Value> = setup
            .tools
            .iter()
            .map(|tool| describe(tool, setup))
            .collect();
        json::print(&tools)?;
        return Ok(Exit::Answered);
    }
    let mut screen = Screen::new(false);
    if setup.tools.is_empty() {
        screen.note(DIM, "no tools are offered");
    }
    screen.answer(&table(setup));
    screen.finish()?;
    Ok(Exit::Answered)
}

/// Returns one line a tool: name, effect, whether it asks, and the first sentence about it.
pub(crate) fn table(setup: &Setup) -> String {
    let width = setup
        .tools
        .iter()
        .map(|tool| tool.name().len())
        .max()
        .unwrap_or(0);
    setup
        .tools
        .iter()
        .map(|tool| {
            let verdict = word(setup.policy.rule(tool).verdict);
            let about = tool.spec().description.replace('\n', " ");
            let about = about.split_inclusive(". ").next().unwrap_or_default();
            format!(
                "{:width$}  {:10}  {verdict}  {}\n",
                tool.name(),
                tool.spec().effect.as_str(),
                text::line(about, 100)
            )
        })
        .collect()
}

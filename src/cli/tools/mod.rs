//! `tools`: what the agent has, what callers rely on, and calling one by hand. One file a subcommand.

mod args;
mod audit;
mod call;
mod check;
mod contract;
mod diff;
mod list;
mod schema;
mod show;
mod snapshot;

use std::sync::Arc;

use claw_runtime::event::Verdict;
use claw_runtime::nearest::nearest;
use claw_runtime::registry::Toolset;
use claw_runtime::tool::Tool;

use super::args::Args;
use super::exit::{Exit, Failure};
use super::setup::{Setup, linked};
use super::terminal::Screen;
use super::{input, json, text};
use crate::program::Program;

pub(crate) use args::Tools;
pub(crate) use list::table;

/// Columns of a report: it is read in a terminal, a log or a review.
const WIDTH: usize = 80;

/// Runs `tools`.
pub(crate) async fn tools(program: Program, args: &Args, command: Tools) -> Result<Exit, Failure> {
    match command {
        Tools::List { json } => list::list(&Setup::new(&program, args)?, json),
        Tools::Show { name, json } => {
            let setup = Setup::new(&program, args)?;
            show::show(&*find(&linked(&program)?, &name)?, &setup, json)
        }
        Tools::Call {
            name,
            arguments,
            json,
        } => {
            let setup = Setup::new(&program, args)?;
            let tool = find(&linked(&program)?, &name)?;
            let arguments = if arguments == "-" {
                input::piped()?
            } else {
                arguments
            };
            call::call(program, &setup, tool, &arguments, json).await
        }
        Tools::Audit(audit) => audit::audit(&program, &Setup::new(&program, args)?, &audit),
        // No settings below: what the program offers to callers is the same on every machine.
        Tools::Check(check) => check::check(&linked(&program)?, &check),
        Tools::Schema(schema) => schema::schema(&linked(&program)?, &schema),
        Tools::Snapshot(snapshot) => snapshot::snapshot(&linked(&program)?, &snapshot),
        Tools::Diff(diff) => diff::diff(&linked(&program)?, &diff),
    }
}

/// Returns the tool named so, whether or not the model is offered it.
fn find(tools: &Toolset, name: &str) -> Result<Arc<Tool>, Failure> {
    if let Some(tool) = tools.get(name) {
        return Ok(tool.clone());
    }
    let failure = Failure::usage(format!("there is no tool `{name}`"));
    Err(match nearest(name, tools.iter().map(|tool| tool.name())) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("`tools list` shows them all"),
    })
}

/// Returns the tools named so, in this order, or all of them when none is named.
fn chosen(tools: &Toolset, names: &[String]) -> Result<Vec<Arc<Tool>>, Failure> {
    if names.is_empty() {
        return Ok(tools.iter().cloned().collect());
    }
    names.iter().map(|name| find(tools, name)).collect()
}

/// Returns what becomes of a call.
fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "runs",
        Verdict::Ask => "asks",
        Verdict::Deny => "denied",
    }
}

/// Returns `1 tool` or `2 tools`.
fn counted(count: usize, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

//! `tools diff`: today's tools against a snapshot.

mod array;
mod change;
mod object;
mod range;
mod schema;
mod terms;
#[cfg(test)]
mod tests;
mod union;
mod view;

use std::collections::BTreeMap;

use claw_runtime::registry::Toolset;
use serde_json::{Value, json};

use super::args::Diff;
use super::contract::Contract;
use super::{Exit, Failure, Screen, WIDTH, json, snapshot, text};
use crate::cli::terminal::{ASK, BAD, DIM};
use change::{Change, Kind};

/// Columns of a value in the report; `--json` has the whole one.
const VALUE: usize = 150;

/// Runs `tools diff`.
pub(super) fn diff(tools: &Toolset, args: &Diff) -> Result<Exit, Failure> {
    let differing = terms::compare(&snapshot::read(&args.file)?, &Contract::of(tools));
    let changes = || differing.values().flatten();
    let count = |kind| changes().filter(|change| change.kind == kind).count();
    let counts = Kind::ALL.map(|kind| (kind, count(kind)));
    if args.json {
        json::print(&listed(&differing, &counts))?;
    } else {
        let mut screen = Screen::new(false);
        for (kind, _) in counts.iter().filter(|(_, count)| *count > 0) {
            screen.print(&section(&differing, *kind));
        }
        screen.note(DIM, &sum(&counts, &args.file.display().to_string()));
        screen.finish()?;
    }
    let fails = |kind: Kind| kind == Kind::Breaking || (args.strict && kind == Kind::Additive);
    Ok(if changes().any(|change| fails(change.kind)) {
        Exit::Found
    } else {
        Exit::Answered
    })
}

fn listed(differing: &BTreeMap<String, Vec<Change>>, counts: &[(Kind, usize)]) -> Value {
    let of_tool = |(tool, changes): (&String, &Vec<Change>)| {
        changes
            .iter()
            .map(|change| {
                let mut value = json!(change);
                value["tool"] = json!(tool);
                value
            })
            .collect::<Vec<_>>()
    };
    let mut value = json!({"changes": differing.iter().flat_map(of_tool).collect::<Vec<_>>()});
    for (kind, count) in counts {
        value[kind.as_str()] = json!(count);
    }
    value
}

/// Returns the changes of one kind, tool by tool.
fn section(differing: &BTreeMap<String, Vec<Change>>, kind: Kind) -> String {
    let style = match kind {
        Kind::Breaking => BAD,
        Kind::Additive => ASK,
        Kind::Wording => DIM,
    };
    let mut out = format!("{style}{}{style:#}\n", kind.as_str());
    for (tool, changes) in differing {
        let mut changes = changes
            .iter()
            .filter(|change| change.kind == kind)
            .peekable();
        if changes.peek().is_some() {
            out.push_str(&format!("  {}\n", text::line(tool, WIDTH - 2)));
        }
        for change in changes {
            out.push_str(&text::wrapped(&row(change), 6, WIDTH));
            out.push('\n');
        }
    }
    out.push('\n');
    out
}

fn row(change: &Change) -> String {
    let value = |value: &Option<String>| {
        let value = value.as_deref().unwrap_or_default();
        text::line(if value.is_empty() { "none" } else { value }, VALUE)
    };
    let at = match change.at.as_str() {
        "" => String::new(),
        at => format!("{}: ", text::line(at, WIDTH - 6)),
    };
    let what = text::line(&change.what, 4 * VALUE);
    let values = match (&change.before, &change.after) {
        (None, None) => String::new(),
        (None, after) => format!(": {}", value(after)),
        (before, None) => format!(": {}", value(before)),
        (before, after) => format!(": {} → {}", value(before), value(after)),
    };
    format!("    {at}{what}{values}")
}

fn sum(counts: &[(Kind, usize)], file: &str) -> String {
    let found: Vec<String> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{count} {}", kind.as_str()))
        .collect();
    if found.is_empty() {
        format!("the tools are as in {file}")
    } else {
        format!("{} since {file}", found.join(", "))
    }
}

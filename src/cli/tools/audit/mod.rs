//! `tools audit`: what deserves a person's eye, from the registry and the policy in force.

mod concern;

use claw_runtime::tool::{Approve, Tool};
use serde::Serialize;

use super::args::Audit;
use super::{
    Exit, Failure, Program, Screen, Setup, WIDTH, chosen, counted, json, linked, text, word,
};
use crate::cli::terminal::{ASK, DIM};
use claw_runtime::event::Verdict;

/// Runs `tools audit`.
pub(super) fn audit(program: &Program, setup: &Setup, args: &Audit) -> Result<Exit, Failure> {
    let records: Vec<Record> = chosen(&linked(program)?, &args.names)?
        .iter()
        .map(|tool| Record::of(tool, program, setup))
        .collect();
    if args.json {
        json::print(&records)?;
        return Ok(Exit::Answered);
    }
    let mut screen = Screen::new(false);
    let width = records.iter().map(|record| record.name.len()).max();
    let width = width.unwrap_or(0).clamp(4, 24);
    for record in &records {
        screen.print(&record.rows(width));
    }
    let concerned: Vec<&Record> = records
        .iter()
        .filter(|record| !record.concerns.is_empty())
        .collect();
    if !concerned.is_empty() {
        screen.print(&format!("\n{ASK}worth a look{ASK:#}\n"));
    }
    for record in &concerned {
        for concern in &record.concerns {
            let line = format!("  {}: {concern}", record.name);
            screen.print(&format!("{}\n", text::wrapped(&line, 4, WIDTH)));
        }
    }
    let (all, some) = (counted(records.len(), "tool"), concerned.len());
    let asking = records
        .iter()
        .filter(|record| record.verdict == Verdict::Ask);
    let asking = asking.count();
    screen.note(
        DIM,
        &format!("{all}, {asking} of them ask first, {some} worth a look"),
    );
    screen.finish()?;
    Ok(Exit::Answered)
}

/// Everything about one tool that bears on what it may do.
#[derive(Serialize)]
struct Record {
    name: String,
    effect: &'static str,
    destructive: bool,
    open_world: bool,
    verdict: Verdict,
    /// Why.
    rule: String,
    offered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
    group: String,
    tags: &'static [&'static str],
    aliases: &'static [&'static str],
    timeout_ms: u64,
    reads: &'static [&'static str],
    writes: &'static [&'static str],
    net: &'static [&'static str],
    /// Arguments that are masked.
    secret: &'static [&'static str],
    /// Secrets it may be given.
    secrets: &'static [&'static str],
    state: Vec<State>,
    origin: Option<Place>,
    concerns: Vec<String>,
}

#[derive(Serialize)]
struct State {
    name: &'static str,
    given: bool,
}

#[derive(Serialize)]
struct Place {
    package: &'static str,
    module: &'static str,
    file: &'static str,
    line: u32,
}

impl Record {
    fn of(tool: &Tool, program: &Program, setup: &Setup) -> Self {
        let spec = tool.spec();
        let ruling = setup.policy.rule(tool);
        let offered = setup.tools.get(tool.name()).is_some();
        let needs = || tool.needs();
        let given = |need: &claw_runtime::tool::Need| program.state.has((need.id)());
        Self {
            name: tool.name().to_owned(),
            effect: spec.effect.as_str(),
            destructive: spec.destructive,
            open_world: spec.open_world,
            verdict: ruling.verdict,
            rule: match spec.approve {
                Approve::When(_) => format!("{}; its function decides on each call", ruling.rule),
                _ => ruling.rule.clone(),
            },
            offered,
            why_not: (!offered).then(|| setup.why_not(tool)),
            group: spec.group.to_string(),
            tags: spec.tags,
            aliases: spec.aliases,
            timeout_ms: u64::try_from(setup.timeout(tool).as_millis()).unwrap_or(u64::MAX),
            reads: spec.reads,
            writes: spec.writes,
            net: spec.net,
            secret: spec.secret,
            secrets: spec.secrets,
            state: needs()
                .map(|need| State {
                    name: (need.name)(),
                    given: given(&need),
                })
                .collect(),
            origin: tool.origin().map(|origin| Place {
                package: origin.package,
                module: origin.module,
                file: origin.file,
                line: origin.line,
            }),
            concerns: concern::about(tool, &ruling),
        }
    }

    /// Returns the tool in two or three lines: what it does and whether it asks, where it is from, what it touches.
    fn rows(&self, width: usize) -> String {
        let indent = width + 2;
        let mut does = self.effect.to_owned();
        for (word, is) in [
            ("destructive", self.destructive),
            ("open world", self.open_world),
        ] {
            if is {
                does.push_str(&format!(", {word}"));
            }
        }
        let first = format!("{does}; {}: {}", word(self.verdict), self.rule);
        let origin = self.origin.as_ref().map_or_else(
            || "added at run time".to_owned(),
            |origin| format!("{} {}:{}", origin.package, origin.file, origin.line),
        );
        let timeout = std::time::Duration::from_millis(self.timeout_ms);
        let group = match self.group.as_str() {
            "" => "no group",
            group => group,
        };
        let mut lines = vec![first, format!("{group}; {timeout:?}; {origin}")];
        let mut touches = Vec::new();
        for (what, names) in [
            ("reads", self.reads),
            ("writes", self.writes),
            ("net", self.net),
            ("masked", self.secret),
            ("secrets", self.secrets),
            ("tags", self.tags),
            ("also called", self.aliases),
        ] {
            if !names.is_empty() {
                touches.push(format!("{what} {}", names.join(", ")));
            }
        }
        for state in &self.state {
            let missing = if state.given { "" } else { " (not given)" };
            touches.push(format!("state {}{missing}", state.name));
        }
        if let Some(why) = &self.why_not {
            touches.push(format!("not offered: {why}"));
        }
        if !touches.is_empty() {
            lines.push(touches.join("; "));
        }
        let wrap = |line: String| text::wrapped(&format!("{:indent$}{line}", ""), indent, WIDTH);
        let shown: Vec<String> = lines.into_iter().map(wrap).collect();
        let name = text::line(&self.name, width);
        format!("{name:indent$}{}\n", &shown.join("\n")[indent..])
    }
}

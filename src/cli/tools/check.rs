//! `tools check`: every tool in every dialect, and what is lost on the way there.

use std::collections::BTreeMap;
use std::sync::Arc;

use claw_runtime::dialect::{DIALECTS, Dialect, Loss, Refused, WireNames};
use claw_runtime::registry::Toolset;
use claw_runtime::tool::Tool;
use serde_json::{Value, json};

use super::args::Check;
use super::schema::dialect;
use super::{Exit, Failure, Screen, WIDTH, chosen, counted, json, text};
use crate::cli::terminal::{ASK, BAD, DIM, GOOD};

/// Columns of a tool's name in the table.
const NAME: usize = 30;

/// Runs `tools check`.
pub(super) fn check(tools: &Toolset, args: &Check) -> Result<Exit, Failure> {
    let dialects: Vec<&'static Dialect> = if args.dialects.is_empty() {
        DIALECTS.iter().collect()
    } else {
        let named = args.dialects.iter().map(|name| dialect(name));
        named.collect::<Result<_, _>>()?
    };
    let checked = Checked {
        rows: chosen(tools, &args.names)?
            .into_iter()
            .map(|tool| Row::of(tool, &dialects, tools))
            .collect(),
        crowded: dialects
            .iter()
            .filter_map(|dialect| crowded(dialect, tools.len()))
            .collect(),
        dialects,
    };
    if args.json {
        json::print(&checked.json())?;
    } else {
        let mut screen = Screen::new(false);
        screen.print(&checked.legend());
        screen.print(&checked.table());
        screen.print(&checked.details());
        screen.note(DIM, &checked.sum());
        screen.finish()?;
    }
    Ok(if checked.refusals() > 0 {
        Exit::Found
    } else {
        Exit::Answered
    })
}

/// Tells that a service takes fewer tools than there are.
fn crowded(dialect: &Dialect, count: usize) -> Option<String> {
    let most = dialect.limits.tools.filter(|most| count > *most)?;
    let name = dialect.name;
    Some(format!(
        "{name}: takes at most {most} tools, there are {count}"
    ))
}

/// What was found.
struct Checked {
    dialects: Vec<&'static Dialect>,
    rows: Vec<Row>,
    crowded: Vec<String>,
}

/// One tool in each of the dialects.
struct Row {
    tool: Arc<Tool>,
    cells: Vec<Cell>,
}

/// One tool in one dialect.
struct Cell {
    /// The name it has there.
    name: String,
    /// What is lost, and whether arguments have another form on the wire.
    outcome: Result<(Vec<Loss>, bool), Refused>,
}

impl Row {
    fn of(tool: Arc<Tool>, dialects: &[&'static Dialect], tools: &Toolset) -> Self {
        let schema = tool.input_schema();
        let cell = |dialect: &&'static Dialect| {
            let names = WireNames::new(dialect.tool_names, tools.iter().map(|tool| tool.name()));
            Cell {
                name: names.wire(tool.name()).into_owned(),
                outcome: dialect
                    .lower(&schema)
                    .map(|lowered| (lowered.lost.clone(), !lowered.is_same())),
            }
        };
        Self {
            cells: dialects.iter().map(cell).collect(),
            tool,
        }
    }
}

impl Row {
    /// Returns a line for each thing that happens, with the arguments it happens to and the letters of the dialects.
    fn lines(&self) -> Vec<String> {
        let mut letters: BTreeMap<(String, String), String> = BTreeMap::new();
        let mut order = Vec::new();
        for (at, cell) in self.cells.iter().enumerate() {
            for note in cell.notes(&self.tool) {
                let letters = letters.entry(note.clone()).or_default();
                if letters.is_empty() {
                    order.push(note);
                }
                if !letters.ends_with(letter(at)) {
                    letters.push(letter(at));
                }
            }
        }
        // What happens to several arguments in the same dialects is one line.
        let mut lines: Vec<(String, String, Vec<String>)> = Vec::new();
        for (what, argument) in order {
            let letters = &letters[&(what.clone(), argument.clone())];
            let same = |(known, by, _): &&mut (String, String, Vec<String>)| {
                *known == what && by == letters
            };
            match lines.iter_mut().find(same) {
                Some((_, _, arguments)) => arguments.push(argument),
                None => lines.push((what, letters.clone(), vec![argument])),
            }
        }
        let line = |(what, letters, arguments): (String, String, Vec<String>)| match arguments
            .join(", ")
            .as_str()
        {
            "" => format!("{letters}: {what}"),
            arguments => format!("{letters}: {what}: {arguments}"),
        };
        lines.into_iter().map(line).collect()
    }
}

impl Cell {
    fn word(&self, tool: &Tool) -> &'static str {
        match &self.outcome {
            Err(_) => "refused",
            Ok((lost, false)) if lost.is_empty() && self.name == tool.name() => "ok",
            Ok(_) => "lowered",
        }
    }

    /// Returns what there is to say of it: what happened, and to which argument.
    fn notes(&self, tool: &Tool) -> Vec<(String, String)> {
        let (lost, reshaped) = match &self.outcome {
            Err(refused) => return vec![(format!("refused: {refused}"), String::new())],
            Ok((lost, reshaped)) => (lost, *reshaped),
        };
        let loss = |loss: &Loss| {
            let what = format!("`{}` {}", loss.keyword, loss.change.as_str());
            (what, argument(&loss.pointer))
        };
        let mut notes: Vec<_> = lost.iter().map(loss).collect();
        let mut note = |what: String| notes.push((what, String::new()));
        if reshaped {
            note("arguments have another form on the wire, and are read back".to_owned());
        }
        if self.name != tool.name() {
            note(format!("named `{}`", self.name));
        }
        notes
    }
}

/// Returns the argument that a pointer into a schema means, as a pointer into arguments; `*` is each item or key.
fn argument(pointer: &str) -> String {
    let mut out = String::new();
    let mut steps = pointer.split('/').skip(1);
    while let Some(step) = steps.next() {
        let step = match step {
            "properties" | "prefixItems" => steps.next().unwrap_or_default(),
            "items" | "additionalProperties" => "*",
            "anyOf" | "oneOf" | "allOf" | "$defs" => {
                steps.next();
                continue;
            }
            other => other,
        };
        out.push('/');
        out.push_str(step);
    }
    out
}

impl Checked {
    /// Returns which letter stands for which dialect.
    fn legend(&self) -> String {
        let entries: Vec<String> = self
            .dialects
            .iter()
            .enumerate()
            .map(|(at, dialect)| format!("{} {}", letter(at), dialect.name))
            .collect();
        let width = entries.iter().map(|entry| entry.len() + 2).max();
        let width = width.unwrap_or(1);
        let columns = (WIDTH / width).max(1);
        let mut out = String::new();
        for line in entries.chunks(columns) {
            let line: String = line.iter().map(|entry| format!("{entry:width$}")).collect();
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out.push('\n');
        out
    }

    fn table(&self) -> String {
        let names = self.rows.iter().map(|row| row.tool.name().len());
        let width = names.max().unwrap_or(0).min(NAME);
        let letters: String = (0..self.dialects.len())
            .map(|at| format!(" {}", letter(at)))
            .collect();
        let mut out = format!("{:width$} {letters}\n", "");
        for row in &self.rows {
            let name = text::line(row.tool.name(), width);
            out.push_str(&format!("{name:width$} "));
            for cell in &row.cells {
                let (style, mark) = match cell.word(&row.tool) {
                    "ok" => (GOOD, '✓'),
                    "lowered" => (ASK, '~'),
                    _ => (BAD, '✗'),
                };
                out.push_str(&format!(" {style}{mark}{style:#}"));
            }
            out.push('\n');
        }
        out.push_str("\n✓ as declared   ~ lowered   ✗ refused\n");
        out
    }

    /// Returns what is lost, tool by tool, with the letters of the dialects that lose it.
    fn details(&self) -> String {
        let mut out = String::new();
        for row in &self.rows {
            let lines = row.lines();
            if !lines.is_empty() {
                out.push_str(&format!("\n{}\n", text::line(row.tool.name(), WIDTH)));
            }
            for line in lines {
                out.push_str(&text::wrapped(&format!("  {line}"), 6, WIDTH));
                out.push('\n');
            }
        }
        if !self.crowded.is_empty() {
            out.push('\n');
        }
        for line in &self.crowded {
            out.push_str(&format!("{}\n", text::wrapped(line, 2, WIDTH)));
        }
        out
    }

    fn refusals(&self) -> usize {
        let cells = self.rows.iter().flat_map(|row| &row.cells);
        cells.filter(|cell| cell.outcome.is_err()).count() + self.crowded.len()
    }

    fn sum(&self) -> String {
        let tools = counted(self.rows.len(), "tool");
        let dialects = counted(self.dialects.len(), "dialect");
        let refused = match self.refusals() {
            0 => "nothing refused".to_owned(),
            some => format!("{some} refused"),
        };
        format!("{tools}, {dialects}: {refused}")
    }

    fn json(&self) -> Value {
        let cell = |row: &Row, at: usize| {
            let cell = &row.cells[at];
            let mut value = json!({
                "dialect": self.dialects[at].name,
                "status": cell.word(&row.tool),
                "name": cell.name,
            });
            match &cell.outcome {
                Err(refused) => {
                    value["why"] = json!(refused.to_string());
                    value["instead"] = json!(self.dialects[at].laxer);
                }
                Ok((lost, reshaped)) => {
                    value["reshaped"] = json!(reshaped);
                    value["lost"] = lost
                        .iter()
                        .map(|loss| {
                            json!({
                                "pointer": loss.pointer,
                                "keyword": loss.keyword,
                                "change": loss.change.as_str(),
                            })
                        })
                        .collect();
                }
            }
            value
        };
        let tools: Vec<Value> = self
            .rows
            .iter()
            .map(|row| {
                let cells: Vec<Value> = (0..row.cells.len()).map(|at| cell(row, at)).collect();
                json!({"tool": row.tool.name(), "dialects": cells})
            })
            .collect();
        json!({"tools": tools, "refused": self.refusals(), "too_many_tools": self.crowded})
    }
}

/// Returns the letter of a column.
fn letter(at: usize) -> char {
    let letters = ('a'..='z').chain('A'..='Z');
    letters.clone().nth(at).unwrap_or('?')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_schema_is_one_in_the_arguments() {
        for (schema, arguments) in [
            ("", ""),
            ("/properties/limit", "/limit"),
            (
                "/properties/items/items/properties/properties",
                "/items/*/properties",
            ),
            ("/properties/env/additionalProperties", "/env/*"),
            ("/properties/at/anyOf/1/prefixItems/0", "/at/0"),
        ] {
            assert_eq!(argument(schema), arguments);
        }
    }

    #[test]
    fn every_column_has_a_letter() {
        assert_eq!((letter(0), letter(25), letter(26)), ('a', 'z', 'A'));
        assert!(DIALECTS.len() < 52);
    }
}

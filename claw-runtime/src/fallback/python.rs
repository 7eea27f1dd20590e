//! Calls written as Python: `name(key=value, …)`, in a list, or inside `print(…)`. Nothing is ever evaluated.

use super::Fault;
use super::fault;
use super::repair::{self, Json, Style};
use super::resolve::{Outcome, Tools};

/// Tells whether a Python call, or a list of them, begins here.
pub(super) fn begins(text: &str) -> bool {
    let text = text.strip_prefix('[').unwrap_or(text).trim_start();
    let length = name(text);
    length > 0
        && (text[length..].starts_with('(')
            || text.starts_with("import ")
            || text.starts_with("from "))
}

/// Reads the calls at `at`; returns them and where the text goes on.
///
/// # Errors
///
/// Returns the fault when it is other code, when it is cut off, or when an argument has no name.
pub(super) fn read(
    text: &str,
    at: usize,
    tools: &Tools<'_>,
) -> Result<(Vec<Outcome>, usize), Fault> {
    let mut reader = Reader { text, at, tools };
    let mut outcomes = Vec::new();
    reader.space();
    let list = reader.eat("[");
    loop {
        reader.space();
        if list && reader.eat("]") {
            break;
        }
        outcomes.push(reader.call()?);
        reader.space();
        let separated = reader.eat(",") || reader.eat(";");
        reader.space();
        if !list && (!begins(reader.rest()) || reader.rest().starts_with('[')) {
            break;
        }
        if list && !separated && !reader.rest().starts_with(']') {
            return Err(reader.fault("expected `,` or `]` between calls", None));
        }
    }
    Ok((outcomes, reader.at))
}

fn name(text: &str) -> usize {
    if !text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return 0;
    }
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
        .unwrap_or(text.len())
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    tools: &'a Tools<'a>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = repair::skip(self.text, self.at);
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn call(&mut self) -> Result<Outcome, Fault> {
        let printed = self.eat("print(");
        self.space();
        let start = self.at;
        let length = name(self.rest());
        let callee = self.rest()[..length].to_owned();
        self.at += length;
        if callee.is_empty() || !self.eat("(") {
            let line = self.text[start..].lines().next().unwrap_or_default();
            return Err(self.tools.unknown(line));
        }
        let Some(tool) = self.tools.resolve(&callee) else {
            return Err(self.tools.unknown(&callee));
        };
        let mut arguments = Vec::new();
        loop {
            self.space();
            if self.eat(")") {
                break;
            }
            let length = name(self.rest());
            let key = self.rest()[..length].to_owned();
            let after = self.rest()[length..].trim_start();
            if !after.starts_with('=') && !self.rest().is_empty() && !after.is_empty() {
                return Err(fault::invalid_arguments(
                    tool,
                    "each argument must be given by its name",
                ));
            }
            self.at += length;
            self.space();
            self.eat("=");
            self.space();
            match repair::read(self.text, self.at, Style::Python) {
                Ok(read) => {
                    arguments.push((key, read.json));
                    self.at = read.end;
                }
                Err(broken) => {
                    self.at = broken.at;
                    return Err(if broken.cut {
                        fault::truncated(&self.text[start..], Some(tool))
                    } else {
                        self.fault(broken.why, Some(tool))
                    });
                }
            }
            self.space();
            if !self.eat(",") && !self.rest().starts_with(')') {
                return Err(self.fault("expected `,` or `)` after an argument", Some(tool)));
            }
        }
        self.space();
        if printed && !self.eat(")") {
            return Err(self.fault("expected `)`", Some(tool)));
        }
        Ok(self.tools.call(&callee, &Json::Object(arguments)))
    }

    fn fault(&self, why: &str, tool: Option<&crate::tool::Tool>) -> Fault {
        if self.rest().is_empty() {
            return fault::truncated(self.text, tool);
        }
        fault::invalid_json(self.text, self.at, why, tool)
    }
}

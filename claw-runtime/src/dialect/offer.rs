//! The tools of a request in a dialect: lowered once, named for the wire, and read back from it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::{Dialect, Lowered, Refused, WireNames};
use crate::message::ToolCall;
use crate::registry::Toolset;
use crate::tool::Tool;

/// A toolset in a dialect.
#[derive(Debug)]
pub struct Offer {
    dialect: &'static Dialect,
    names: WireNames,
    tools: Vec<Offered>,
    index: HashMap<String, usize>,
}

/// One tool of an [`Offer`].
#[derive(Debug)]
pub struct Offered {
    /// The tool.
    pub tool: Arc<Tool>,
    /// Its name on the wire.
    pub name: String,
    /// The schema of its arguments.
    pub lowered: Lowered,
    /// Whether the service is to hold the model to the schema.
    pub strict: bool,
    /// Why the tool is not offered in the dialect asked for but in a laxer one.
    pub refused: Option<Refused>,
}

impl Offer {
    /// Lowers every tool. One that is too large for a strict dialect goes in the next laxer one, with all others where
    /// the service wants them alike.
    pub fn new(dialect: &'static Dialect, tools: &Toolset) -> Self {
        let names = WireNames::new(dialect.tool_names, tools.iter().map(|tool| tool.name()));
        let lower_all = |dialect| -> Vec<Offered> {
            tools
                .iter()
                .map(|tool| Offered::new(dialect, tool, &names))
                .collect()
        };
        let mut offered = lower_all(dialect);
        let most = dialect.limits.strict_tools.unwrap_or(usize::MAX);
        let strict = offered.iter().filter(|tool| tool.strict).count();
        if let Some(laxer) = dialect.laxer() {
            if dialect.limits.all_strict && strict < offered.len() {
                offered = lower_all(laxer);
            }
            // The tools are sorted by name, so the same ones are strict in every request.
            let over = offered.iter_mut().filter(|tool| tool.strict).skip(most);
            for tool in over {
                *tool = Offered::new(laxer, &tool.tool.clone(), &names);
            }
        }
        let index = offered.iter().enumerate();
        let index = index
            .map(|(at, offered)| (offered.tool.name().to_owned(), at))
            .collect();
        Self {
            dialect,
            names,
            tools: offered,
            index,
        }
    }

    /// Returns the dialect.
    pub fn dialect(&self) -> &'static Dialect {
        self.dialect
    }

    /// Iterates over the tools by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Offered> {
        self.tools.iter()
    }

    /// Returns the name of the tool that a service means.
    pub fn name<'n>(&'n self, wire: &'n str) -> &'n str {
        self.names.name(wire)
    }

    /// Returns the name a service is told for a tool; for one that is not offered, one that it would take.
    pub fn wire<'n>(&'n self, name: &'n str) -> Cow<'n, str> {
        self.names.wire(name)
    }

    /// Turns a call as the service sent it into a canonical one.
    pub fn lift(&self, call: &mut ToolCall) {
        let name = self.names.name(&call.name);
        if let Some(at) = self.index.get(name)
            && let Cow::Owned(arguments) = self.tools[*at].lowered.lift(&call.arguments)
        {
            call.arguments = arguments;
        }
        if name != call.name {
            call.name = name.to_owned();
        }
    }

    /// Returns the name and the arguments of an earlier call as the model would have written them.
    pub fn encode<'c>(&'c self, call: &'c ToolCall) -> (Cow<'c, str>, Cow<'c, str>) {
        let arguments = match self.index.get(&call.name) {
            Some(at) => self.tools[*at].lowered.encode(&call.arguments),
            None => call.arguments.as_str().into(),
        };
        (self.names.wire(&call.name), arguments)
    }
}

impl Offered {
    fn new(dialect: &'static Dialect, tool: &Arc<Tool>, names: &WireNames) -> Self {
        let schema = tool.input_schema();
        let mut dialect = dialect;
        let mut refused = None;
        let lowered = loop {
            match (dialect.lower(&schema), dialect.laxer()) {
                (Ok(lowered), _) => break lowered,
                (Err(why), Some(laxer)) => {
                    tracing::debug!(tool = tool.name(), %why, "lowered to a laxer dialect");
                    refused.get_or_insert(why);
                    dialect = laxer;
                }
                // No dialect without a laxer one has bounds on a schema; were it otherwise, as it is.
                (Err(why), None) => {
                    refused.get_or_insert(why);
                    break Lowered::unchanged(&schema);
                }
            }
        };
        Self {
            name: names.wire(tool.name()).into_owned(),
            tool: tool.clone(),
            lowered,
            strict: dialect.strict,
            refused,
        }
    }
}

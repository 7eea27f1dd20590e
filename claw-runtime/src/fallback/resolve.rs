//! From what was read to calls: which tool is meant, and what its arguments are.
//!
//! Names may differ in case, `-`, `_` and known prefixes, as long as exactly one tool fits. A tool is never guessed.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::fault;
use super::repair::{self, Json, Style};
use super::typed;
use super::{Fault, FaultCode, FoundCall};
use crate::registry::Toolset;
use crate::tool::Tool;

/// Keys under which models write the tool's name, by how sure they are.
const NAMES: [&str; 7] = [
    "name",
    "tool_name",
    "function_name",
    "recipient_name",
    "tool",
    "function",
    "action",
];
/// Keys under which models write the arguments.
const ARGUMENTS: [&str; 11] = [
    "arguments",
    "argument",
    "kwargs",
    "parameters",
    "args",
    "input",
    "action_input",
    "tool_input",
    "params",
    "tool_args",
    "function_arguments",
];
/// Keys that hold calls as they are.
const WRAPPERS: [&str; 8] = [
    "function",
    "tool",
    "call",
    "calls",
    "tool_calls",
    "tool_call",
    "function_call",
    "tool_uses",
];
/// Prefixes models put before a name.
const PREFIXES: [&str; 7] = [
    "functions.",
    "function.",
    "default_api.",
    "tools.",
    "tool.",
    "tool:",
    "functions:",
];

pub(super) type Outcome = Result<FoundCall, Fault>;

/// The registered names, ready for lookup.
pub(super) struct Tools<'a> {
    toolset: &'a Toolset,
    /// By folded name; `None` where two tools share it.
    folded: HashMap<String, Option<&'a Arc<Tool>>>,
    /// How many more faults get a hint at a similar name.
    hints: Cell<u32>,
}

impl<'a> Tools<'a> {
    pub(super) fn new(toolset: &'a Toolset) -> Self {
        let mut folded = HashMap::new();
        for tool in toolset.iter() {
            folded
                .entry(fold(tool.name()))
                .and_modify(|entry| *entry = None)
                .or_insert(Some(tool));
        }
        Self {
            toolset,
            folded,
            hints: Cell::new(10),
        }
    }

    /// Returns the tool of exactly this name.
    pub(super) fn exact(&self, name: &str) -> Option<&'a Tool> {
        self.toolset.get(name).map(Arc::as_ref)
    }

    /// Returns the one tool that `name` can mean.
    pub(super) fn resolve(&self, name: &str) -> Option<&'a Tool> {
        let name = name.trim().trim_matches(['"', '\'', '`']);
        if let Some(tool) = self.toolset.get(name) {
            return Some(tool);
        }
        let name = name.split("<|").next().unwrap_or(name).trim();
        let name = PREFIXES
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))
            .unwrap_or(name);
        let name = match name.rsplit_once(':') {
            Some((before, number))
                if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) =>
            {
                before
            }
            _ => name,
        };
        if let Some(tool) = self.toolset.get(name) {
            return Some(tool);
        }
        self.folded
            .get(&fold(name))
            .copied()
            .flatten()
            .map(Arc::as_ref)
    }

    /// Returns the call of the tool that `name` means.
    pub(super) fn call(&self, name: &str, arguments: &Json) -> Outcome {
        let tool = self.resolve(name).ok_or_else(|| self.unknown(name))?;
        Ok(FoundCall {
            name: tool.name().to_owned(),
            arguments: arguments_text(tool, arguments)?,
        })
    }

    /// Returns the call of a dialect that writes each argument as text, typed by the tool's schema.
    pub(super) fn call_of_texts(&self, name: &str, arguments: Vec<(String, Written)>) -> Outcome {
        let tool = self.resolve(name).ok_or_else(|| self.unknown(name))?;
        let schema = schema_of(tool);
        let arguments = arguments
            .into_iter()
            .map(|(key, written)| {
                let value = match written {
                    Written::Json(json) => json,
                    Written::Text(text) => {
                        typed::from_text(text, &schema["properties"][&key], &schema)
                    }
                };
                (key, value)
            })
            .collect();
        self.call(tool.name(), &Json::Object(arguments))
    }

    pub(super) fn unknown(&self, name: &str) -> Fault {
        // Names are compared a few times only, however many calls a reply holds.
        let hints = self.hints.replace(self.hints.get().saturating_sub(1));
        let tools = self.toolset.iter().map(Arc::as_ref);
        fault::unknown_tool(name, tools.take(if hints > 0 { usize::MAX } else { 0 }))
    }

    /// Returns the calls of a marked value.
    pub(super) fn marked(&self, json: &Json) -> Vec<Outcome> {
        let mut requests = Vec::new();
        self.collect(json, &mut requests);
        requests
            .into_iter()
            .map(|request| self.request(request))
            .collect()
    }

    /// Returns the calls of an unmarked value, or `None` unless all of it is calls of registered tools.
    pub(super) fn unmarked(&self, json: &Json) -> Option<Vec<Outcome>> {
        let mut requests = Vec::new();
        self.collect(json, &mut requests);
        let calls = !requests.is_empty()
            && requests.iter().all(|request| {
                let tool = request.name.and_then(|name| self.resolve(name));
                request.keyed && tool.is_some_and(|tool| !request.is_data(&schema_of(tool)))
            });
        calls.then(|| {
            requests
                .into_iter()
                .map(|request| self.request(request))
                .collect()
        })
    }

    /// Returns the tool that a broken value means, if it comes as far as its name.
    pub(super) fn meant(&self, partial: Option<&Json>) -> Option<&'a Tool> {
        let mut requests = Vec::new();
        self.collect(partial?, &mut requests);
        self.resolve(requests.last()?.name?)
    }

    /// Tells whether a broken unmarked value is a call of a registered tool as far as it goes.
    pub(super) fn meant_as_call(&self, partial: Option<&Json>) -> bool {
        let mut requests = Vec::new();
        if let Some(partial) = partial {
            self.collect(partial, &mut requests);
        }
        requests.first().is_some_and(|request| {
            request.keyed
                && request
                    .name
                    .is_some_and(|name| self.resolve(name).is_some())
        })
    }

    fn collect<'j>(&self, json: &'j Json, out: &mut Vec<Request<'j>>) {
        let entries = match json {
            Json::Array(items) => return items.iter().for_each(|item| self.collect(item, out)),
            Json::Object(entries) => entries,
            // A scalar is no call, whatever it stands among.
            _ => return out.push(Request::default()),
        };
        for (key, value) in entries {
            if WRAPPERS.contains(&key.as_str()) && matches!(value, Json::Object(_) | Json::Array(_))
            {
                return self.collect(value, out);
            }
        }
        if let [(key, value)] = entries.as_slice()
            && !NAMES.contains(&key.as_str())
            && matches!(value, Json::Object(_) | Json::Text(_))
        {
            let is_tool = self.resolve(key).is_some();
            return out.push(Request {
                name: (is_tool || matches!(value, Json::Object(_))).then_some(key),
                arguments: Some(value),
                keyed: is_tool,
                ..Request::default()
            });
        }
        let mut request = Request::default();
        let name_key = NAMES
            .iter()
            .find(|name| entries.iter().any(|(key, _)| key == *name));
        for (key, value) in entries {
            if Some(&key.as_str()) == name_key {
                request.two |= request.name.is_some();
                if let Json::Text(name) = value {
                    request.name = Some(name);
                }
            } else if ARGUMENTS.contains(&key.as_str()) {
                request.two |= request.keyed;
                request.keyed = true;
                request.arguments = Some(value);
            } else if !matches!(
                key.as_str(),
                "id" | "type" | "index" | "call_id" | "tool_call_id"
            ) {
                request.others.push(key);
            }
        }
        out.push(request);
    }

    fn request(&self, request: Request<'_>) -> Outcome {
        let Some(name) = request.name else {
            return Err(fault::fault(
                FaultCode::UnknownTool,
                "The tool call was not run: it names no tool under `name`.".to_owned(),
                None,
            ));
        };
        let tool = self.resolve(name).ok_or_else(|| self.unknown(name))?;
        let schema = schema_of(tool);
        if request.is_declaration(&schema) {
            return Err(fault::invalid_arguments(
                tool,
                "this is the tool's declaration and no call",
            ));
        }
        if request.two {
            return Err(fault::invalid_arguments(
                tool,
                "`name` or `arguments` stands in it twice",
            ));
        }
        let misplaced = request
            .others
            .iter()
            .find(|key| !request.keyed || schema["properties"].get(key).is_some());
        if let Some(key) = misplaced {
            return Err(fault::invalid_arguments(
                tool,
                &format!("`{}` must stand inside `arguments`", fault::clip(key)),
            ));
        }
        self.call(
            name,
            request
                .arguments
                .unwrap_or(&Json::Literal("null".to_owned())),
        )
    }
}

/// An argument of a dialect with one tag an argument.
pub(super) enum Written {
    /// Said to be JSON.
    Json(Json),
    /// Text, whose type the schema tells.
    Text(String),
}

/// A call as far as its keys tell.
#[derive(Default)]
struct Request<'j> {
    name: Option<&'j str>,
    arguments: Option<&'j Json>,
    /// Whether there is a key for arguments, or the name itself is the key.
    keyed: bool,
    /// Whether there are two names, or two kinds of arguments.
    two: bool,
    others: Vec<&'j str>,
}

impl Request<'_> {
    /// Tells whether this is data that only looks like a call: a tool's declaration, or a word about a tool.
    fn is_data(&self, schema: &Value) -> bool {
        match self.arguments {
            Some(Json::Text(text)) => {
                let text = text.trim_start();
                !(text.is_empty() || text.starts_with('{'))
            }
            _ => self.is_declaration(schema),
        }
    }

    /// Tells whether this is a tool's declaration: a schema where arguments would stand, and none of the tool's own.
    fn is_declaration(&self, schema: &Value) -> bool {
        let Some(Json::Object(entries)) = self.arguments else {
            return false;
        };
        let has = |name: &str| entries.iter().any(|(key, _)| key == name);
        has("type") && has("properties") && schema["properties"].get("properties").is_none()
    }
}

/// Returns the schema of a tool's arguments as a value.
pub(super) fn schema_of(tool: &Tool) -> Value {
    serde_json::from_str(&tool.input_schema()).unwrap_or_default()
}

fn fold(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '-' | '_'))
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// Returns the arguments as JSON text of an object.
fn arguments_text(tool: &Tool, arguments: &Json) -> Result<String, Fault> {
    match arguments {
        Json::Object(_) => Ok(arguments.render()),
        Json::Literal(_) if arguments.is_null() => Ok("{}".to_owned()),
        Json::Text(text) if matches!(text.trim(), "" | "null" | "None") => Ok("{}".to_owned()),
        Json::Text(text) => {
            let inner = text.trim();
            match repair::read(inner, 0, Style::Loose) {
                Ok(read) if read.end == inner.len() && !read.implied => match read.json {
                    json @ Json::Object(_) => Ok(json.render()),
                    _ => Err(no_object(tool, inner)),
                },
                Err(broken) if broken.cut && inner.starts_with('{') => {
                    Err(fault::truncated(inner, Some(tool)))
                }
                Err(broken) if inner.starts_with('{') => Err(fault::invalid_json(
                    inner,
                    broken.at,
                    broken.why,
                    Some(tool),
                )),
                _ => Err(no_object(tool, inner)),
            }
        }
        Json::Array(_) | Json::Literal(_) => Err(no_object(tool, &arguments.render())),
    }
}

fn no_object(tool: &Tool, found: &str) -> Fault {
    fault::invalid_arguments(
        tool,
        &format!(
            "`arguments` must be a JSON object, got `{}`",
            fault::clip(found)
        ),
    )
}

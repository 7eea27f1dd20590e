//! Tool definitions without what the veil hides: what they say of tools and arguments, and the values they name. Names of
//! tools and of arguments are the program's own words and go as they are.

use std::borrow::Cow;
use std::sync::Arc;

use super::Veil;
use super::names::Names;
use crate::registry::Toolset;
use crate::schema::json::Json;
use crate::schema::reader;
use crate::tool::{Handler, Tool, ToolError};

/// One set of tools as a service is told of it.
#[derive(Debug, Default)]
pub(super) struct Offered {
    /// The digest of the tools themselves; empty for none.
    pub(super) digest: String,
    /// What is told in their place, where that is not the same.
    masked: Option<Toolset>,
    /// The values they hold. A conversation numbers its own behind them.
    pub(super) names: Names,
}

impl Offered {
    pub(super) fn new(veil: &Veil, tools: &Toolset) -> Self {
        let mut names = Names::default();
        let mut is_masked = false;
        let masked: Vec<_> = tools
            .iter()
            .map(|tool| match masked(veil, &mut names, tool) {
                Some(masked) => {
                    is_masked = true;
                    Arc::new(masked)
                }
                None => tool.clone(),
            })
            .collect();
        Self {
            digest: tools.digest().to_owned(),
            // Their names are those of a set, so they are one.
            masked: is_masked.then(|| Toolset::new(masked).ok()).flatten(),
            names,
        }
    }

    /// Returns what the service is told of `tools`, of which this was made.
    pub(super) fn told<'t>(&'t self, tools: &'t Toolset) -> &'t Toolset {
        self.masked.as_ref().unwrap_or(tools)
    }
}

/// Returns a tool that is described without hidden values and cannot run; `None` where it has none.
fn masked(veil: &Veil, names: &mut Names, tool: &Tool) -> Option<Tool> {
    let mut spec = tool.spec().clone();
    let description = names.hide(veil, &spec.description);
    let schema = form(veil, names, &tool.input_schema());
    if description.is_none() && schema.is_none() {
        return None;
    }
    if let Some(description) = description {
        spec.description = Cow::Owned(description);
    }
    let schema = schema.unwrap_or_else(|| tool.input_schema().to_string());
    let schema = serde_json::from_str(&schema).unwrap_or_default();
    let run: Handler = Arc::new(|_, _| {
        Box::pin(async { Err(ToolError::new("a description of a tool does not run")) })
    });
    Some(Tool::dynamic(spec, schema, run))
}

/// Hides what a schema holds, given as text; `None` where that is nothing.
pub(super) fn form(veil: &Veil, names: &mut Names, schema: &str) -> Option<String> {
    let mut json = reader::read(schema).ok()?.json.into_owned();
    let mut hiding = Hiding {
        veil,
        names,
        has_hidden: false,
    };
    hiding.schema(&mut json);
    hiding.has_hidden.then(|| json.to_text())
}

struct Hiding<'a> {
    veil: &'a Veil,
    names: &'a mut Names,
    has_hidden: bool,
}

impl Hiding<'_> {
    fn hide(&mut self, text: &str) -> Option<String> {
        let hidden = self.names.hide(self.veil, text)?;
        self.has_hidden = true;
        Some(hidden)
    }

    fn schema(&mut self, schema: &mut Json<'static>) {
        match schema {
            Json::Object(members) => {
                let mut is_retyped = false;
                for (key, value) in &mut *members {
                    match (&**key, value) {
                        ("title" | "description" | "$comment", Json::String(text)) => {
                            if let Some(hidden) = self.hide(text) {
                                *text = Cow::Owned(hidden);
                            }
                        }
                        ("enum" | "const" | "default" | "examples", value) => {
                            is_retyped |= self.value(value);
                        }
                        // Their members are names, not keywords.
                        (
                            "properties" | "patternProperties" | "$defs" | "definitions"
                            | "dependentSchemas",
                            Json::Object(named),
                        ) => named.iter_mut().for_each(|(_, schema)| self.schema(schema)),
                        (_, value @ (Json::Object(_) | Json::Array(_))) => self.schema(value),
                        _ => {}
                    }
                }
                members.retain(|(key, value)| match (&**key, value) {
                    // A placeholder is no number.
                    ("type", _) => !is_retyped,
                    // What an expression is with a placeholder in it asks for something else.
                    ("pattern", Json::String(text)) => {
                        let hidden = self.names.clone().hide(self.veil, text);
                        self.has_hidden |= hidden.is_some();
                        hidden.is_none()
                    }
                    _ => true,
                });
            }
            Json::Array(list) => list.iter_mut().for_each(|schema| self.schema(schema)),
            _ => {}
        }
    }

    /// Hides what a value holds; tells whether a number became a text.
    fn value(&mut self, value: &mut Json<'static>) -> bool {
        match value {
            Json::String(text) => {
                if let Some(hidden) = self.hide(text) {
                    *text = Cow::Owned(hidden);
                }
                false
            }
            Json::Number(number) => match self.hide(number) {
                Some(hidden) => {
                    *value = Json::String(Cow::Owned(hidden));
                    true
                }
                None => false,
            },
            Json::Array(list) => list
                .iter_mut()
                .fold(false, |retyped, item| self.value(item) | retyped),
            Json::Object(members) => {
                for (_, member) in members {
                    self.value(member);
                }
                false
            }
            Json::Null | Json::Bool(_) => false,
        }
    }
}

//! Tool definitions without what the veil hides: what they say of tools and arguments, and the values they name. Names of
//! tools, of arguments and of definitions are the program's own words and go as they are, as do types, formats and references.
//!
//! A number among the values is a text when it is hidden, so its `type` is left out. Where a placeholder would ask for something
//! else (a bound, a pattern, the pattern of a name) what is asked is left out: the service is told less, and claw checks calls
//! against the schema itself. Members keep their order, and numbers stay as they are written.

use std::borrow::Cow;
use std::sync::Arc;

use super::Veil;
use super::names::Names;
use crate::registry::Toolset;
use crate::schema::json::Json;
use crate::schema::reader;
use crate::tool::Tool;

/// Keywords that say nothing of a person: names, addresses and kinds.
const AS_IT_IS: &[&str] = &[
    "type",
    "format",
    "required",
    "dependentRequired",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "$id",
    "id",
    "$schema",
    "$anchor",
    "$dynamicAnchor",
    "$vocabulary",
    "contentEncoding",
    "contentMediaType",
    "x-aliases",
];
/// Keywords that ask something of a value by a number or an expression.
const ASKS: &[&str] = &[
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
];
/// Keywords whose values are schemas, or lists of them.
const SCHEMAS: &[&str] = &[
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "additionalProperties",
    "unevaluatedProperties",
    "contains",
    "propertyNames",
    "contentSchema",
    "not",
    "if",
    "then",
    "else",
    "allOf",
    "anyOf",
    "oneOf",
];
/// Keywords whose members are schemas, under names.
const NAMED: &[&str] = &[
    "properties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "dependencies",
];

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
    Some(Tool::described(spec, schema))
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
                    match &**key {
                        key if AS_IT_IS.contains(&key) || ASKS.contains(&key) => {}
                        key if SCHEMAS.contains(&key) => self.schema(value),
                        "patternProperties" => {}
                        key if NAMED.contains(&key) => self.named(value),
                        "enum" | "const" => is_retyped |= self.value(value),
                        _ => {
                            self.value(value);
                        }
                    }
                }
                let mut is_open = false;
                for (_, patterns) in members.iter_mut().filter(|it| it.0 == "patternProperties") {
                    is_open |= self.patterns(patterns);
                }
                members.retain(|(key, value)| match &**key {
                    // A placeholder is no number.
                    "type" => !is_retyped,
                    // Names are allowed that this can no longer tell.
                    "additionalProperties" | "unevaluatedProperties" => !is_open,
                    // What is asked is something else with a placeholder in it.
                    key if ASKS.contains(&key) => !self.finds(value),
                    _ => true,
                });
            }
            Json::Array(list) => list.iter_mut().for_each(|schema| self.schema(schema)),
            _ => {}
        }
    }

    /// Hides what the schemas of an object hold by name.
    fn named(&mut self, named: &mut Json<'static>) {
        if let Json::Object(named) = named {
            named.iter_mut().for_each(|(_, schema)| self.schema(schema));
        }
    }

    /// Hides what schemas by the pattern of a name hold; tells whether a pattern itself was left out.
    fn patterns(&mut self, named: &mut Json<'static>) -> bool {
        let Json::Object(members) = named else {
            return false;
        };
        let before = members.len();
        members.retain(|(pattern, _)| !self.finds_in(pattern));
        let is_open = members.len() < before;
        self.named(named);
        is_open
    }

    /// Tells whether there is something to hide in a number or text that is left out then.
    fn finds(&mut self, value: &Json<'static>) -> bool {
        match value {
            Json::String(text) | Json::Number(text) => self.finds_in(text),
            _ => false,
        }
    }

    fn finds_in(&mut self, text: &str) -> bool {
        let finds = self.veil.finds(text);
        self.has_hidden |= finds;
        finds
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
                for (name, member) in members {
                    if let Some(hidden) = self.hide(name) {
                        *name = Cow::Owned(hidden);
                    }
                    self.value(member);
                }
                false
            }
            Json::Null | Json::Bool(_) => false,
        }
    }
}

//! The form a reply is held to, where the server can hold a model to a JSON Schema: one call, or an answer.
//!
//! A weak model that was told of the protocol in words writes no valid call at all; held to this form it can write nothing
//! else. What a server promises it may still not keep, so a reply is read as any other text and its arguments are validated.

use std::borrow::Cow;
use std::collections::BTreeSet;

pub(crate) use super::formed::answer_of;
pub use super::formed::{is_begun, read};
use super::render;
use crate::dialect::Dialect;
use crate::message::Message;
use crate::registry::Toolset;
use crate::schema::json::Json;
use crate::schema::reader;

/// The form of a reply that may not call, as JSON text: what is left of the [schema] of any tools then.
pub const ANSWER: &str = r#"{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}"#;

/// The ends of a number that the tool itself does not bound: a weak model that begins one does not find its end, and one
/// of hundreds of digits is none to a reader of JSON. All integers up to here are exact in any reader.
const LARGEST_NUMBER: i64 = 999_999_999_999_999;

/// Characters of a tool's description that a branch has.
const ABOUT_CHARS: usize = 200;

/// Members of an object, in the order a grammar makes the model write them.
type Members = Vec<(Cow<'static, str>, Json<'static>)>;

/// Returns the schema of a reply as JSON text: `{"name": …, "arguments": …}` for each tool, or `{"answer": …}`.
///
/// The schemas of arguments are closed and bounded, their properties in the order they were declared in. The keywords are
/// those that grammars of local servers take. The arguments of the tools named in `loose` may be any object, as may those
/// of a tool whose schema cannot be read.
pub fn schema(tools: &Toolset, loose: &BTreeSet<&str>) -> String {
    let dialect = Dialect::named("llamacpp").unwrap_or(Dialect::CANONICAL);
    let offer = tools.offer(dialect);
    let mut shared = Members::new();
    let mut branches = Vec::new();
    for offered in offer.iter() {
        let name = offered.tool.name();
        let arguments = match reader::read(&offered.lowered.schema) {
            Ok(read) if !loose.contains(name) => {
                let mut arguments = read.json.into_owned();
                share(&mut arguments, name, &mut shared);
                bound(&mut arguments);
                arguments
            }
            _ => any_object(),
        };
        let fixed = Json::Object(vec![member("const", text(name))]);
        let mut branch = object([("name", fixed), ("arguments", arguments)]);
        // No grammar reads it; who ranks the branches does.
        if let Json::Object(members) = &mut branch {
            members.push(member(
                "description",
                text(about(&offered.tool.spec().description)),
            ));
        }
        branches.push(branch);
    }
    let any = Json::Object(vec![member("type", text("string"))]);
    branches.push(object([("answer", any)]));
    let mut whole = vec![member("oneOf", Json::Array(branches))];
    if !shared.is_empty() {
        shared.iter_mut().for_each(|(_, schema)| bound(schema));
        whole.push(member("$defs", Json::Object(shared)));
    }
    let mut out = String::new();
    Json::Object(whole).write(&mut out);
    out
}

/// Returns the system prompt for a model that every request holds to the form: its rules name the form and no tags.
/// Without tools, `system` as it is.
pub fn system(system: &str, tools: &Toolset) -> String {
    render::system(system, render::FORM_RULES, tools)
}

/// Returns what of such a [prompt](system) are not its rules.
#[cfg(feature = "local")]
pub(crate) fn instructions(system: &str) -> &str {
    system
        .rsplit_once(render::FORM_RULES)
        .map_or(system, |(own, _)| own)
}

/// Returns the conversation as plain text messages for such a model: what it said is in the form, the rest as
/// [`messages`](super::messages) has it.
pub fn messages(messages: &[Message]) -> Vec<Message> {
    render::messages(messages, render::Said::Formed)
}

/// Returns the first paragraph of a description, bounded.
fn about(description: &str) -> &str {
    let first = description.trim().split("\n\n").next().unwrap_or_default();
    let end = first.char_indices().nth(ABOUT_CHARS);
    &first[..end.map_or(first.len(), |(at, _)| at)]
}

/// Returns the schema of an object that may hold anything, said so that no converter takes it for an empty one.
fn any_object() -> Json<'static> {
    Json::Object(vec![
        member("type", text("object")),
        member("additionalProperties", Json::Bool(true)),
    ])
}

fn text(text: &str) -> Json<'static> {
    Json::String(Cow::Owned(text.to_owned()))
}

fn member(key: &'static str, value: Json<'static>) -> (Cow<'static, str>, Json<'static>) {
    (Cow::Borrowed(key), value)
}

/// Returns the schema of an object of exactly these properties.
fn object<const N: usize>(properties: [(&'static str, Json<'static>); N]) -> Json<'static> {
    let required = properties.iter().map(|(key, _)| text(key)).collect();
    let properties = properties.map(|(key, value)| member(key, value));
    Json::Object(vec![
        member("type", text("object")),
        member("properties", Json::Object(properties.into())),
        member("required", Json::Array(required)),
        member("additionalProperties", Json::Bool(false)),
    ])
}

/// Moves what a schema defines for itself to the whole, under names that no other tool has.
fn share(schema: &mut Json<'static>, tool: &str, shared: &mut Members) {
    let Json::Object(members) = schema else {
        return;
    };
    let Some(at) = members.iter().position(|(key, _)| key == "$defs") else {
        return;
    };
    let (_, own) = members.remove(at);
    let refer = |schema: &mut Json<'static>| {
        walk(schema, &mut |members| {
            let refs = members.iter_mut().filter(|(key, _)| key == "$ref");
            for (_, to) in refs {
                if let Some(name) = to.as_str().and_then(|to| to.strip_prefix("#/$defs/")) {
                    *to = text(&format!("#/$defs/{tool}.{name}"));
                }
            }
        });
    };
    refer(schema);
    if let Json::Object(own) = own {
        for (name, mut schema) in own {
            refer(&mut schema);
            shared.push((Cow::Owned(format!("{tool}.{name}")), schema));
        }
    }
}

/// Closes objects of named properties and bounds what has no end.
fn bound(schema: &mut Json<'static>) {
    walk(schema, &mut |members| {
        let find = |key: &str| members.iter().position(|(known, _)| known == key);
        let has = |key| find(key).is_some();
        let number = |number: i64| Json::Number(Cow::Owned(number.to_string()));
        if has("enum") || has("const") {
            return;
        }
        let mut more = Members::new();
        match find("type").and_then(|at| members[at].1.as_str()) {
            Some("integer" | "number") => {
                if !has("minimum") && !has("exclusiveMinimum") {
                    more.push(member("minimum", number(-LARGEST_NUMBER)));
                }
                if !has("maximum") && !has("exclusiveMaximum") {
                    more.push(member("maximum", number(LARGEST_NUMBER)));
                }
            }
            Some("object") if has("properties") && !has("additionalProperties") => {
                more.push(member("additionalProperties", Json::Bool(false)));
            }
            _ => {}
        }
        members.extend(more);
    });
}

/// Visits every schema in a schema.
fn walk(schema: &mut Json<'static>, visit: &mut impl FnMut(&mut Members)) {
    match schema {
        Json::Object(members) => {
            visit(members);
            for (key, value) in members {
                match (&**key, value) {
                    // Values, not schemas.
                    ("enum" | "const" | "default" | "examples" | "required", _) => {}
                    // Their members are names, not keywords.
                    ("properties" | "$defs", Json::Object(named)) => {
                        named.iter_mut().for_each(|(_, schema)| walk(schema, visit));
                    }
                    (_, value) => walk(value, visit),
                }
            }
        }
        Json::Array(list) => list.iter_mut().for_each(|schema| walk(schema, visit)),
        _ => {}
    }
}

#[cfg(test)]
pub(in crate::fallback) mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::message::{ContentBlock, Role, ToolCall, text_of};
    use crate::tool::{Spec, Tool, ToolOutput};

    pub(in crate::fallback) fn tools(tools: &[(&'static str, Value)]) -> Toolset {
        Toolset::new(tools.iter().map(|(name, schema)| {
            Arc::new(Tool::dynamic(
                Spec::new((*name).into(), "Does a thing.".into()),
                schema.clone(),
                Arc::new(|_, _| Box::pin(async { Ok(ToolOutput::default()) })),
            ))
        }))
        .expect("different names")
    }

    pub(in crate::fallback) fn some_tools() -> Toolset {
        tools(&[
            (
                "add",
                json!({"type": "object", "required": ["a"], "properties": {
                    "a": {"type": "integer", "exclusiveMinimum": 0},
                    "to": {"type": "string", "maxLength": 5},
                    "unit": {"enum": ["x", "y"], "type": "string"},
                }}),
            ),
            (
                "note",
                json!({
                    "type": "object", "required": ["tree"],
                    "properties": {"tree": {"$ref": "#/$defs/Tree"}, "type": {"type": "string"}},
                    "$defs": {"Tree": {"type": "object", "properties": {
                        "below": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
                        "name": {"type": "string"},
                    }}},
                }),
            ),
        ])
    }

    #[test]
    fn a_reply_is_one_closed_and_bounded_call_or_an_answer() {
        let text = schema(&some_tools(), &BTreeSet::new());
        let name =
            r#"{"oneOf":[{"type":"object","properties":{"name":{"const":"add"},"arguments":{"#;
        assert!(text.starts_with(name), "the name comes first: {text}");
        let schema: Value = serde_json::from_str(&text).expect("JSON");
        let branches = schema["oneOf"].as_array().expect("branches");
        assert_eq!(branches.len(), 3);
        assert_eq!(branches[0]["properties"]["name"], json!({"const": "add"}));
        assert_eq!(branches[0]["required"], json!(["name", "arguments"]));
        let arguments = &branches[0]["properties"]["arguments"];
        let a = &arguments["properties"]["a"];
        assert_eq!(a["exclusiveMinimum"], 0);
        assert_eq!(a["minimum"], Value::Null);
        assert_eq!(a["maximum"], LARGEST_NUMBER);
        assert_eq!(arguments["properties"]["to"]["maxLength"], 5);
        assert_eq!(arguments["properties"]["unit"]["maxLength"], Value::Null);
        assert_eq!(arguments["additionalProperties"], false);
        assert_eq!(branches[0]["description"], "Does a thing.");
        // What a file may hold is bounded by the output limit only.
        let type_ = &branches[1]["properties"]["arguments"]["properties"]["type"];
        assert_eq!(*type_, json!({"type": "string"}));
        assert_eq!(
            branches[2]["properties"],
            json!({"answer": {"type": "string"}})
        );
    }

    #[test]
    fn who_may_not_call_is_held_to_the_last_branch() {
        let whole = schema(&some_tools(), &BTreeSet::new());
        let whole: Value = serde_json::from_str(&whole).expect("JSON");
        let answer: Value = serde_json::from_str(ANSWER).expect("JSON");
        assert_eq!(answer, whole["oneOf"][2]);
    }

    #[test]
    fn what_schemas_share_is_found_from_the_whole() {
        let schema: Value =
            serde_json::from_str(&schema(&some_tools(), &BTreeSet::new())).expect("JSON");
        let tree = &schema["$defs"]["note.Tree"];
        let below = &tree["properties"]["below"];
        assert_eq!(below["items"]["$ref"], "#/$defs/note.Tree");
        assert_eq!(tree["additionalProperties"], false);
        let at = &schema["oneOf"][1]["properties"]["arguments"];
        assert_eq!(at["properties"]["tree"]["$ref"], "#/$defs/note.Tree");
        assert_eq!(at["$defs"], Value::Null);
    }

    #[test]
    fn what_the_model_said_is_shown_to_it_in_the_form() {
        let call = ToolCall {
            id: "1".into(),
            name: "add".into(),
            arguments: r#"{"a":1}"#.into(),
        };
        let said = [
            Message::user("Add."),
            Message {
                role: Role::Assistant,
                content: vec![ContentBlock::text("Well."), ContentBlock::ToolCall(call)],
            },
            Message {
                role: Role::Assistant,
                content: vec![ContentBlock::text("It is \"1\".")],
            },
        ];
        let texts: Vec<_> = messages(&said[..2])
            .iter()
            .chain(&messages(&said[2..]))
            .map(|message| text_of(&message.content))
            .collect();
        let call = "Well.\n{\"name\": \"add\", \"arguments\": {\"a\":1}}";
        assert_eq!(texts, ["Add.", call, r#"{"answer": "It is \"1\"."}"#]);
    }

    #[test]
    fn the_prompt_names_the_form_and_no_tags() {
        let prompt = system("Be kind.\n", &some_tools());
        assert!(prompt.starts_with("Be kind.\n\n# Tools\n"));
        assert!(prompt.contains("To answer: {\"answer\": \"text\"}"));
        assert!(prompt.contains("add(") && prompt.contains("note("));
        assert!(!prompt.contains("tool_call>"));
        assert_eq!(system("Be kind.", &Toolset::default()), "Be kind.");
    }
}

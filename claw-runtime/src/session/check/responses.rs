//! OpenAI's responses: a flat list of items.

use serde_json::Value;

use super::pairs::Pairs;
use super::{Fault, list, name, object, text};

pub(super) fn check(input: &Value) -> Result<(), Fault> {
    let mut pairs = Pairs::default();
    let mut answered = false;
    let mut reasons = false;
    let mut user_spoke = false;
    for (at, item) in list("input", input)?.iter().enumerate() {
        let place = format!("input[{at}]");
        let role = item["role"].as_str().unwrap_or_default();
        let kind = item["type"].as_str().unwrap_or("message");
        // A reply may say something after its calls; nobody else may before they are answered.
        if matches!(role, "user" | "system" | "developer") {
            pairs.end(&place)?;
        }
        if reasons
            && (kind == "function_call_output" || matches!(role, "user" | "system" | "developer"))
        {
            return Err(Fault::new(place, "reasoning without what it led to"));
        }
        reasons = kind == "reasoning";
        answered = false;
        match kind {
            "message" => {
                match &item["content"] {
                    Value::String(said) if !said.trim().is_empty() => {}
                    content => {
                        list(&place, content)?;
                    }
                }
                match role {
                    "user" => (user_spoke, answered) = (true, true),
                    "assistant" if user_spoke => {}
                    "system" | "developer" if !user_spoke => {}
                    _ => return Err(Fault::new(place, format!("`{role}` cannot speak here"))),
                }
            }
            "reasoning" if user_spoke => {}
            "function_call" if user_spoke => {
                name(&place, text(&place, item, "name")?)?;
                object(&place, text(&place, item, "arguments")?)?;
                let id = text(&place, item, "call_id")?;
                if id.is_empty() || id.len() > 64 {
                    return Err(Fault::new(place, "an id must have 1 to 64 characters"));
                }
                pairs.call(&place, id, text(&place, item, "name")?)?;
            }
            "function_call_output" => {
                pairs.result(&place, Some(text(&place, item, "call_id")?), None)?;
                match &item["output"] {
                    Value::String(said) if !said.trim().is_empty() => {}
                    output => {
                        list(&place, output)?;
                    }
                }
                answered = !pairs.waits();
            }
            _ => return Err(Fault::new(place, format!("`{kind}` cannot stand here"))),
        }
    }
    pairs.end("input")?;
    match answered {
        true => Ok(()),
        false => Err(Fault::new("input", "the user or a tool must speak last")),
    }
}

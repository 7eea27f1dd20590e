//! Anthropic's messages: the user first and last, results first in the message after their calls. Neighbours of one role
//! are read as one message.

use serde_json::Value;

use super::pairs::Pairs;
use super::{Fault, list, name, text};

pub(super) fn check(messages: &Value) -> Result<(), Fault> {
    let mut pairs = Pairs::default();
    let messages = list("messages", messages)?;
    let mut last = "";
    for (at, message) in messages.iter().enumerate() {
        let place = format!("messages[{at}]");
        let role = text(&place, message, "role")?;
        if !matches!(
            (last, role),
            ("", "user") | ("user" | "assistant", "user" | "assistant")
        ) {
            return Err(Fault::new(place, format!("`{role}` after `{last}`")));
        }
        if role == "assistant" {
            pairs.end(&place)?;
        }
        last = role;
        if let Value::String(said) = &message["content"] {
            pairs.end(&place)?;
            if said.trim().is_empty() {
                return Err(Fault::new(place, "an empty text"));
            }
            continue;
        }
        for block in list(&place, &message["content"])? {
            match (role, text(&place, block, "type")?) {
                ("user", "tool_result") => {
                    pairs.result(&place, Some(text(&place, block, "tool_use_id")?), None)?;
                }
                ("assistant", "tool_use") => {
                    let id = text(&place, block, "id")?;
                    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
                    if id.is_empty() || !id.bytes().all(legal) {
                        return Err(Fault::new(
                            place,
                            format!("`{id}` is no id: expected A-Z, a-z, 0-9, _ and -"),
                        ));
                    }
                    name(&place, text(&place, block, "name")?)?;
                    if !block["input"].is_object() {
                        return Err(Fault::new(place, "`input` is no object"));
                    }
                    pairs.call(&place, id, text(&place, block, "name")?)?;
                }
                (_, "text") => {
                    user_only_after_results(&place, role, &pairs)?;
                    if text(&place, block, "text")?.trim().is_empty() {
                        return Err(Fault::new(place, "an empty text"));
                    }
                }
                ("user", "image" | "document") => user_only_after_results(&place, role, &pairs)?,
                ("assistant", "thinking" | "redacted_thinking") => {}
                (role, kind) => {
                    return Err(Fault::new(
                        place,
                        format!("`{kind}` cannot stand in `{role}`"),
                    ));
                }
            }
        }
        if role == "user" {
            pairs.end(&place)?;
        }
    }
    match last {
        "user" => Ok(()),
        _ => Err(Fault::new("messages", "the user must speak last")),
    }
}

fn user_only_after_results(place: &str, role: &str, pairs: &Pairs) -> Result<(), Fault> {
    match role {
        "user" => pairs.end(place),
        _ => Ok(()),
    }
}

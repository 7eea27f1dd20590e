//! Gemini's contents: the user first and last, one response for each call in the content after it. Neighbours of one role
//! are taken.

use serde_json::Value;

use super::pairs::Pairs;
use super::{Fault, list, text};

pub(super) fn check(contents: &Value) -> Result<(), Fault> {
    let mut pairs = Pairs::default();
    let contents = list("contents", contents)?;
    let mut last = "";
    for (at, content) in contents.iter().enumerate() {
        let place = format!("contents[{at}]");
        let role = text(&place, content, "role")?;
        if !matches!(
            (last, role),
            ("", "user") | ("user" | "model", "user" | "model")
        ) {
            return Err(Fault::new(place, format!("`{role}` after `{last}`")));
        }
        if role == "model" {
            pairs.end(&place)?;
        }
        last = role;
        for part in list(&place, &content["parts"])? {
            if let Some(call) = part.get("functionCall").filter(|_| role == "model") {
                let name = text(&place, call, "name")?;
                self::name(&place, name)?;
                if call.get("args").is_some_and(|args| !args.is_object()) {
                    return Err(Fault::new(place, "`args` is no object"));
                }
                pairs.call(&place, call["id"].as_str().unwrap_or_default(), name)?;
            } else if let Some(response) = part.get("functionResponse").filter(|_| role == "user") {
                if !response["response"].is_object() {
                    return Err(Fault::new(place, "`response` is no object"));
                }
                let name = Some(text(&place, response, "name")?);
                pairs.result(&place, response["id"].as_str(), name)?;
            } else if let Some(said) = part.get("text") {
                let signed = part.get("thoughtSignature").is_some();
                let said = said.as_str().unwrap_or_default();
                if said.is_empty() && !signed {
                    return Err(Fault::new(place, "an empty text"));
                }
            } else if part.get("inlineData").is_none() && part.get("fileData").is_none() {
                return Err(Fault::new(
                    place,
                    format!("a part that `{role}` cannot have"),
                ));
            }
        }
        if role == "user" {
            pairs.end(&place)?;
        }
    }
    match last {
        "user" => Ok(()),
        _ => Err(Fault::new("contents", "the user must speak last")),
    }
}

fn name(place: &str, name: &str) -> Result<(), Fault> {
    let first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    if name.len() <= 64 && name.bytes().next().is_some_and(first) && name.bytes().all(legal) {
        return Ok(());
    }
    Err(Fault::new(
        place,
        format!("`{name}` is no name of a function"),
    ))
}

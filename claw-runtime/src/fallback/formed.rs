//! Reading replies that were asked for in the form: what is in it, whole or cut, and what is not.

use serde_json::{Map, Value};

use super::{Answering, Fault, FaultCode, Found, FoundCall, find, no_answer};
use crate::message::StopReason;
use crate::registry::Toolset;

/// What the model is told of a reply that ends within its one object, and of one that ends behind whole ones: those are run,
/// and must not be sent again.
const CUT: &str = "The reply ends before its JSON object does, so nothing of it counts. Send it again whole, and shorter.";
const LAST_CUT: &str = "The reply ends before its last JSON object does, so that one does not count, but those before it do. \
                        Send that one alone again, and shorter.";

/// Tells whether a reply is in the form as far as it goes, so that the service may be holding the model to it. One that
/// says nothing shows nothing, and counts as if it were. Several calls, one after the other or as a list, are in it too:
/// not every service ends a reply where the form does.
pub fn is_begun(reply: &str, stop: &StopReason) -> bool {
    let Parts { objects, rest } = Parts::of(reply, stop);
    let is_call =
        |object: &Map<_, _>| object.contains_key("name") && object.contains_key("arguments");
    let answers = objects
        .iter()
        .filter(|it| it.contains_key("answer"))
        .count();
    if answers > 1
        || !objects
            .iter()
            .all(|it| it.contains_key("answer") || is_call(it))
    {
        return false;
    }
    match rest {
        Rest::None => true,
        Rest::Cut(rest) => {
            let Some(members) = rest.strip_prefix('{') else {
                return rest.is_empty();
            };
            let members = members.trim_start();
            let begins = |key: &str| members.starts_with(key) || key.starts_with(members);
            begins("\"name\"") || begins("\"answer\"")
        }
        Rest::Other => false,
    }
}

/// Reads a reply that was asked for in this form; one that is [not in it](is_begun) is read as any other. A call that was
/// cut is a fault, and nothing in it is run; of an answer that was cut, what was written counts.
pub fn read(reply: &str, stop: &StopReason, tools: &Toolset) -> Found {
    let Parts { objects, rest } = Parts::of(reply, stop);
    let is_cut = match rest {
        Rest::None => false,
        Rest::Cut(_) if is_begun(reply, stop) => true,
        Rest::Cut(_) | Rest::Other => return find(reply, stop, tools),
    };
    if objects.is_empty() {
        let answer = answer_of(reply).filter(|_| *stop == StopReason::Length);
        return match answer {
            Some(text) => Found {
                text,
                ..Found::default()
            },
            None if is_cut && !reply.trim().is_empty() => faulty(truncated(CUT)),
            None => find(reply, stop, tools),
        };
    }
    let mut whole = Found::default();
    for object in objects {
        let Some(found) = read_one(object, stop, tools) else {
            return find(reply, stop, tools);
        };
        whole.text.push_str(&found.text);
        whole.calls.extend(found.calls);
        whole.faults.extend(found.faults);
    }
    if is_cut {
        whole.faults.push(truncated(LAST_CUT));
    }
    if !whole.calls.is_empty() {
        // Beside a call nothing needs to be said.
        whole
            .faults
            .retain(|fault| fault.code != FaultCode::NoAnswer);
    }
    whole
}

/// Reads one object of the form; `None` when it is another one.
fn read_one(mut object: Map<String, Value>, stop: &StopReason, tools: &Toolset) -> Option<Found> {
    let members = (
        object.remove("answer"),
        object.remove("name"),
        object.remove("arguments"),
    );
    match members {
        (Some(Value::String(text)), None, None) if text.trim().is_empty() => {
            Some(faulty(no_answer(false, false, stop)))
        }
        (Some(Value::String(text)), None, None) => Some(Found {
            text,
            ..Found::default()
        }),
        (None, Some(Value::String(name)), Some(arguments)) => {
            if tools.get(&name).is_some() {
                let arguments = arguments.to_string();
                return Some(Found {
                    calls: vec![FoundCall { name, arguments }],
                    ..Found::default()
                });
            }
            // A name that no tool has: told as in any other call.
            let call = serde_json::json!({ "name": name, "arguments": arguments });
            Some(find(&format!("<tool_call>{call}</tool_call>"), stop, tools))
        }
        _ => None,
    }
}

/// The objects of a reply that is nothing but objects, or a list of them.
struct Parts<'r> {
    objects: Vec<Map<String, Value>>,
    rest: Rest<'r>,
}

/// What stands behind the last whole object.
enum Rest<'r> {
    None,
    /// What may be the beginning of an object; of an empty reply, nothing.
    Cut(&'r str),
    /// Something else.
    Other,
}

impl<'r> Parts<'r> {
    fn of(reply: &'r str, stop: &StopReason) -> Self {
        let text = reply.trim();
        let (mut text, is_list) = match text.strip_prefix('[') {
            Some(inside) => (inside.trim_start(), true),
            None => (text, false),
        };
        let mut objects = Vec::new();
        let rest = loop {
            match text {
                "" if !is_list && !objects.is_empty() => break Rest::None,
                "]" if is_list && !objects.is_empty() => break Rest::None,
                "" => break Rest::Cut(""),
                _ => {}
            }
            let mut read = serde_json::Deserializer::from_str(text).into_iter();
            match read.next() {
                Some(Ok(object)) => objects.push(object),
                Some(Err(error)) if error.is_eof() || *stop == StopReason::Length => {
                    break Rest::Cut(text);
                }
                _ => break Rest::Other,
            }
            text = text[read.byte_offset()..].trim_start();
            text = text.strip_prefix(',').unwrap_or(text).trim_start();
        };
        Self { objects, rest }
    }
}

/// Returns what a reply has of an answer in the form, whole or cut; `None` when it is none, or nothing is said yet.
pub(crate) fn answer_of(reply: &str) -> Option<String> {
    let text = Answering::default().push(reply);
    Some(text).filter(|text| !text.trim().is_empty())
}

fn faulty(fault: Fault) -> Found {
    Found {
        faults: vec![fault],
        ..Found::default()
    }
}

fn truncated(message: &str) -> Fault {
    Fault {
        code: FaultCode::Truncated,
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fallback::constrained::tests::some_tools;

    #[test]
    fn both_forms_are_read_and_anything_else_as_ever() {
        let tools = some_tools();
        let read = |reply: &str| read(reply, &StopReason::Stop, &tools);
        let answer = read(" {\"answer\": \"Hi {\\\"name\\\": 1}\"}\n");
        assert_eq!((&*answer.text, answer.calls.len()), ("Hi {\"name\": 1}", 0));
        let call = read(r#"{"name": "add", "arguments": {"a": 1}}"#);
        assert_eq!(call.calls[0].name, "add");
        assert_eq!(call.calls[0].arguments, r#"{"a":1}"#);
        let call = read(r#"<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>"#);
        assert_eq!(call.calls.len(), 1);
        assert_eq!(read("Plain words.").text, "Plain words.");
        for (faulty, code) in [
            (r#"{"answer": " "}"#, FaultCode::NoAnswer),
            (
                r#"{"name": "gone", "arguments": {}}"#,
                FaultCode::UnknownTool,
            ),
            ("", FaultCode::NoAnswer),
            (r#"{"answer": "It is"#, FaultCode::Truncated),
        ] {
            let found = read(faulty);
            assert!(found.calls.is_empty(), "{faulty}: {found:?}");
            let codes: Vec<_> = found.faults.iter().map(|fault| fault.code).collect();
            assert_eq!(codes, [code], "{faulty}");
        }
    }

    #[test]
    fn several_calls_are_read_in_their_order() {
        let tools = some_tools();
        let one = r#"{"name": "add", "arguments": {"a": 1}}"#;
        let two = r#"{"name": "note", "arguments": {"tree": {}}}"#;
        let gone = r#"{"name": "gone", "arguments": {}}"#;
        let answer = r#"{"answer": "Both."}"#;
        let read = |reply: &str| {
            let found = read(reply, &StopReason::Stop, &tools);
            let names: Vec<_> = found.calls.into_iter().map(|call| call.name).collect();
            let faults: Vec<_> = found.faults.iter().map(|fault| fault.code).collect();
            (names.join(" "), found.text, faults)
        };
        let none = String::new;
        for reply in [
            format!("{one}\n{two}"),
            format!("{one}{two}"),
            format!("{one}, {two},"),
            format!(" [{one}, {two}] "),
        ] {
            assert!(is_begun(&reply, &StopReason::Stop), "{reply}");
            let both = ("add note".to_owned(), none(), vec![]);
            assert_eq!(read(&reply), both, "{reply}");
        }
        let said = ("note add".to_owned(), "Both.".to_owned(), vec![]);
        assert_eq!(read(&format!("{two}{answer}{one}")), said);
        let unknown = ("add".to_owned(), none(), vec![FaultCode::UnknownTool]);
        assert_eq!(read(&format!("{gone}\n{one}")), unknown);
        // What is whole counts, and what was cut is told.
        let cut = ("add".to_owned(), none(), vec![FaultCode::Truncated]);
        for reply in [
            format!("{one}\n{}", &two[..20]),
            format!("[{one},"),
            format!("[{one}"),
        ] {
            assert!(is_begun(&reply, &StopReason::Stop), "{reply}");
            assert_eq!(read(&reply), cut, "{reply}");
            let told = super::read(&reply, &StopReason::Stop, &tools).faults;
            assert!(told[0].message.contains("those before it do"), "{told:?}");
        }
        let quiet = format!("{one}{{\"answer\": \"\"}}");
        assert_eq!(read(&quiet), ("add".to_owned(), none(), vec![]));
        for other in [
            format!("{one} and {two}"),
            format!("{answer}{answer}"),
            format!("{one}[{two}]"),
            format!("[{one}]{two}"),
            "[]".to_owned(),
        ] {
            assert!(!is_begun(&other, &StopReason::Stop), "{other}");
        }
    }

    #[test]
    fn what_a_server_cannot_have_held_is_told_from_what_was_cut() {
        let stop = |reply| is_begun(reply, &StopReason::Stop);
        let length = |reply| is_begun(reply, &StopReason::Length);
        for held in [
            "",
            " {",
            r#"{ "na"#,
            r#"{"answer": "a"#,
            r#"{"name": "add", "arguments": {"a": 1"#,
            r#"{"answer": "a"} "#,
        ] {
            assert!(stop(held) && length(held), "{held}");
        }
        assert!(length(r#"{"name": "add", "arguments": {"a": -"#));
        for free in [
            "Sure!",
            "<tool_call>",
            "```json",
            "[1]",
            r#"{"city": "Oslo"}"#,
            r#"{"name": "add"}"#,
            r#"{"city": "Os"#,
        ] {
            assert!(!stop(free) && !length(free), "{free}");
        }
        assert!(!stop(r#"{"answer": "a"} That is all."#));
    }

    #[test]
    fn of_an_answer_that_was_cut_counts_what_was_written() {
        let tools = some_tools();
        let read = |reply: &str| read(reply, &StopReason::Length, &tools);
        for (reply, text) in [
            (r#"{"answer": "It is"#, "It is"),
            (r#" {"answer" :"It \"is\"\"#, "It \"is\""),
            (r#"{"answer": "So \u00e9\ud83d\ude0"#, "So é"),
            (r#"{"answer": "All.""#, "All."),
        ] {
            let found = read(reply);
            assert_eq!((&*found.text, found.faults.len()), (text, 0), "{reply}");
        }
        for reply in [
            r#"{"answer": ""#,
            r#"{"answer": " "#,
            r#"{"answer"#,
            r#"{"answer": 1"#,
        ] {
            assert_eq!(read(reply).faults[0].code, FaultCode::Truncated, "{reply}");
        }
    }

    #[test]
    fn a_form_that_was_cut_never_runs() {
        let whole = r#"{"name": "add", "arguments": {"a": 12}}"#;
        for cut in 1..whole.len() {
            let found = read(&whole[..cut], &StopReason::Length, &some_tools());
            assert!(found.calls.is_empty(), "{cut}");
            assert_eq!(found.faults[0].code, FaultCode::Truncated, "{cut}");
        }
    }
}

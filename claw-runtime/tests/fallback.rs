//! The prompt protocol against messy replies: `tests/data/fallback/cases.jsonl`, or the file named by
//! `CLAW_CASES_FALLBACK`.
#![expect(clippy::unwrap_used, reason = "a broken case file is a failed test")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use claw_runtime::fallback::{FaultCode, find};
use claw_runtime::message::StopReason;
use claw_runtime::registry::Toolset;
use claw_runtime::tool::{Spec, Tool, ToolOutput};
use serde_json::Value;

/// Cases that fail today. One that passes must leave the list.
const KNOWN: &[&str] = &[];

#[test]
fn fallback_cases() {
    match std::env::var_os("CLAW_CASES_FALLBACK") {
        Some(path) => run(&PathBuf::from(path)),
        None => run(&data("cases.jsonl")),
    }
}

#[test]
fn authored_cases() {
    run(&data("authored.jsonl"));
}

/// A reply that was cut brings the first of its calls as they are, or fewer: never a call with other arguments.
#[test]
fn cut_replies_run_nothing_else() {
    for name in ["cases.jsonl", "authored.jsonl"] {
        let text = std::fs::read_to_string(data(name)).unwrap();
        for line in text.lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            if case["expected"]["type"] != "calls" {
                continue;
            }
            let raw = case["raw"].as_str().unwrap();
            if raw.contains("</think>") && !raw.contains("<think>") {
                // The prompt opened the reasoning: before its end nobody can tell it from an answer.
                continue;
            }
            let tools = toolset(&case["tools"]);
            let whole = find(raw, &StopReason::Stop, &tools).calls;
            for (end, _) in raw.char_indices() {
                let cut = find(&raw[..end], &StopReason::Length, &tools).calls;
                assert!(
                    whole.starts_with(&cut),
                    "{}: {:?} gives {cut:?}",
                    case["id"],
                    &raw[..end]
                );
            }
        }
    }
}

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/data/fallback")
        .join(name)
}

fn run(path: &Path) {
    let text = std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("cannot read `{}`: {error}", path.display()));
    let mut ran = 0;
    let mut failed = Vec::new();
    let mut stale = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        let id = case["id"].as_str().unwrap();
        ran += 1;
        let known = KNOWN.contains(&id);
        match check(&case) {
            Ok(()) if known => stale.push(id.to_owned()),
            Ok(()) => {}
            Err(why) => {
                println!(
                    "{id} {}: {why}",
                    if known { "fails as known" } else { "FAILED" }
                );
                failed.push((id.to_owned(), known));
            }
        }
    }
    println!(
        "fallback: {ran} cases ran, {} passed, {} failed",
        ran - failed.len(),
        failed.len()
    );
    let unexpected: Vec<_> = failed.iter().filter(|(_, known)| !known).collect();
    assert!(ran > 0, "`{}` holds no case", path.display());
    assert!(
        unexpected.is_empty(),
        "{} cases fail: {unexpected:?}",
        unexpected.len()
    );
    assert!(
        stale.is_empty(),
        "these pass now, take them from the list: {stale:?}"
    );
}

fn check(case: &Value) -> Result<(), String> {
    let tools = toolset(&case["tools"]);
    let stop = match case["finish_reason"].as_str() {
        None | Some("stop") => StopReason::Stop,
        Some("length") => StopReason::Length,
        Some("tool_calls") => StopReason::ToolCalls,
        Some(other) => StopReason::Other(other.to_owned()),
    };
    let found = find(case["raw"].as_str().unwrap(), &stop, &tools);
    let mut codes: Vec<&str> = found.faults.iter().map(|fault| code(fault.code)).collect();
    let mut calls = Vec::new();
    for call in &found.calls {
        let tool = tools
            .get(&call.name)
            .expect("found calls name registered tools");
        match tool.validate(&call.arguments) {
            Ok(valid) => calls.push(serde_json::json!({
                "name": call.name,
                "arguments": serde_json::from_str::<Value>(valid.text()).unwrap(),
            })),
            Err(_) => codes.push("invalid_arguments"),
        }
    }
    let expected = &case["expected"];
    let wanted_calls = expected["calls"].as_array().cloned().unwrap_or_default();
    let wanted_codes: Vec<&str> = match expected["type"].as_str().unwrap() {
        "error" => vec![expected["code"].as_str().unwrap()],
        _ => expected["errors"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|error| error["code"].as_str().unwrap())
            .collect(),
    };
    let shown = || format!("{found:?}");
    if calls != wanted_calls {
        return Err(format!("calls {calls:?}; {}", shown()));
    }
    if codes != wanted_codes {
        return Err(format!("codes {codes:?}; {}", shown()));
    }
    if let Some(text) = expected["text"].as_str()
        && found.text.trim() != text.trim()
    {
        return Err(format!("text; {}", shown()));
    }
    let hidden = expected["text_excludes"].as_array().into_iter().flatten();
    for text in hidden {
        if found.text.contains(text.as_str().unwrap()) {
            return Err(format!("shows {text}; {}", shown()));
        }
    }
    Ok(())
}

fn toolset(tools: &Value) -> Toolset {
    Toolset::new(tools.as_array().unwrap().iter().map(|tool| {
        let text = |key: &str| tool[key].as_str().unwrap().to_owned().into();
        Arc::new(Tool::dynamic(
            Spec::new(text("name"), text("description")),
            tool["parameters"].clone(),
            Arc::new(|_, _| Box::pin(async { Ok(ToolOutput::default()) })),
        ))
    }))
    .unwrap()
}

fn code(code: FaultCode) -> &'static str {
    match code {
        FaultCode::Truncated => "truncated",
        FaultCode::InvalidJson => "invalid_json",
        FaultCode::UnknownTool => "unknown_tool",
        FaultCode::InvalidArguments => "invalid_arguments",
        FaultCode::CallInReasoning => "call_in_reasoning",
        FaultCode::UnmarkedCall => "unmarked_call",
        FaultCode::NoAnswer => "no_answer",
        _ => "unknown to this test",
    }
}

//! The calls of the Berkeley Function Calling Leaderboard: valid ones pass as they are, spoilt ones are refused at the
//! right place or repaired as their record says. Skipped where the public set is not at hand.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use claw_runtime::schema::{Coerce, Schema, Unknown, validate};
use serde_json::Value;

#[test]
fn public_calls_are_judged_as_recorded() {
    let Some(folder) = folder() else {
        println!("skipped: ../shared/data/bfcl is not there");
        return;
    };
    let mut schemas: HashMap<(String, String), Schema> = HashMap::new();
    for record in lines(&folder, "tools.jsonl") {
        for tool in record["tools"].as_array().into_iter().flatten() {
            let key = (text(&record["test"]), text(&tool["name"]));
            schemas.insert(key, Schema::foreign(&tool["parameters"]).unwrap());
        }
    }
    let schema_of = |record: &Value| &schemas[&(text(&record["test"]), text(&record["tool"]))];
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();

    for record in lines(&folder, "valid-calls.jsonl") {
        let schema = schema_of(&record);
        *counts.entry("valid".to_owned()).or_default() += 1;
        for coerce in [Coerce::Strict, Coerce::Safe, Coerce::Lenient] {
            match judge(schema, &record["arguments"], coerce) {
                Ok(valid) if valid == record["arguments"] => {}
                other => wrong.push(format!("{} {coerce:?}: {other:?}", record["id"])),
            }
        }
    }
    for record in lines(&folder, "mutated-calls.jsonl") {
        let schema = schema_of(&record);
        *counts.entry(text(&record["kind"])).or_default() += 1;
        let strict = judge(schema, &record["arguments"], Coerce::Strict);
        let safe = judge(schema, &record["arguments"], Coerce::Safe);
        // One fault each: one problem, where it is.
        let place = vec![text(&record["path"])];
        let fair = if record["expect"] == "coerce" {
            safe.as_ref() == Ok(&record["coerced"])
        } else {
            safe.as_ref() == Err(&place)
        };
        if !fair || strict.as_ref() != Err(&place) {
            wrong.push(format!("{}: {safe:?} {strict:?}", record["id"]));
        }
    }
    for record in whole(&folder, "known-exceptions.json") {
        let schema = Schema::foreign(&record["parameters"]).unwrap();
        let class = record["class"].to_string();
        *counts.entry(format!("exception {class}")).or_default() += 1;
        for coerce in [Coerce::Strict, Coerce::Safe] {
            let outcome = judge(&schema, &record["arguments"], coerce);
            if class == r#"["null_for_optional"]"# && outcome.is_err() {
                wrong.push(format!("{} {coerce:?}: {outcome:?}", record["id"]));
            }
        }
    }
    println!("{counts:#?}");
    assert!(
        wrong.is_empty(),
        "{} of them:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Returns the arguments, or where they are wrong.
fn judge(schema: &Schema, arguments: &Value, coerce: Coerce) -> Result<Value, Vec<String>> {
    validate(schema, &arguments.to_string(), coerce, Unknown::Refuse)
        .map(|valid| valid.value)
        .map_err(|invalid| {
            invalid
                .problems
                .into_iter()
                .map(|problem| problem.pointer)
                .collect()
        })
}

fn folder() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/bfcl");
    root.join("tools.jsonl").exists().then_some(root)
}

fn lines(folder: &std::path::Path, name: &str) -> Vec<Value> {
    let content = std::fs::read_to_string(folder.join(name)).unwrap();
    let lines = content.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn whole(folder: &std::path::Path, name: &str) -> Vec<Value> {
    let content = std::fs::read_to_string(folder.join(name)).unwrap();
    serde_json::from_str(&content).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

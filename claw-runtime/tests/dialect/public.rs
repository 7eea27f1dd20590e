//! Public data: BFCL's tools and calls, and the schemas of the JSON Schema test suite. Skipped where it is not at hand.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use claw_runtime::dialect::DIALECTS;
use serde_json::{Value, json};

use super::{encode, fits, keywords, lift, lowered};

fn data(folder: &str) -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let folder = root.join(folder);
    if !folder.exists() {
        println!("skipped: {} is not there", folder.display());
        return None;
    }
    Some(folder)
}

fn lines(path: PathBuf) -> Vec<Value> {
    let content = std::fs::read_to_string(path).unwrap();
    let lines = content.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn public_calls_go_to_the_wire_and_come_back() {
    let Some(folder) = data("bfcl") else { return };
    let mut schemas: HashMap<(String, String), Value> = HashMap::new();
    for record in lines(folder.join("tools.jsonl")) {
        for tool in record["tools"].as_array().unwrap() {
            let key = (record["test"].to_string(), tool["name"].to_string());
            schemas.insert(key, tool["parameters"].clone());
        }
    }
    let calls = lines(folder.join("valid-calls.jsonl"));
    let mut wrong = Vec::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for dialect in DIALECTS {
        let made: HashMap<_, _> = schemas
            .iter()
            .map(|(key, schema)| (key, lowered(dialect, schema)))
            .collect();
        for (dialect, lowered) in made.values() {
            *counts
                .entry(format!("{} schemas", dialect.name))
                .or_default() += 1;
            if let Err(why) = keywords::check(dialect, &lowered.to_value()) {
                wrong.push(format!("{}: {why}", dialect.name));
            }
        }
        for call in &calls {
            let key = (call["test"].to_string(), call["tool"].to_string());
            let (_, lowered) = &made[&key];
            let wire = encode(lowered, &call["arguments"]);
            let back = lift(lowered, &wire);
            // What a schema leaves open cannot be sent by a model that is held to a closed one; it is lifted all the same.
            if back != call["arguments"] {
                wrong.push(format!("{} {}: {wire} {back}", dialect.name, call["id"]));
            }
            if wire != call["arguments"] {
                *counts
                    .entry(format!("{} other on the wire", dialect.name))
                    .or_default() += 1;
            }
        }
    }
    println!("{} calls: {counts:#?}", calls.len());
    assert!(
        wrong.is_empty(),
        "{} of them:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn suite_schemas_lower_and_valid_objects_stay_valid() {
    let Some(folder) = data("json-schema-test-suite/tests/draft2020-12") else {
        return;
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "json"))
        .collect();
    files.sort();
    let (mut schemas, mut values, mut wrong) = (0, 0, Vec::new());
    for file in files {
        let content = std::fs::read_to_string(&file).unwrap();
        let groups: Vec<Value> = serde_json::from_str(&content).unwrap();
        for group in groups {
            // As a tool's arguments, and as one argument of a tool.
            let inside = json!({
                "type": "object", "properties": {"a": group["schema"]}, "required": ["a"],
                "$defs": group["schema"]["$defs"],
            });
            for (schema, is_inside) in [(&group["schema"], false), (&inside, true)] {
                for dialect in DIALECTS {
                    schemas += 1;
                    let (dialect, lowered) = lowered(dialect, schema);
                    if let Err(why) = keywords::check(dialect, &lowered.to_value()) {
                        wrong.push(format!("{}: {why} of {schema}", dialect.name));
                    }
                    for test in group["tests"].as_array().unwrap() {
                        let value = match is_inside {
                            true => json!({"a": test["data"]}),
                            false => test["data"].clone(),
                        };
                        if !value.is_object() || test["valid"] != true || !fits(schema, &value) {
                            continue;
                        }
                        values += 1;
                        let back = lift(&lowered, &encode(&lowered, &value));
                        if back != value && !fits(schema, &back) {
                            let name = dialect.name;
                            wrong.push(format!("{name}: {value} is {back} by {schema}"));
                        }
                    }
                }
            }
        }
    }
    println!("{schemas} schemas lowered, {values} values there and back");
    assert!(
        wrong.is_empty(),
        "{} of them:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

//! The public JSON Schema test suite, draft 2020-12, every required test: foreign schemas are checked in full. Skipped
//! where the suite is not at hand.
#![cfg(feature = "jsonschema")]
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use claw_runtime::schema::{Coerce, Schema, Unknown, validate};
use serde_json::Value;

/// Tests the suite requires of every validator of this draft.
const REQUIRED: usize = 1_299;
/// Where the suite expects its remote documents.
const REMOTE: &str = "http://localhost:1234";

#[test]
fn every_required_test_passes() {
    let root =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/json-schema-test-suite");
    let folder = root.join("tests/draft2020-12");
    if !folder.exists() {
        println!("skipped: ../shared/data/json-schema-test-suite is not there");
        return;
    }
    let mut documents = BTreeMap::new();
    collect(&root.join("remotes"), REMOTE, &mut documents);
    let (mut files, mut run, mut as_arguments, mut wrong) = (0, 0, 0, Vec::new());
    for path in json_files(&folder) {
        files += 1;
        for group in read(&path).as_array().unwrap() {
            let schema = match Schema::foreign_with(&group["schema"], &documents) {
                Ok(schema) => schema,
                Err(error) => {
                    wrong.push(format!(
                        "{}: {}: {error}",
                        path.display(),
                        group["description"]
                    ));
                    continue;
                }
            };
            for test in group["tests"].as_array().unwrap() {
                run += 1;
                let valid = test["valid"].as_bool().unwrap();
                let mut outcomes = vec![schema.check(&test["data"])];
                // A call's arguments are an object; then the entry of calls must say the same.
                if test["data"].is_object() {
                    as_arguments += 1;
                    let text = test["data"].to_string();
                    let judged = validate(&schema, &text, Coerce::Strict, Unknown::Refuse);
                    outcomes.push(judged.map(|_| ()));
                }
                for outcome in outcomes {
                    if outcome.is_ok() != valid {
                        wrong.push(format!(
                            "{}: {} / {}: {outcome:?}",
                            path.file_name().unwrap().display(),
                            group["description"],
                            test["description"]
                        ));
                    }
                }
            }
        }
    }
    println!("{run} tests of {files} files, {as_arguments} of them as arguments of a call too");
    assert!(
        wrong.is_empty(),
        "{} of them:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(run, REQUIRED);
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    files
}

fn collect(folder: &Path, uri: &str, documents: &mut BTreeMap<String, Value>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let uri = format!("{uri}/{}", path.file_name().unwrap().display());
        if path.is_dir() {
            collect(&path, &uri, documents);
        } else {
            documents.insert(uri, read(&path));
        }
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

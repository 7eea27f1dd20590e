//! The slow path of validation, beside what it replaces: `serde_json` reading the same text into a value.

use std::hint::black_box;

use claw_runtime::schema::{Coerce, Schema, Unknown, validate};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};

fn edit_file() -> Schema {
    Schema::parse(&json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "minLength": 1, "maxLength": 4096},
            "old": {"type": "string"},
            "new": {"type": "string"},
            "count": {"type": "integer", "minimum": 1, "maximum": 2000},
            "replace_all": {"type": "boolean"},
        },
        "required": ["path", "old", "new"],
        "additionalProperties": false,
    }))
}

fn benches(criterion: &mut Criterion) {
    let schema = edit_file();
    let good = r#"{"path":"src/main.rs","old":"fn a","new":"fn b","count":3,"replace_all":true}"#;
    let coerced =
        r#"{"path":"src/main.rs","old":"fn a","new":"fn b","count":"3","replace_all":"true"}"#;
    let bad = r#"{"file":"src/main.rs","old":"fn a","new":5,"count":0,"replace_all":"maybe"}"#;
    criterion.bench_function("floor: text to value", |bencher| {
        bencher.iter(|| serde_json::from_str::<Value>(black_box(good)).map(black_box));
    });
    let run = |text: &str| validate(&schema, black_box(text), Coerce::Safe, Unknown::Refuse);
    criterion.bench_function("accept", |bencher| bencher.iter(|| run(good)));
    criterion.bench_function("coerce two of five", |bencher| {
        bencher.iter(|| run(coerced))
    });
    criterion.bench_function("report five problems", |bencher| {
        bencher.iter(|| run(bad).map_err(|invalid| invalid.report("edit_file", &schema)));
    });
}

criterion_group!(all, benches);
criterion_main!(all);

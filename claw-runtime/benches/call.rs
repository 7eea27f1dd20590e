//! A call from text: checked, read and run, beside the floor: serde_json reading the same arguments into a struct.

use std::hint::black_box;

use claw::tool;
use claw::tool::{Prepared, ToolContext, ToolDef, ToolEntry, ToolError, ToolOutput};
use criterion::{Criterion, criterion_group, criterion_main};
use serde::Deserialize;

extern crate claw_runtime as claw;

/// Reads a file.
#[tool(effect = pure)]
fn read_file(
    /// The path.
    path: &str,
    /// How many lines.
    #[arg(range = 1..=2000)]
    limit: u32,
    /// Whether to number them.
    number: Option<bool>,
) -> Result<ToolOutput, ToolError> {
    black_box((path, limit, number));
    Ok(ToolOutput::default())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments<'a> {
    path: &'a str,
    limit: u32,
    number: Option<bool>,
}

static ENTRY: ToolEntry = <read_file as ToolDef>::ENTRY;

const TEXT: &str = r#"{"path": "src/schema/cursor.rs", "limit": 200, "number": true}"#;

fn call(c: &mut Criterion) {
    let mut group = c.benchmark_group("call");
    let ctx = ToolContext::detached();
    group.bench_function("floor: serde_json", |b| {
        b.iter(|| {
            let arguments: Arguments<'_> =
                serde_json::from_str(black_box(TEXT)).expect("the text fits");
            black_box((arguments.path, arguments.limit, arguments.number));
        });
    });
    group.bench_function("claw: check", |b| {
        b.iter(|| matches!((ENTRY.shim)(None, black_box(TEXT)), Ok(Prepared::Checked)));
    });
    group.bench_function("claw: check and call", |b| {
        b.iter(|| match (ENTRY.shim)(Some(&ctx), black_box(TEXT)) {
            Ok(Prepared::Done(result)) => black_box(result).is_ok(),
            _ => false,
        });
    });
    group.finish();
}

criterion_group!(benches, call);
criterion_main!(benches);

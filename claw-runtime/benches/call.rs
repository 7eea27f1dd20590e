//! A call from text: checked, read and run, beside the floor: serde_json reading the same arguments into a struct.
//!
//! The ratios at the end are medians of pairs measured in turn, so that a busy machine disturbs both alike.

use std::hint::black_box;
use std::time::{Duration, Instant};

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

/// Reads the arguments, without a check.
fn floor() -> bool {
    let arguments: Arguments<'_> = serde_json::from_str(black_box(TEXT)).expect("the text fits");
    black_box((arguments.path, arguments.limit, arguments.number));
    true
}

/// Reads the arguments and does by hand what the tool does.
fn floor_and_call() -> bool {
    let arguments: Arguments<'_> = serde_json::from_str(black_box(TEXT)).expect("the text fits");
    black_box((arguments.path, arguments.limit, arguments.number));
    let result: Result<ToolOutput, ToolError> = Ok(ToolOutput::default());
    black_box(Prepared::Done(result));
    true
}

fn check() -> bool {
    matches!((ENTRY.shim)(None, black_box(TEXT)), Ok(Prepared::Checked))
}

fn check_and_call(ctx: &ToolContext) -> bool {
    let prepared = (ENTRY.shim)(Some(ctx), black_box(TEXT));
    matches!(black_box(prepared), Ok(Prepared::Done(Ok(_))))
}

fn call(c: &mut Criterion) {
    let mut group = c.benchmark_group("call");
    let ctx = ToolContext::detached();
    group.bench_function("floor: serde_json", |b| b.iter(floor));
    group.bench_function("floor: serde_json, and the work by hand", |b| {
        b.iter(floor_and_call);
    });
    group.bench_function("claw: check", |b| b.iter(check));
    group.bench_function("claw: check and call", |b| b.iter(|| check_and_call(&ctx)));
    group.finish();
    let call = || check_and_call(&ctx);
    println!("check / floor: {:.2}", ratio(check, floor));
    println!("check and call / floor: {:.2}", ratio(call, floor));
    println!(
        "check and call / floor and the work by hand: {:.2}",
        ratio(call, floor_and_call)
    );
}

/// Returns how much longer `ours` takes than `theirs`: the median of many short pairs.
fn ratio(ours: impl Fn() -> bool, theirs: impl Fn() -> bool) -> f64 {
    let time = |run: &dyn Fn() -> bool| -> Duration {
        let start = Instant::now();
        for _ in 0..5_000 {
            black_box(run());
        }
        start.elapsed()
    };
    let mut ratios: Vec<f64> = (0..401)
        .map(|_| time(&ours).as_secs_f64() / time(&theirs).as_secs_f64())
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

criterion_group!(benches, call);
criterion_main!(benches);

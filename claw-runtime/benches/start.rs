//! What a thousand tools cost when a program starts, and when their schemas are first asked for.

use std::hint::black_box;

use claw::registry::Toolset;
use claw::tool;
use claw::tool::{ToolDef, ToolEntry};
use criterion::{Criterion, criterion_group, criterion_main};

extern crate claw_runtime as claw;

/// Searches the files of a project for a text and lists what it finds.
#[tool(effect = read)]
#[expect(
    clippy::too_many_arguments,
    reason = "eight, as in the other measurements"
)]
fn search(
    /// The text to look for, exactly as it is written.
    query: &str,
    /// The folder to start from, relative to the workspace.
    folder: String,
    /// How many results to return at most.
    #[arg(range = 1..=100)]
    limit: u32,
    /// How many results to leave out at the start.
    #[arg(default = 10)]
    offset: u64,
    /// Whether upper and lower case are the same.
    ignore_case: bool,
    /// Names of files to leave out.
    exclude: Vec<String>,
    /// How well a result must match, from 0 to 1.
    score: Option<f64>,
    /// The language of the files, for example rust.
    language: Option<String>,
) -> String {
    format!("{query}{folder}{limit}{offset}{ignore_case}{exclude:?}{score:?}{language:?}")
}

/// Returns a thousand entries, in an order that is not theirs.
fn entries() -> &'static [ToolEntry] {
    let entry = |at: usize| {
        let mut entry = <search as ToolDef>::ENTRY;
        entry.spec.name = format!("search_{}", at * 7919 % 1000).into();
        entry
    };
    Vec::leak((0..1000).map(entry).collect())
}

fn start(c: &mut Criterion) {
    let entries = entries();
    let mut group = c.benchmark_group("1,000 tools");
    group.bench_function("start", |b| {
        b.iter(|| Toolset::of(black_box(entries)).expect("the names differ"));
    });
    group.sample_size(20);
    group.bench_function("start and all schemas", |b| {
        b.iter(|| {
            let tools = Toolset::of(black_box(entries)).expect("the names differ");
            tools.definitions().len()
        });
    });
    group.finish();
}

criterion_group!(benches, start);
criterion_main!(benches);

//! Processor time of a tool round: request, reply, one call, its result kept. The service runs in another process.
//!
//! A round is the slope between turns of 22 and of 2 rounds, so that what a turn costs once does not count.

mod measure;

use std::sync::Arc;
use std::time::Duration;

use bench_claw::{agent, past, provider};
use bench_common::figures::cpu;
use bench_common::mock::{self, Mock};
use bench_common::modes::Agent as _;
use bench_common::{PROMPT, SYSTEM};
use bench_floor::{Conversation, past_bytes};
use claw::session::{Append, Barrier, MemoryStore, SessionStore};
use criterion::{BenchmarkGroup, Criterion};
use measure::{CpuTime, median, print_figures};
use tokio::runtime::{Builder, Runtime};

const BENCH: &str = "round";
const ROUNDS: [usize; 2] = [2, 22];
/// Messages that stand before the measured turn.
const HISTORY: [usize; 4] = [0, 10, 1_000, 10_000];

fn bench_floor(
    group: &mut BenchmarkGroup<'_, CpuTime>,
    runtime: &Runtime,
    base: &str,
    history: usize,
) {
    let past = past_bytes(history);
    for rounds in ROUNDS {
        let model = format!("mock-t{}", history / 4 + rounds);
        let agent = bench_floor::Agent::new(base, &model);
        group.bench_function(format!("floor {rounds}"), |bencher| {
            bencher.iter_custom(|iterations| {
                let mut spent = Duration::ZERO;
                for _ in 0..iterations {
                    let mut said = Conversation::new(&model, SYSTEM, false);
                    said.extend(&past);
                    runtime.block_on(async {
                        let start = cpu();
                        assert!(agent.run_on(&mut said, PROMPT).await.ends_with("0.75."));
                        spent += cpu() - start;
                    });
                }
                spent
            });
        });
    }
}

fn bench_claw(
    group: &mut BenchmarkGroup<'_, CpuTime>,
    runtime: &Runtime,
    base: &str,
    history: usize,
) {
    let provider = provider(base, false);
    let past = past(history);
    for rounds in ROUNDS {
        let model = format!("mock-t{}", history / 4 + rounds);
        group.bench_function(format!("claw {rounds}"), |bencher| {
            bencher.iter_custom(|iterations| {
                let mut spent = Duration::ZERO;
                for _ in 0..iterations {
                    runtime.block_on(async {
                        let store = Arc::new(MemoryStore::new());
                        let lease = store.open("s").await.expect("memory does not fail");
                        let append = Append {
                            after: 0,
                            events: past.as_slice().into(),
                            barrier: Barrier::Buffered,
                            taken: &[],
                        };
                        let kept = store.append(&lease, append).await;
                        kept.expect("memory does not fail");
                        let agent = agent(provider.clone(), &model, store);
                        let mut session = agent.session("s").await.expect("memory does not fail");
                        let start = cpu();
                        let outcome = session.run(PROMPT).await.expect("memory does not fail");
                        spent += cpu() - start;
                        assert!(outcome.text.ends_with("0.75."), "{outcome:?}");
                    });
                }
                spent
            });
        });
    }
}

fn slope(group: &str, who: &str) -> Option<f64> {
    let [few, many] = ROUNDS;
    let at = |rounds| median(BENCH, group, &format!("{who} {rounds}"));
    let more = u32::try_from(many - few).expect("a small number");
    Some((at(many)? - at(few)?) / f64::from(more))
}

fn main() {
    mock::serve_if_asked();
    let mock = Mock::start();
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let mut criterion: Criterion<CpuTime> = measure::criterion(BENCH);
    for history in HISTORY {
        let mut group = criterion.benchmark_group(format!("history {history}"));
        bench_floor(&mut group, &runtime, &mock.base, history);
        bench_claw(&mut group, &runtime, &mock.base, history);
        group.finish();
    }
    for history in HISTORY {
        let group = format!("history {history}");
        let figures: Vec<_> = ["floor", "claw"]
            .into_iter()
            .filter_map(|who| Some((who, slope(&group, who)?)))
            .collect();
        print_figures(&format!("a round after {history} messages, cpu"), &figures);
    }
    criterion.final_summary();
}

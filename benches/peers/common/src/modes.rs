//! The modes a program of an agent is run in.
//!
//! ```sh
//! PROGRAM once BASE ROUNDS                   # one turn of so many tool rounds: start to answer
//! PROGRAM idle BASE                          # sets the agent up, says `ready` and waits
//! PROGRAM turns BASE ROUNDS TIMES            # turns one after another, on the runtime's worker
//! PROGRAM after BASE MESSAGES ROUNDS TIMES   # turns, each after so many messages
//! PROGRAM turns_blocked_on BASE ROUNDS TIMES # the same under `block_on`, where each reply crosses threads
//! PROGRAM call BASE                          # one tool call from text, in nanoseconds
//! PROGRAM sessions BASE AT_ONCE ALL ROUNDS   # whole turns, so many at once
//! PROGRAM streams BASE AT_ONCE               # streams held open
//! ```
//!
//! `BENCH_THREADS=1` gives a runtime of one thread, else it has two workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::figures::{cpu, print, print_spread, resident, resident_at_most};

/// An agent that is measured.
pub trait Agent: Send + Sync + 'static {
    /// Returns an agent of the service at `base`. The model's name is the service's script; see [`mock`](crate::mock).
    fn new(base: &str, model: &str) -> Self;

    /// Runs one turn of a new conversation, and returns the answer.
    fn run(&self) -> impl Future<Output = String> + Send;

    /// Runs one turn whose answer is streamed, and returns how many pieces came.
    fn stream(&self) -> impl Future<Output = usize> + Send;

    /// Runs one turn after so many messages, four to a round, and returns the processor time of the turn alone; `None`
    /// where the program cannot.
    fn run_after(&self, messages: usize) -> impl Future<Output = Option<Duration>> + Send {
        let _ = messages;
        async { None }
    }

    /// Calls `get_weather` with arguments as the model writes them.
    fn call(&self, arguments: &str) -> impl Future<Output = String> + Send;
}

/// Runs the program in the mode it was started in.
///
/// # Panics
///
/// Panics when the service does not answer as it should: a figure of something else would be worse.
pub fn run<A: Agent>() {
    let one = std::env::var("BENCH_THREADS").is_ok_and(|it| it == "1");
    let mut runtime = match one {
        true => tokio::runtime::Builder::new_current_thread(),
        false => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let base = text(2);
    runtime.block_on(async {
        match text(1).as_str() {
            "once" => println!(
                "{}",
                A::new(&base, &format!("mock-t{}", number(3))).run().await
            ),
            "idle" => {
                let _agent = A::new(&base, "mock-t1");
                println!("ready");
                tokio::time::sleep(Duration::from_secs(3600)).await;
            }
            "turns" => tokio::spawn(turns::<A>(base)).await.expect("no panic"),
            "after" => tokio::spawn(after::<A>(base)).await.expect("no panic"),
            "turns_blocked_on" => turns::<A>(base).await,
            "call" => {
                let agent = A::new(&base, "mock-t0");
                calls(async |arguments| agent.call(arguments).await).await;
            }
            "sessions" => sessions::<A>(base).await,
            "streams" => streams::<A>(base).await,
            mode => panic!("unknown mode `{mode}`; see `bench_common::modes`"),
        }
    });
}

/// Measures one call of `get_weather`, for a program that only has tools.
pub async fn calls(call: impl AsyncFn(&str) -> String) {
    const BATCH: u32 = 2_000;
    assert!(call(crate::ARGUMENTS).await.contains("Oslo"));
    let mut spent = Vec::new();
    for _ in 0..60 {
        let start = cpu();
        for _ in 0..BATCH {
            std::hint::black_box(call(std::hint::black_box(crate::ARGUMENTS)).await);
        }
        spent.push((cpu() - start).as_secs_f64() * 1e9 / f64::from(BATCH));
    }
    print_spread("call_ns", spent.split_off(10));
}

async fn turns<A: Agent>(base: String) {
    let (rounds, times) = (number(3), number(4));
    let agent = A::new(&base, &format!("mock-t{rounds}"));
    for _ in 0..times / 5 + 3 {
        assert!(agent.run().await.ends_with("0.75."));
    }
    let (mut wall, mut spent) = (Vec::new(), Vec::new());
    for _ in 0..times {
        let (start, before) = (Instant::now(), cpu());
        agent.run().await;
        spent.push((cpu() - before).as_secs_f64() * 1e6);
        wall.push(start.elapsed().as_secs_f64() * 1e6);
    }
    print_spread("turn_cpu_us", spent);
    print_spread("turn_us", wall);
}

async fn after<A: Agent>(base: String) {
    let (messages, rounds, times) = (number(3), number(4), number(5));
    let agent = A::new(&base, &format!("mock-t{}", messages / 4 + rounds));
    let mut spent = Vec::new();
    for _ in 0..times {
        let Some(turn) = agent.run_after(messages).await else {
            return;
        };
        spent.push(turn.as_secs_f64() * 1e6);
    }
    print_spread("turn_cpu_us", spent);
}

async fn sessions<A: Agent>(base: String) {
    let (at_once, all, rounds) = (number(3), number(4), number(5));
    let agent = Arc::new(A::new(&base, &format!("mock-t{rounds}")));
    assert!(agent.run().await.ends_with("0.75."));
    let next = Arc::new(AtomicUsize::new(0));
    let (start, before) = (Instant::now(), cpu());
    let running = (0..at_once).map(|_| {
        let (agent, next) = (agent.clone(), next.clone());
        tokio::spawn(async move {
            while next.fetch_add(1, Ordering::Relaxed) < all {
                agent.run().await;
            }
        })
    });
    for running in running.collect::<Vec<_>>() {
        running.await.expect("no panic");
    }
    let figures = [
        ("per_second", count(all) / start.elapsed().as_secs_f64()),
        ("cpu_us", (cpu() - before).as_secs_f64() * 1e6 / count(all)),
        ("most_kb", resident_at_most()),
    ];
    print(&format!("sessions_{at_once}"), &figures);
}

async fn streams<A: Agent>(base: String) {
    let at_once = number(3);
    assert!(A::new(&base, "mock-t0-c5").stream().await > 0);
    let agent = Arc::new(A::new(&base, "mock-t0-c40-d100"));
    let before = resident();
    let running = (0..at_once).map(|_| {
        let agent = agent.clone();
        tokio::spawn(async move { agent.stream().await })
    });
    let running: Vec<_> = running.collect();
    // Forty pieces, a tenth of a second apart: in their midst.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    let during = resident();
    for running in running {
        assert!(
            running.await.expect("no panic") >= 40,
            "a piece of a stream is lost"
        );
    }
    let each = (during - before) / count(at_once);
    print(
        &format!("streams_{at_once}"),
        &[("kb_each", each), ("most_kb", resident_at_most())],
    );
}

fn text(at: usize) -> String {
    std::env::args().nth(at).unwrap_or_default()
}

fn number(at: usize) -> usize {
    let number = text(at).parse();
    number.unwrap_or_else(|_| panic!("argument {at} is no number; see `bench_common::modes`"))
}

fn count(of: usize) -> f64 {
    f64::from(u32::try_from(of).expect("a small number"))
}

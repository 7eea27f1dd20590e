//! What a kept event costs, beside the floor: one INSERT of the same bytes through rusqlite, as firmly synced.
//!
//! Disks are noisy and shared, so the ratios at the end are medians of blocks measured in turn, in time and in processor time
//! of all threads.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use claw_runtime::event::Event;
use claw_runtime::message::ContentBlock;
use claw_runtime::session::{
    Append, Barrier, Durability, Lease, MemoryStore, SessionStore, SqliteOptions, SqliteStore,
    View, journal,
};
use criterion::{Criterion, criterion_group, criterion_main};
use rusqlite::Connection;
use tokio::runtime::{Builder, Runtime};

/// A message of 1.5 KB, as in the figures of other stores.
fn event() -> Event {
    Event::UserInput {
        key: "key".to_owned(),
        content: vec![ContentBlock::text("w".repeat(1400))],
    }
}

/// The floor: a log in a table, by hand.
struct Floor {
    conn: Connection,
    seq: i64,
    payload: Vec<u8>,
}

impl Floor {
    fn new(folder: &Path) -> Self {
        let conn = Connection::open(folder.join("floor.db")).expect("a database");
        conn.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             CREATE TABLE events (session INTEGER, seq INTEGER, payload BLOB, PRIMARY KEY (session, seq)) WITHOUT ROWID;",
        )
        .expect("a table");
        Self {
            conn,
            seq: 0,
            payload: serde_json::to_vec(&event()).expect("an event"),
        }
    }

    fn append(&mut self) {
        self.seq += 1;
        let mut insert = self
            .conn
            .prepare_cached("INSERT INTO events VALUES (1, ?1, ?2)")
            .expect("a statement");
        insert
            .execute((self.seq, &self.payload))
            .expect("an append");
    }
}

/// A session that is appended to.
struct Writer<'a> {
    store: &'a dyn SessionStore,
    lease: Lease,
    after: u64,
    events: [Event; 1],
}

impl<'a> Writer<'a> {
    async fn new(store: &'a dyn SessionStore, session: &str, events: usize) -> Self {
        let lease = store.open(session).await.expect("a session");
        let many = vec![event(); events];
        let mut writer = Self {
            store,
            lease,
            after: 0,
            events: [event()],
        };
        writer.write(&many, Barrier::Durable).await;
        writer
    }

    async fn write(&mut self, events: &[Event], barrier: Barrier) {
        let append = Append {
            after: self.after,
            events: events.into(),
            barrier,
            taken: &[],
        };
        self.store
            .append(&self.lease, append)
            .await
            .expect("an append");
        self.after += events.len() as u64;
    }

    async fn append(&mut self, barrier: Barrier) {
        let events = self.events.clone();
        self.write(&events, barrier).await;
    }
}

fn store(folder: &Path, durability: Durability) -> SqliteStore {
    let mut options = SqliteOptions::new("bench");
    options.durability = durability;
    let file = format!("{durability:?}.db");
    SqliteStore::at(folder.join(file), options).expect("a store")
}

fn append(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = runtime();
    let mut group = c.benchmark_group("append");
    let mut floor = Floor::new(folder.path());
    group.bench_function("floor: INSERT, FULL", |b| b.iter(|| floor.append()));
    let memory = MemoryStore::new();
    let stores = [Durability::Full, Durability::Normal, Durability::Off]
        .map(|durability| (durability, store(folder.path(), durability)));
    let mut hosts: Vec<(String, &dyn SessionStore)> = vec![("memory".to_owned(), &memory)];
    for (durability, store) in &stores {
        hosts.push((format!("sqlite, {durability:?}"), store));
    }
    for (name, host) in hosts {
        let mut writer = runtime.block_on(Writer::new(host, "s", 0));
        group.bench_function(name, |b| {
            b.iter(|| runtime.block_on(writer.append(Barrier::Durable)));
        });
    }
    let mut writer = runtime.block_on(Writer::new(&stores[0].1, "buffered", 0));
    group.bench_function("sqlite, Full, buffered", |b| {
        b.iter(|| runtime.block_on(writer.append(Barrier::Buffered)));
    });
    group.finish();
}

fn resume(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = runtime();
    let sqlite = store(folder.path(), Durability::Full);
    runtime.block_on(Writer::new(&sqlite, "s", 10_000));
    c.bench_function("resume: 10,000 events read, checked and folded", |b| {
        b.iter(|| {
            let events = runtime.block_on(journal::load(&sqlite, "s"));
            let events = events.expect("a journal");
            let view: View = events.iter().map(|stored| &stored.event).collect();
            black_box(view.messages().len())
        });
    });
}

fn ratios(_: &mut Criterion) {
    let quick = std::env::args().any(|argument| argument == "--test");
    let (blocks, count) = if quick { (1, 2) } else { (41, 50) };
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = runtime();
    let sqlite = store(folder.path(), Durability::Full);
    let mut floor = Floor::new(folder.path());
    let [mut empty, mut long] = [0, 10_000].map(|count| {
        let session = format!("s{count}");
        runtime.block_on(Writer::new(&sqlite, &session, count))
    });
    let mut costs = [const { Vec::new() }; 4];
    for _ in 0..blocks {
        costs[0].push(cost(count, || floor.append()));
        costs[1].push(cost(count, || {
            runtime.block_on(empty.append(Barrier::Durable))
        }));
        costs[2].push(cost(count, || {
            runtime.block_on(long.append(Barrier::Durable))
        }));
        costs[3].push(cost(count, || {
            runtime.block_on(empty.append(Barrier::Buffered))
        }));
    }
    let of = |which: fn(&Cost) -> Duration| {
        costs
            .each_ref()
            .map(|costs| median(costs.iter().map(which).collect()))
    };
    let over = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
    for (what, [floor, new, old, buffered]) in [
        ("time", of(|cost| cost.time)),
        ("processor time", of(|cost| cost.cpu)),
    ] {
        println!("{what} of an append: floor {floor:.1?}, ours {new:.1?}, buffered {buffered:.1?}");
        println!("  ours / floor: {:.2}", over(new, floor));
        println!("  buffered / floor: {:.2}", over(buffered, floor));
        println!(
            "  after 10,000 events / to a new session: {:.2}",
            over(old, new)
        );
    }

    let resume = cost(if quick { 1 } else { 10 }, || {
        let events = runtime.block_on(journal::load(&sqlite, "s10000"));
        let events = events.expect("a journal");
        let view: View = events.iter().map(|stored| &stored.event).collect();
        black_box(view.messages().len());
    });
    println!(
        "resume of 10,000 events: {:.1?} of processor time",
        resume.cpu
    );

    let each = if quick { 2 } else { 200 };
    let alone = timed(|| {
        runtime.block_on(async {
            for _ in 0..each {
                empty.append(Barrier::Durable).await;
            }
        });
    });
    let together = timed(|| {
        runtime.block_on(async {
            let sessions = (0..32).map(|n| {
                let sqlite = &sqlite;
                async move {
                    let mut writer = Writer::new(sqlite, &format!("t{n}"), 0).await;
                    for _ in 0..each {
                        writer.append(Barrier::Durable).await;
                    }
                }
            });
            futures_util::future::join_all(sessions).await;
        });
    });
    let rate = |count: u32, time: Duration| f64::from(count) / time.as_secs_f64();
    let (one, many) = (rate(each, alone), rate(32 * each, together));
    println!(
        "appends a second: {one:.0} by one session, {many:.0} by 32 ({:.1} times)",
        many / one
    );
}

fn runtime() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

fn timed(what: impl FnOnce()) -> Duration {
    let start = Instant::now();
    what();
    start.elapsed()
}

/// What one append cost, of some in a row.
struct Cost {
    time: Duration,
    cpu: Duration,
}

fn cost(count: u32, mut append: impl FnMut()) -> Cost {
    let before = cpu();
    let time = timed(|| (0..count).for_each(|_| append()));
    Cost {
        time: time / count,
        cpu: cpu().saturating_sub(before) / count,
    }
}

/// Returns the processor time of all threads so far, as Linux tells it; nothing elsewhere.
fn cpu() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let nanos = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

criterion_group!(benches, append, resume, ratios);
criterion_main!(benches);

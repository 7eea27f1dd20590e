//! Many hosts over one Postgres: turns a second, how long an append takes among them, and how long a session of a killed
//! host is held.
//!
//! Each host is a process. It serves its share of the sessions at the same time; each turn asks a scripted model, calls a
//! tool that does nothing, and asks again. Another session of the host measures appends meanwhile. The server waits for the
//! disk, unlike in the tests.
//!
//! `cargo bench -p claw-runtime --features postgres --bench hosts -- [HOSTS [SESSIONS [SECONDS]]]`; with `--test` all of it is
//! done once and short.
#![allow(clippy::unwrap_used)]

#[path = "../tests/support/postgres.rs"]
#[expect(dead_code, reason = "tests need more of it")]
mod server;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use claw_runtime::agent::Agent;
use claw_runtime::event::Event;
use claw_runtime::message::ContentBlock;
use claw_runtime::provider::Scripted;
use claw_runtime::provider::scripted::{calls, says};
use claw_runtime::registry::Toolset;
use claw_runtime::session::{
    Append, Barrier, Lease, PostgresOptions, PostgresStore, SessionStore, StoreError,
};
use claw_runtime::tool::{Effect, Spec, Tool, ToolOutput};
use serde_json::json;
use tokio::runtime::Runtime;

/// After so many turns a host goes on with another session: what is measured is hosts, not long histories.
const TURNS: u64 = 20;

fn main() {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let runtime = Runtime::new().unwrap();
    match words[..] {
        ["host", url, name, sessions, seconds] => {
            let (sessions, seconds) = (sessions.parse().unwrap(), seconds.parse().unwrap());
            runtime.block_on(serve(url, name, sessions, Duration::from_secs(seconds)));
        }
        ["owner", url, lease] => {
            runtime.block_on(own(url, Duration::from_millis(lease.parse().unwrap())))
        }
        _ => runtime.block_on(measure(&words)),
    }
}

async fn measure(words: &[&str]) {
    let test = words.contains(&"--test");
    let mut numbers = words.iter().filter_map(|word| word.parse::<u64>().ok());
    let hosts = numbers.next().unwrap_or(if test { 2 } else { 3 });
    let sessions = numbers.next().unwrap_or(if test { 4 } else { 32 });
    let seconds = numbers.next().unwrap_or(if test { 1 } else { 10 });
    let Some(server) = server::Server::start(true) else {
        println!("skipped: no Postgres on this machine");
        return;
    };
    // As long as the process; the server notices when that ends.
    let database = Box::leak(Box::new(server)).database().await;
    let url = database.url();
    let store = connect(&url, Duration::from_secs(15)).await;

    floor(&store, &database, if test { 10 } else { 2000 }).await;

    let each = sessions.div_ceil(hosts).to_string();
    let seconds = seconds.to_string();
    let running: Vec<_> = (0..hosts)
        .map(|n| child(&["host", &url, &format!("h{n}"), &each, &seconds]))
        .collect();
    let mut turns = 0.0;
    let mut appends = Vec::new();
    for mut host in running {
        for line in BufReader::new(host.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            let (what, number) = line.split_once(' ').unwrap();
            match what {
                "turns" => turns += number.parse::<f64>().unwrap(),
                _ => appends.push(Duration::from_micros(number.parse().unwrap())),
            }
        }
        host.wait().unwrap();
    }
    println!("{hosts} hosts, {sessions} sessions: {turns:.0} turns/s");
    say("an append among them", appends);

    let leases: &[u64] = if test {
        &[300]
    } else {
        &[15_000, 15_000, 3000, 3000, 3000, 3000]
    };
    for lease in leases {
        takeover(&store, &url, *lease).await;
    }
}

/// Appends of one writer, beside the same rows written by hand.
async fn floor(store: &PostgresStore, database: &server::Database, times: u64) {
    let client = database.client().await;
    let make =
        "CREATE TABLE floor (session text, seq bigint, payload bytea, PRIMARY KEY (session, seq))";
    client.batch_execute(make).await.unwrap();
    let insert = client
        .prepare("INSERT INTO floor VALUES ('s', $1, $2)")
        .await
        .unwrap();
    let payload = serde_json::to_vec(&said()).unwrap();
    let lease = store.open("floor").await.unwrap();
    let (mut by_hand, mut by_store) = (Vec::new(), Vec::new());
    for n in 0..times {
        let begun = Instant::now();
        client
            .execute(&insert, &[&n.cast_signed(), &payload])
            .await
            .unwrap();
        by_hand.push(begun.elapsed());
        by_store.push(timed_append(store, &lease, n).await);
    }
    say("a row by hand", by_hand);
    say("an append alone", by_store);
}

async fn timed_append(store: &PostgresStore, lease: &Lease, after: u64) -> Duration {
    let append = Append {
        after,
        events: [said()].into(),
        barrier: Barrier::Durable,
        taken: &[],
    };
    let begun = Instant::now();
    store.append(lease, append).await.unwrap();
    begun.elapsed()
}

/// How long a session is held after its owner was killed.
async fn takeover(store: &PostgresStore, url: &str, lease: u64) {
    let mut owner = child(&["owner", url, &lease.to_string()]);
    let mut ready = String::new();
    BufReader::new(owner.stdout.take().unwrap())
        .read_line(&mut ready)
        .unwrap();
    let session = ready.trim();
    owner.kill().unwrap();
    owner.wait().unwrap();
    let killed = Instant::now();
    while let Err(StoreError::Live { .. }) = store.open(session).await {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!(
        "taken over {:.2?} after SIGKILL; lease {lease} ms, grace {} ms",
        killed.elapsed(),
        lease / 3
    );
}

async fn own(url: &str, lease: Duration) {
    let store = connect(url, lease).await;
    let session = format!("owned-{}", std::process::id());
    let lease = store.open(&session).await.unwrap();
    timed_append(&store, &lease, 0).await;
    // Through a renewal or none, as it happens.
    let while_renewing = Duration::from_millis(u64::from(std::process::id()) * 37 % 1000);
    tokio::time::sleep(while_renewing).await;
    println!("{session}");
    std::io::stdout().flush().unwrap();
    std::future::pending().await
}

async fn serve(url: &str, name: &str, sessions: u64, time: Duration) {
    let store = Arc::new(connect(url, Duration::from_secs(15)).await);
    let turns = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let running: Vec<_> = (0..sessions)
        .map(|n| {
            let (agent, turns) = (agent(store.clone()), turns.clone());
            let name = format!("{name}-{n}");
            tokio::spawn(async move {
                for nth in 0.. {
                    let mut session = agent.session(&format!("{name}-{nth}")).await.unwrap();
                    for _ in 0..TURNS {
                        if begun.elapsed() > time {
                            return;
                        }
                        assert_eq!(session.run("go").await.unwrap().text, "Done.");
                        turns.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        })
        .collect();
    let lease = store.open(&format!("{name}-probe")).await.unwrap();
    let mut appends = Vec::new();
    while begun.elapsed() < time {
        appends.push(timed_append(&store, &lease, appends.len() as u64).await);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for running in running {
        running.await.unwrap();
    }
    println!(
        "turns {}",
        turns.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64()
    );
    for append in appends {
        println!("append {}", append.as_micros());
    }
}

fn agent(store: Arc<PostgresStore>) -> Agent {
    let tool = Tool::dynamic(
        Spec {
            effect: Effect::Read,
            ..Spec::new("look".into(), "Looks.".into())
        },
        json!({"type": "object", "properties": {}}),
        Arc::new(|_, _| Box::pin(std::future::ready(Ok(ToolOutput::text("Nothing new."))))),
    );
    let model = Scripted::from_fn(|request| {
        let asked = request.messages.last().map(|message| &message.content[..]);
        match asked {
            Some([ContentBlock::Text { .. }, ..]) => calls("look", json!({})),
            _ => says("Done."),
        }
    });
    Agent::builder()
        .model(Arc::new(model), "m")
        .tools(Toolset::new([Arc::new(tool)]).unwrap())
        .store(store)
        .build()
        .unwrap()
}

async fn connect(url: &str, lease: Duration) -> PostgresStore {
    let mut options = PostgresOptions::new("bench", url);
    options.lease = lease;
    options.grace = lease / 3;
    PostgresStore::connect(options).await.unwrap()
}

fn said() -> Event {
    Event::UserInput {
        key: "input-1".to_owned(),
        content: vec![ContentBlock::text("What is new on this fine day?")],
    }
}

fn child(words: &[&str]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(words)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn say(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "{what}: p50 {:.2?}, p99 {:.2?} ({} times)",
        at(0.5),
        at(0.99),
        times.len()
    );
}

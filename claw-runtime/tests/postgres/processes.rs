//! Hosts as processes of their own, killed without warning.
//!
//! A child is this test program again, told by its environment to be a host. It says on its output what was acknowledged,
//! and nothing before that.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use claw_runtime::session::{PostgresStore, SessionStore, StoreError};

use crate::server::server;
use crate::{append, host, keys, options};

const URL: &str = "CLAW_TEST_HOST_URL";
const NAME: &str = "CLAW_TEST_HOST_NAME";
const SESSIONS: usize = 5;

/// What a child does: takes sessions in turn, appends a few events to each, and gives it up, until it is killed.
#[test]
fn child() {
    let (Ok(url), Ok(name)) = (std::env::var(URL), std::env::var(NAME)) else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut options = options(&url);
        options.lease = Duration::from_secs(1);
        options.grace = Duration::from_millis(300);
        let host = PostgresStore::connect(options).await.unwrap();
        let mut nth = 0;
        for turn in name.len().. {
            let session = format!("s{}", turn % SESSIONS);
            let lease = match host.open(&session).await {
                Ok(lease) => lease,
                Err(StoreError::Live { .. } | StoreError::Failed { .. }) => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                }
                Err(other) => panic!("{other}"),
            };
            let mut head = keys(&host, &session).await.len() as u64;
            for _ in 0..5 {
                nth += 1;
                let key = format!("{name}-{nth}");
                match append(&host, &lease, head, &key).await {
                    Ok(()) => writeln!(std::io::stderr(), "kept {session} {key}").unwrap(),
                    Err(StoreError::FenceLost { .. }) => break,
                    Err(other) => panic!("{other}"),
                }
                head += 1;
            }
            if host.close(lease).await.is_err() {
                break;
            }
        }
    });
}

/// Begins a child; its errors are what it says, for the test harness keeps its output.
fn begin(url: &str, name: &str) -> (Child, std::thread::JoinHandle<Vec<(String, String)>>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "processes::child",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(URL, url)
        .env(NAME, name)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let kept = std::thread::spawn(move || {
        let lines = lines.map_while(Result::ok);
        let kept = lines.filter_map(|line| {
            let mut words = line.strip_prefix("kept ")?.split(' ').map(str::to_owned);
            Some((words.next()?, words.next()?))
        });
        kept.collect()
    });
    (child, kept)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_that_are_killed_lose_nothing_and_double_nothing() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let url = database.url();
    // Makes the tables, and watches.
    let watch = host(&url).await;
    let mut kept: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // A seed of its own each time, told when the test fails.
    let moments = [(); 8].map(|()| 200 + RandomState::new().hash_one(()) % 600);
    println!("killed after {moments:?} ms");

    let mut running: Vec<_> = (0..3).map(|n| begin(&url, &format!("h{n}"))).collect();
    for (nth, moment) in moments.into_iter().enumerate() {
        tokio::time::sleep(Duration::from_millis(moment)).await;
        let (mut child, lines) = running.remove(0);
        child.kill().unwrap();
        child.wait().unwrap();
        for (session, key) in lines.join().unwrap() {
            kept.entry(session).or_default().push(key);
        }
        running.push(begin(&url, &format!("h{}", nth + 3)));
    }
    // One sleeps for longer than its time, and wakes amidst the others.
    let sleeper = running[0].0.id().to_string();
    let signal = |name: &str| Command::new("kill").args([name, &sleeper]).status();
    assert!(signal("-STOP").unwrap().success());
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(signal("-CONT").unwrap().success());
    tokio::time::sleep(Duration::from_millis(500)).await;
    for (mut child, lines) in running {
        child.kill().unwrap();
        child.wait().unwrap();
        for (session, key) in lines.join().unwrap() {
            kept.entry(session).or_default().push(key);
        }
    }

    assert!(kept.values().map(Vec::len).sum::<usize>() > 20, "{kept:?}");
    for (session, acknowledged) in kept {
        // Free once the time of its dead owner is over; nobody gave it up.
        let killed = Instant::now();
        let lease = loop {
            match watch.open(&session).await {
                Err(StoreError::Live { .. }) if killed.elapsed() < Duration::from_secs(60) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                opened => break opened.unwrap(),
            }
        };
        let found = keys(&*watch, &session).await;
        let once: BTreeSet<_> = found.iter().collect();
        assert_eq!(once.len(), found.len(), "{session} holds an event twice");
        for key in &acknowledged {
            assert!(once.contains(key), "{session} lost {key}");
        }
        // One a child at most was kept without its child's living to say so.
        assert!(found.len() - acknowledged.len() <= 11, "{session}");
        append(&watch, &lease, found.len() as u64, "on")
            .await
            .unwrap();
    }
}

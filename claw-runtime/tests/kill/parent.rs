//! The process that kills, and looks at what is left.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use claw_runtime::event::{Event, Status};
use claw_runtime::session::{MemoryStore, SessionStore, View, journal};

use crate::child::{self, Halt};

/// How a child's life ends.
#[derive(Clone, Copy, Debug)]
enum Death {
    /// Where it stops by itself.
    At(Halt),
    /// After so long, wherever it is then.
    After(Duration),
}

/// Kills children at every boundary and at random, and checks what is left each time.
pub(crate) fn watch() {
    for script in ["pure", "mixed"] {
        let mut boundaries = 0;
        for nth in 0.. {
            let mut reached = false;
            for halt in [Halt::Before(nth), Halt::After(nth)] {
                reached |= lives(script, &[Death::At(halt)]);
                boundaries += 1;
            }
            if !reached {
                break;
            }
        }
        println!("{script}: killed at {} boundaries", boundaries - 2);
    }
    let cases = std::env::var("CLAW_TEST_CASES").ok();
    let cases: u64 = cases.and_then(|cases| cases.parse().ok()).unwrap_or(16);
    for seed in 0..cases {
        let deaths = deaths(seed);
        println!("seed {seed}: {deaths:?}");
        lives(if seed % 3 == 0 { "pure" } else { "mixed" }, &deaths);
    }
}

/// Returns the deaths of a seed: a few, at boundaries and in between.
fn deaths(seed: u64) -> Vec<Death> {
    let mut state = seed;
    let mut random = |most: u64| {
        // One step of splitmix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % most
    };
    (0..=random(4))
        .map(|_| match random(3) {
            0 => Death::At(Halt::Before(random(5) as usize)),
            1 => Death::At(Halt::After(random(5) as usize)),
            _ => Death::After(Duration::from_micros(2_000 + random(25_000))),
        })
        .collect()
}

/// Lets one child after the other die, and the last one end the turn. Returns whether the first came to its death.
fn lives(script: &str, deaths: &[Death]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let mut kept = 0;
    let mut reached = false;
    for (nth, death) in deaths.iter().enumerate() {
        let died = die(folder.path(), script, *death, &mut kept);
        reached |= nth == 0 && died;
        check(folder.path(), kept);
    }
    let ended = die(folder.path(), script, Death::At(Halt::Nowhere), &mut kept);
    assert!(!ended, "the last child lives");
    check(folder.path(), kept);
    check_end(folder.path(), script);
    reached
}

/// Runs a child to its death. Returns whether it was killed; notes the last event that it was told is kept.
fn die(folder: &Path, script: &str, death: Death, kept: &mut u64) -> bool {
    let halt = match death {
        Death::At(halt) => halt,
        Death::After(_) => Halt::Nowhere,
    };
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["child", folder.to_str().unwrap(), script, &halt.text()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    if let Death::After(time) = death {
        std::thread::sleep(time);
        child.kill().unwrap();
    }
    let killed = listen(&mut child, kept);
    let status = child.wait().unwrap();
    assert!(
        killed || status.success() || matches!(death, Death::After(_)),
        "{status}"
    );
    killed
}

/// Hears what a child tells, and kills it when it stops.
fn listen(child: &mut Child, kept: &mut u64) -> bool {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in lines.map_while(Result::ok) {
        if line == "halt" {
            // SIGKILL.
            child.kill().unwrap();
            return true;
        }
        if let Some(seq) = line.strip_prefix("kept ").and_then(|seq| seq.parse().ok()) {
            *kept = seq;
        }
    }
    false
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn events(folder: &Path) -> Vec<Event> {
    if !folder.join("sessions.db").exists() {
        return Vec::new();
    }
    let store = child::store(folder);
    block_on(async {
        let findings = store.check().await.unwrap();
        assert!(findings.is_empty(), "{findings:?}");
        // It may have died before there was a session.
        let all = store.sessions(&Default::default()).await.unwrap();
        if all.is_empty() {
            return Vec::new();
        }
        let journal = journal::load(&store, "s").await.unwrap();
        journal.into_iter().map(|stored| stored.event).collect()
    })
}

/// What holds after every death: nothing acknowledged is lost, and no effect that must not be repeated was.
fn check(folder: &Path, kept: u64) {
    let events = events(folder);
    assert!(
        events.len() as u64 >= kept,
        "{} of {kept} events",
        events.len()
    );
    let ledger = std::fs::read_to_string(folder.join("ledger")).unwrap_or_default();
    let mut starts: HashMap<&str, usize> = HashMap::new();
    for line in ledger.lines() {
        *starts.entry(line).or_default() += 1;
    }
    for (line, count) in &starts {
        let most = if line.starts_with("send") { 1 } else { 2 };
        assert!(*count <= most, "`{line}` was started {count} times");
    }
    let mut ended: HashMap<&str, usize> = HashMap::new();
    for event in &events {
        match event {
            Event::Outcome { call, .. } => *ended.entry(call).or_default() += 1,
            Event::Intent { call, .. } => {
                assert!(
                    !ended.contains_key(&**call),
                    "`{call}` starts after its end"
                );
            }
            _ => {}
        }
    }
    assert!(ended.values().all(|count| *count == 1), "{ended:?}");
}

/// What holds at the end: one turn, answered; and for pure tools the conversation of a turn that nobody interrupted.
fn check_end(folder: &Path, script: &str) {
    let events = events(folder);
    let ends: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::TurnEnd { outcome, .. } => Some(&*outcome.text),
            _ => None,
        })
        .collect();
    assert_eq!(ends.len(), 1);
    let view: View = events.iter().collect();
    let poisoned = events.iter().any(|event| {
        matches!(
            event,
            Event::Outcome {
                status: Status::Crashed,
                ..
            }
        )
    });
    if script == "pure" && !poisoned && ends == ["Done."] {
        let store = Arc::new(MemoryStore::new());
        let scratch = tempfile::tempdir().unwrap();
        let agent = child::agent(store, scratch.path(), script);
        let whole = block_on(async {
            let mut session = agent.session("s").await.unwrap();
            session.run("Go.").await.unwrap();
            session.messages().to_vec()
        });
        // The view also says where in the journal it stands, and a life more is two events more.
        assert_eq!(view.messages(), whole);
    }
}

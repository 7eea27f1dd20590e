//! Jobs, their turns and their ends, on a model that counts.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use tokio::sync::mpsc;

use super::tiny::Tiny;
use super::*;
use crate::provider::local::engine::memories::{Memories, Reads};
use crate::provider::local::engine::worker::work;

/// Says `a`, `b`, `c` … by how many tokens came before; its memory is those it read.
struct Counts<'a> {
    seen: &'a Mutex<Vec<u32>>,
    panics_at: Option<u32>,
}

impl Reads for Counts<'_> {
    type Memory = Vec<u32>;

    fn read_on(&self, memory: &mut Vec<u32>, tokens: &[u32], logits: Option<&mut Vec<f32>>) {
        assert!(!tokens.is_empty());
        assert!(Some(tokens[0]) != self.panics_at, "the model broke");
        self.seen.lock().unwrap().extend(tokens);
        memory.extend(tokens);
        if let Some(logits) = logits {
            logits.clear();
            logits.resize(262, 0.0);
            logits[97 + memory.len() % 26] = 1.0;
        }
    }

    fn first(&self, memory: &Vec<u32>, tokens: usize) -> Vec<u32> {
        memory[..tokens].to_vec()
    }

    fn cut(&self, memory: &mut Vec<u32>, tokens: usize) {
        memory.truncate(tokens);
    }
}

struct Thread {
    orders: Option<Sender<Order>>,
    gate: Sender<()>,
    loads: Arc<AtomicUsize>,
    thread: Option<JoinHandle<Vec<u32>>>,
}

impl Thread {
    /// Starts a worker with room for so many tokens together.
    fn start(tokens: usize, idle: Duration) -> Self {
        let thread = Self::closed(tokens, idle);
        thread.open();
        thread
    }

    /// The same, but nothing is worked on before it is opened.
    fn closed(tokens: usize, idle: Duration) -> Self {
        let (orders, mut taken) = channel();
        let (gate, opened) = channel();
        let loads = Arc::new(AtomicUsize::new(0));
        let counted = loads.clone();
        let (_folder, path) = Tiny::new("llama").write();
        let vocabulary = Arc::new(Opened::read(&path).unwrap().vocabulary);
        let thread = std::thread::spawn(move || {
            opened.recv().unwrap();
            let rules = Rules {
                vocabulary,
                context: 400,
                tokens,
                idle,
            };
            let seen = Mutex::default();
            work(&mut taken, &rules, || {
                counted.fetch_add(1, Ordering::SeqCst);
                Ok(Counts {
                    seen: &seen,
                    panics_at: Some(13),
                })
            });
            seen.into_inner().unwrap()
        });
        Self {
            orders: Some(orders),
            gate,
            loads,
            thread: Some(thread),
        }
    }

    fn open(&self) {
        self.gate.send(()).unwrap();
    }

    fn ask(&self, job: Job) -> mpsc::Receiver<Piece> {
        let (pieces, receiver) = mpsc::channel(1000);
        let place = Place::take(&Arc::default()).unwrap();
        let order = Order::new(job, pieces, place);
        self.orders.as_ref().unwrap().send(order).unwrap();
        receiver
    }

    /// Ends the thread and returns every token the model read.
    fn end(mut self) -> Vec<u32> {
        self.orders = None;
        self.thread.take().unwrap().join().unwrap()
    }
}

/// Everything a job gave out: its text, and its last piece.
fn outcome(mut pieces: mpsc::Receiver<Piece>) -> (String, Piece) {
    let mut text = String::new();
    let mut last = None;
    while let Some(piece) = pieces.blocking_recv() {
        if let Piece::Text(more) = &piece {
            text += more;
        }
        last = Some(piece);
    }
    (text, last.unwrap())
}

fn done(end: End, prompt: usize, cached: usize, reply: usize) -> Piece {
    Piece::Done(Done {
        end,
        prompt,
        cached,
        reply,
    })
}

const LONG: Duration = Duration::from_secs(600);

#[test]
fn a_reply_is_cut_at_its_bound_and_at_the_context() {
    let thread = Thread::start(4000, LONG);
    assert_eq!(
        outcome(thread.ask(job(vec![1, 2], 3))),
        ("cde".to_owned(), done(End::Length, 2, 0, 3))
    );
    let (text, end) = outcome(thread.ask(job(vec![5; 398], 100)));
    assert_eq!((text.len(), end), (2, done(End::Length, 398, 0, 2)));
    thread.end();
}

#[test]
fn a_stop_text_ends_the_reply_and_is_no_part_of_it() {
    let thread = Thread::start(4000, LONG);
    let stopping = |stop: &[&str]| Job {
        stop: stop.iter().map(ToString::to_string).collect(),
        ..job(vec![1, 2], 10)
    };
    assert_eq!(
        outcome(thread.ask(stopping(&["ghx", "ef"]))),
        ("cd".to_owned(), done(End::Stop, 2, 0, 4))
    );
    // What only looked like one is given out in the end.
    let (text, _) = outcome(thread.ask(stopping(&["lz", ""])));
    assert_eq!(text, "cdefghijkl");
    thread.end();
}

#[test]
fn a_prompt_that_goes_on_is_read_from_where_it_differs() {
    let thread = Thread::start(4000, LONG);
    let first: Vec<u32> = (100..200).collect();
    outcome(thread.ask(job(first.clone(), 2)));
    let mut longer = first.clone();
    longer.extend([7, 8]);
    let (_, end) = outcome(thread.ask(job(longer, 1)));
    assert_eq!(end, done(End::Length, 102, 100, 1));
    // The very same prompt again: its last token is read, to know what follows.
    let (_, end) = outcome(thread.ask(job(first, 1)));
    assert_eq!(end, done(End::Length, 100, 99, 1));
    let read = thread.end();
    // 100 and one of the reply, two, one.
    assert_eq!(read.len(), 101 + 2 + 1);
}

#[test]
fn jobs_take_turns() {
    let thread = Thread::closed(4000, LONG);
    let long = thread.ask(job(vec![1, 2], 300));
    let short = thread.ask(job(vec![3, 4, 5], 2));
    thread.open();
    assert_eq!(outcome(short).0, "de");
    let (text, end) = outcome(long);
    assert_eq!((text.len(), end), (300, done(End::Length, 2, 0, 300)));
    let read = thread.end();
    // One prompt, the other, and from then on a token of each.
    assert_eq!(read[..6], [1, 2, 3, 4, 5, 99]);
}

#[test]
fn jobs_without_room_wait_and_are_told() {
    let thread = Thread::closed(400, LONG);
    let first = thread.ask(job(vec![1; 200], 100));
    let mut second = thread.ask(job(vec![2; 200], 100));
    thread.open();
    assert_eq!(second.blocking_recv(), Some(Piece::Waiting { before: 1 }));
    outcome(first);
    let (_, end) = outcome(second);
    assert_eq!(end, done(End::Length, 200, 0, 100));
    thread.end();
}

#[test]
fn a_cancel_ends_a_job_wherever_it_is() {
    let thread = Thread::closed(400, LONG);
    let (running, waiting) = (job(vec![1; 100], 299), job(vec![2; 100], 299));
    let cancels = [running.cancel.clone(), waiting.cancel.clone()];
    let both = [thread.ask(running), thread.ask(waiting)];
    cancels.iter().for_each(CancellationToken::cancel);
    thread.open();
    for pieces in both {
        assert_eq!(outcome(pieces).1, done(End::Cancelled, 100, 0, 0));
    }
    // Within a reply: the model's first token cancels its own job.
    let running = job(vec![1; 100], 299);
    let cancel = running.cancel.clone();
    let mut pieces = thread.ask(Job {
        constraint: Some(Box::new(Cancels(cancel))),
        ..running
    });
    let mut last = None;
    while let Some(piece) = pieces.blocking_recv() {
        last = Some(piece);
    }
    assert_eq!(last, Some(done(End::Cancelled, 100, 0, 1)));
    // Going away is a cancel.
    drop(thread.ask(job(vec![3; 390], 10)));
    assert_eq!(
        outcome(thread.ask(job(vec![4], 1))).1,
        done(End::Length, 1, 0, 1)
    );
    thread.end();
}

#[test]
fn a_panic_fails_its_job_and_no_other() {
    let thread = Thread::start(4000, LONG);
    let (_, end) = outcome(thread.ask(job(vec![13], 5)));
    assert_eq!(
        end,
        Piece::Failed(EngineError::Inside("the model broke".to_owned()))
    );
    let (_, end) = outcome(thread.ask(job(vec![1], 5)));
    assert_eq!(end, done(End::Length, 1, 0, 5));
    thread.end();
}

#[test]
fn weights_are_loaded_on_demand_and_dropped_when_idle() {
    let thread = Thread::start(4000, Duration::ZERO);
    for _ in 0..3 {
        outcome(thread.ask(job(vec![1], 1)));
    }
    let loads = thread.loads.clone();
    thread.end();
    // Never before a job, and again after each pause; whether there was one between two jobs is up to the machine.
    assert!((1..=3).contains(&loads.load(Ordering::SeqCst)));
    let idle = Thread::start(4000, LONG);
    assert_eq!(idle.loads.load(Ordering::SeqCst), 0);
    assert!(idle.end().is_empty());
}

/// Allows everything, and cancels at the first token.
struct Cancels(CancellationToken);

impl Constraint for Cancels {
    fn mask(&mut self, _: &mut [f32]) -> Result<Step, ConstraintError> {
        Ok(Step::More)
    }

    fn take(&mut self, _: u32) -> Result<Step, ConstraintError> {
        self.0.cancel();
        Ok(Step::More)
    }
}

/// Allows only what was scripted, and forces what follows a token.
struct Scripted {
    allowed: Vec<u32>,
    forced: Vec<u32>,
    taken: Vec<u32>,
    complete_after: usize,
}

impl Constraint for Scripted {
    fn mask(&mut self, logits: &mut [f32]) -> Result<Step, ConstraintError> {
        if self.allowed.is_empty() {
            return Err(ConstraintError("nothing is allowed".to_owned()));
        }
        for (token, logit) in logits.iter_mut().enumerate() {
            if !self.allowed.contains(&(token as u32)) {
                *logit = f32::NEG_INFINITY;
            }
        }
        Ok(Step::More)
    }

    fn take(&mut self, token: u32) -> Result<Step, ConstraintError> {
        self.taken.push(token);
        let complete = self.taken.len() >= self.complete_after;
        Ok(if complete { Step::Complete } else { Step::More })
    }

    fn forced(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.forced)
    }
}

#[test]
fn a_constraint_chooses_forces_and_ends() {
    let thread = Thread::start(4000, LONG);
    let with = |allowed: &[u32], complete_after| Job {
        constraint: Some(Box::new(Scripted {
            allowed: allowed.to_vec(),
            forced: b"-->".map(u32::from).to_vec(),
            taken: Vec::new(),
            complete_after,
        })),
        ..job(vec![1, 2], 50)
    };
    assert_eq!(
        outcome(thread.ask(with(&[b'x'.into()], 6))),
        ("x-->xx".to_owned(), done(End::Complete, 2, 0, 6))
    );
    assert_eq!(
        outcome(thread.ask(with(&[b'x'.into()], 3))),
        ("x--".to_owned(), done(End::Complete, 2, 1, 3))
    );
    let failed = EngineError::Constraint(ConstraintError("nothing is allowed".to_owned()));
    assert_eq!(outcome(thread.ask(with(&[], 3))).1, Piece::Failed(failed));
    thread.end();
}

#[test]
fn kept_memories_are_bounded_and_the_oldest_go_first() {
    let seen = Mutex::default();
    let model = Counts {
        seen: &seen,
        panics_at: None,
    };
    let mut memories = Memories::new();
    let text = |start: u32| (start..start + 10).collect::<Vec<u32>>();
    for start in [100, 200, 300] {
        memories.keep(text(start), text(start));
    }
    memories.shrink(25);
    assert_eq!(memories.tokens(), 20);
    assert_eq!(memories.take(&text(100), &model), (vec![], 0));
    // A beginning is copied and the whole stays; a text that goes on takes its memory along.
    assert_eq!(memories.take(&[300, 301, 1], &model), (vec![300, 301], 2));
    assert_eq!(memories.tokens(), 20);
    assert_eq!(memories.take(&text(300), &model), ((300..309).collect(), 9));
    assert_eq!(memories.tokens(), 10);
    memories.shrink(0);
    assert_eq!(memories.tokens(), 0);
}

#[test]
fn the_engine_refuses_what_it_cannot_do() {
    let (_folder, path) = Tiny::new("llama").write();
    let engine = Engine::open(&path, &Options::default()).unwrap();
    assert_eq!(engine.about().context, 512);
    let err = engine.run(job(vec![1; 512], 1)).err().unwrap();
    assert_eq!(
        err.to_string(),
        "the prompt has 512 tokens, the context holds 512 with the reply"
    );
    assert!(engine.run(job(vec![262], 1)).is_err());
    assert!(engine.run(job(vec![], 1)).is_err());
    let jobs: Vec<_> = (0..MOST_JOBS)
        .map(|_| engine.run(job(vec![1; 300], 200)).unwrap())
        .collect();
    let busy = engine.run(job(vec![1], 1)).err();
    assert_eq!(busy, Some(EngineError::Busy { waiting: MOST_JOBS }));
    drop(jobs);
}

#[test]
fn a_file_replaced_by_a_broken_one_fails_the_job() {
    let (_folder, path) = Tiny::new("llama").write();
    let engine = Engine::open(&path, &Options::default()).unwrap();
    std::fs::write(&path, "GGUF").unwrap();
    let (_, end) = outcome(engine.run(job(vec![1], 1)).unwrap());
    assert!(
        matches!(end, Piece::Failed(EngineError::File { .. })),
        "{end:?}"
    );
}

#[test]
fn the_same_job_gives_the_same_reply() {
    let (_folder, path) = Tiny::new("qwen2").write();
    let engine = Engine::open(&path, &Options::default()).unwrap();
    let seeded = |seed| Job {
        temperature: 0.9,
        top_p: 0.95,
        seed,
        ..job(vec![104, 105], 60)
    };
    let reply = |job| outcome(engine.run(job).unwrap()).0;
    assert_eq!(
        reply(job(vec![104, 105], 60)),
        reply(job(vec![104, 105], 60))
    );
    assert_eq!(reply(seeded(1)), reply(seeded(1)));
    assert_ne!(reply(seeded(1)), reply(seeded(2)));
}

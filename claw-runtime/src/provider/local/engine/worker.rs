//! The thread a model runs on, and the queue before it.
//!
//! Jobs that fit into memory take turns, one step each: a chunk of the prompt or one token. So a short question is not
//! stuck behind a long answer, and nobody's stream falls silent. Those that do not fit wait in the order they came.
//! Together the steps take as long as they would one job after the other.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use tokio::sync::mpsc::Sender;

use super::memories::{Memories, Reads};
use super::sample::Sampler;
use super::text::Text;
use super::vocabulary::{Kind, Vocabulary};
use super::{Done, End, EngineError, Job, Piece, Place, Step};

/// Tokens of a prompt that are read in one step: many, so that weights read once serve many; few, so that a cancel
/// and the other jobs need not wait long.
pub(super) const CHUNK: usize = 64;

/// A job on its way, and where its pieces go.
pub(super) struct Order {
    job: Job,
    pieces: Sender<Piece>,
    _place: Place,
    /// How many jobs it was last told to come before it.
    before: Option<usize>,
}

impl Order {
    pub(super) fn new(job: Job, pieces: Sender<Piece>, place: Place) -> Self {
        Self {
            job,
            pieces,
            _place: place,
            before: None,
        }
    }

    fn send(&self, piece: Piece) {
        // There is room for every piece; whoever went away is seen at the next step.
        let _ = self.pieces.try_send(piece);
    }

    fn is_cancelled(&self) -> bool {
        self.job.cancel.is_cancelled() || self.pieces.is_closed()
    }
}

/// What the worker goes by.
pub(super) struct Rules {
    pub vocabulary: Arc<Vocabulary>,
    /// Tokens a job may have with its reply.
    pub context: usize,
    /// Tokens all jobs and kept memories may have together.
    pub tokens: usize,
    /// How long weights stay loaded without a job.
    pub idle: Duration,
}

/// Runs until every handle that could send an order is gone and the last job is done.
pub(super) fn work<R: Reads + Sync>(
    orders: &mut Receiver<Order>,
    rules: &Rules,
    load: impl Fn() -> Result<R, EngineError>,
) {
    while let Ok(first) = orders.recv() {
        let model = match guarded(&load) {
            Ok(model) => model,
            Err(err) => {
                first.send(Piece::Failed(err));
                continue;
            }
        };
        let more = model.on_threads(|| {
            let worker = Worker {
                rules,
                model: &model,
                waiting: VecDeque::from([first]),
                active: VecDeque::new(),
                memories: Memories::new(),
            };
            worker.until_idle(orders)
        });
        if !more {
            return;
        }
    }
}

/// Calls `work`; a panic in it is an error like any other.
fn guarded<T>(work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Err(EngineError::Inside(
            text.unwrap_or_else(|| "a panic".to_owned()),
        ))
    })
}

struct Worker<'a, R: Reads> {
    rules: &'a Rules,
    model: &'a R,
    waiting: VecDeque<Order>,
    active: VecDeque<Active<R::Memory>>,
    memories: Memories<R::Memory>,
}

impl<R: Reads> Worker<'_, R> {
    /// Works until there was nothing to do for long, and returns whether orders may still come.
    fn until_idle(mut self, orders: &mut Receiver<Order>) -> bool {
        loop {
            // Whether a handle is left matters only once there is nothing to do.
            self.waiting.extend(orders.try_iter());
            self.admit();
            if let Some(active) = self.active.pop_front() {
                self.step(active);
                continue;
            }
            match orders.recv_timeout(self.rules.idle) {
                Ok(order) => self.waiting.push_back(order),
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    /// Takes in as many waiting jobs as have room, and drops kept memories for them.
    fn admit(&mut self) {
        self.waiting.retain(|order| {
            let cancelled = order.is_cancelled();
            if cancelled {
                order.send(Piece::Done(Done {
                    end: End::Cancelled,
                    prompt: order.job.prompt.len(),
                    cached: 0,
                    reply: 0,
                }));
            }
            !cancelled
        });
        while let Some(order) = self.waiting.front() {
            let needed = self.active.iter().map(|active| active.most).sum::<usize>();
            let most = order.job.prompt.len().saturating_add(order.job.most);
            let most = most.min(self.rules.context);
            // One job alone always has room: a whole context was counted before loading.
            let left = self.rules.tokens.saturating_sub(needed);
            if most > left && !self.active.is_empty() {
                break;
            }
            let Some(order) = self.waiting.pop_front() else {
                return;
            };
            let (memory, cached) = self.memories.take(&order.job.prompt, self.model);
            self.memories.shrink(left.saturating_sub(most));
            self.active
                .push_back(Active::new(order, memory, cached, most));
        }
        for (at, order) in self.waiting.iter_mut().enumerate() {
            let before = self.active.len() + at;
            if order.before.is_none_or(|told| before < told) {
                order.before = Some(before);
                order.send(Piece::Waiting { before });
            }
        }
    }

    fn step(&mut self, mut active: Active<R::Memory>) {
        match guarded(|| active.step(self.model, self.rules)) {
            Ok(None) => self.active.push_back(active),
            Ok(Some(end)) => {
                let text = active.text.finish();
                if !text.is_empty() {
                    active.order.send(Piece::Text(text));
                }
                active.order.send(Piece::Done(Done {
                    end,
                    prompt: active.prompt,
                    cached: active.cached,
                    reply: active.reply,
                }));
                let Active {
                    mut tokens,
                    read,
                    memory,
                    ..
                } = active;
                tokens.truncate(read);
                self.memories.keep(tokens, memory);
                let needed = self.active.iter().map(|active| active.most).sum::<usize>();
                self.memories
                    .shrink(self.rules.tokens.saturating_sub(needed));
            }
            // What a failed job remembers may be half written, so it is not kept.
            Err(err) => active.order.send(Piece::Failed(err)),
        }
    }
}

/// A job that is being done.
struct Active<M> {
    order: Order,
    memory: M,
    /// The prompt and the reply so far.
    tokens: Vec<u32>,
    /// Tokens of the prompt.
    prompt: usize,
    /// Those of them that were found in a memory.
    cached: usize,
    /// How many tokens the memory has.
    read: usize,
    reply: usize,
    /// Tokens it may come to have.
    most: usize,
    sampler: Sampler,
    text: Text,
    logits: Vec<f32>,
}

impl<M: Default> Active<M> {
    fn new(mut order: Order, memory: M, cached: usize, most: usize) -> Self {
        let job = &mut order.job;
        let tokens = std::mem::take(&mut job.prompt);
        Self {
            prompt: tokens.len(),
            sampler: Sampler::new(job.temperature, job.top_p, job.seed),
            text: Text::new(std::mem::take(&mut job.stop)),
            order,
            memory,
            tokens,
            cached,
            read: cached,
            reply: 0,
            most,
            logits: Vec::new(),
        }
    }

    /// Reads a chunk, or chooses the next token; returns how the reply ended once it has.
    fn step(
        &mut self,
        model: &impl Reads<Memory = M>,
        rules: &Rules,
    ) -> Result<Option<End>, EngineError> {
        if self.order.is_cancelled() {
            return Ok(Some(End::Cancelled));
        }
        let next = &self.tokens[self.read..];
        if next.len() > CHUNK {
            model.read_on(&mut self.memory, &next[..CHUNK], None);
            self.read += CHUNK;
            self.told();
            return Ok(None);
        }
        model.read_on(&mut self.memory, next, Some(&mut self.logits));
        self.read = self.tokens.len();
        self.told();
        self.choose(rules)
    }

    fn told(&self) {
        if self.reply == 0 {
            self.order.send(Piece::Prompt {
                done: self.read,
                total: self.prompt,
            });
        }
    }

    fn choose(&mut self, rules: &Rules) -> Result<Option<End>, EngineError> {
        if self.tokens.len() >= self.most {
            return Ok(Some(End::Length));
        }
        let kinds = &rules.vocabulary.kinds;
        for (logit, kind) in self.logits.iter_mut().zip(kinds) {
            if *kind == Kind::Unused {
                *logit = f32::NEG_INFINITY;
            }
        }
        if let Some(constraint) = &mut self.order.job.constraint
            && constraint.mask(&mut self.logits)? == Step::Complete
        {
            return Ok(Some(End::Complete));
        }
        let token = self.sampler.choose(&self.logits);
        let token =
            token.ok_or_else(|| EngineError::Inside("no token may come next".to_owned()))?;
        if let Some(end) = self.take(token, rules)? {
            return Ok(Some(end));
        }
        // Tokens that must come are not asked of the model; they are read with the next step.
        while let Some(constraint) = &mut self.order.job.constraint {
            let forced = constraint.forced();
            if forced.is_empty() {
                break;
            }
            for token in forced {
                if let Some(end) = self.take(token, rules)? {
                    return Ok(Some(end));
                }
            }
        }
        Ok(None)
    }

    fn take(&mut self, token: u32, rules: &Rules) -> Result<Option<End>, EngineError> {
        let step = match &mut self.order.job.constraint {
            Some(constraint) => constraint.take(token)?,
            None => Step::More,
        };
        self.tokens.push(token);
        self.reply += 1;
        if rules.vocabulary.end.contains(&token) {
            return Ok(Some(End::Complete));
        }
        let (text, stopped) = self.text.push(rules.vocabulary.text(token));
        if !text.is_empty() {
            self.order.send(Piece::Text(text));
        }
        Ok(match step {
            _ if stopped => Some(End::Stop),
            Step::Complete => Some(End::Complete),
            Step::More if self.tokens.len() >= self.most => Some(End::Length),
            Step::More => None,
        })
    }
}

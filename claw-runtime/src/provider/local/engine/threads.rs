//! The engine's own threads.
//!
//! The count is the engine's, not that of a pool the whole process shares. Work is divided by stealing: a thread that
//! does not get a core in time is not waited for, so a busy machine makes the engine slower by what it takes, no more.

use std::num::NonZeroUsize;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Some threads of our own, so that no work goes to those that a whole process shares.
pub(super) struct Threads {
    pool: Option<ThreadPool>,
}

impl Threads {
    /// Returns one less than the machine has cores, 1 at least.
    pub(super) fn default_count() -> NonZeroUsize {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        NonZeroUsize::new(cores - 1).unwrap_or(NonZeroUsize::MIN)
    }

    /// Starts `count` threads; where the system gives none, all is done by the caller.
    pub(super) fn new(count: NonZeroUsize) -> Self {
        let pool = ThreadPoolBuilder::new().num_threads(count.get());
        let pool = pool.thread_name(|at| format!("claw-model-{at}"));
        Self {
            pool: pool.build().ok(),
        }
    }

    /// Returns how many there are.
    pub(super) fn count(&self) -> usize {
        self.pool
            .as_ref()
            .map_or(1, ThreadPool::current_num_threads)
    }

    /// Runs `work` so that what it divides is done by these threads.
    pub(super) fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Calls `work` for parts of `out` with the number of their first row; a part has `grain` rows at least.
    pub(super) fn chunks(
        &self,
        out: &mut [f32],
        row: usize,
        grain: usize,
        work: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        let rows = out.len() / row;
        let count = self.count();
        let part = rows.div_ceil(count * 4).max(grain);
        if count == 1 || part >= rows {
            return work(0, out);
        }
        let parts = out.par_chunks_mut(part * row).enumerate();
        parts.for_each(|(at, out)| work(at * part, out));
    }
}

//! The engine on models the test writes, and on a real one where `CLAW_TEST_GGUF` names it.

mod choice;
mod formats;
mod head;
mod kernels;
mod pass;
mod queue;
mod real;
mod tiny;
mod words;

use std::path::PathBuf;

use tokio_util::sync::CancellationToken;

use super::*;

/// Writes a model of random weights and a context of 512 single bytes, for tests of what stands on the engine.
pub(in crate::provider::local) fn small_model() -> (tempfile::TempDir, PathBuf) {
    tiny::Tiny::new("llama").write()
}

/// A job that takes the likeliest tokens.
fn job(prompt: Vec<u32>, most: usize) -> Job {
    Job {
        prompt,
        constraint: None,
        most,
        temperature: 0.0,
        top_p: 1.0,
        seed: 0,
        stop: Vec::new(),
        cancel: CancellationToken::new(),
    }
}

/// Loads the weights of a file.
fn load(path: &Path, threads: NonZeroUsize) -> Result<Model, EngineError> {
    Opened::read(path)?.load(path, threads)
}

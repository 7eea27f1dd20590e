//! The engine on a model the test writes, and on a real one where `CLAW_TEST_GGUF` names it.

mod formats;
mod head;
mod pass;
mod tiny;

use std::path::PathBuf;
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::*;

/// The file that `CLAW_TEST_GGUF` names.
fn weights() -> Option<PathBuf> {
    let path = std::env::var_os("CLAW_TEST_GGUF").map(PathBuf::from);
    if path.is_none() {
        eprintln!("skipped: CLAW_TEST_GGUF names no file of weights");
    }
    path
}

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

#[test]
fn speaks() {
    let Some(path) = weights() else { return };
    let start = Instant::now();
    let engine = Engine::open(&path, &Options::default()).unwrap();
    eprintln!("open {:?} {:?}", start.elapsed(), engine.about());
    for text in [
        "What is the capital of France?",
        "Tell me a story about a fox.",
    ] {
        let prompt = engine.vocabulary().encode(&format!("<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"), true);
        eprintln!("{prompt:?}");
        let start = Instant::now();
        let mut pieces = engine.run(job(prompt, 100)).unwrap();
        let mut first = None;
        let mut out = String::new();
        while let Some(piece) = pieces.blocking_recv() {
            match piece {
                Piece::Text(text) => {
                    first.get_or_insert(start.elapsed());
                    out += &text;
                }
                other => eprintln!("{:?} {other:?}", start.elapsed()),
            }
        }
        eprintln!("{out}\nfirst {first:?} all {:?}", start.elapsed());
    }
}

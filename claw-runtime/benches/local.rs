//! How fast a model runs in this process: start to the first token, tokens of prompts and of replies a second.
//!
//! Needs weights: `CLAW_LOCAL_GGUF=model.gguf cargo bench -p claw-runtime --features local --bench local`; without, it says
//! that it skipped. With `CLAW_LOCAL_BESIDE=http://127.0.0.1:18182/v1` a server with the OpenAI API and the same weights is
//! asked the same in turns, by the same code, and the last line tells ours as a share of its speed. Threads of ours:
//! `CLAW_LOCAL_THREADS`, 1 by default; the server's are its own.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use claw_runtime::dialect::Dialect;
use claw_runtime::message::Message;
use claw_runtime::provider::local::{Local, Settings};
use claw_runtime::provider::{Delta, DeltaSink, OpenAiChat, Provider, Request, ToolChoice};

/// Requests to each side.
const ROUNDS: usize = 7;
/// Tokens of a reply at most; the question is one that is answered at length.
const REPLY: u64 = 128;

/// Notes when text came.
#[derive(Default)]
struct Clock {
    first: Option<Instant>,
}

impl DeltaSink for &mut Clock {
    fn delta(&mut self, _: Delta) {
        self.first.get_or_insert_with(Instant::now);
    }
}

/// What one request took.
struct Sample {
    first: Duration,
    prompt_rate: f64,
    reply_rate: f64,
}

/// Asks once; no two rounds begin alike, so that no side finds the prompt in a cache.
async fn ask(provider: &dyn Provider, model: &str, round: usize) -> Result<Sample, String> {
    let facts: Vec<String> = (0..24)
        .map(|at| {
            format!(
                "Fact {} of day {round}: the {at}th ship left with {} barrels.",
                at * 7 + round,
                at * 31 + round
            )
        })
        .collect();
    let system = format!("Day {round}. {}", facts.join(" "));
    let question = [Message::user(
        "Tell me a long story about these ships and their crews.",
    )];
    let request = Request {
        model,
        system: &system,
        messages: &question,
        history: None,
        tools: None,
        dialect: Dialect::CANONICAL,
        tool_choice: ToolChoice::None,
        max_output_tokens: Some(REPLY),
        stop: &[],
        form: None,
    };
    let mut clock = Clock::default();
    let start = Instant::now();
    let reply = provider.complete(request, Some(Box::new(&mut clock))).await;
    let end = start.elapsed();
    let reply = reply.map_err(|err| err.to_string())?;
    let usage = reply.usage.ok_or("no usage was told")?;
    let first = clock.first.ok_or("no text came")?.duration_since(start);
    Ok(Sample {
        first,
        prompt_rate: usage.input_tokens as f64 / first.as_secs_f64(),
        reply_rate: (usage.output_tokens as f64 - 1.0) / (end - first).as_secs_f64(),
    })
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn told(name: &str, samples: &[Sample]) -> [f64; 2] {
    let prompt = median(samples.iter().map(|sample| sample.prompt_rate).collect());
    let reply = median(samples.iter().map(|sample| sample.reply_rate).collect());
    println!(
        "{name}: prompt {prompt:.0}, reply {reply:.1} tokens/s (median of {})",
        samples.len()
    );
    [prompt, reply]
}

fn main() {
    let Ok(path) = std::env::var("CLAW_LOCAL_GGUF") else {
        println!("local: skipped, CLAW_LOCAL_GGUF names no weights");
        return;
    };
    let threads = std::env::var("CLAW_LOCAL_THREADS").ok();
    let threads = threads
        .and_then(|it| it.parse().ok())
        .unwrap_or(NonZeroUsize::MIN);
    let beside = std::env::var("CLAW_LOCAL_BESIDE").ok();
    let beside = beside.map(|url| OpenAiChat::new("beside", &url, None).expect("an address"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let settings = Settings {
        threads: Some(threads),
        ..Settings::default()
    };
    let local = Local::new("local", settings);
    runtime.block_on(async {
        let loaded = ask(&local, &path, 0).await.expect("a reply");
        println!(
            "threads {threads}; first token {:.2} s after start, weights loaded on the way",
            loaded.first.as_secs_f64()
        );
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 1..=ROUNDS {
            ours.push(ask(&local, &path, round).await.expect("a reply"));
            if let Some(beside) = &beside {
                theirs.push(ask(beside, "any", round).await.expect("a reply"));
            }
        }
        let ours = told("claw", &ours);
        if beside.is_some() {
            let theirs = told("beside", &theirs);
            println!(
                "claw ÷ beside: prompt {:.2}, reply {:.2}",
                ours[0] / theirs[0],
                ours[1] / theirs[1]
            );
        }
    });
}

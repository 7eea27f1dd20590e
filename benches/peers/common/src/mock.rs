//! A scripted chat-completions service.
//!
//! All state stands in the request, so any number of sessions may run at once. The model's name is the script: `mock-t5`
//! asks for tools until the conversation holds five results, then answers; where a stream is asked for, `mock-t0-c20-d10`
//! answers in 20 pieces, 10 ms apart. `GET /times` tells when the first and the last request came since `GET /forget`.
//!
//! It runs in a process of its own, so that its work is not counted.

use std::fmt::Write as _;
use std::io::BufRead;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::figures;

/// The tools it asks for in turn, with their arguments as they stand inside a JSON string. A number stands for `#`: the
/// same call again and again would be taken for a loop.
const CALLS: [(&str, &str); 3] = [
    (
        "get_weather",
        r#"{\"city\":\"Oslo\",\"days\":#,\"metric\":true}"#,
    ),
    (
        "search_docs",
        r#"{\"query\":\"static registry\",\"limit\":#,\"lang\":\"en\"}"#,
    ),
    ("add3", r#"{\"a\":1.5,\"b\":#,\"c\":-3.0}"#),
];
const ANSWER: &str = "The weather in Oslo is mild; the documents were found; the sum is 0.75.";
/// The argument that makes a program this service.
const FLAG: &str = "--mock";

/// The service, ended when dropped.
pub struct Mock {
    child: Child,
    /// Where it is, up to `/v1`.
    pub base: String,
}

impl Mock {
    /// Starts this program once more as the service.
    pub fn start() -> Self {
        let program = std::env::current_exe().expect("a program knows its own path");
        let mut child = Command::new(program)
            .arg(FLAG)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts again");
        let mut base = String::new();
        let out = child.stdout.take().expect("its output is a pipe");
        std::io::BufReader::new(out)
            .read_line(&mut base)
            .expect("it says where it is");
        let base = base.trim().to_owned();
        Self { child, base }
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves and never returns when the program was started as the service; call it first in `main`.
pub fn serve_if_asked() {
    if std::env::args().nth(1).as_deref() == Some(FLAG) {
        serve(1);
    }
}

/// Serves on this many threads and never returns; it ends with its standard input, so with the program that started it, however that ended.
///
/// # Panics
///
/// Panics when there is no port to listen at.
pub fn serve(threads: usize) {
    let mut runtime = match threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(threads).enable_all().build();
    let runtime = runtime.expect("a runtime");
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("http://{}/v1", listener.local_addr().expect("an address"));
        loop {
            if let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                tokio::spawn(converse(stream));
            }
        }
    })
}

/// When the first and the last request came, in nanoseconds of the monotonic clock.
static FIRST: AtomicU64 = AtomicU64::new(0);
static LAST: AtomicU64 = AtomicU64::new(0);

fn note_request() {
    let now = u64::try_from(figures::monotonic().as_nanos()).expect("centuries from now");
    let _ = FIRST.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    LAST.store(now, Ordering::Relaxed);
}

async fn converse(mut stream: TcpStream) {
    let mut held = Vec::with_capacity(4 << 10);
    loop {
        let mut noted = false;
        let (head, body) = loop {
            if !held.is_empty()
                && !std::mem::replace(&mut noted, true)
                && !held.starts_with(b"GET ")
            {
                note_request();
            }
            if let Some(end) = memmem::find(&held, b"\r\n\r\n") {
                let start = end + 4;
                let length = content_length(&held[..start]);
                if held.len() >= start + length {
                    break (0..start, start..start + length);
                }
                held.reserve(start + length - held.len());
            }
            match stream.read_buf(&mut held).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        };
        let answer = match held[head].split(|byte| *byte == b' ').nth(1) {
            Some(b"/times") => Answer::Whole(times()),
            Some(b"/forget") => {
                FIRST.store(0, Ordering::Relaxed);
                LAST.store(0, Ordering::Relaxed);
                Answer::Whole("{}".to_owned())
            }
            _ => answer(&held[body.clone()]),
        };
        held.drain(..body.end);
        if send(&mut stream, answer).await.is_err() {
            return;
        }
    }
}

fn times() -> String {
    let (first, last) = (FIRST.load(Ordering::Relaxed), LAST.load(Ordering::Relaxed));
    format!(r#"{{"first_ns":{first},"last_ns":{last}}}"#)
}

/// What is sent back.
enum Answer {
    Whole(String),
    /// Events, with a pause after each where the script says so.
    Events(Vec<String>, Option<Duration>),
}

async fn send(stream: &mut TcpStream, answer: Answer) -> std::io::Result<()> {
    match answer {
        Answer::Whole(body) => {
            let length = body.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
            );
            stream.write_all((head + &body).as_bytes()).await
        }
        Answer::Events(events, pause) => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            let mut held = head.to_owned();
            for event in events {
                write!(held, "{:x}\r\n{event}\r\n", event.len()).expect("a string takes all");
                if let Some(pause) = pause {
                    stream.write_all(held.as_bytes()).await?;
                    held.clear();
                    tokio::time::sleep(pause).await;
                }
            }
            stream.write_all((held + "0\r\n\r\n").as_bytes()).await
        }
    }
}

fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let value = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"));
    value
        .and_then(|value| value.trim().parse().ok())
        .unwrap_or(0)
}

/// What a model's name asks for.
struct Script {
    rounds: usize,
    pieces: usize,
    pause: Option<Duration>,
}

impl Script {
    fn of(body: &[u8]) -> Self {
        let mut script = Self {
            rounds: 1,
            pieces: 8,
            pause: None,
        };
        let name = memmem::find(body, b"mock-").map_or(&[][..], |at| &body[at + 5..]);
        let name = name.split(|byte| *byte == b'"').next().unwrap_or(name);
        for part in name.split(|byte| *byte == b'-') {
            let number = part.iter().skip(1).fold(0, |all, byte| {
                all * 10 + usize::from(byte.wrapping_sub(b'0').min(9))
            });
            match part.first() {
                Some(b't') => script.rounds = number,
                Some(b'c') => script.pieces = number,
                Some(b'd') => script.pause = Some(Duration::from_millis(number as u64)),
                _ => {}
            }
        }
        script
    }
}

/// What every document of an answer begins with.
const HEAD: &str = r#""id":"chatcmpl-1","created":1790000000,"model":"mock""#;
const USAGE: &str = r#""usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}"#;

fn answer(body: &[u8]) -> Answer {
    // Python's client writes a blank after the colon.
    let count = |text: &str| memmem::find_iter(body, text).count();
    let done = count(r#""role":"tool""#) + count(r#""role": "tool""#);
    let streams = count(r#""stream":true"#) + count(r#""stream": true"#) > 0;
    let script = Script::of(body);
    let call = (done < script.rounds).then(|| {
        let (name, arguments) = CALLS[done % 3];
        (name, arguments.replace('#', &done.to_string()))
    });
    if streams {
        return Answer::Events(events(call, done, script.pieces), script.pause);
    }
    let (message, reason) = match call {
        Some((name, arguments)) => {
            let call = format!(
                r#"{{"id":"call_{done}","type":"function","function":{{"name":"{name}","arguments":"{arguments}"}}}}"#
            );
            let message = format!(r#"{{"role":"assistant","content":null,"tool_calls":[{call}]}}"#);
            (message, "tool_calls")
        }
        None => {
            let message = format!(r#"{{"role":"assistant","content":"{ANSWER}"}}"#);
            (message, "stop")
        }
    };
    Answer::Whole(format!(
        r#"{{{HEAD},"object":"chat.completion","choices":[{{"index":0,"message":{message},"finish_reason":"{reason}","logprobs":null}}],{USAGE}}}"#
    ))
}

fn events(call: Option<(&str, String)>, done: usize, pieces: usize) -> Vec<String> {
    let event =
        |rest: &str| format!("data: {{{HEAD},\"object\":\"chat.completion.chunk\",{rest}}}\n\n");
    let choice = |delta: &str, reason: &str| {
        let rest = format!(r#""choices":[{{"index":0,"delta":{delta},"finish_reason":{reason}}}]"#);
        event(&rest)
    };
    let mut events = Vec::new();
    let reason = match call {
        Some((name, arguments)) => {
            let begin = format!(
                r#"{{"role":"assistant","content":null,"tool_calls":[{{"index":0,"id":"call_{done}","type":"function","function":{{"name":"{name}","arguments":""}}}}]}}"#
            );
            events.push(choice(&begin, "null"));
            // The arguments in two pieces, cut before an escape.
            let (begin, end) = arguments.split_at(arguments.find(r#",\""#).unwrap_or(0));
            for piece in [begin, end] {
                let delta = format!(
                    r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":"{piece}"}}}}]}}"#
                );
                events.push(choice(&delta, "null"));
            }
            r#""tool_calls""#
        }
        None => {
            events.push(choice(r#"{"role":"assistant","content":""}"#, "null"));
            let word = choice(r#"{"content":"word "}"#, "null");
            events.extend(std::iter::repeat_n(word, pieces));
            r#""stop""#
        }
    };
    events.push(choice("{}", reason));
    events.push(event(&format!(r#""choices":[],{USAGE}"#)));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

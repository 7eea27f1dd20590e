//! A service of the OpenAI kind on loopback that answers by script, and the program run against it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use assert_cmd::Command;
use serde_json::{Value, json};

/// One scripted answer.
#[derive(Clone)]
pub(crate) enum Answer {
    /// Streamed pieces of a chat completion.
    Stream(Vec<Value>),
    /// A stream as it is on the wire.
    Events(String),
    /// A status with a JSON body.
    Status(u16, Value),
    /// A body of this media type, as it is.
    Body(&'static str, String),
    /// Nothing, until the client goes away.
    Silence,
}

/// Answers with text, in two pieces.
pub(crate) fn says(text: &str) -> Answer {
    let cut = text
        .char_indices()
        .nth(text.chars().count() / 2)
        .map_or(0, |(at, _)| at);
    let (first, second) = text.split_at(cut);
    Answer::Stream(vec![
        chunk(json!({"role": "assistant", "content": first}), None),
        chunk(json!({"content": second}), None),
        chunk(json!({}), Some("stop")),
    ])
}

/// Answers with one tool call.
pub(crate) fn calls(name: &str, arguments: &Value) -> Answer {
    Answer::Stream(vec![
        chunk(
            json!({"role": "assistant", "content": null, "tool_calls": [{
                "index": 0, "id": "call_1", "type": "function",
                "function": {"name": name, "arguments": ""},
            }]}),
            None,
        ),
        chunk(
            json!({"tool_calls": [{"index": 0, "function": {"arguments": arguments.to_string()}}]}),
            None,
        ),
        chunk(json!({}), Some("tool_calls")),
    ])
}

/// Answers with an error of the service.
pub(crate) fn fails(status: u16, message: &str) -> Answer {
    Answer::Status(
        status,
        json!({"error": {"message": message, "type": "error", "code": null, "param": null}}),
    )
}

fn chunk(delta: Value, finish: Option<&str>) -> Value {
    json!({
        "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    })
}

/// One request as it came.
#[derive(Clone)]
pub(crate) struct Request {
    /// Path and query.
    pub(crate) path: String,
    /// The headers, in lower case.
    pub(crate) headers: String,
    /// The body.
    pub(crate) body: Value,
}

/// The service. Its thread ends with the process.
pub(crate) struct Service {
    /// Its base address.
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    connections: Arc<AtomicUsize>,
}

impl Service {
    /// Starts to answer by this script; past its end, with an error that nobody retries.
    pub(crate) fn start(script: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let url = format!("http://{}/v1", listener.local_addr().expect("is bound"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new(Mutex::new(
            script
                .into_iter()
                .collect::<std::collections::VecDeque<_>>(),
        ));
        let seen = requests.clone();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let (script, seen) = (script.clone(), seen.clone());
                thread::spawn(move || serve(stream, &script, &seen));
            }
        });
        Self {
            url,
            requests,
            connections,
        }
    }

    /// Returns how often anybody connected.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Returns the bodies of the completion requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.received().into_iter().map(|it| it.body).collect()
    }

    /// Returns the completion requests so far.
    pub(crate) fn received(&self) -> Vec<Request> {
        self.requests.lock().expect("no test panics in it").clone()
    }

    /// Returns its address without a path.
    pub(crate) fn root(&self) -> &str {
        self.url.trim_end_matches("/v1")
    }

    /// Returns the program, pointed at this service with the model `m`.
    pub(crate) fn claw(&self, folder: &Path) -> Command {
        let mut command = claw(folder);
        command
            .env("CLAW_BASE_URL", &self.url)
            .env("CLAW_MODEL", "m")
            .env("CLAW_API_KEY", "key-1234");
        command
    }
}

/// Returns the program with nothing of this machine's settings, working in `folder`.
pub(crate) fn claw(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_claw"));
    command
        .env_clear()
        .env("HOME", folder)
        .env("CLAW_DISCOVER", "false")
        .current_dir(folder)
        .timeout(std::time::Duration::from_secs(60));
    command
}

fn serve(
    stream: TcpStream,
    script: &Mutex<std::collections::VecDeque<Answer>>,
    seen: &Mutex<Vec<Request>>,
) {
    let mut writer = stream.try_clone().expect("a socket can be cloned");
    let mut reader = BufReader::new(stream);
    while let Some(request) = request(&mut reader) {
        let path = request.path.split('?').next().unwrap_or_default();
        let answer = if path.ends_with("/models") {
            Answer::Status(
                200,
                json!({"object": "list", "data": [{"id": "m"}, {"id": "n"}]}),
            )
        } else if path.ends_with("/api/tags") {
            Answer::Status(
                200,
                json!({"models": [{"name": "small"}, {"name": "gemma2:2b"}]}),
            )
        } else if path.ends_with("/api/show") {
            Answer::Status(
                200,
                json!({"details": {}, "capabilities": ["completion", "tools"],
                    "model_info": {"llama.context_length": 4096}}),
            )
        } else {
            seen.lock().expect("no test panics in it").push(request);
            script
                .lock()
                .expect("no test panics in it")
                .pop_front()
                .unwrap_or_else(|| fails(400, "the script is over"))
        };
        let (status, kind, body) = match answer {
            Answer::Silence => {
                // Until the client closes.
                let _ = reader.read(&mut [0]);
                return;
            }
            Answer::Body(kind, body) => (200, kind, body),
            Answer::Status(status, body) => (status, "application/json", body.to_string()),
            Answer::Events(body) => (200, "text/event-stream", body),
            Answer::Stream(chunks) => {
                let mut body: String = chunks
                    .iter()
                    .map(|chunk| format!("data: {chunk}\n\n"))
                    .collect();
                body.push_str("data: [DONE]\n\n");
                (200, "text/event-stream", body)
            }
        };
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        if writer
            .write_all(head.as_bytes())
            .and_then(|()| writer.write_all(body.as_bytes()))
            .is_err()
        {
            return;
        }
    }
}

/// Reads one request. `None` when the client is gone.
fn request(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let (mut length, mut headers) = (0, String::new());
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        headers.push_str(&header);
        headers.push('\n');
        if let Some(text) = header.strip_prefix("content-length:") {
            length = text.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some(Request {
        path,
        headers,
        body,
    })
}

/// Returns the text of a message on the wire, in either of its forms.
pub(crate) fn content(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

//! A scripted chat-completions service.
//!
//! All state stands in the request, so any number of sessions may run at once: the model `mock-t5` asks for tools until
//! the conversation holds five results, then answers. It runs in a process of its own, so that its work is not counted.

use std::io::BufRead;
use std::process::{Child, Command, Stdio};

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The tools it asks for in turn, with their arguments as they stand inside a JSON string. A number stands for `#`: the
/// same call again and again would be taken for a loop.
const CALLS: [(&str, &str); 3] = [
    ("get_weather", r#"{\"city\":\"Oslo\",\"days\":#,\"metric\":true}"#),
    ("search_docs", r#"{\"query\":\"static registry\",\"limit\":#,\"lang\":\"en\"}"#),
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
    if std::env::args().nth(1).as_deref() != Some(FLAG) {
        return;
    }
    // Ends with the program that started it, however that ended.
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .expect("a runtime")
        .block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let address = listener.local_addr().expect("an address");
            println!("http://{address}/v1");
            loop {
                if let Ok((stream, _)) = listener.accept().await {
                    let _ = stream.set_nodelay(true);
                    tokio::spawn(serve(stream));
                }
            }
        })
}

async fn serve(mut stream: TcpStream) {
    let mut held = Vec::with_capacity(64 << 10);
    loop {
        let body = loop {
            if let Some(head) = memmem::find(&held, b"\r\n\r\n") {
                let start = head + 4;
                let length = content_length(&held[..start]);
                if held.len() >= start + length {
                    break start..start + length;
                }
                held.reserve(start + length - held.len());
            }
            match stream.read_buf(&mut held).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        };
        let answer = answer(&held[body.clone()]);
        held.drain(..body.end);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        if stream.write_all((head + &answer).as_bytes()).await.is_err() {
            return;
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

fn answer(body: &[u8]) -> String {
    let name = memmem::find(body, b"mock-t").map(|at| &body[at + 6..]);
    let digits = name.unwrap_or_default().iter().map_while(|byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then_some(usize::from(digit))
    });
    let rounds = digits.fold(0, |all, digit| all * 10 + digit);
    let done = memmem::find_iter(body, br#""role":"tool""#).count();
    let (message, reason) = if done < rounds {
        let (name, arguments) = CALLS[done % 3];
        let arguments = arguments.replace('#', &done.to_string());
        let call = format!(
            r#"{{"id":"call_{done}","type":"function","function":{{"name":"{name}","arguments":"{arguments}"}}}}"#
        );
        let message = format!(r#"{{"role":"assistant","content":null,"tool_calls":[{call}]}}"#);
        (message, "tool_calls")
    } else {
        let message = format!(r#"{{"role":"assistant","content":"{ANSWER}"}}"#);
        (message, "stop")
    };
    format!(
        r#"{{"id":"chatcmpl-1","created":1790000000,"model":"mock","object":"chat.completion","choices":[{{"index":0,"message":{message},"finish_reason":"{reason}","logprobs":null}}],"usage":{{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120}}}}"#
    )
}

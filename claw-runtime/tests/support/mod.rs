//! A server on loopback that answers as it is told, well or badly.

pub(crate) mod asked;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

#[allow(unused_imports, reason = "not every file of tests asks by itself")]
pub(crate) use asked::{ask, request};

/// One thing the server does with a connection.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Writes these bytes.
    Send(Vec<u8>),
    /// Writes these bytes every few milliseconds until the client leaves.
    Drip(Vec<u8>, u64),
    /// Writes these bytes without end.
    Flood(Vec<u8>),
    /// Closes the connection.
    Close,
    /// Resets the connection once the client has nothing left to do; only where time is paused.
    Reset,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// Request line and headers, in lower case.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: String,
}

impl Received {
    /// Returns the body as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).expect("the provider sends JSON")
    }
}

/// A server; it ends when dropped.
pub(crate) struct Server {
    /// Its address with `/v1`.
    pub(crate) base: String,
    received: Arc<Mutex<Vec<Received>>>,
    left: Arc<Mutex<(usize, usize)>>,
    flooded: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts a server that gives these answers, one a request.
    pub(crate) async fn start(answers: impl IntoIterator<Item = Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let answers: Arc<Mutex<VecDeque<Vec<Act>>>> =
            Arc::new(Mutex::new(answers.into_iter().collect()));
        let received = Arc::new(Mutex::new(Vec::new()));
        let left = Arc::new(Mutex::new((0, 0)));
        let flooded = Arc::new(AtomicUsize::new(0));
        let task = tokio::spawn({
            let (received, left, flooded) = (received.clone(), left.clone(), flooded.clone());
            async move {
                let mut open = tokio::task::JoinSet::new();
                while let Ok((stream, _)) = listener.accept().await {
                    // Else a second small piece waits until the client has acknowledged the first.
                    let _ = stream.set_nodelay(true);
                    let (received, left) = (received.clone(), left.clone());
                    let (answers, flooded) = (answers.clone(), flooded.clone());
                    left.lock().unwrap().0 += 1;
                    open.spawn(async move {
                        let _ = serve(stream, &answers, &received, &flooded).await;
                        left.lock().unwrap().1 += 1;
                    });
                }
            }
        });
        Self {
            base,
            received,
            left,
            flooded,
            task,
        }
    }

    /// Returns the requests so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Returns how many bytes were sent by floods.
    pub(crate) fn flooded(&self) -> usize {
        self.flooded.load(Ordering::SeqCst)
    }

    /// Returns how many connections were made, and how many of them are over.
    pub(crate) fn connections(&self) -> (usize, usize) {
        *self.left.lock().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    answers: &Mutex<VecDeque<Vec<Act>>>,
    received: &Mutex<Vec<Received>>,
    flooded: &AtomicUsize,
) -> std::io::Result<()> {
    while let Some(request) = read_request(&mut stream).await? {
        received.lock().unwrap().push(request);
        let acts = answers.lock().unwrap().pop_front().unwrap_or_default();
        for act in acts {
            match act {
                Act::Send(bytes) => stream.write_all(&bytes).await?,
                Act::Drip(bytes, every) => loop {
                    stream.write_all(&bytes).await?;
                    let mut byte = [0];
                    let every = Duration::from_millis(every);
                    // Reading tells when the client has left.
                    if let Ok(read) = tokio::time::timeout(every, stream.read(&mut byte)).await
                        && matches!(read, Ok(0) | Err(_))
                    {
                        return Ok(());
                    }
                },
                Act::Flood(bytes) => loop {
                    stream.write_all(&bytes).await?;
                    flooded.fetch_add(bytes.len(), Ordering::SeqCst);
                },
                Act::Close => return Ok(()),
                Act::Reset => {
                    // Paused time moves on when nothing else can.
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    return stream.set_zero_linger();
                }
            }
        }
    }
    Ok(())
}

async fn read_request(stream: &mut TcpStream) -> std::io::Result<Option<Received>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
                .unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                let body = String::from_utf8_lossy(&bytes[end + 4..end + 4 + length]).into_owned();
                return Ok(Some(Received { head, body }));
            }
        }
        match stream.read(&mut buffer).await? {
            0 => return Ok(None),
            read => bytes.extend_from_slice(&buffer[..read]),
        }
    }
}

/// Returns an answer with a status, headers and a body of known length; the connection stays open.
pub(crate) fn answer(status: u16, headers: &str, body: impl AsRef<[u8]>) -> Vec<Act> {
    let body = body.as_ref();
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n");
    vec![Act::Send([head.as_bytes(), body].concat())]
}

/// Returns an answer of JSON.
pub(crate) fn json(status: u16, body: &serde_json::Value) -> Vec<Act> {
    answer(
        status,
        "content-type: application/json\r\n",
        body.to_string(),
    )
}

/// Returns the head and these pieces of an event stream, one chunk each, without its end.
pub(crate) fn open_stream(pieces: &[&str]) -> Vec<Act> {
    let mut sent =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_vec();
    for piece in pieces {
        sent.extend(chunk(piece));
    }
    vec![Act::Send(sent)]
}

/// Returns a whole event stream of these pieces.
pub(crate) fn stream(pieces: &[&str]) -> Vec<Act> {
    let mut acts = open_stream(pieces);
    acts.push(Act::Send(b"0\r\n\r\n".to_vec()));
    acts
}

/// Returns one chunk of a stream.
pub(crate) fn chunk(piece: &str) -> Vec<u8> {
    format!("{:x}\r\n{piece}\r\n", piece.len()).into_bytes()
}

/// Returns `bytes` as a gzip file that does not compress.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    let length = u16::try_from(bytes.len()).expect("a stored block holds 64 KiB");
    out.extend(length.to_le_bytes());
    out.extend((!length).to_le_bytes());
    out.extend(bytes);
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 * (crc & 1));
        }
    }
    out.extend((!crc).to_le_bytes());
    out.extend(u32::from(length).to_le_bytes());
    out
}

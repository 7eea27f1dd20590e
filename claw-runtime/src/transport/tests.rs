//! What becomes of kept connections where runtimes come and go, and how often a request goes out.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};

use super::*;

/// How long a test waits before it says that nothing moves.
const LONG: Duration = Duration::from_secs(20);

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A server, and how many requests it refused: it hangs up on those for `/refused`, and says `hi` to any other after a while.
fn server() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let refused = Arc::new(AtomicUsize::new(0));
    let counted = refused.clone();
    let serve = async move {
        let listener = TcpListener::from_std(listener).unwrap();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let refused = counted.clone();
            tokio::spawn(async move {
                let mut bytes = [0; 4096];
                while let Ok(1..) = stream.read(&mut bytes).await {
                    if bytes.starts_with(b"GET /refused") {
                        refused.fetch_add(1, Ordering::SeqCst);
                        return;
                    }
                    sleep(Duration::from_millis(50)).await;
                    let hi = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
                    stream.write_all(hi).await.unwrap();
                }
            });
        }
    };
    std::thread::spawn(|| runtime().block_on(serve));
    (address, refused)
}

fn client(address: SocketAddr) -> (Client, Url) {
    let url = Url::parse(&format!("http://{address}")).unwrap();
    let options = Options {
        headers: HeaderMap::new(),
        connect: LONG,
        trusted: Arc::new(crate::tls::config),
    };
    (Client::new(&url, options).unwrap(), url)
}

async fn ask(client: &Client, url: &Url) -> Result<Answer, TransportError> {
    let request = Request {
        method: Method::GET,
        url,
        accept: "*/*",
        body: Bytes::new(),
    };
    client.send(&request).await
}

async fn read(client: &Client, url: &Url) -> Bytes {
    let mut answer = ask(client, url).await.unwrap();
    let bytes = answer.body.chunk().await.unwrap().unwrap();
    assert_eq!(answer.body.chunk().await.unwrap(), None);
    bytes
}

#[test]
fn a_runtime_uses_no_connection_that_another_moves() {
    let (client, url) = client(server().0);
    // The first is there, but does not run while the second does.
    let (first, second) = (runtime(), runtime());
    for runtime in [&first, &second, &first] {
        let said = runtime.block_on(async { timeout(LONG, read(&client, &url)).await });
        assert_eq!(said.expect("nothing came"), "hi");
    }
}

#[test]
fn an_answer_ends_where_a_runtime_has_ended_or_there_is_none() {
    for has_ended in [true, false] {
        let (done, is_done) = mpsc::channel();
        std::thread::spawn(move || {
            let (client, url) = client(server().0);
            let runtime = runtime();
            let mut answer = runtime.block_on(ask(&client, &url)).unwrap();
            let ended = has_ended.then(|| self::runtime().handle().clone());
            let _inside = ended.as_ref().map(|ended| ended.enter());
            let cx = &mut Context::from_waker(Waker::noop());
            while !matches!(pin!(answer.body.chunk()).poll(cx), Poll::Ready(Ok(None))) {}
            done.send(()).unwrap();
        });
        is_done.recv_timeout(LONG).expect("it hangs");
    }
}

#[test]
fn a_request_that_a_server_hangs_up_on_goes_out_twice_at_most() {
    let (address, refused) = server();
    let (client, url) = client(address);
    runtime().block_on(async {
        let many = (0..8).map(|_| read(&client, &url));
        futures_util::future::join_all(many).await;
        let url = url.join("/refused").unwrap();
        let error = ask(&client, &url).await.map(|answer| answer.status);
        assert!(error.unwrap_err().is_closed());
    });
    assert_eq!(refused.load(Ordering::SeqCst), 2);
}

/// A runtime of one thread that is kept busy looks at no socket meanwhile.
#[test]
fn a_late_word_is_seen_before_the_next_request() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (client, url) = client(listener.local_addr().unwrap());
    let (ask_late, late_is_due) = mpsc::channel::<()>();
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        let hi = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
        let late = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 4\r\n\r\nlate";
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            stream.write_all(hi).unwrap();
            let _ = late_is_due.recv();
            stream.write_all(late).unwrap();
            let _ = tell.send(());
        }
    });
    runtime().block_on(async {
        assert_eq!(read(&client, &url).await, "hi");
        // All of this without a wait that lets the runtime look.
        std::thread::sleep(Duration::from_millis(1_100));
        ask_late.send(()).unwrap();
        told.recv_timeout(LONG).unwrap();
        assert_eq!(read(&client, &url).await, "hi");
    });
}

#[test]
fn a_head_that_is_too_long_is_no_other_protocol() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (client, url) = client(listener.local_addr().unwrap());
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        let mut stream = listener.accept().unwrap().0;
        let _ = stream.read(&mut [0; 4096]);
        let head = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(1 << 20));
        let _ = stream.write_all(head.as_bytes());
    });
    let error = runtime().block_on(ask(&client, &url)).err().unwrap();
    assert_eq!(error.fault(), Fault::Exchange, "{error}");
    assert!(error.to_string().contains("too large"), "{error}");
}

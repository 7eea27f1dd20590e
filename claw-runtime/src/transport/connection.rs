//! One connection, driven by whoever waits for its answer.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use bytes::Bytes;
use futures_util::future::poll_fn;
use futures_util::task::AtomicWaker;
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::runtime::{Handle, Id};
use tokio_util::io::InspectReader;

use super::TransportError;
use super::stream::Stream;

/// How often a connection is looked at anew before its task lets others run.
const LOOKS: usize = 16;

type Message = hyper::Request<Full<Bytes>>;
type Listener = Box<dyn FnMut(&[u8]) + Send>;
/// A stream, and what is told when bytes come.
type Heard = TokioIo<InspectReader<Stream, Listener>>;

/// An open connection. Nothing moves on it but while it is waited for.
pub(super) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    /// What moves the bytes; `None` once it has ended.
    driver: Option<http1::Connection<Heard, Full<Bytes>>>,
    signal: Arc<Signal>,
    /// `signal` as a waker.
    waker: Waker,
    /// The runtime that opened it: no other tells when bytes come.
    home: Option<Id>,
}

/// Returns the runtime that this is called in.
fn runtime() -> Option<Id> {
    Handle::try_current().ok().map(|handle| handle.id())
}

impl Connection {
    pub(super) async fn open(stream: Stream) -> Result<Box<Self>, hyper::Error> {
        let signal = Arc::new(Signal::default());
        let told = signal.clone();
        let listener: Listener = Box::new(move |bytes| {
            told.heard.fetch_or(!bytes.is_empty(), Ordering::Relaxed);
        });
        let io = TokioIo::new(InspectReader::new(stream, listener));
        let (sender, driver) = http1::Builder::new()
            // One odd header of a proxy makes no answer unreadable.
            .ignore_invalid_headers_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_spaces_after_header_name_in_responses(true)
            .handshake(io)
            .await?;
        let waker = signal.clone().into();
        Ok(Box::new(Self {
            sender,
            driver: Some(driver),
            signal,
            waker,
            home: runtime(),
        }))
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) fn send(
        &mut self,
        message: Message,
    ) -> impl Future<Output = Result<hyper::Response<Incoming>, TransportError>> + Send {
        self.signal.heard.store(false, Ordering::Relaxed);
        // In a place of its own, for it could hold the request, and so would every future around it.
        let mut answer = Box::pin(self.sender.send_request(message));
        poll_fn(move |cx| {
            let answer = self.drive(cx, |cx| answer.as_mut().poll(cx));
            answer.map_err(TransportError::exchange)
        })
    }

    /// Waits for the next bytes of an answer's body; `None` at its end.
    pub(super) async fn next(
        &mut self,
        body: &mut Incoming,
    ) -> Option<Result<Bytes, hyper::Error>> {
        loop {
            let frame =
                poll_fn(|cx| self.drive(cx, |cx| Pin::new(&mut *body).poll_frame(cx))).await;
            match frame?.map(hyper::body::Frame::into_data) {
                Ok(Ok(bytes)) => return Some(Ok(bytes)),
                // Trailers say nothing to us.
                Ok(Err(_)) => {}
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Tells whether nothing came since the last request was begun.
    pub(super) fn was_silent(&self) -> bool {
        !self.signal.heard.load(Ordering::Relaxed)
    }

    /// Tells whether this is the runtime that opened it.
    pub(super) fn is_at_home(&self) -> bool {
        self.home == runtime()
    }

    /// Tells whether another request may be sent, as far as can be known. To be asked between two.
    pub(super) fn is_usable(&mut self) -> bool {
        // What has ended meanwhile is found out by looking, and nobody is to be woken for it.
        let mut cx = Context::from_waker(Waker::noop());
        let _ = self.drive(&mut cx, |_| Poll::<()>::Pending);
        self.signal.waiting.take();
        self.driver.is_some() && self.sender.is_ready()
    }

    /// Polls `work`, which waits for this connection, and the connection, until neither gets any further.
    fn drive<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut work: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        self.signal.waiting.register(cx.waker());
        for _ in 0..LOOKS {
            self.signal.state.store(LOOKING, Ordering::Release);
            let mut ours = Context::from_waker(&self.waker);
            if let Poll::Ready(done) = work(&mut ours) {
                self.signal.state.store(RESTING, Ordering::Release);
                return Poll::Ready(done);
            }
            if let Some(driver) = &mut self.driver
                && Pin::new(driver).poll(&mut ours).is_ready()
            {
                // Its failure is told to who waits for the answer. Dropping it tells everyone else.
                self.driver = None;
                continue;
            }
            if self.signal.rest() {
                return Poll::Pending;
            }
        }
        self.signal.state.store(RESTING, Ordering::Release);
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

const RESTING: u8 = 0;
const LOOKING: u8 = 1;
const CALLED: u8 = 2;

/// Passes on what wakes a connection. While its task looks at it, being woken means to look again, and no more: a task that is
/// woken while it runs would run again at the queue's end, and have another thread woken to help.
#[derive(Default)]
struct Signal {
    state: AtomicU8,
    /// The task that waits.
    waiting: AtomicWaker,
    /// Whether bytes came since the last request was begun.
    heard: AtomicBool,
}

impl Signal {
    /// Ends a look; `false` where there was a call meanwhile.
    fn rest(&self) -> bool {
        self.state
            .compare_exchange(LOOKING, RESTING, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let called =
            self.state
                .compare_exchange(LOOKING, CALLED, Ordering::AcqRel, Ordering::Acquire);
        if called == Err(RESTING) {
            self.waiting.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::mpsc;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Woken {
        async fn wait(&self, count: usize) {
            while self.0.load(Ordering::SeqCst) < count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A server that takes requests without a body, and says to each what it is told.
    async fn server() -> (SocketAddr, mpsc::UnboundedSender<&'static str>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (say, mut said) = mpsc::unbounded_channel::<&str>();
        tokio::spawn(async move {
            let mut stream = listener.accept().await.unwrap().0;
            stream.set_nodelay(true).unwrap();
            let mut bytes = [0; 4096];
            while let Some(text) = said.recv().await {
                let _ = stream.read(&mut bytes).await.unwrap();
                stream.write_all(text.as_bytes()).await.unwrap();
            }
        });
        (address, say)
    }

    fn message() -> Message {
        let mut message = Message::default();
        let host = hyper::header::HeaderValue::from_static("h");
        message.headers_mut().insert(hyper::header::HOST, host);
        message
    }

    /// A task that is woken while it runs would run once more for nothing, and another thread with it.
    #[tokio::test]
    async fn a_round_trip_wakes_its_task_for_what_comes_and_not_else() {
        let (address, say) = server().await;
        let stream = TcpStream::connect(address).await.unwrap();
        let mut connection = Connection::open(Stream::Plain(stream)).await.unwrap();
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let cx = &mut Context::from_waker(&waker);
        for round in 1..=3 {
            let mut body = {
                let mut answer = pin!(connection.send(message()));
                assert!(answer.as_mut().poll(cx).is_pending());
                assert_eq!(woken.0.load(Ordering::SeqCst), round - 1);
                say.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")
                    .unwrap();
                woken.wait(round).await;
                let Poll::Ready(answer) = answer.as_mut().poll(cx) else {
                    panic!("the whole answer has come");
                };
                answer.unwrap().into_body()
            };
            for expected in [Some("hi"), None] {
                let next = pin!(connection.next(&mut body)).poll(cx);
                let next = next.map(|next| next.transpose().unwrap());
                assert_eq!(next, Poll::Ready(expected.map(Bytes::from)));
            }
            assert!(connection.is_usable());
            assert_eq!(woken.0.load(Ordering::SeqCst), round);
        }
    }

    #[tokio::test]
    async fn a_connection_that_ended_while_idle_wakes_nobody_and_is_not_usable() {
        let (address, say) = server().await;
        let stream = TcpStream::connect(address).await.unwrap();
        let mut connection = Connection::open(Stream::Plain(stream)).await.unwrap();
        say.send("HTTP/1.1 204 No Content\r\n\r\n").unwrap();
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(woken.clone());
        let cx = &mut Context::from_waker(&waker);
        {
            let mut answer = pin!(connection.send(message()));
            assert!(answer.as_mut().poll(cx).is_pending());
            woken.wait(1).await;
            assert!(matches!(answer.as_mut().poll(cx), Poll::Ready(Ok(_))));
        }
        assert!(connection.is_usable());
        // The server leaves.
        drop(say);
        for _ in 0..1000 {
            tokio::time::sleep(Duration::from_millis(1)).await;
            if !connection.is_usable() {
                assert_eq!(woken.0.load(Ordering::SeqCst), 1);
                return;
            }
        }
        panic!("the end was not seen");
    }

    /// Another thread calls while the connection is looked at, and just before the look ends.
    #[test]
    fn no_call_is_lost_between_looking_and_resting() {
        let woken = Arc::new(Woken::default());
        let signal = Arc::new(Signal::default());
        signal.waiting.register(&woken.clone().into());
        signal.state.store(LOOKING, Ordering::SeqCst);
        signal.wake_by_ref();
        signal.wake_by_ref();
        assert_eq!(woken.0.load(Ordering::SeqCst), 0);
        assert!(!signal.rest(), "it must look again");
        signal.state.store(LOOKING, Ordering::SeqCst);
        assert!(signal.rest());
        signal.wake_by_ref();
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
    }
}

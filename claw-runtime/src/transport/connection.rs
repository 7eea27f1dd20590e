//! One connection, driven by whoever waits for its answer.

use std::pin::{Pin, pin};
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
        }))
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(
        &mut self,
        message: Message,
    ) -> Result<hyper::Response<Incoming>, TransportError> {
        self.signal.heard.store(false, Ordering::Relaxed);
        let mut answer = pin!(self.sender.send_request(message));
        poll_fn(|cx| self.drive(cx, |cx| answer.as_mut().poll(cx)))
            .await
            .map_err(TransportError::exchange)
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

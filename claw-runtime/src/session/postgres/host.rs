//! The host's place among the others: its time, renewed over a connection of its own, and the news it hears there.
//!
//! Only the database's clock says whose time has run out. Here a monotonic clock measures what is left of it, from before
//! the renewal was sent: the host never believes to have more than the database gives it.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, broadcast, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_postgres::{AsyncMessage, Client};
use tokio_util::sync::CancellationToken;

use super::connect::Way;
use super::fault::{Fault, chain};

/// Where posts are made known, with the digest of the session's id.
pub(super) const CHANNEL: &str = "claw_posted";
/// How many posts of other sessions a waiting one may miss before it looks by itself.
const NEWS: usize = 1024;
const RETRY: Duration = Duration::from_millis(250);

const JOIN: &str = "INSERT INTO claw.hosts (name, expires, gone)
    SELECT $1 || coalesce(' at ' || host(inet_client_addr()), ''),
        clock_timestamp() + $2 * interval '1 ms', clock_timestamp() + $3 * interval '1 ms'
    RETURNING id, claw.now_ms()";
/// Time that has run out is not renewed: somebody may have taken what it covered.
const RENEW: &str = "UPDATE claw.hosts
    SET expires = clock_timestamp() + $2 * interval '1 ms', gone = clock_timestamp() + $3 * interval '1 ms'
    WHERE id = $1 AND expires > clock_timestamp()
    RETURNING id, claw.now_ms()";
/// Sessions of a host that is not listed are free, so hosts need not be kept.
const SWEEP: &str = "DELETE FROM claw.hosts WHERE gone < clock_timestamp() - interval '1 day'";
const LEAVE: &str = "DELETE FROM claw.hosts WHERE id = $1";

/// This host, as the others see it.
pub(super) struct Host {
    name: String,
    lease: Duration,
    grace: Duration,
    standing: watch::Sender<Standing>,
    hurry: Notify,
    news: broadcast::Sender<Arc<str>>,
}

/// Under which id, until when, and what the database's clock said at the latest when that was heard.
#[derive(Clone, Copy)]
struct Standing {
    id: i64,
    until: Instant,
    heard: Instant,
    clock_ms: u64,
}

impl Host {
    /// Joins the hosts.
    pub(super) async fn join(
        client: &Client,
        name: String,
        lease: Duration,
        grace: Duration,
    ) -> Result<Self, Fault> {
        client.execute(SWEEP, &[]).await?;
        let standing = Standing::new(client, &name, lease, grace, None).await?;
        Ok(Self {
            name,
            lease,
            grace,
            standing: watch::Sender::new(standing),
            hurry: Notify::new(),
            news: broadcast::channel(NEWS).0,
        })
    }

    fn standing(&self) -> Standing {
        *self.standing.borrow()
    }

    /// Returns the id it has now. It gets another when its time has run out, so an id stands for one unbroken time.
    pub(super) fn id(&self) -> i64 {
        self.standing().id
    }

    /// Returns the time of the database's clock, in milliseconds since the Unix epoch; about as exact as an answer is quick.
    pub(super) fn now_ms(&self) -> u64 {
        self.standing().now_ms()
    }

    /// Tells whether more than a third is left of the time that `id` stands for.
    pub(super) fn may_act(&self, id: i64) -> bool {
        let standing = self.standing();
        standing.id == id && Instant::now() < standing.until - self.lease / 3
    }

    /// Waits until it may not act any more under `id`.
    pub(super) async fn lost(&self, id: i64) {
        while self.may_act(id) {
            sleep_until(self.standing().until - self.lease / 3).await;
        }
    }

    /// Has the time renewed now, for the database says that it is over.
    pub(super) fn hurry(&self) {
        self.hurry.notify_one();
    }

    /// As [`hurry`](Self::hurry), and waits until it is done.
    pub(super) async fn renewed(&self) {
        let mut standing = self.standing.subscribe();
        self.hurry();
        // The sender is this host's.
        let _ = standing.changed().await;
    }

    /// Returns what hears of posts: the digest of the session's id; nothing in it when some may have been missed.
    pub(super) fn news(&self) -> broadcast::Receiver<Arc<str>> {
        self.news.subscribe()
    }

    /// Keeps the host's place until it is stopped, over however many connections.
    pub(super) async fn keep(&self, way: &Way, stop: &CancellationToken) {
        loop {
            // Also when it is stopped by now: only over a connection it can leave.
            let connect = timeout(self.lease / 3, way.config.connect(way.tls.clone()));
            let ended = match connect.await {
                Ok(Ok((client, connection))) => self.serve(client, connection, stop).await,
                Ok(Err(error)) => Err(error.into()),
                Err(_) => Err(Fault::Said("no connection in time".to_owned())),
            };
            match ended {
                Ok(()) => return,
                Err(Fault::Server(error)) => {
                    tracing::warn!(
                        error = chain(&error),
                        "the connection to Postgres is made anew"
                    );
                }
                Err(error) => {
                    tracing::warn!(?error, "the connection to Postgres is made anew");
                }
            }
            tokio::select! {
                () = sleep(RETRY.min(self.lease / 6)) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    /// Renews and listens until the connection breaks, or until it is stopped: then it leaves.
    async fn serve<S, T>(
        &self,
        client: Client,
        mut connection: tokio_postgres::Connection<S, T>,
        stop: &CancellationToken,
    ) -> Result<(), Fault>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
        T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    {
        let hear = async {
            while let Some(message) = poll_fn(|cx| connection.poll_message(cx)).await {
                if let AsyncMessage::Notification(posted) = message? {
                    // Nobody waits: nobody needs to know.
                    let _ = self.news.send(posted.payload().into());
                }
            }
            Err(Fault::Said("the server closed the connection".to_owned()))
        };
        let renew = async {
            client.batch_execute(&format!("LISTEN {CHANNEL}")).await?;
            // What was posted while nobody listened is found by looking.
            let _ = self.news.send("".into());
            tokio::select! {
                Err(fault) = self.renew(&client) => return Err(fault),
                () = stop.cancelled() => {}
            }
            client.execute(LEAVE, &[&self.id()]).await?;
            Ok(())
        };
        tokio::select! {
            ended = hear => ended,
            ended = renew => ended,
        }
    }

    async fn renew(&self, client: &Client) -> Result<Infallible, Fault> {
        let third = self.lease / 3;
        loop {
            let before = self.standing();
            let renewed =
                Standing::new(client, &self.name, self.lease, self.grace, Some(before.id));
            let renewed = timeout(third, renewed)
                .await
                .map_err(|_| Fault::Said("a renewal was not answered in time".to_owned()))??;
            let renewed = renewed.keeping_time_with(before);
            if renewed.id != before.id {
                tracing::warn!("this host's time had run out: its sessions must be opened again");
            }
            self.standing.send_replace(renewed);
            // Late or hurried, it is the same.
            let _ = timeout_at(renewed.until - third * 2, self.hurry.notified()).await;
        }
    }
}

/// A clock that is so far behind has been set, or ours runs faster.
const SET_BACK: u64 = 1000;

impl Standing {
    /// Returns what the database's clock says now, at the earliest.
    fn now_ms(&self) -> u64 {
        let since = u64::try_from(self.heard.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.clock_ms.saturating_add(since)
    }

    /// Takes over what an earlier answer, which came faster, said of the clock: so time does not go back.
    fn keeping_time_with(mut self, before: Self) -> Self {
        let ahead = before.now_ms().saturating_sub(self.now_ms());
        if (1..SET_BACK).contains(&ahead) {
            (self.heard, self.clock_ms) = (before.heard, before.clock_ms);
        }
        self
    }

    /// Renews the time of `id`, or begins a new one where there is none to renew.
    async fn new(
        client: &Client,
        name: &str,
        lease: Duration,
        grace: Duration,
        id: Option<i64>,
    ) -> Result<Self, Fault> {
        let gone = (lease + grace).as_secs_f64() * 1000.0;
        let expires = lease.as_secs_f64() * 1000.0;
        let mut asked = Instant::now();
        let renewed = match id {
            Some(id) => client.query_opt(RENEW, &[&id, &expires, &gone]).await?,
            None => None,
        };
        let row = match renewed {
            Some(row) => row,
            None => {
                asked = Instant::now();
                client.query_one(JOIN, &[&name, &expires, &gone]).await?
            }
        };
        let clock_ms: i64 = row.try_get(1)?;
        Ok(Self {
            id: row.try_get(0)?,
            until: asked + lease,
            heard: Instant::now(),
            clock_ms: clock_ms.cast_unsigned(),
        })
    }
}

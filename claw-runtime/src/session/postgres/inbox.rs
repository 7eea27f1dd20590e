//! Inboxes, and the counters that all hosts share.

use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

use super::PostgresStore;
use super::fault::Fault;
use super::host::CHANNEL;
use crate::session::{Lease, Posted, StoreError, Waiting};

/// How often is looked without having heard anything.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

const POST: &str = "WITH there AS (
        SELECT id FROM claw.sessions WHERE id = $1 FOR KEY SHARE
    ), new AS (
        INSERT INTO claw.inbox (session, key, input) SELECT id, $2, $3 FROM there
        ON CONFLICT DO NOTHING RETURNING session
    )
    SELECT new.session IS NOT NULL, CASE WHEN new.session IS NOT NULL THEN pg_notify($4, $5)::text END
    FROM there LEFT JOIN new ON true";
const WAITING: &str = "SELECT inbox.id, inbox.key, inbox.input
    FROM claw.sessions LEFT JOIN claw.inbox ON inbox.session = sessions.id AND inbox.input IS NOT NULL
    WHERE sessions.id = $1 AND sessions.fence = $2 AND sessions.host = $3 ORDER BY inbox.id";
/// Numbers without sign go as text: the library has no type for all of them.
const COUNT: &str = "INSERT INTO claw.counters AS counter (name, value)
    SELECT $1, greatest(0, $2::bigint) WHERE $2 <= 0 OR $2 <= $3::text::numeric
    ON CONFLICT (name) DO UPDATE
    SET value = least(18446744073709551615, greatest(0, counter.value + $2))
    WHERE $2 <= 0 OR least(18446744073709551615, counter.value + $2) <= $3::text::numeric";

impl PostgresStore {
    pub(super) async fn put_in(
        &self,
        session: &str,
        key: &str,
        input: &Posted,
    ) -> Result<bool, Fault> {
        let input = serde_json::to_vec(input)
            .map_err(|error| Fault::Said(format!("the input cannot be written: {error}")))?;
        let client = self.client().await?;
        let statement = client.prepare_cached(POST).await?;
        // An id may be too long for the news.
        let digest = crate::digest::of(session.as_bytes());
        let row = client
            .query_opt(&statement, &[&session, &key, &input, &CHANNEL, &digest])
            .await?;
        match row {
            Some(row) => Ok(row.try_get(0)?),
            None => Err(Fault::Store(StoreError::NotFound {
                session: session.to_owned(),
            })),
        }
    }

    pub(super) async fn waiting(&self, lease: &Lease) -> Result<Vec<Waiting>, Fault> {
        let client = self.client().await?;
        let statement = client.prepare_cached(WAITING).await?;
        let fence = lease.fence.cast_signed();
        let host = self.host.id();
        let rows = client
            .query(&statement, &[&lease.session, &fence, &host])
            .await?;
        if rows.is_empty() {
            self.look(&client, lease).await?;
        }
        let mut waiting = Vec::new();
        for row in &rows {
            let Some(id) = row.try_get::<_, Option<i64>>(0)? else {
                continue;
            };
            let key: String = row.try_get(1)?;
            let input: &[u8] = row.try_get(2)?;
            let input = serde_json::from_slice(input).map_err(|error| {
                Fault::Said(format!(
                    "what was posted as `{key}` cannot be read: {error}"
                ))
            })?;
            waiting.push(Waiting {
                id: id.cast_unsigned(),
                key,
                input,
            });
        }
        Ok(waiting)
    }

    /// Waits until something waits in the inbox.
    pub(super) async fn hear_of(&self, lease: &Lease) -> Result<(), StoreError> {
        let digest = crate::digest::of(lease.session.as_bytes());
        // Listens before it looks, so that nothing is missed between.
        let mut news = self.host.news();
        let doing = format!("waiting for posts to session `{}`", lease.session);
        while self.run(&doing, self.waiting(lease)).await?.is_empty() {
            let heard = async {
                loop {
                    match news.recv().await {
                        Ok(of) if *of != *digest && !of.is_empty() => {}
                        Ok(_) | Err(RecvError::Lagged(_)) => return,
                        // The sender is this store's.
                        Err(RecvError::Closed) => std::future::pending().await,
                    }
                }
            };
            // Late or never heard: it looks again all the same.
            let _ = timeout(LOOK_AGAIN, heard).await;
        }
        Ok(())
    }

    pub(super) async fn add(&self, counter: &str, add: i64, most: u64) -> Result<bool, Fault> {
        let client = self.client().await?;
        let statement = client.prepare_cached(COUNT).await?;
        let added = client
            .execute(&statement, &[&counter, &add, &most.to_string()])
            .await?;
        Ok(added == 1)
    }
}

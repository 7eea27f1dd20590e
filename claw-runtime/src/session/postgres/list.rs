//! Which sessions there are, and how one goes.

use tokio_postgres::Row;

use super::PostgresStore;
use super::fault::Fault;
use super::owner::{phase, unsigned};
use crate::session::{Parent, Query, SessionInfo, StoreError};

const LIST: &str = "SELECT sessions.id, program, title, parent, parent_seq, head, created_ms, updated_ms,
        phase, until_ms, hosts.name, hosts.id = $1
    FROM claw.sessions LEFT JOIN claw.hosts ON hosts.id = sessions.host AND hosts.gone > clock_timestamp()
    WHERE ($2::text IS NULL OR program = $2) AND (NOT $3 OR phase <> 0)
    ORDER BY used DESC, sessions.id LIMIT $4";
const LOCK: &str = "SELECT host FROM claw.sessions WHERE id = $1 FOR UPDATE";
const DELETE: &[&str] = &[
    "DELETE FROM claw.sessions WHERE id = $1",
    "DELETE FROM claw.events WHERE session = $1",
    "DELETE FROM claw.inbox WHERE session = $1",
    // In one order for all, so that two who delete cannot wait for each other.
    "SELECT FROM claw.blobs WHERE digest IN (SELECT digest FROM claw.blob_refs WHERE session = $1)
        ORDER BY digest FOR UPDATE",
    "UPDATE claw.blobs SET sessions = sessions - 1 FROM claw.blob_refs
        WHERE blob_refs.session = $1 AND blob_refs.digest = blobs.digest",
    "DELETE FROM claw.blobs USING claw.blob_refs
        WHERE blob_refs.session = $1 AND blob_refs.digest = blobs.digest AND blobs.sessions <= 0",
    "DELETE FROM claw.blob_refs WHERE session = $1",
];

impl PostgresStore {
    pub(super) async fn list(&self, query: &Query) -> Result<Vec<SessionInfo>, Fault> {
        let client = self.client().await?;
        let most = (query.limit > 0).then(|| i64::try_from(query.limit).unwrap_or(i64::MAX));
        let host = self.host.id();
        let rows = client
            .query(LIST, &[&host, &query.program, &query.unfinished, &most])
            .await?;
        rows.iter().map(read).collect()
    }

    pub(super) async fn remove(&self, session: &str) -> Result<(), Fault> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let Some(row) = transaction.query_opt(LOCK, &[&session]).await? else {
            return Err(Fault::Store(StoreError::NotFound {
                session: session.to_owned(),
            }));
        };
        self.refuse_live(&transaction, session, row.try_get(0)?)
            .await?;
        for statement in DELETE {
            transaction.execute(*statement, &[&session]).await?;
        }
        transaction.commit().await?;
        self.owned().remove(session);
        Ok(())
    }
}

fn read(row: &Row) -> Result<SessionInfo, Fault> {
    let parent = match row.try_get(3)? {
        Some(session) => Some(Parent {
            session,
            seq: unsigned(row, 4)?,
        }),
        None => None,
    };
    let title: Option<&[u8]> = row.try_get(2)?;
    Ok(SessionInfo {
        id: row.try_get(0)?,
        program: row.try_get(1)?,
        title: String::from_utf8_lossy(title.unwrap_or_default()).into_owned(),
        parent,
        head: unsigned(row, 5)?,
        created_ms: unsigned(row, 6)?,
        updated_ms: unsigned(row, 7)?,
        phase: phase(row, 8)?,
        owner: row.try_get(10)?,
        here: row.try_get::<_, Option<bool>>(11)?.unwrap_or(false),
    })
}

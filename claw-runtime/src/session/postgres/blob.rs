//! Blobs: each kept once, with the sessions that refer to it.

use std::sync::Arc;

use super::PostgresStore;
use super::fault::Fault;
use crate::session::{Lease, MOST_BLOB_BYTES, StoreError};

const KEEP: &str = "WITH mine AS (
        SELECT id FROM claw.sessions WHERE id = $1 AND fence = $2 AND host = $3 FOR KEY SHARE
    ), new AS (
        INSERT INTO claw.blob_refs (session, digest) SELECT id, $4 FROM mine
        ON CONFLICT DO NOTHING RETURNING digest
    ), kept AS (
        INSERT INTO claw.blobs AS blob (digest, bytes, sessions) SELECT digest, $5, 1 FROM new
        ON CONFLICT (digest) DO UPDATE SET sessions = blob.sessions + 1
    )
    SELECT FROM mine";
const READ: &str = "SELECT bytes FROM claw.blobs JOIN claw.blob_refs USING (digest)
    WHERE session = $1 AND digest = $2";
const LIST: &str = "SELECT blob_refs.digest
    FROM claw.sessions LEFT JOIN claw.blob_refs ON blob_refs.session = sessions.id
    WHERE sessions.id = $1 ORDER BY blob_refs.digest";

impl PostgresStore {
    pub(super) async fn keep_blob(&self, lease: &Lease, bytes: &[u8]) -> Result<String, Fault> {
        if bytes.len() > MOST_BLOB_BYTES {
            let bytes = bytes.len();
            return Err(Fault::Store(StoreError::TooLarge { bytes }));
        }
        let digest = crate::digest::of(bytes);
        let client = self.client().await?;
        let statement = client.prepare_cached(KEEP).await?;
        let fence = lease.fence.cast_signed();
        let host = self.host.id();
        let mine = client
            .query_opt(
                &statement,
                &[&lease.session, &fence, &host, &digest, &bytes],
            )
            .await?;
        if mine.is_none() {
            self.look(&client, lease).await?;
        }
        Ok(digest)
    }

    pub(super) async fn read_blob(
        &self,
        session: &str,
        digest: &str,
    ) -> Result<Option<Arc<[u8]>>, Fault> {
        let client = self.client().await?;
        let statement = client.prepare_cached(READ).await?;
        let row = client.query_opt(&statement, &[&session, &digest]).await?;
        Ok(match row {
            Some(row) => Some(row.try_get::<_, &[u8]>(0)?.into()),
            None => None,
        })
    }

    pub(super) async fn list_blobs(&self, session: &str) -> Result<Vec<String>, Fault> {
        let client = self.client().await?;
        let rows = client.query(LIST, &[&session]).await?;
        if rows.is_empty() {
            return Err(Fault::Store(StoreError::NotFound {
                session: session.to_owned(),
            }));
        }
        let digests = rows.iter().map(|row| Ok(row.try_get::<_, Option<_>>(0)?));
        digests.filter_map(Result::transpose).collect()
    }
}

//! The journal: appending, reading, restoring.

use tokio_postgres::types::ToSql;

use super::PostgresStore;
use super::fault::Fault;
use super::owner::{Owned, hash, phase_columns, unsigned};
use crate::session::journal::title;
use crate::session::record::{self, START};
use crate::session::{Append, Barrier, Lease, Parent, Phase, Record, StoreError};

/// The one statement of an append: nothing is inserted for a session that was not moved. A buffered one is not waited for
/// until it is on the disk; the order of the log puts it there before whatever comes after it.
const APPEND: &str = "WITH moved AS (
        UPDATE claw.sessions
        SET head = head + cardinality($7::bigint[]), head_hash = $6, phase = $13, until_ms = $14,
            title = coalesce(title, $15), updated_ms = $16, used = clock_timestamp()
        WHERE id = $1 AND fence = $2 AND host = $3 AND head = $4 AND head_hash = $5
            AND EXISTS (SELECT FROM claw.hosts WHERE id = $3 AND expires > clock_timestamp())
        RETURNING id
    ), kept AS (
        INSERT INTO claw.events (session, seq, time_ms, kind, version, payload, hash)
        SELECT moved.id, event.* FROM moved,
            unnest($7::bigint[], $8::bigint[], $9::text[], $10::bigint[], $11::bytea[], $12::bytea[]) AS event
    ), taken AS (
        UPDATE claw.inbox SET input = NULL FROM moved
        WHERE inbox.session = moved.id AND inbox.id = ANY ($17)
    )
    SELECT set_config('synchronous_commit',
        CASE WHEN $18 THEN current_setting('synchronous_commit') ELSE 'off' END, true) FROM moved";

const READ: &str = "SELECT seq, time_ms, kind, version, payload, hash FROM claw.events
    WHERE session = $1 AND seq > $2 ORDER BY seq";
const EXISTS: &str = "SELECT FROM claw.sessions WHERE id = $1";
const RESTORE: &str = "INSERT INTO claw.sessions
    (id, program, head, head_hash, phase, until_ms, title, parent, parent_seq, created_ms, updated_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10) ON CONFLICT DO NOTHING";
const KEEP: &str = "INSERT INTO claw.events (session, seq, time_ms, kind, version, payload, hash)
    SELECT $1, event.* FROM
        unnest($2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bytea[], $7::bytea[]) AS event";
/// How many records one statement brings back.
const MOST_AT_ONCE: usize = 1000;

/// Records as columns.
#[derive(Default)]
struct Columns<'a> {
    seq: Vec<i64>,
    time_ms: Vec<i64>,
    kind: Vec<&'a str>,
    version: Vec<i64>,
    payload: Vec<&'a [u8]>,
    hash: Vec<&'a [u8]>,
}

impl<'a> Columns<'a> {
    fn of(records: &'a [Record]) -> Self {
        let mut columns = Self::default();
        for record in records {
            columns.seq.push(record.seq.cast_signed());
            columns.time_ms.push(record.time_ms.cast_signed());
            columns.kind.push(&record.kind);
            columns.version.push(record.version.into());
            columns.payload.push(&record.payload);
            columns.hash.push(&record.hash);
        }
        columns
    }
}

impl PostgresStore {
    pub(super) async fn write(&self, lease: &Lease, append: Append<'_>) -> Result<(), Fault> {
        let client = self.client().await?;
        let known = match self.known(lease) {
            Some(known) if known.head == append.after => known,
            _ => self.look(&client, lease).await?,
        };
        if known.head != append.after {
            return Err(moved(lease, known.head, append.after));
        }
        let now = self.host.now_ms();
        let mut hash = known.hash;
        let mut records = Vec::with_capacity(append.events.len());
        for (event, seq) in append.events.iter().zip(known.head + 1..) {
            let record = Record::new(&hash, seq, now, event)?;
            hash = record.hash;
            records.push(record);
        }
        let title = if known.titled {
            None
        } else {
            title(&*append.events).map(String::into_bytes)
        };
        let after = Owned {
            head: known.head + records.len() as u64,
            hash,
            phase: append.events.iter().fold(known.phase, Phase::after),
            titled: known.titled || title.is_some(),
            ..known
        };
        let (phase, until_ms) = phase_columns(after.phase);
        let columns = Columns::of(&records);
        let taken: Vec<_> = append.taken.iter().map(|id| id.cast_signed()).collect();
        let values: [&(dyn ToSql + Sync); 18] = [
            &lease.session,
            &lease.fence.cast_signed(),
            &known.host,
            &known.head.cast_signed(),
            &known.hash.as_slice(),
            &hash.as_slice(),
            &columns.seq,
            &columns.time_ms,
            &columns.kind,
            &columns.version,
            &columns.payload,
            &columns.hash,
            &phase,
            &until_ms,
            &title,
            &now.cast_signed(),
            &taken,
            &(append.barrier == Barrier::Durable),
        ];
        let statement = client.prepare_cached(APPEND).await?;
        if client.query_opt(&statement, &values).await?.is_some() {
            self.learn(lease, after);
            return Ok(());
        }
        // Somebody was here before, or the host's time is over: the session says which.
        let found = self.look(&client, lease).await?;
        if found.head != append.after {
            return Err(moved(lease, found.head, append.after));
        }
        self.host.hurry();
        Err(Fault::Store(StoreError::FenceLost {
            session: lease.session.clone(),
        }))
    }

    pub(super) async fn read(&self, session: &str, after: u64) -> Result<Vec<Record>, Fault> {
        let client = self.client().await?;
        let statement = client.prepare_cached(READ).await?;
        // No journal is longer than that.
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let rows = client.query(&statement, &[&session, &after]).await?;
        if rows.is_empty() && client.query_opt(EXISTS, &[&session]).await?.is_none() {
            return Err(Fault::Store(StoreError::NotFound {
                session: session.to_owned(),
            }));
        }
        rows.iter()
            .map(|row| {
                Ok(Record {
                    seq: unsigned(row, 0)?,
                    time_ms: unsigned(row, 1)?,
                    kind: row.try_get(2)?,
                    // One that does not fit is newer than any that is known.
                    version: u32::try_from(row.try_get::<_, i64>(3)?).unwrap_or(u32::MAX),
                    payload: row.try_get(4)?,
                    hash: hash(row, 5)?,
                })
            })
            .collect()
    }

    pub(super) async fn bring_back(
        &self,
        session: &str,
        parent: Option<&Parent>,
        records: &[Record],
    ) -> Result<(), Fault> {
        let mut client = self.client().await?;
        let transaction = client.transaction().await?;
        let (events, _) = record::read(records);
        let events = || events.iter().map(|stored| &stored.event);
        let (phase, until_ms) = phase_columns(events().fold(Phase::Idle, Phase::after));
        let title = title(events()).map(String::into_bytes);
        let hash = records.last().map_or(START, |record| record.hash);
        let values: [&(dyn ToSql + Sync); 10] = [
            &session,
            &self.program,
            &(records.len() as u64).cast_signed(),
            &hash.as_slice(),
            &phase,
            &until_ms,
            &title,
            &parent.map(|parent| &parent.session),
            &parent.map(|parent| parent.seq.cast_signed()),
            &self.host.now_ms().cast_signed(),
        ];
        if transaction.execute(RESTORE, &values).await? == 0 {
            return Err(Fault::Store(StoreError::Exists {
                session: session.to_owned(),
            }));
        }
        record::verify(records).map_err(|fault| StoreError::Damaged {
            session: session.to_owned(),
            fault,
        })?;
        let statement = transaction.prepare(KEEP).await?;
        for records in records.chunks(MOST_AT_ONCE) {
            let Columns {
                seq,
                time_ms,
                kind,
                version,
                payload,
                hash,
            } = Columns::of(records);
            let values: [&(dyn ToSql + Sync); 7] =
                [&session, &seq, &time_ms, &kind, &version, &payload, &hash];
            transaction.execute(&statement, &values).await?;
        }
        transaction.commit().await?;
        Ok(())
    }
}

fn moved(lease: &Lease, head: u64, expected: u64) -> Fault {
    Fault::Store(StoreError::Moved {
        session: lease.session.clone(),
        head,
        expected,
    })
}

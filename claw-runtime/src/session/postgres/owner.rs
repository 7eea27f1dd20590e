//! Who owns a session: opening, closing, and what the owner knows of it.

use tokio_postgres::{Row, Transaction};

use super::PostgresStore;
use super::fault::Fault;
use crate::session::record::{Hash, START};
use crate::session::{Lease, Phase, StoreError};

const CREATE: &str = "INSERT INTO claw.sessions (id, program, head_hash, created_ms, updated_ms)
    VALUES ($1, $2, $3, $4, $4) ON CONFLICT DO NOTHING";
const LOCK: &str = "SELECT program, host FROM claw.sessions WHERE id = $1 FOR UPDATE";
const LIVE: &str = "SELECT name FROM claw.hosts WHERE id = $1 AND gone > clock_timestamp()";
const TAKE: &str = "UPDATE claw.sessions SET host = $2, fence = nextval('claw.fence')
    WHERE id = $1 AND EXISTS (SELECT FROM claw.hosts WHERE id = $2 AND expires > clock_timestamp())
    RETURNING fence, host, head, head_hash, phase, until_ms, title IS NOT NULL";
const GIVE_UP: &str =
    "UPDATE claw.sessions SET host = NULL WHERE id = $1 AND fence = $2 AND host = $3";
const LOOK: &str = "SELECT fence, host, head, head_hash, phase, until_ms, title IS NOT NULL
    FROM claw.sessions WHERE id = $1";

/// What the owner of a session knows of it, so that an append need not ask.
#[derive(Clone, Copy)]
pub(super) struct Owned {
    pub(super) fence: u64,
    pub(super) host: i64,
    pub(super) head: u64,
    pub(super) hash: Hash,
    pub(super) phase: Phase,
    pub(super) titled: bool,
}

impl Owned {
    fn read(row: &Row) -> Result<Self, Fault> {
        Ok(Self {
            fence: unsigned(row, 0)?,
            // No host has the id 0.
            host: row.try_get::<_, Option<i64>>(1)?.unwrap_or(0),
            head: unsigned(row, 2)?,
            hash: hash(row, 3)?,
            phase: phase(row, 4)?,
            titled: row.try_get(6)?,
        })
    }
}

impl PostgresStore {
    /// Takes ownership of a session.
    pub(super) async fn take(&self, session: &str) -> Result<Lease, Fault> {
        loop {
            if let Some(lease) = self.try_to_take(session).await? {
                return Ok(lease);
            }
            self.host.renewed().await;
        }
    }

    /// Takes ownership of a session, unless this host's own time is over.
    async fn try_to_take(&self, session: &str) -> Result<Option<Lease>, Fault> {
        let mut client = self.client().await?;
        let host = self.host.id();
        let now = self.host.now_ms().cast_signed();
        let transaction = client.transaction().await?;
        // Deleted between the two by somebody else: then it is made again.
        let row = loop {
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                [&session, &self.program, &START.as_slice(), &now];
            transaction.execute(CREATE, &values).await?;
            if let Some(row) = transaction.query_opt(LOCK, &[&session]).await? {
                break row;
            }
        };
        let program: String = row.try_get(0)?;
        if program != self.program {
            return Err(Fault::Store(StoreError::OtherProgram {
                session: session.to_owned(),
                program,
            }));
        }
        self.refuse_live(&transaction, session, row.try_get(1)?)
            .await?;
        let Some(row) = transaction.query_opt(TAKE, &[&session, &host]).await? else {
            return Ok(None);
        };
        let owned = Owned::read(&row)?;
        transaction.commit().await?;
        self.own(session, owned);
        Ok(Some(Lease {
            session: session.to_owned(),
            fence: owned.fence,
        }))
    }

    /// Fails when another living host owns the session, whose row is locked.
    pub(super) async fn refuse_live(
        &self,
        transaction: &Transaction<'_>,
        session: &str,
        host: Option<i64>,
    ) -> Result<(), Fault> {
        let Some(host) = host.filter(|host| *host != self.host.id()) else {
            return Ok(());
        };
        match transaction.query_opt(LIVE, &[&host]).await? {
            None => Ok(()),
            Some(row) => Err(Fault::Store(StoreError::Live {
                session: session.to_owned(),
                owner: row.try_get(0)?,
            })),
        }
    }

    /// Gives a session up; nothing to do when it is somebody else's by now.
    pub(super) async fn give_up(&self, lease: &Lease) -> Result<(), Fault> {
        let Some(host) = self.host_of(lease) else {
            return Ok(());
        };
        let client = self.client().await?;
        let fence = lease.fence.cast_signed();
        client
            .execute(GIVE_UP, &[&lease.session, &fence, &host])
            .await?;
        self.forget(lease);
        Ok(())
    }

    /// Returns the id of the host under which a lease was taken, when it was taken here and not from here since.
    pub(super) fn host_of(&self, lease: &Lease) -> Option<i64> {
        self.known(lease).map(|owned| owned.host)
    }

    pub(super) fn known(&self, lease: &Lease) -> Option<Owned> {
        let owned = self.owned();
        let owned = owned.get(&lease.session).copied();
        owned.filter(|owned| owned.fence == lease.fence)
    }

    /// Keeps what was opened, unless another open came after it.
    fn own(&self, session: &str, opened: Owned) {
        let mut owned = self.owned();
        if owned
            .get(session)
            .is_none_or(|owned| owned.fence < opened.fence)
        {
            owned.insert(session.to_owned(), opened);
        }
    }

    /// Keeps what an owner learnt, unless another lease was given out or another append came before.
    pub(super) fn learn(&self, lease: &Lease, learnt: Owned) {
        if let Some(owned) = self.owned().get_mut(&lease.session)
            && owned.fence == learnt.fence
            && owned.head <= learnt.head
        {
            *owned = learnt;
        }
    }

    fn forget(&self, lease: &Lease) {
        let mut owned = self.owned();
        if owned
            .get(&lease.session)
            .is_some_and(|owned| owned.fence == lease.fence)
        {
            owned.remove(&lease.session);
        }
    }

    /// Asks the database how a session stands.
    ///
    /// Fails when it is gone, or not the lease's any more.
    pub(super) async fn look(
        &self,
        client: &tokio_postgres::Client,
        lease: &Lease,
    ) -> Result<Owned, Fault> {
        let session = || lease.session.clone();
        let Some(row) = client.query_opt(LOOK, &[&lease.session]).await? else {
            self.forget(lease);
            return Err(Fault::Store(StoreError::NotFound { session: session() }));
        };
        let owned = Owned::read(&row)?;
        if owned.fence != lease.fence || owned.host != self.host.id() {
            self.forget(lease);
            return Err(Fault::Store(StoreError::FenceLost { session: session() }));
        }
        self.learn(lease, owned);
        Ok(owned)
    }
}

pub(super) fn unsigned(row: &Row, column: usize) -> Result<u64, Fault> {
    Ok(row.try_get::<_, i64>(column)?.cast_unsigned())
}

/// Reads a hash; one of another length fits nothing, so the chain breaks there.
pub(super) fn hash(row: &Row, column: usize) -> Result<Hash, Fault> {
    let hash: &[u8] = row.try_get(column)?;
    Ok(hash.try_into().unwrap_or(START))
}

/// Reads a phase from two columns.
pub(super) fn phase(row: &Row, column: usize) -> Result<Phase, Fault> {
    Ok(match row.try_get::<_, i16>(column)? {
        0 => Phase::Idle,
        1 => Phase::Open,
        _ => Phase::Parked {
            until_ms: unsigned(row, column + 1)?,
        },
    })
}

/// Returns what [`phase`] reads.
pub(super) fn phase_columns(phase: Phase) -> (i16, i64) {
    match phase {
        Phase::Idle => (0, 0),
        Phase::Open => (1, 0),
        Phase::Parked { until_ms } => (2, until_ms.cast_signed()),
    }
}

//! The tables, and how an older database becomes a newer one.
//!
//! What comes from outside and is only shown (titles, payloads, inputs) is kept as bytes: `text` cannot hold every string.
//! Numbers of 64 bits without sign are kept as the same bits with one.

use deadpool_postgres::Client;
use tokio_postgres::Row;

use super::fault::Fault;

/// Each step brings a database to the next version. Never changed once released; only added to.
const STEPS: &[&str] = &["
CREATE FUNCTION claw.now_ms() RETURNS bigint LANGUAGE sql
    AS 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
CREATE TABLE claw.hosts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    -- Until when it may write, and from when on others may take what it owns.
    expires timestamptz NOT NULL,
    gone timestamptz NOT NULL
);
-- Over all sessions, so that one that is deleted and made again is not taken for what it was.
CREATE SEQUENCE claw.fence;
CREATE TABLE claw.sessions (
    id text COLLATE \"C\" PRIMARY KEY,
    program text NOT NULL,
    host bigint,
    fence bigint NOT NULL DEFAULT 0,
    head bigint NOT NULL DEFAULT 0,
    head_hash bytea NOT NULL CHECK (octet_length(head_hash) = 32),
    phase smallint NOT NULL DEFAULT 0,
    until_ms bigint NOT NULL DEFAULT 0,
    title bytea,
    parent text,
    parent_seq bigint,
    created_ms bigint NOT NULL,
    updated_ms bigint NOT NULL,
    -- The order of use over all hosts: their stamps lag behind the clock by a little, each by its own.
    used timestamptz NOT NULL DEFAULT clock_timestamp()
    -- Each append updates its row: with room on the page, and no index on what changes, that touches no index.
) WITH (fillfactor = 50);
CREATE TABLE claw.events (
    session text COLLATE \"C\" NOT NULL,
    seq bigint NOT NULL,
    time_ms bigint NOT NULL,
    kind text NOT NULL,
    version bigint NOT NULL,
    payload bytea NOT NULL,
    hash bytea NOT NULL CHECK (octet_length(hash) = 32),
    PRIMARY KEY (session, seq)
);
CREATE TABLE claw.inbox (
    session text COLLATE \"C\" NOT NULL,
    key text COLLATE \"C\" NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- Null once taken: the key stays, so that it is not taken twice.
    input bytea,
    PRIMARY KEY (session, key)
);
CREATE INDEX inbox_waiting ON claw.inbox (session, id) WHERE input IS NOT NULL;
CREATE TABLE claw.blobs (
    digest text COLLATE \"C\" PRIMARY KEY,
    bytes bytea NOT NULL,
    -- How many sessions refer to it. Counted in the row, so that its lock orders those who come and those who go.
    sessions bigint NOT NULL
);
CREATE TABLE claw.blob_refs (
    session text COLLATE \"C\" NOT NULL,
    digest text COLLATE \"C\" NOT NULL,
    PRIMARY KEY (session, digest)
);
CREATE TABLE claw.counters (
    name text COLLATE \"C\" PRIMARY KEY,
    value numeric(20) NOT NULL
);
"];

/// What hosts lock while they bring the tables up to date.
const LOCK: i64 = 0x636c_6177;

/// Brings the tables up to date. Hosts that start at the same time wait for each other.
pub(super) async fn migrate(client: &mut Client) -> Result<(), Fault> {
    let known = STEPS.len();
    // Most hosts find everything done, and need no right to create anything.
    let there = client
        .query_one("SELECT to_regclass('claw.version') IS NOT NULL", &[])
        .await?;
    if there.try_get(0)? {
        let row = client.query_opt("SELECT number FROM claw.version", &[]);
        if number(row.await?)? == known {
            return Ok(());
        }
    }
    let transaction = client.transaction().await?;
    transaction
        .execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])
        .await?;
    let encoding = transaction
        .query_one("SELECT current_setting('server_encoding')", &[])
        .await?;
    let encoding: String = encoding.try_get(0)?;
    if encoding != "UTF8" {
        return Err(Fault::Said(format!(
            "the database has the encoding {encoding}; make one with `CREATE DATABASE … ENCODING 'UTF8'`"
        )));
    }
    transaction
        .batch_execute(
            "CREATE SCHEMA IF NOT EXISTS claw;
             CREATE TABLE IF NOT EXISTS claw.version (number int NOT NULL)",
        )
        .await?;
    let row = transaction.query_opt("SELECT number FROM claw.version", &[]);
    let found = number(row.await?)?;
    if found > known {
        return Err(Fault::Said(format!(
            "the tables are of version {found}, and this program knows them up to {known}: update the program"
        )));
    }
    for step in &STEPS[found..] {
        transaction.batch_execute(step).await?;
    }
    let set = format!("DELETE FROM claw.version; INSERT INTO claw.version VALUES ({known})");
    transaction.batch_execute(&set).await?;
    transaction.commit().await?;
    Ok(())
}

fn number(row: Option<Row>) -> Result<usize, Fault> {
    let number: i32 = row.map_or(Ok(0), |row| row.try_get(0))?;
    usize::try_from(number).map_err(|_| Fault::Said(format!("the tables are of version {number}")))
}

//! What Postgres adds to the promises of every store: races of hosts, takeover, and what fails on the way.
#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used)]

mod agents;
mod clock;
mod connections;
mod processes;
mod proxy;
mod races;
mod start;
mod time;

#[path = "../support/postgres.rs"]
mod server;

use std::sync::Arc;
use std::time::Duration;

use claw_runtime::event::Event;
use claw_runtime::message::ContentBlock;
use claw_runtime::session::{
    Append, Barrier, Lease, PostgresOptions, PostgresStore, SessionStore, StoreError, record,
};
use tokio_postgres::Client;

/// Begins a host of the program `p`, whose time is long.
async fn host(url: &str) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::connect(options(url)).await.unwrap())
}

fn options(url: &str) -> PostgresOptions {
    PostgresOptions::new("p", url)
}

/// Somebody says something.
fn said(text: &str) -> Event {
    Event::UserInput {
        key: text.to_owned(),
        content: vec![ContentBlock::text(text)],
    }
}

async fn append(
    host: &PostgresStore,
    lease: &Lease,
    after: u64,
    text: &str,
) -> Result<(), StoreError> {
    let append = Append {
        after,
        events: [said(text)].into(),
        barrier: Barrier::Durable,
        taken: &[],
    };
    host.append(lease, append).await
}

/// Returns the keys of a session's events, having checked that its records are whole.
async fn keys(host: &dyn SessionStore, session: &str) -> Vec<String> {
    let records = host.records(session, 0).await.unwrap();
    record::verify(&records).unwrap();
    let keys = records.iter().map(|record| match record.read().unwrap() {
        Event::UserInput { key, .. } => key,
        other => other.kind().to_owned(),
    });
    keys.collect()
}

fn lost() -> StoreError {
    StoreError::FenceLost {
        session: "s".to_owned(),
    }
}

/// Ends the time of every host there is; others wait for nothing.
async fn end_time(client: &Client) {
    let end = "UPDATE claw.hosts SET expires = clock_timestamp(), gone = clock_timestamp()";
    client.batch_execute(end).await.unwrap();
}

/// Waits until a statement waits for a lock.
async fn wait_for_a_lock(client: &Client) {
    let waits = "SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'claw' AND wait_event_type = 'Lock'";
    until(async || !client.query(waits, &[]).await.unwrap().is_empty()).await;
}

/// Waits until something holds, at most for a minute.
async fn until(holds: impl AsyncFn() -> bool) {
    let held = tokio::time::timeout(Duration::from_secs(60), async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    held.await.expect("within a minute");
}

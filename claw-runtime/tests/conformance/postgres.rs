//! Postgres, as a medium.

use std::sync::Arc;
use std::time::Duration;

use claw_runtime::session::{PostgresOptions, PostgresStore};
use futures_util::future::BoxFuture;

use crate::medium::{Host, Medium};
use crate::server::{Database, server};

struct Postgres(Database);

impl Medium for Postgres {
    fn host<'a>(&'a self, program: &'a str) -> BoxFuture<'a, Host> {
        Box::pin(async move {
            let mut options = PostgresOptions::new(program, self.0.url());
            options.connections = 4;
            Arc::new(PostgresStore::connect(options).await.unwrap()) as Host
        })
    }

    /// It leaves by a message to the server; should that be lost, its time must run out.
    fn grace(&self) -> Duration {
        Duration::from_secs(30)
    }

    fn blobs(&self) -> BoxFuture<'_, Option<usize>> {
        Box::pin(async move {
            let client = self.0.client().await;
            let count = client.query_one("SELECT count(*) FROM claw.blobs", &[]);
            let count: i64 = count.await.unwrap().get(0);
            Some(usize::try_from(count).unwrap())
        })
    }
}

/// An empty database.
pub(crate) async fn postgres() -> Option<impl Medium> {
    Some(Postgres(server()?.database().await))
}

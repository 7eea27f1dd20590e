//! Connections that end, and few of them.

use claw_runtime::message::ContentBlock;
use claw_runtime::session::{Posted, SessionStore};
use futures_util::future::join_all;

use crate::server::server;
use crate::{append, host, keys, options};

fn message() -> Posted {
    Posted::Message {
        content: vec![ContentBlock::text("hello")],
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn posts_are_heard_of_after_every_connection_was_lost() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let client = database.client().await;
    let (a, b) = (host(&database.url()).await, host(&database.url()).await);
    let lease = a.open("s").await.unwrap();
    for round in 0..5 {
        let waits = tokio::spawn({
            let (a, lease) = (a.clone(), lease.clone());
            async move {
                // A look may fail with the connection; then it looks again.
                while a.posted(&lease).await.is_err() {
                    tokio::task::yield_now().await;
                }
            }
        });
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        client.batch_execute(end).await.unwrap();
        let key = round.to_string();
        // What was posted is kept or not; the key makes it one.
        while b.post("s", &key, &message()).await.is_err() {}
        let heard = tokio::time::timeout(std::time::Duration::from_secs(60), waits);
        heard.await.expect("within a minute").unwrap();
        let waiting = a.inbox(&lease).await.unwrap();
        assert_eq!(waiting.len(), 1);
        let taken = claw_runtime::session::Append {
            after: 0,
            events: [].into(),
            barrier: claw_runtime::session::Barrier::Durable,
            taken: &[waiting[0].id],
        };
        a.append(&lease, taken).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_connection_serves_many_sessions() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let mut options = options(&database.url());
    options.connections = 1;
    let host = claw_runtime::session::PostgresStore::connect(options)
        .await
        .unwrap();
    let work = (0..50).map(|n| {
        let host = &host;
        async move {
            let session = format!("s{n}");
            let lease = host.open(&session).await.unwrap();
            for after in 0..4 {
                append(host, &lease, after, &after.to_string())
                    .await
                    .unwrap();
            }
            assert_eq!(keys(host, &session).await, ["0", "1", "2", "3"]);
        }
    });
    join_all(work).await;
}

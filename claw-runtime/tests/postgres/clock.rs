//! The host's own wall clock decides nothing: times are the database's.

use std::path::Path;

use claw_runtime::session::SessionStore;

use crate::server::server;
use crate::{append, host};

#[test]
fn the_store_reads_no_wall_clock() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/session/postgres");
    let mut read = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        for word in ["SystemTime", "UNIX_EPOCH", "jiff"] {
            assert!(!text.contains(word), "{}: {word}", path.display());
        }
        read += 1;
    }
    assert!(read > 5);
}

#[tokio::test]
async fn events_bear_the_time_of_the_database() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let client = database.client().await;
    let clock = async || {
        let now = "SELECT claw.now_ms()";
        let now: i64 = client.query_one(now, &[]).await.unwrap().get(0);
        u64::try_from(now).unwrap()
    };
    let host = host(&database.url()).await;
    let lease = host.open("s").await.unwrap();
    let before = clock().await;
    append(&host, &lease, 0, "one").await.unwrap();
    let after = clock().await;
    let time = host.records("s", 0).await.unwrap()[0].time_ms;
    // Never ahead; behind by what the last renewal's answer took to come.
    assert!(
        (before.saturating_sub(5_000)..=after).contains(&time),
        "{before} {time} {after}"
    );
}

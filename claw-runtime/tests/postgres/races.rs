//! Hosts that stop between the check of who owns a session and the commit.

use claw_runtime::session::{SessionStore, StoreError};

use crate::server::server;
use crate::{append, end_time, host, keys, lost, wait_for_a_lock};

/// Makes every append stop between its check and its commit, as long as somebody holds the lock 7.
const STOP: &str = "
    CREATE FUNCTION claw.stop() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NEW; END $$;
    CREATE TRIGGER stop BEFORE INSERT ON claw.events FOR EACH ROW EXECUTE FUNCTION claw.stop();
    SELECT pg_advisory_lock(7)";
const GO: &str = "SELECT pg_advisory_unlock(7)";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_that_waits_for_a_takeover_writes_nothing() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let a = host(&database.url()).await;
    let old = a.open("s").await.unwrap();
    append(&a, &old, 0, "one").await.unwrap();

    // The other host has taken the session and not yet committed: for everybody else, nothing has changed.
    let mut client = database.client().await;
    let taker = client.transaction().await.unwrap();
    let take = "UPDATE claw.sessions SET fence = nextval('claw.fence'), host = 99 WHERE id = 's'";
    taker.batch_execute(take).await.unwrap();
    let append = tokio::spawn({
        let (a, old) = (a.clone(), old.clone());
        async move { append(&a, &old, 1, "too late").await }
    });
    wait_for_a_lock(&database.client().await).await;
    taker.commit().await.unwrap();

    assert_eq!(append.await.unwrap(), Err(lost()));
    assert_eq!(keys(&*a, "s").await, ["one"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_takeover_waits_for_a_host_that_stopped_between_check_and_commit() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let (a, b) = (host(&database.url()).await, host(&database.url()).await);
    let client = database.client().await;
    let old = a.open("s").await.unwrap();
    append(&a, &old, 0, "one").await.unwrap();

    client.batch_execute(STOP).await.unwrap();
    let stopped = tokio::spawn({
        let (a, old) = (a.clone(), old.clone());
        async move { append(&a, &old, 1, "two").await }
    });
    let watch = database.client().await;
    wait_for_a_lock(&watch).await;
    // Its time ends while it is stopped, and the other, whose time ends too and begins anew, takes over.
    end_time(&watch).await;
    let taken = tokio::spawn({
        let b = b.clone();
        async move { b.open("s").await }
    });
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    assert!(
        !taken.is_finished(),
        "the session was taken from under an append"
    );
    client.batch_execute(GO).await.unwrap();

    // What the new owner reads is all there will ever be of the old one.
    assert_eq!(stopped.await.unwrap(), Ok(()));
    let new = taken.await.unwrap().unwrap();
    assert_eq!(keys(&*b, "s").await, ["one", "two"]);
    assert_eq!(append(&a, &old, 2, "too late").await, Err(lost()));
    append(&b, &new, 2, "three").await.unwrap();
    assert_eq!(keys(&*b, "s").await, ["one", "two", "three"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_whose_connection_is_lost_says_that_nobody_knows() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let a = host(&database.url()).await;
    let client = database.client().await;
    let lease = a.open("s").await.unwrap();
    append(&a, &lease, 0, "one").await.unwrap();

    client.batch_execute(STOP).await.unwrap();
    let stopped = tokio::spawn({
        let (a, lease) = (a.clone(), lease.clone());
        async move { append(&a, &lease, 1, "lost").await }
    });
    let watch = database.client().await;
    wait_for_a_lock(&watch).await;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    watch.batch_execute(end).await.unwrap();
    let error = stopped.await.unwrap().unwrap_err().to_string();
    assert!(
        error.contains("a write may have been done or not"),
        "{error}"
    );
    client.batch_execute(GO).await.unwrap();

    // The caller reads again, and goes on from what it finds.
    assert_eq!(keys(&*a, "s").await, ["one"]);
    append(&a, &lease, 1, "two").await.unwrap();
    assert_eq!(keys(&*a, "s").await, ["one", "two"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_that_nobody_waits_for_any_more_is_found_by_the_next() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let a = host(&database.url()).await;
    let client = database.client().await;
    let lease = a.open("s").await.unwrap();

    client.batch_execute(STOP).await.unwrap();
    let stopped = tokio::spawn({
        let (a, lease) = (a.clone(), lease.clone());
        async move { append(&a, &lease, 0, "one").await }
    });
    wait_for_a_lock(&database.client().await).await;
    stopped.abort();
    client.batch_execute(GO).await.unwrap();

    // The statement was under way, and ends as if it had been waited for.
    let moved = StoreError::Moved {
        session: "s".to_owned(),
        head: 1,
        expected: 0,
    };
    assert_eq!(append(&a, &lease, 0, "again").await, Err(moved));
    append(&a, &lease, 1, "two").await.unwrap();
    assert_eq!(keys(&*a, "s").await, ["one", "two"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blob_that_is_put_while_its_last_session_goes_stays() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let a = host(&database.url()).await;
    let client = database.client().await;
    let b = a.open("b").await.unwrap();
    for round in 0..30 {
        let session = format!("a{round}");
        let lease = a.open(&session).await.unwrap();
        let bytes = format!("blob {round}");
        a.put_blob(&lease, bytes.as_bytes()).await.unwrap();
        let (digest, gone) = tokio::join!(a.put_blob(&b, bytes.as_bytes()), a.delete(&session));
        gone.unwrap();
        let kept = a.blob("b", &digest.unwrap()).await.unwrap();
        assert_eq!(kept.as_deref(), Some(bytes.as_bytes()));
    }
    a.delete("b").await.unwrap();
    let left = client.query_one("SELECT count(*) FROM claw.blobs", &[]);
    assert_eq!(left.await.unwrap().get::<_, i64>(0), 0);
}

//! A host's time: while it has some it acts, and when it has none others may take what it owned.

use std::time::Duration;

use claw_runtime::session::{PostgresStore, Query, SessionStore, StoreError};

use crate::proxy::Proxy;
use crate::server::server;
use crate::{append, end_time, host, keys, lost, options, until};

/// Opens as soon as nobody else owns it, and the way to the server is open.
async fn open(host: &PostgresStore, session: &str) -> claw_runtime::session::Lease {
    loop {
        match host.open(session).await {
            Err(StoreError::Failed { .. } | StoreError::Live { .. }) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            opened => return opened.unwrap(),
        }
    }
}

#[tokio::test]
async fn a_host_whose_time_ran_out_begins_anew_without_what_it_owned() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let mut options = options(&database.url());
    options.lease = Duration::from_secs(3);
    let a = PostgresStore::connect(options).await.unwrap();
    let old = a.open("s").await.unwrap();
    append(&a, &old, 0, "one").await.unwrap();
    assert!(a.may_act(&old));

    // As when its machine slept: by its own clock, it still has time.
    end_time(&database.client().await).await;
    assert_eq!(append(&a, &old, 1, "too late").await, Err(lost()));
    a.lost(&old).await;
    assert!(!a.may_act(&old));

    let new = a.open("s").await.unwrap();
    assert!(new.fence > old.fence);
    append(&a, &new, 1, "two").await.unwrap();
    assert!(a.may_act(&new));
    // The new time is not the old lease's.
    assert!(!a.may_act(&old));
    a.lost(&old).await;
    assert_eq!(append(&a, &old, 2, "too late").await, Err(lost()));
    assert_eq!(keys(&a, "s").await, ["one", "two"]);
}

#[tokio::test]
async fn takeover_waits_for_the_lease_and_the_grace() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let client = database.client().await;
    let (a, b) = (host(&database.url()).await, host(&database.url()).await);
    a.open("s").await.unwrap();
    let owner = async || {
        let listed = b.sessions(&Query::default()).await.unwrap();
        listed[0].owner.clone()
    };

    // It writes no more, but what it runs may not have ended.
    let first = "UPDATE claw.hosts SET expires = clock_timestamp() WHERE id = (SELECT min(id) FROM claw.hosts)";
    client.batch_execute(first).await.unwrap();
    match b.open("s").await {
        Err(StoreError::Live { owner, .. }) => {
            let process = format!("process {}", std::process::id());
            assert!(owner.starts_with(&process), "{owner}");
        }
        other => panic!("{other:?}"),
    }
    assert!(owner().await.is_some());
    assert!(matches!(b.delete("s").await, Err(StoreError::Live { .. })));

    let first = "UPDATE claw.hosts SET gone = clock_timestamp() WHERE id = (SELECT min(id) FROM claw.hosts)";
    client.batch_execute(first).await.unwrap();
    assert_eq!(owner().await, None);
    b.open("s").await.unwrap();
    assert!(owner().await.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_cannot_renew_stops_before_others_may_take_over() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let proxy = Proxy::begin(&database.url()).await;
    let mut options = options(&proxy.url);
    options.lease = Duration::from_secs(3);
    options.grace = Duration::from_secs(1);
    let a = PostgresStore::connect(options).await.unwrap();
    let b = host(&database.url()).await;
    let old = a.open("s").await.unwrap();
    append(&a, &old, 0, "one").await.unwrap();

    proxy.cut();
    a.lost(&old).await;
    assert!(!a.may_act(&old));
    assert!(matches!(b.open("s").await, Err(StoreError::Live { .. })));
    let error = append(&a, &old, 1, "nowhere").await.unwrap_err();
    assert!(matches!(error, StoreError::Failed { .. }), "{error}");

    // Sooner or later it is free, and what its owner was told is there.
    let new = open(&b, "s").await;
    assert_eq!(keys(&*b, "s").await, ["one"]);
    append(&b, &new, 1, "two").await.unwrap();

    // When the way is open again the host is another, and owns nothing.
    proxy.mend();
    until(async || {
        matches!(
            append(&a, &old, 1, "late").await,
            Err(StoreError::FenceLost { .. })
        )
    })
    .await;
    open(&a, "t").await;
    assert_eq!(keys(&a, "s").await, ["one", "two"]);
}

#[tokio::test]
async fn a_host_that_leaves_frees_its_sessions_at_once() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let (a, b) = (host(&database.url()).await, host(&database.url()).await);
    a.open("s").await.unwrap();
    drop(a);
    // Far sooner than its time would end.
    until(async || b.open("s").await.is_ok()).await;
    let hosts = database.client().await;
    let hosts = hosts.query_one("SELECT count(*) FROM claw.hosts", &[]);
    assert_eq!(hosts.await.unwrap().get::<_, i64>(0), 1);
}

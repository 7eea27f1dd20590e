//! What can be wrong at the start, and what is said of it: never the password.

use claw_runtime::session::{PostgresOptions, PostgresStore, SessionStore};
use futures_util::future::join_all;

use crate::server::server;
use crate::{append, host, keys, options};

async fn fault(options: PostgresOptions) -> String {
    let shown = format!("{options:?}");
    let fault = PostgresStore::connect(options).await.unwrap_err();
    let fault = format!("{fault} {fault:?}");
    for text in [&fault, &shown] {
        assert!(!text.contains("hunter"), "{text}");
    }
    fault
}

#[tokio::test]
async fn no_fault_of_a_url_repeats_the_password() {
    let urls = [
        "postgres://me:hunter2@127.0.0.1:1/db",
        "postgres://me:hunter2@127.0.0.1:port/db",
        "postgres://me:hunter@2@127.0.0.1:1/db",
        "postgres://me:x@hunter2:y@127.0.0.1:1/db",
        "postgres://me:hunter/2@127.0.0.1:1/db",
        "postgres://me:x?hunter=2@127.0.0.1:1/db",
        "postgres://me:x#hunter2@127.0.0.1:1/db",
        "postgres://me@127.0.0.1:1/db?password=hunter2",
        "postgres://me@127.0.0.1:1/db?hunter2=1",
        "postgres://me@127.0.0.1:1/db?sslmode=hunter2",
        "host=127.0.0.1 port=1 user=me password=hunter2",
        "host=127.0.0.1 port=1 user=me password='hunter2",
        "mysql://me:hunter2@127.0.0.1/db",
        "hunter2",
        "",
    ];
    for url in urls {
        fault(options(url)).await;
    }
    let refused = fault(options(urls[0])).await;
    assert!(refused.contains("connecting to 127.0.0.1:1: "), "{refused}");
    let unread = fault(options(urls[1])).await;
    assert!(
        unread.contains("expected `postgres://user:password@"),
        "{unread}"
    );
}

#[tokio::test]
async fn hosts_that_start_at_once_make_the_tables_once() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let url = database.url();
    let hosts = join_all((0..6).map(|_| host(&url))).await;
    let lease = hosts[0].open("s").await.unwrap();
    append(&hosts[0], &lease, 0, "one").await.unwrap();
    assert_eq!(keys(&*hosts[5], "s").await, ["one"]);
}

#[tokio::test]
async fn tables_of_a_newer_program_are_left_alone() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    drop(host(&database.url()).await);
    let client = database.client().await;
    client
        .batch_execute("UPDATE claw.version SET number = 1000")
        .await
        .unwrap();
    let fault = fault(options(&database.url())).await;
    assert!(fault.contains("the tables are of version 1000"), "{fault}");
    assert!(fault.contains("update the program"), "{fault}");
}

#[tokio::test]
async fn a_database_that_cannot_hold_every_letter_is_refused() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let client = database.client().await;
    let name = format!("{}_latin", database.name);
    let create = format!("CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    client.batch_execute(&create).await.unwrap();
    let fault = fault(options(&server.url(&name, "sslmode=disable"))).await;
    assert!(fault.contains("has the encoding LATIN1"), "{fault}");
}

#[tokio::test]
async fn a_user_without_rights_is_told_so() {
    let Some(server) = server() else { return };
    let database = server.database().await;
    let client = database.client().await;
    let name = &database.name;
    let create = format!("CREATE ROLE {name}_guest LOGIN PASSWORD 'hunter2'");
    client.batch_execute(&create).await.unwrap();
    let url = database.url();
    let (_, place) = url.split_once('@').unwrap();
    let url = format!("postgres://{name}_guest:hunter2@{place}");
    let fault = fault(options(&url)).await;
    assert!(fault.contains("permission denied"), "{fault}");

    // Once the tables are there, the right to use them is enough.
    drop(host(&database.url()).await);
    let grant = format!(
        "GRANT USAGE ON SCHEMA claw TO {name}_guest;
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA claw TO {name}_guest;
         GRANT USAGE ON ALL SEQUENCES IN SCHEMA claw TO {name}_guest"
    );
    client.batch_execute(&grant).await.unwrap();
    let guest = host(&url).await;
    let lease = guest.open("s").await.unwrap();
    append(&guest, &lease, 0, "one").await.unwrap();
}

#[tokio::test]
async fn a_certificate_is_always_checked() {
    let Some(server) = server() else { return };
    let Some(root) = &server.root else {
        println!(
            "skipped: the server speaks no TLS, for want of openssl or because it is another's"
        );
        return;
    };
    let database = server.database().await;
    let url = |settings: &str| server.url(&database.name, settings);
    for settings in [
        "sslmode=require",
        "sslmode=prefer",
        "sslmode=verify-full",
        "",
    ] {
        let fault = fault(options(&url(settings))).await;
        assert!(fault.contains("certificate"), "{settings}: {fault}");
    }

    let with_root = format!("sslmode=verify-full&sslrootcert={}", root.display());
    let a = host(&url(&with_root)).await;
    let mut b = options(&url("sslmode=require"));
    b.roots = Some(root.clone());
    let b = PostgresStore::connect(b).await.unwrap();
    let lease = a.open("s").await.unwrap();
    append(&a, &lease, 0, "one").await.unwrap();
    assert_eq!(keys(&b, "s").await, ["one"]);
    let client = database.client().await;
    let ssl = "SELECT count(*), bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
        WHERE datname = current_database() AND application_name = 'claw'";
    let row = client.query_one(ssl, &[]).await.unwrap();
    assert!(row.get::<_, i64>(0) >= 2);
    assert!(row.get::<_, bool>(1));

    let mut other = options(&url("sslmode=require"));
    other.roots = Some("/nowhere/root.crt".into());
    let fault = fault(other).await;
    assert!(
        fault.contains("cannot take root certificates from `/nowhere/root.crt`"),
        "{fault}"
    );
}

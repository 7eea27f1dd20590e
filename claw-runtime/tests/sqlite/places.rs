//! Files and folders that are not what is wanted.

use std::fs;

use claw_runtime::session::{
    Durability, Posted, SessionStore, SqliteOptions, SqliteStore, journal,
};
use rusqlite::Connection;

use crate::child::{Running, appender};
use crate::{begin, beside, open, place, refused};

/// Asserts that an error names the file and holds these words.
fn assert_says(error: &str, path: &std::path::Path, words: &[&str]) {
    assert!(error.contains(&path.display().to_string()), "{error}");
    for word in words {
        assert!(error.contains(word), "{word}: {error}");
    }
    assert!(error.len() < 500, "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn what_is_made_is_the_users_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, _) = place();
    let folder = folder.path().join("a/b");
    let path = folder.join("sessions.db");
    let store = open(&path);
    begin(&store, "s", 2).await;
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    for made in [&folder, folder.parent().unwrap(), &beside(&path, "-hosts")] {
        assert_eq!(mode(made), 0o700, "{}", made.display());
    }
    let hosts = fs::read_dir(beside(&path, "-hosts")).unwrap();
    let host = hosts.map(|one| one.unwrap().path()).next().unwrap();
    for suffix in ["", "-wal", "-shm", "-gate"] {
        assert_eq!(mode(&beside(&path, suffix)), 0o600, "{suffix}");
    }
    assert_eq!(mode(&host), 0o600);
    drop(store);
    // Nothing is left of a host, and the log is in the file.
    assert!(!host.exists());
    assert!(!beside(&path, "-wal").exists());
}

#[tokio::test]
async fn what_is_deleted_is_not_in_the_file_any_more() {
    let (_folder, path) = place();
    let store = open(&path);
    let lease = begin(&store, "s", 3).await;
    begin(&store, "other", 3).await;
    let mark = "correct horse battery staple ".repeat(300);
    crate::append(
        &store,
        &lease,
        3,
        crate::said(&mark),
        crate::Barrier::Durable,
    )
    .await
    .unwrap();
    store.put_blob(&lease, mark.as_bytes()).await.unwrap();
    let holds = || {
        let bytes = fs::read(&path).unwrap();
        bytes
            .windows(20)
            .any(|bytes| bytes == &mark.as_bytes()[..20])
    };
    drop(store);
    assert!(holds());
    let store = open(&path);
    store.delete("s").await.unwrap();
    drop(store);
    assert!(!holds());
}

#[tokio::test]
async fn a_file_that_is_no_database_is_left_alone() {
    let (_folder, path) = place();
    let text = "Dear diary, this is no database. ".repeat(200);
    fs::write(&path, &text).unwrap();
    assert_says(
        &refused(&path),
        &path,
        &["is no SQLite database", "move it away"],
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[tokio::test]
async fn another_programs_database_is_left_alone() {
    let (_folder, path) = place();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE notes (text)").unwrap();
    assert_says(
        &refused(&path),
        &path,
        &["another program's", "file of their own"],
    );
    other.execute_batch("PRAGMA application_id = 77").unwrap();
    assert_says(&refused(&path), &path, &["another program's"]);
    let mode: String = other
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "delete");
}

#[tokio::test]
async fn a_newer_database_is_left_alone() {
    let (_folder, path) = place();
    drop(open(&path));
    for version in [99, -1] {
        let other = Connection::open(&path).unwrap();
        other.pragma_update(None, "user_version", version).unwrap();
        drop(other);
        let words = ["newer claw", &version.to_string(), "update claw"];
        assert_says(&refused(&path), &path, &words);
    }
}

#[tokio::test]
async fn a_folder_where_a_file_should_be_says_so() {
    let (folder, path) = place();
    fs::create_dir(&path).unwrap();
    assert_says(&refused(&path), &path, &["cannot be opened"]);
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert_says(
        &refused(&file.join("sessions.db")),
        &file,
        &["cannot be made"],
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_that_is_read_only_says_so() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let (folder, path) = place();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let mut command = appender(&path, "s", "");
    if fs::write(folder.path().join("probe"), "").is_ok() {
        // The superuser writes anywhere; `nobody` does not.
        command.uid(65534).gid(65534);
    }
    let error = Running::start(command).says("failed ");
    let Some(error) = error else {
        println!("skipped: this test program cannot be run by another user");
        return;
    };
    assert_says(&error, &path, &["Permission denied", "write access"]);

    // A file that is there, but may only be read.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let store = open(&path);
    begin(&store, "s", 3).await;
    drop(store);
    for suffix in ["", "-gate"] {
        let readable = fs::Permissions::from_mode(0o444);
        fs::set_permissions(beside(&path, suffix), readable).unwrap();
    }
    let mut command = appender(&path, "t", "");
    if std::fs::OpenOptions::new().write(true).open(&path).is_ok() {
        command.uid(65534).gid(65534);
    }
    let error = Running::start(command).says("failed ").unwrap();
    assert_says(&error, &path, &["Permission denied", "write access"]);
}

#[tokio::test]
async fn many_that_begin_at_once_find_one_file() {
    let (_folder, path) = place();
    let stores: Vec<_> = std::thread::scope(|scope| {
        let opens: Vec<_> = (0..6).map(|_| scope.spawn(|| open(&path))).collect();
        opens.into_iter().map(|one| one.join().unwrap()).collect()
    });
    for (store, n) in stores.iter().zip(0..) {
        begin(store, &format!("s{n}"), 2).await;
    }
    assert_eq!(
        stores[0].sessions(&Default::default()).await.unwrap().len(),
        6
    );
    assert_eq!(stores[0].check().await.unwrap(), []);
}

#[tokio::test]
async fn however_durable_it_keeps_what_it_is_given() {
    for durability in [Durability::Full, Durability::Normal, Durability::Off] {
        let (_folder, path) = place();
        let mut options = SqliteOptions::new("p");
        options.durability = durability;
        let store = SqliteStore::at(&path, options).unwrap();
        begin(&store, "s", 5).await;
        let (_copy, copy) = crate::crashed(&path);
        let journal = journal::load(&open(&copy), "s").await.unwrap();
        assert_eq!(journal.len(), 5, "{durability:?}");
    }
}

#[tokio::test]
async fn what_a_newer_claw_posts_stops_nobody() {
    let (_folder, path) = place();
    let store = open(&path);
    let lease = begin(&store, "s", 1).await;
    assert!(store.post("s", "a", &Posted::Cancel).await.unwrap());
    assert!(store.post("s", "b", &Posted::Cancel).await.unwrap());
    let other = Connection::open(&path).unwrap();
    let newer = "UPDATE inbox SET input = CAST('{\"posted\":\"dream\"}' AS BLOB) WHERE key = 'a'";
    assert_eq!(other.execute(newer, []).unwrap(), 1);
    let waiting = store.inbox(&lease).await.unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].key, "b");
}

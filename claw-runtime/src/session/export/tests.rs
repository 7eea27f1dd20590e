//! What is written is what is read; what is damaged is taken as far as it is whole.

use std::io::Cursor;

use super::*;
use crate::event::Event;
use crate::message::ContentBlock;
use crate::session::{Append, Barrier, MemoryStore, journal};

fn said(text: &str) -> Event {
    Event::UserInput {
        key: text.to_owned(),
        content: vec![ContentBlock::text(text)],
    }
}

/// A store with a session `s` of three events and two blobs, and its file.
async fn exported() -> (MemoryStore, Vec<u8>) {
    let store = MemoryStore::new();
    let lease = store.open("s").await.expect("a session");
    store
        .put_blob(&lease, "plain\nwörds".as_bytes())
        .await
        .expect("a blob");
    store.put_blob(&lease, &[0, 255, 10]).await.expect("a blob");
    let events = [said("a\u{2028}b \"é\""), Event::CancelRequested, said("c")];
    let append = Append {
        after: 0,
        events: events.into(),
        barrier: Barrier::Durable,
        taken: &[],
    };
    store.append(&lease, append).await.expect("appended");
    let mut file = Vec::new();
    export(&store, "s", &mut file).await.expect("written");
    (store, file)
}

async fn taken(file: &[u8]) -> (MemoryStore, Imported) {
    let store = MemoryStore::new();
    let imported = import(&store, "t", &mut Cursor::new(file))
        .await
        .expect("taken");
    (store, imported)
}

#[tokio::test]
async fn a_session_survives_the_file_byte_for_byte() {
    let (store, file) = exported().await;
    let (other, imported) = taken(&file).await;
    assert_eq!(
        imported,
        Imported {
            was: "s".to_owned(),
            events: 3,
            blobs: 2,
            rest: None
        }
    );
    let records = store.records("s", 0).await.expect("records");
    assert_eq!(other.records("t", 0).await.expect("records"), records);
    for digest in store.blobs("s").await.expect("blobs") {
        let blob = store.blob("s", &digest).await.expect("a blob");
        assert_eq!(other.blob("t", &digest).await.expect("a blob"), blob);
    }
    let mut again = Vec::new();
    export(&other, "t", &mut again).await.expect("written");
    let body = |file: &[u8]| file[file.iter().position(|b| *b == b'\n').unwrap_or(0)..].to_vec();
    assert_eq!(body(&again), body(&file));
    assert_eq!(file.iter().filter(|b| **b == b'\n').count(), 6);
}

#[tokio::test]
async fn a_file_cut_anywhere_is_taken_as_far_as_it_is_whole() {
    let (_, file) = exported().await;
    let ends: Vec<_> = (0..file.len()).filter(|at| file[*at] == b'\n').collect();
    for cut in ends[0] + 1..file.len() {
        let (store, imported) = taken(&file[..cut]).await;
        let whole = ends.iter().filter(|end| **end < cut).count() - 1;
        assert_eq!((imported.events + imported.blobs) as usize, whole, "{cut}");
        let torn = file[cut - 1] != b'\n';
        let rest = imported
            .rest
            .map(|rest| (rest.line as usize, rest.byte as usize));
        assert_eq!(rest, torn.then(|| (whole + 2, ends[whole] + 1)), "{cut}");
        let events = journal::load(&store, "t").await.expect("whole");
        assert_eq!(events.len() as u64, imported.events);
    }
    for cut in 0..=ends[0] {
        let store = MemoryStore::new();
        let result = import(&store, "t", &mut Cursor::new(&file[..cut])).await;
        assert!(result.is_err(), "{cut}");
        assert!(store.records("t", 0).await.is_err(), "{cut}");
    }
}

#[tokio::test]
async fn what_was_changed_is_not_taken() {
    let (_, file) = exported().await;
    let text = String::from_utf8(file).expect("text");
    let faults = [
        ("\\\"é\\\"", "\\\"è\\\"", 2, "event 1 does not fit its hash"),
        (
            "cancel_requested\"}",
            "cancel_requested\" }",
            3,
            "event 2 does not fit its hash",
        ),
        (
            "\"seq\":3",
            "\"seq\":4",
            4,
            "event 4 stands where event 3 is expected",
        ),
        ("wörds", "words", 5, "has other bytes than its digest"),
        ("00ff0a", "00ff0z", 6, "`hex` is no hex"),
    ];
    for (from, to, line, fault) in faults {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        // The blobs are sorted by digest, so either may come first.
        let (_, imported) = taken(changed.as_bytes()).await;
        let rest = imported.rest.expect("a fault");
        assert!(rest.fault.contains(fault), "{rest:?}");
        assert!(rest.line == line || line > 4, "{rest:?}");
    }
}

#[tokio::test]
async fn a_blob_no_store_takes_is_where_the_rest_begins() {
    let (_, file) = exported().await;
    let text = String::from_utf8(file).expect("text");
    // The header and three events, which are taken.
    let events: Vec<_> = text.split_inclusive('\n').take(4).collect();
    let bytes = "b".repeat(MOST_BLOB_BYTES + 1);
    let blob = serde_json::json!({"blob": digest::of(bytes.as_bytes()), "text": bytes});
    let (_, imported) = taken(format!("{}{blob}\n", events.concat()).as_bytes()).await;
    assert_eq!((imported.events, imported.blobs), (3, 0));
    let rest = imported.rest.expect("a fault");
    assert_eq!(rest.line, 5);
    assert_eq!(
        rest.fault,
        "8388609 bytes are too many for one blob: at most 8388608"
    );
}

#[tokio::test]
async fn a_file_of_another_kind_or_time_says_so() {
    for (file, fault) in [
        ("", "the file is empty"),
        ("{}\n", "missing field `claw_session`"),
        ("hello\n", "its first line is no header"),
        (
            "{\"claw_session\":2,\"id\":\"s\"}\n",
            "it has form 2, and this program reads up to 1",
        ),
    ] {
        let store = MemoryStore::new();
        let result = import(&store, "t", &mut Cursor::new(file)).await;
        let error = result.expect_err("no session").to_string();
        assert!(error.contains(fault), "{error}");
    }
}

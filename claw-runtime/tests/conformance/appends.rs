//! Journals: whole, in order, without gaps.

use claw_runtime::event::{Event, VERSION};
use claw_runtime::session::record::{self, START};
use claw_runtime::session::{Append, Barrier, StoreError};
use futures_util::future::join_all;
use sha2::{Digest, Sha256};

use crate::medium::{Medium, append, begin, ended, events, host, read, said};

pub(crate) async fn what_is_appended_is_read_back(medium: &dyn Medium) {
    let host = host(medium).await;
    let lease = begin(&*host, "s", &[said("one"), Event::CancelRequested]).await;
    append(&*host, &lease, 2, &[ended()]).await.unwrap();
    append(&*host, &lease, 3, &[]).await.unwrap();
    append(&*host, &lease, 3, &[said("two")]).await.unwrap();

    let records = host.records("s", 0).await.unwrap();
    let expected = [said("one"), Event::CancelRequested, ended(), said("two")];
    assert_eq!(read(&records), expected);
    for ((record, event), seq) in records.iter().zip(&expected).zip(1..) {
        assert_eq!(record.seq, seq);
        assert_eq!(record.kind, event.kind());
        assert_eq!(record.version, VERSION);
        assert_eq!(record.payload, serde_json::to_vec(event).unwrap());
    }
    assert_eq!(record::verify(&records), Ok(()));
}

pub(crate) async fn an_append_is_all_or_nothing(medium: &dyn Medium) {
    let host = host(medium).await;
    let old = begin(&*host, "s", &[said("one")]).await;
    let new = host.open("s").await.unwrap();
    let many: Vec<_> = (0..20).map(|n| said(&n.to_string())).collect();
    let refused = append(&*host, &old, 1, &many).await;
    assert!(matches!(refused, Err(StoreError::FenceLost { .. })));
    let refused = append(&*host, &new, 2, &many).await;
    assert!(matches!(refused, Err(StoreError::Moved { .. })));
    assert_eq!(events(&*host, "s").await, [said("one")]);
    append(&*host, &new, 1, &many).await.unwrap();
    assert_eq!(events(&*host, "s").await.len(), 21);
}

pub(crate) async fn a_writer_that_knows_an_old_head_is_told_the_new_one(medium: &dyn Medium) {
    let host = host(medium).await;
    let lease = begin(&*host, "s", &[said("one"), said("two")]).await;
    for expected in [0, 1, 3, u64::MAX] {
        let refused = append(&*host, &lease, expected, &[said("three")]).await;
        let moved = StoreError::Moved {
            session: "s".to_owned(),
            head: 2,
            expected,
        };
        assert_eq!(refused, Err(moved));
    }
}

pub(crate) async fn an_append_needs_a_session(medium: &dyn Medium) {
    let host = host(medium).await;
    let lease = host.open("s").await.unwrap();
    let gone = StoreError::NotFound {
        session: "s".to_owned(),
    };
    host.delete("s").await.unwrap();
    assert_eq!(
        append(&*host, &lease, 0, &[said("one")]).await,
        Err(gone.clone())
    );
    assert_eq!(host.records("s", 0).await, Err(gone.clone()));
    assert_eq!(host.records("s", 5).await, Err(gone));
}

pub(crate) async fn records_begin_after_a_place(medium: &dyn Medium) {
    let host = host(medium).await;
    let lease = begin(&*host, "s", &[]).await;
    assert_eq!(host.records("s", 0).await, Ok(vec![]));
    let texts: Vec<_> = (0..5).map(|n| said(&n.to_string())).collect();
    append(&*host, &lease, 0, &texts).await.unwrap();
    let all = host.records("s", 0).await.unwrap();
    for after in 0..=5 {
        let rest = host.records("s", after as u64).await.unwrap();
        assert_eq!(rest, all[after..]);
    }
    for after in [6, u64::MAX] {
        assert_eq!(host.records("s", after).await, Ok(vec![]));
    }
}

pub(crate) async fn what_was_buffered_stands_before_what_is_durable(medium: &dyn Medium) {
    let host = host(medium).await;
    let lease = host.open("s").await.unwrap();
    for n in 0..20 {
        let barrier = match n % 5 {
            4 => Barrier::Durable,
            _ => Barrier::Buffered,
        };
        let one = Append {
            after: n,
            events: [said(&n.to_string())].into(),
            barrier,
            taken: &[],
        };
        host.append(&lease, one).await.unwrap();
        // Its own host sees at once what it wrote.
        assert_eq!(events(&*host, "s").await.len() as u64, n + 1);
    }
    let other = crate::medium::host(medium).await;
    assert_eq!(
        other.records("s", 0).await.unwrap(),
        host.records("s", 0).await.unwrap()
    );
}

pub(crate) async fn of_appends_at_one_place_one_is_kept(medium: &dyn Medium) {
    let host = host(medium).await;
    let lease = host.open("s").await.unwrap();
    for after in 0..10 {
        let said: Vec<_> = (0..8).map(|n| [said(&format!("{after} {n}"))]).collect();
        let appends = said.iter().map(|said| append(&*host, &lease, after, said));
        let results = join_all(appends).await;
        assert_eq!(results.iter().filter(|one| one.is_ok()).count(), 1);
        for lost in results.iter().filter_map(|one| one.as_ref().err()) {
            let moved = StoreError::Moved {
                session: "s".to_owned(),
                head: after + 1,
                expected: after,
            };
            assert_eq!(*lost, moved);
        }
        let kept = results.iter().position(Result::is_ok).unwrap();
        assert_eq!(events(&*host, "s").await.last(), Some(&said[kept][0]));
    }
}

pub(crate) async fn sessions_are_appended_to_side_by_side(medium: &dyn Medium) {
    let (a, b) = crate::medium::two(medium).await;
    let writers = (0..24).map(|n| {
        let host = if n % 2 == 0 { a.clone() } else { b.clone() };
        tokio::spawn(async move {
            let session = format!("s{n}");
            let lease = host.open(&session).await.unwrap();
            for after in 0..6 {
                // A writer with an old picture sits in the same batches and disturbs nobody.
                let (right, wrong) = ([said(&format!("{n} {after}"))], [ended()]);
                let (kept, refused) = tokio::join!(
                    append(&*host, &lease, after, &right),
                    append(&*host, &lease, after + 2, &wrong),
                );
                kept.unwrap();
                assert!(matches!(refused, Err(StoreError::Moved { .. })));
            }
        })
    });
    for writer in join_all(writers).await {
        writer.unwrap();
    }
    for n in 0..24 {
        let expected: Vec<_> = (0..6).map(|after| said(&format!("{n} {after}"))).collect();
        assert_eq!(events(&*a, &format!("s{n}")).await, expected);
    }
}

pub(crate) async fn each_hash_is_the_documented_one(medium: &dyn Medium) {
    let host = host(medium).await;
    begin(&*host, "s", &[said("one"), ended(), said("two")]).await;
    let mut before = START;
    for record in host.records("s", 0).await.unwrap() {
        let mut bytes = before.to_vec();
        bytes.extend(record.seq.to_le_bytes());
        bytes.extend(record.kind.as_bytes());
        bytes.push(0);
        bytes.extend(record.version.to_le_bytes());
        bytes.extend(record.time_ms.to_le_bytes());
        bytes.extend(Sha256::digest(&record.payload));
        assert_eq!(record.hash, *Sha256::digest(bytes));
        before = record.hash;
    }
}

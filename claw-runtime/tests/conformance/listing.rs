//! Lists, and sessions that come and go as a whole.

use claw_runtime::event::Event;
use claw_runtime::session::record::{self, START};
use claw_runtime::session::{
    Parent, Phase, Query, Record, SessionInfo, SessionStore, StoreError, Unreadable, journal,
};

use crate::medium::{Medium, append, begin, ended, events, host, message, said, tick, two};

fn parked(until_ms: u64) -> Event {
    Event::Blocked {
        call: "c".to_owned(),
        digest: "d".to_owned(),
        expires_ms: until_ms,
    }
}

async fn list(host: &dyn SessionStore) -> Vec<SessionInfo> {
    host.sessions(&Query::default()).await.unwrap()
}

async fn ids(host: &dyn SessionStore, query: Query) -> Vec<String> {
    let found = host.sessions(&query).await.unwrap();
    found.into_iter().map(|session| session.id).collect()
}

/// Returns what is listed of the one session there is.
async fn only(host: &dyn SessionStore) -> SessionInfo {
    let mut found = list(host).await;
    assert_eq!(found.len(), 1);
    found.remove(0)
}

pub(crate) async fn a_list_says_what_a_session_is(medium: &dyn Medium) {
    let host = host(medium).await;
    assert_eq!(list(&*host).await, []);
    let lease = host.open("s").await.unwrap();
    let new = only(&*host).await;
    assert_eq!((new.id.as_str(), new.program.as_str()), ("s", "p"));
    assert_eq!((new.title.as_str(), new.head), ("", 0));
    assert_eq!((new.phase, new.parent), (Phase::Idle, None));
    assert_eq!(new.created_ms, new.updated_ms);
    // Some time in this century, in milliseconds.
    assert!((1_700_000_000_000..4_000_000_000_000).contains(&new.created_ms));

    let told = [
        (said("Hello"), Phase::Open),
        (Event::CancelRequested, Phase::Open),
        (parked(77), Phase::Parked { until_ms: 77 }),
        (Event::CancelRequested, Phase::Parked { until_ms: 77 }),
        (Event::Resumed { takeover: 0 }, Phase::Open),
        (parked(u64::from(u32::MAX) << 9), {
            let until_ms = u64::from(u32::MAX) << 9;
            Phase::Parked { until_ms }
        }),
        (ended(), Phase::Idle),
        (Event::CancelRequested, Phase::Idle),
    ];
    for ((event, phase), head) in told.into_iter().zip(1..) {
        tick().await;
        let before = only(&*host).await;
        append(&*host, &lease, head - 1, &[event]).await.unwrap();
        let now = only(&*host).await;
        assert_eq!((now.head, now.phase), (head, phase));
        assert_eq!(now.title, "Hello");
        assert_eq!(now.created_ms, new.created_ms);
        assert!(now.updated_ms > before.updated_ms);
        let records = host.records("s", 0).await.unwrap();
        assert_eq!(records.last().map(|one| one.time_ms), Some(now.updated_ms));
    }
}

pub(crate) async fn a_title_is_the_first_words(medium: &dyn Medium) {
    let host = host(medium).await;
    let cases = [
        ("  a\n\tb  c ", "a b c"),
        ("", ""),
        ("nul\0 and \u{1b}[31mred", "nul and [31mred"),
        ("城市の天気 ☂️", "城市の天気 ☂️"),
    ];
    for (text, title) in cases {
        let lease = begin(&*host, "s", &[Event::CancelRequested]).await;
        append(&*host, &lease, 1, &[said(text), said("second")])
            .await
            .unwrap();
        append(&*host, &lease, 3, &[said("third")]).await.unwrap();
        assert_eq!(only(&*host).await.title, title);
        host.delete("s").await.unwrap();
    }
    begin(&*host, "s", &[said(&"語".repeat(500))]).await;
    assert_eq!(only(&*host).await.title, "語".repeat(80));
}

pub(crate) async fn the_one_used_last_comes_first(medium: &dyn Medium) {
    let host = host(medium).await;
    let mut leases = Vec::new();
    for id in ["b", "a", "d", "c"] {
        tick().await;
        leases.push(host.open(id).await.unwrap());
    }
    assert_eq!(ids(&*host, Query::default()).await, ["c", "d", "a", "b"]);
    tick().await;
    append(&*host, &leases[1], 0, &[said("x")]).await.unwrap();
    assert_eq!(ids(&*host, Query::default()).await, ["a", "c", "d", "b"]);
    let times: Vec<_> = list(&*host)
        .await
        .iter()
        .map(|one| one.updated_ms)
        .collect();
    assert!(times.is_sorted_by(|one, next| one > next));
}

pub(crate) async fn a_list_takes_program_limit_and_unfinished(medium: &dyn Medium) {
    let p = host(medium).await;
    let q = medium.host("q").await;
    tick().await;
    begin(&*p, "idle", &[said("x"), ended()]).await;
    tick().await;
    begin(&*p, "open", &[said("x")]).await;
    tick().await;
    begin(&*p, "parked", &[said("x"), parked(7)]).await;
    tick().await;
    begin(&*q, "other", &[said("x")]).await;

    let all = Query::default;
    let of = |program: &str| Some(program.to_owned());
    let cases: [(Query, &[&str]); 7] = [
        (all(), &["other", "parked", "open", "idle"]),
        (
            Query {
                program: of("p"),
                ..all()
            },
            &["parked", "open", "idle"],
        ),
        (
            Query {
                program: of("q"),
                ..all()
            },
            &["other"],
        ),
        (
            Query {
                program: of("r"),
                ..all()
            },
            &[],
        ),
        (
            Query {
                unfinished: true,
                ..all()
            },
            &["other", "parked", "open"],
        ),
        (Query { limit: 2, ..all() }, &["other", "parked"]),
        (
            Query {
                program: of("p"),
                unfinished: true,
                limit: 1,
            },
            &["parked"],
        ),
    ];
    for host in [&p, &q] {
        for (query, expected) in &cases {
            assert_eq!(ids(&**host, query.clone()).await, *expected, "{query:?}");
        }
    }
}

pub(crate) async fn a_list_says_who_owns_what(medium: &dyn Medium) {
    let (a, b) = two(medium).await;
    let lease = begin(&*a, "s", &[]).await;
    let (here, there) = (only(&*a).await, only(&*b).await);
    assert!(here.here && !there.here);
    assert!(here.owner.is_some() && here.owner == there.owner);
    a.close(lease).await.unwrap();
    for host in [&a, &b] {
        let free = only(&**host).await;
        assert_eq!((free.owner, free.here), (None, false));
    }
    begin(&*b, "s", &[]).await;
    assert!(!only(&*a).await.here && only(&*b).await.here);
    drop(b);
    let died = std::time::Instant::now();
    while only(&*a).await.owner.is_some() {
        assert!(died.elapsed() <= medium.grace(), "a dead host is listed");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

pub(crate) async fn a_restored_session_is_the_same(medium: &dyn Medium) {
    let (a, b) = two(medium).await;
    begin(&*a, "s", &[said("one"), ended(), said("two"), parked(9)]).await;
    let records = a.records("s", 0).await.unwrap();
    let parent = Parent {
        session: "not here".to_owned(),
        seq: 3,
    };
    tick().await;
    b.restore("t", Some(&parent), &records).await.unwrap();
    b.restore("empty", None, &[]).await.unwrap();
    assert_eq!(a.records("t", 0).await.unwrap(), records);
    assert_eq!(a.records("empty", 0).await, Ok(vec![]));
    let list = list(&*a).await;
    let restored = list.iter().find(|one| one.id == "t").unwrap();
    assert_eq!(restored.title, "one");
    assert_eq!(restored.program, "p");
    assert_eq!(restored.head, 4);
    assert_eq!(restored.phase, Phase::Parked { until_ms: 9 });
    assert_eq!(restored.parent, Some(parent));
    assert_eq!((&restored.owner, restored.here), (&None, false));
    assert!(restored.created_ms > records[3].time_ms);
    let empty = list.iter().find(|one| one.id == "empty").unwrap();
    assert_eq!((empty.head, empty.phase), (0, Phase::Idle));

    let exists = StoreError::Exists {
        session: "s".to_owned(),
    };
    assert_eq!(b.restore("s", None, &records[..1]).await, Err(exists));
    assert_eq!(a.records("s", 0).await.unwrap(), records);
}

pub(crate) async fn a_restored_session_goes_on(medium: &dyn Medium) {
    let (a, b) = two(medium).await;
    begin(&*a, "s", &[Event::CancelRequested, ended()]).await;
    let records = a.records("s", 0).await.unwrap();
    a.restore("t", None, &records).await.unwrap();
    let lease = b.open("t").await.unwrap();
    let refused = append(&*b, &lease, 0, &[said("x")]).await;
    assert!(matches!(refused, Err(StoreError::Moved { head: 2, .. })));
    append(&*b, &lease, 2, &[said("go on")]).await.unwrap();
    let expected = [Event::CancelRequested, ended(), said("go on")];
    assert_eq!(events(&*a, "t").await, expected);
    let list = list(&*a).await;
    let restored = list.iter().find(|one| one.id == "t").unwrap();
    assert_eq!(restored.title, "go on");
}

pub(crate) async fn damaged_records_are_not_restored(medium: &dyn Medium) {
    let host = host(medium).await;
    begin(&*host, "s", &[said("one"), said("two"), said("three")]).await;
    let records = host.records("s", 0).await.unwrap();
    let mut changed = records.clone();
    changed[1].payload[20] ^= 1;
    let mut lost = records.clone();
    lost.remove(1);
    let gap = |expected, found| Unreadable::Gap { expected, found };
    let cases = [
        (&changed[..], Unreadable::Hash { seq: 2 }),
        (&lost, gap(2, 3)),
        (&records[1..], gap(1, 2)),
    ];
    for (records, fault) in cases {
        let damaged = StoreError::Damaged {
            session: "t".to_owned(),
            fault,
        };
        assert_eq!(host.restore("t", None, records).await, Err(damaged));
        let gone = StoreError::NotFound {
            session: "t".to_owned(),
        };
        assert_eq!(host.records("t", 0).await, Err(gone));
    }
}

pub(crate) async fn a_newer_event_is_kept_as_it_is(medium: &dyn Medium) {
    let host = host(medium).await;
    let first = Record::new(&START, 1, 5, &said("one")).unwrap();
    let payload = br#"{"event":"dreamt","of":[1.50]}"#.to_vec();
    let second = Record {
        seq: 2,
        time_ms: 6,
        kind: "dreamt".to_owned(),
        version: 99,
        hash: record::chain(&first.hash, 2, "dreamt", 99, 6, &payload),
        payload,
    };
    let records = [first, second];
    host.restore("s", None, &records).await.unwrap();
    assert_eq!(host.records("s", 0).await.unwrap(), records);
    assert_eq!(only(&*host).await.head, 2);
    let journal = journal::read(&*host, "s").await.unwrap();
    assert_eq!(journal.events.len(), 1);
    assert!(matches!(
        journal.fault,
        Some(Unreadable::Newer { seq: 2, .. })
    ));
    let loaded = journal::load(&*host, "s").await;
    assert!(matches!(loaded, Err(StoreError::Damaged { .. })));
}

pub(crate) async fn a_branch_has_the_events_and_the_blobs(medium: &dyn Medium) {
    let host = host(medium).await;
    let lease = begin(&*host, "s", &[said("one"), ended(), said("two")]).await;
    let digest = host.put_blob(&lease, b"whole").await.unwrap();
    journal::branch(&*host, "s", 2, "t").await.unwrap();
    assert_eq!(events(&*host, "t").await, [said("one"), ended()]);
    assert_eq!(host.blobs("t").await.unwrap(), [digest]);
    let list = list(&*host).await;
    let branch = list.iter().find(|one| one.id == "t").unwrap();
    let parent = Parent {
        session: "s".to_owned(),
        seq: 2,
    };
    assert_eq!(
        (branch.parent.as_ref(), branch.phase),
        (Some(&parent), Phase::Idle)
    );
    assert_eq!(branch.owner, None);
    host.delete("s").await.unwrap();
    assert_eq!(only(&*host).await.parent, Some(parent));
}

pub(crate) async fn a_deleted_session_is_gone(medium: &dyn Medium) {
    let (a, b) = two(medium).await;
    let lease = begin(&*a, "s", &[said("one")]).await;
    begin(&*b, "t", &[said("other")]).await;
    assert!(a.post("s", "k", &message("hello")).await.unwrap());
    a.put_blob(&lease, b"bytes").await.unwrap();
    a.delete("s").await.unwrap();

    let gone = || StoreError::NotFound {
        session: "s".to_owned(),
    };
    assert_eq!(a.delete("s").await, Err(gone()));
    assert_eq!(b.records("s", 0).await, Err(gone()));
    assert_eq!(b.blobs("s").await, Err(gone()));
    assert_eq!(b.post("s", "k", &message("hello")).await, Err(gone()));
    assert_eq!(ids(&*b, Query::default()).await, ["t"]);
    assert_eq!(events(&*b, "t").await, [said("other")]);

    // One that takes its name begins with nothing.
    let lease = a.open("s").await.unwrap();
    assert_eq!(a.inbox(&lease).await, Ok(vec![]));
    assert_eq!(a.blobs("s").await, Ok(vec![]));
    assert!(a.post("s", "k", &message("hello")).await.unwrap());
    append(&*a, &lease, 0, &[said("new")]).await.unwrap();
    assert_eq!(events(&*b, "s").await, [said("new")]);
}

pub(crate) async fn a_session_in_use_elsewhere_is_not_deleted(medium: &dyn Medium) {
    let (a, b) = two(medium).await;
    let lease = begin(&*a, "s", &[said("one")]).await;
    let refused = b.delete("s").await;
    assert!(
        matches!(refused, Err(StoreError::Live { .. })),
        "{refused:?}"
    );
    assert_eq!(events(&*b, "s").await, [said("one")]);
    a.close(lease).await.unwrap();
    b.delete("s").await.unwrap();
}

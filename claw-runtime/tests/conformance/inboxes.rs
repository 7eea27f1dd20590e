//! Inboxes: everything from outside, once, in order, and into the journal in one step.

use claw_runtime::event::Answer;
use claw_runtime::session::{Append, Barrier, Lease, Posted, SessionStore, StoreError};
use futures_util::future::join_all;

use crate::medium::{Medium, append, begin, events, host, message, said, soon, two};

async fn post(host: &dyn SessionStore, session: &str, key: &str) -> bool {
    host.post(session, key, &message(key)).await.unwrap()
}

async fn keys(host: &dyn SessionStore, lease: &Lease) -> Vec<String> {
    let waiting = host.inbox(lease).await.unwrap();
    waiting.into_iter().map(|one| one.key).collect()
}

async fn take(
    host: &dyn SessionStore,
    lease: &Lease,
    after: u64,
    taken: &[u64],
) -> Result<(), StoreError> {
    let append = Append {
        after,
        events: [said("taken in")].into(),
        barrier: Barrier::Durable,
        taken,
    };
    host.append(lease, append).await
}

pub(crate) async fn what_is_posted_waits_in_order(medium: &dyn Medium) {
    let host = host(medium).await;
    let lease = begin(&*host, "s", &[]).await;
    assert_eq!(host.inbox(&lease).await, Ok(vec![]));
    let posted = [
        ("z", message("first")),
        (
            "a",
            Posted::Approval {
                call: "c".to_owned(),
                digest: "d".to_owned(),
                answer: Answer::Session,
            },
        ),
        ("'; -- ☂", Posted::Cancel),
        ("", message("the key is empty")),
    ];
    for (key, input) in &posted {
        assert!(host.post("s", key, input).await.unwrap());
    }
    let waiting = host.inbox(&lease).await.unwrap();
    assert!(waiting.is_sorted_by(|one, next| one.id < next.id));
    let waiting: Vec<_> = waiting
        .iter()
        .map(|one| (one.key.as_str(), one.input.clone()))
        .collect();
    assert_eq!(waiting, posted);
    // Looking takes nothing.
    assert_eq!(host.inbox(&lease).await.unwrap().len(), 4);
}

pub(crate) async fn a_key_is_taken_once(medium: &dyn Medium) {
    let host = host(medium).await;
    let lease = begin(&*host, "s", &[]).await;
    begin(&*host, "t", &[]).await;
    assert!(post(&*host, "s", "k").await);
    assert!(!host.post("s", "k", &message("another text")).await.unwrap());
    let waiting = host.inbox(&lease).await.unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].input, message("k"));
    take(&*host, &lease, 0, &[waiting[0].id]).await.unwrap();
    assert!(!post(&*host, "s", "k").await);
    assert_eq!(keys(&*host, &lease).await, [""; 0]);
    // A new owner changes nothing about that; another session has keys of its own.
    let lease = host.open("s").await.unwrap();
    assert!(!post(&*host, "s", "k").await);
    assert_eq!(keys(&*host, &lease).await, [""; 0]);
    assert!(post(&*host, "t", "k").await);
}

pub(crate) async fn any_host_may_post(medium: &dyn Medium) {
    let (a, b) = two(medium).await;
    let q = medium.host("q").await;
    let lease = begin(&*a, "s", &[]).await;
    assert!(post(&*b, "s", "of b").await);
    assert!(post(&*q, "s", "of q").await);
    assert!(!post(&*a, "s", "of b").await);
    assert_eq!(keys(&*a, &lease).await, ["of b", "of q"]);
    let none = StoreError::NotFound {
        session: "t".to_owned(),
    };
    assert_eq!(b.post("t", "k", &Posted::Cancel).await, Err(none));
    // What waits is the next owner's.
    a.close(lease).await.unwrap();
    assert!(post(&*b, "s", "while nobody owns it").await);
    let lease = b.open("s").await.unwrap();
    assert_eq!(
        keys(&*b, &lease).await,
        ["of b", "of q", "while nobody owns it"]
    );
}

pub(crate) async fn what_is_taken_leaves_with_the_append(medium: &dyn Medium) {
    let host = host(medium).await;
    let lease = begin(&*host, "s", &[]).await;
    for key in ["a", "b", "c"] {
        post(&*host, "s", key).await;
    }
    let waiting = host.inbox(&lease).await.unwrap();
    take(&*host, &lease, 0, &[waiting[2].id, waiting[0].id])
        .await
        .unwrap();
    assert_eq!(keys(&*host, &lease).await, ["b"]);
    post(&*host, "s", "d").await;
    assert_eq!(keys(&*host, &lease).await, ["b", "d"]);
    // Without events too.
    let append = Append {
        after: 1,
        events: [].into(),
        barrier: Barrier::Buffered,
        taken: &[waiting[1].id],
    };
    host.append(&lease, append).await.unwrap();
    assert_eq!(keys(&*host, &lease).await, ["d"]);
}

pub(crate) async fn an_append_that_fails_takes_nothing(medium: &dyn Medium) {
    let host = host(medium).await;
    let old = begin(&*host, "s", &[]).await;
    let lease = host.open("s").await.unwrap();
    post(&*host, "s", "k").await;
    let id = host.inbox(&lease).await.unwrap()[0].id;
    let refused = take(&*host, &lease, 3, &[id]).await;
    assert!(matches!(refused, Err(StoreError::Moved { .. })));
    let refused = take(&*host, &old, 0, &[id]).await;
    assert!(matches!(refused, Err(StoreError::FenceLost { .. })));
    assert_eq!(keys(&*host, &lease).await, ["k"]);
    assert_eq!(events(&*host, "s").await, []);
    take(&*host, &lease, 0, &[id]).await.unwrap();
    assert_eq!(keys(&*host, &lease).await, [""; 0]);
}

pub(crate) async fn a_session_takes_only_what_is_its_own(medium: &dyn Medium) {
    let host = host(medium).await;
    let one = begin(&*host, "one", &[]).await;
    let two = begin(&*host, "two", &[]).await;
    post(&*host, "one", "k").await;
    post(&*host, "two", "k").await;
    let mut ids = vec![0, 99, u64::MAX];
    for lease in [&one, &two] {
        ids.extend(host.inbox(lease).await.unwrap().iter().map(|one| one.id));
    }
    take(&*host, &one, 0, &ids).await.unwrap();
    assert_eq!(keys(&*host, &one).await, [""; 0]);
    assert_eq!(keys(&*host, &two).await, ["k"]);
}

pub(crate) async fn an_inbox_is_its_owners(medium: &dyn Medium) {
    let host = host(medium).await;
    let old = begin(&*host, "s", &[]).await;
    let new = host.open("s").await.unwrap();
    post(&*host, "s", "k").await;
    let lost = StoreError::FenceLost {
        session: "s".to_owned(),
    };
    assert_eq!(host.inbox(&old).await, Err(lost.clone()));
    assert_eq!(soon(host.posted(&old)).await, Err(lost.clone()));
    assert_eq!(keys(&*host, &new).await, ["k"]);
    host.close(new.clone()).await.unwrap();
    assert_eq!(host.inbox(&new).await, Err(lost));
}

pub(crate) async fn what_waits_already_wakes_at_once(medium: &dyn Medium) {
    let host = host(medium).await;
    let lease = begin(&*host, "s", &[]).await;
    post(&*host, "s", "k").await;
    soon(host.posted(&lease)).await.unwrap();
    soon(host.posted(&lease)).await.unwrap();
}

/// Waits as an owner does: until its inbox holds something.
async fn wait(host: &dyn SessionStore, lease: &Lease) -> Vec<String> {
    loop {
        let keys = keys(host, lease).await;
        if !keys.is_empty() {
            return keys;
        }
        host.posted(lease).await.unwrap();
    }
}

pub(crate) async fn a_post_wakes_the_owner(medium: &dyn Medium) {
    let host = host(medium).await;
    let leases = [begin(&*host, "s", &[]).await, begin(&*host, "t", &[]).await];
    for round in 0..20 {
        let session = ["s", "t"][round % 2];
        let key = format!("key {round}");
        let (woken, _) = soon(async {
            tokio::join!(wait(&*host, &leases[round % 2]), async {
                // Before the wait, in its midst, or when it has settled.
                for _ in 0..round {
                    tokio::task::yield_now().await;
                }
                post(&*host, session, &key).await
            })
        })
        .await;
        assert_eq!(woken, [key]);
        let id = host.inbox(&leases[round % 2]).await.unwrap()[0].id;
        take(&*host, &leases[round % 2], (round / 2) as u64, &[id])
            .await
            .unwrap();
    }
}

pub(crate) async fn a_post_of_another_host_wakes_the_owner(medium: &dyn Medium) {
    let (a, b) = two(medium).await;
    let leases: Vec<_> = join_all((0..4).map(|n| {
        let a = a.clone();
        async move { begin(&*a, &format!("s{n}"), &[]).await }
    }))
    .await;
    for round in 0..3 {
        let waiting = join_all(leases.iter().map(|lease| wait(&*a, lease)));
        let key = format!("key {round}");
        let (woken, ()) = soon(async {
            tokio::join!(waiting, async {
                for n in 0..4 {
                    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                    post(&*b, &format!("s{n}"), &key).await;
                }
            })
        })
        .await;
        assert_eq!(woken, [[key.as_str()]; 4]);
        for lease in &leases {
            let id = a.inbox(lease).await.unwrap()[0].id;
            take(&*a, lease, round, &[id]).await.unwrap();
        }
    }
    // Waiting that is given up disturbs nobody.
    drop(a.posted(&leases[0]));
    append(&*a, &leases[0], 3, &[said("on")]).await.unwrap();
}

pub(crate) async fn posting_one_key_at_once_keeps_one(medium: &dyn Medium) {
    let (a, b) = two(medium).await;
    let lease = begin(&*a, "s", &[]).await;
    let posts = (0..20).map(|n| {
        let host = if n % 2 == 0 { a.clone() } else { b.clone() };
        tokio::spawn(async move {
            let input = message(&n.to_string());
            (n, host.post("s", "k", &input).await.unwrap())
        })
    });
    let posts: Vec<_> = join_all(posts)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    let kept: Vec<_> = posts.iter().filter(|(_, new)| *new).collect();
    assert_eq!(kept.len(), 1);
    let waiting = a.inbox(&lease).await.unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].input, message(&kept[0].0.to_string()));
}

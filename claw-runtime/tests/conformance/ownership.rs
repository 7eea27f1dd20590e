//! Who owns a session: one living host, and the newest lease of it.

use claw_runtime::session::StoreError;
use futures_util::future::join_all;
use std::time::Instant;

use crate::medium::{Host, Medium, append, begin, ended, events, host, said, two};

fn lost() -> StoreError {
    StoreError::FenceLost {
        session: "s".to_owned(),
    }
}

async fn assert_live(host: &Host) {
    match host.open("s").await {
        Err(StoreError::Live { session, owner }) => {
            assert_eq!(session, "s");
            assert!(!owner.is_empty());
        }
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn a_session_has_one_owner(medium: &dyn Medium) {
    let (a, b) = two(medium).await;
    let lease = begin(&*a, "s", &[said("one")]).await;
    assert_eq!(lease.session, "s");
    assert_live(&b).await;
    append(&*a, &lease, 1, &[said("two")]).await.unwrap();
    // What everybody may do is not its owner's alone.
    assert_eq!(events(&*b, "s").await, [said("one"), said("two")]);
    // Another session is free.
    b.open("t").await.unwrap();
}

pub(crate) async fn a_second_open_on_the_same_host_takes_it(medium: &dyn Medium) {
    let host = host(medium).await;
    let first = begin(&*host, "s", &[said("one")]).await;
    let second = host.open("s").await.unwrap();
    assert!(second.fence > first.fence);
    assert_eq!(append(&*host, &first, 1, &[ended()]).await, Err(lost()));
    append(&*host, &second, 1, &[said("two")]).await.unwrap();
    assert_eq!(append(&*host, &first, 2, &[ended()]).await, Err(lost()));
    assert_eq!(events(&*host, "s").await, [said("one"), said("two")]);
}

pub(crate) async fn a_session_given_up_is_free(medium: &dyn Medium) {
    let (a, b) = two(medium).await;
    let first = begin(&*a, "s", &[said("one")]).await;
    a.close(first.clone()).await.unwrap();
    assert_eq!(append(&*a, &first, 1, &[ended()]).await, Err(lost()));
    let second = b.open("s").await.unwrap();
    assert!(second.fence > first.fence);
    append(&*b, &second, 1, &[said("two")]).await.unwrap();
    assert_live(&a).await;
    assert_eq!(append(&*a, &first, 2, &[ended()]).await, Err(lost()));
}

pub(crate) async fn an_old_lease_gives_up_nothing(medium: &dyn Medium) {
    let (a, b) = two(medium).await;
    let first = a.open("s").await.unwrap();
    let second = a.open("s").await.unwrap();
    a.close(first.clone()).await.unwrap();
    assert_live(&b).await;
    append(&*a, &second, 0, &[said("one")]).await.unwrap();
    a.close(second).await.unwrap();
    let third = b.open("s").await.unwrap();
    a.close(first).await.unwrap();
    append(&*b, &third, 1, &[said("two")]).await.unwrap();
}

pub(crate) async fn another_program_is_refused(medium: &dyn Medium) {
    let p = host(medium).await;
    let lease = begin(&*p, "s", &[said("one")]).await;
    p.close(lease).await.unwrap();
    let q = medium.host("q").await;
    let refused = StoreError::OtherProgram {
        session: "s".to_owned(),
        program: "p".to_owned(),
    };
    assert_eq!(q.open("s").await, Err(refused));
    // It may read, and post to it.
    assert_eq!(events(&*q, "s").await, [said("one")]);
    p.open("s").await.unwrap();
}

pub(crate) async fn sessions_of_a_dead_host_are_free(medium: &dyn Medium) {
    let (a, b) = two(medium).await;
    let old = begin(&*a, "s", &[said("one")]).await;
    assert_live(&b).await;
    drop(a);
    let died = Instant::now();
    let lease = loop {
        match b.open("s").await {
            Err(StoreError::Live { .. }) if died.elapsed() < medium.grace() => {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
            opened => break opened.unwrap(),
        }
    };
    assert!(lease.fence > old.fence);
    assert_eq!(append(&*b, &old, 1, &[ended()]).await, Err(lost()));
    append(&*b, &lease, 1, &[said("two")]).await.unwrap();
    assert_eq!(events(&*b, "s").await, [said("one"), said("two")]);
}

pub(crate) async fn of_many_that_open_one_holds(medium: &dyn Medium) {
    let mut hosts = Vec::new();
    for _ in 0..4 {
        hosts.push(host(medium).await);
    }
    // Of several hosts, one; of several tasks on it, the last.
    let opens = (0..16).map(|n| {
        let host = hosts[n % 4].clone();
        tokio::spawn(async move { (n % 4, host.open("s").await) })
    });
    let mut leases = Vec::new();
    for open in join_all(opens).await {
        match open.unwrap() {
            (of, Ok(lease)) => leases.push((of, lease)),
            (_, Err(StoreError::Live { .. })) => {}
            (_, Err(other)) => panic!("{other}"),
        }
    }
    let owner = leases[0].0;
    assert!(leases.iter().all(|(of, _)| *of == owner));
    let mut fences: Vec<_> = leases.iter().map(|(_, lease)| lease.fence).collect();
    fences.sort_unstable();
    fences.dedup();
    assert_eq!(fences.len(), leases.len());

    let said: Vec<_> = (0..leases.len()).map(|n| [said(&n.to_string())]).collect();
    let appends = leases
        .iter()
        .zip(&said)
        .map(|((of, lease), said)| append(&*hosts[*of], lease, 0, said));
    let results = join_all(appends).await;
    for ((_, lease), result) in leases.iter().zip(&results) {
        let last = Some(&lease.fence) == fences.last();
        assert_eq!(*result, if last { Ok(()) } else { Err(lost()) });
    }
    assert_eq!(events(&*hosts[0], "s").await.len(), 1);
}

pub(crate) async fn a_lease_on_a_deleted_session_is_worth_nothing(medium: &dyn Medium) {
    let host = host(medium).await;
    let old = begin(&*host, "s", &[said("one")]).await;
    host.delete("s").await.unwrap();
    let new = host.open("s").await.unwrap();
    assert!(new.fence > old.fence);
    assert_eq!(append(&*host, &old, 0, &[ended()]).await, Err(lost()));
    append(&*host, &new, 0, &[said("two")]).await.unwrap();
    assert_eq!(events(&*host, "s").await, [said("two")]);
}

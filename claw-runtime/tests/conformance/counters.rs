//! Counters: shared by all hosts, never past their most.

use crate::medium::{Medium, host, two};

pub(crate) async fn a_counter_stops_at_its_most(medium: &dyn Medium) {
    let (a, b) = two(medium).await;
    assert!(a.count("c", 3, 5).await.unwrap());
    assert!(!b.count("c", 3, 5).await.unwrap());
    assert!(b.count("c", 2, 5).await.unwrap());
    assert!(!a.count("c", 1, 5).await.unwrap());
    // The bound is the caller's, and the counter's name its own.
    assert!(a.count("c", 1, 6).await.unwrap());
    assert!(!a.count("new", 7, 6).await.unwrap());
    assert!(a.count("new", 6, 6).await.unwrap());
}

pub(crate) async fn what_is_given_back_fits_again(medium: &dyn Medium) {
    let host = host(medium).await;
    assert!(host.count("c", 5, 5).await.unwrap());
    assert!(host.count("c", -2, 0).await.unwrap());
    assert!(!host.count("c", 3, 5).await.unwrap());
    assert!(host.count("c", 2, 5).await.unwrap());
    // It never falls below nothing.
    assert!(host.count("c", -100, 5).await.unwrap());
    assert!(!host.count("c", 6, 5).await.unwrap());
    assert!(host.count("c", 5, 5).await.unwrap());
}

pub(crate) async fn extreme_amounts_are_no_fault(medium: &dyn Medium) {
    let host = host(medium).await;
    assert!(host.count("c", i64::MIN, 0).await.unwrap());
    assert!(host.count("c", 0, 0).await.unwrap());
    assert!(host.count("c", i64::MAX, u64::MAX).await.unwrap());
    assert!(!host.count("c", 1, 5).await.unwrap());
    assert!(!host.count("c", i64::MAX, i64::MAX as u64).await.unwrap());
    assert!(host.count("c", 0, 5).await.unwrap());
    assert!(host.count("c", -i64::MAX, 5).await.unwrap());
    assert!(host.count("c", 5, 5).await.unwrap());
    assert!(!host.count("c", 1, 5).await.unwrap());
}

pub(crate) async fn many_hosts_never_pass_the_most(medium: &dyn Medium) {
    let mut hosts = Vec::new();
    for _ in 0..3 {
        hosts.push(host(medium).await);
    }
    let adds = (0..60).map(|n| {
        let host = hosts[n % 3].clone();
        tokio::spawn(async move { host.count("c", 1, 25).await.unwrap() })
    });
    let added = futures_util::future::join_all(adds).await;
    let added = added.into_iter().filter(|one| *one.as_ref().unwrap());
    assert_eq!(added.count(), 25);
    assert!(!hosts[0].count("c", 1, 25).await.unwrap());
    assert!(hosts[0].count("c", 1, 26).await.unwrap());
}

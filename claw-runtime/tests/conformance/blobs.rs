//! Blobs: by their content, for those that refer to them.

use claw_runtime::session::{MOST_BLOB_BYTES, StoreError};

use crate::medium::{Medium, begin, host, two};

/// SHA-256 of `abc`, as FIPS 180-2 gives it.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
/// SHA-256 of nothing.
const NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

pub(crate) async fn a_blob_is_named_by_its_digest(medium: &dyn Medium) {
    let host = host(medium).await;
    let lease = begin(&*host, "s", &[]).await;
    assert_eq!(host.put_blob(&lease, b"abc").await.unwrap(), ABC);
    assert_eq!(host.put_blob(&lease, b"abc").await.unwrap(), ABC);
    assert_eq!(host.put_blob(&lease, b"").await.unwrap(), NOTHING);
    assert_eq!(host.blobs("s").await.unwrap(), [ABC, NOTHING]);
    let read = host.blob("s", ABC).await.unwrap();
    assert_eq!(read.as_deref(), Some(&b"abc"[..]));
    let read = host.blob("s", NOTHING).await.unwrap();
    assert_eq!(read.as_deref(), Some(&b""[..]));
    if let Some(count) = medium.blobs().await {
        assert_eq!(count, 2);
    }
}

pub(crate) async fn a_blob_is_given_to_those_that_refer_to_it(medium: &dyn Medium) {
    let (a, b) = two(medium).await;
    let one = begin(&*a, "one", &[]).await;
    begin(&*a, "none", &[]).await;
    let other = begin(&*b, "other", &[]).await;
    a.put_blob(&one, b"abc").await.unwrap();
    // From any host.
    assert!(b.blob("one", ABC).await.unwrap().is_some());
    for session in ["none", "other", "there is none"] {
        assert_eq!(a.blob(session, ABC).await, Ok(None));
    }
    b.put_blob(&other, b"abc").await.unwrap();
    assert!(a.blob("other", ABC).await.unwrap().is_some());
    for digest in [NOTHING, "", "abc", "ba78%"] {
        assert_eq!(a.blob("one", digest).await, Ok(None));
    }
    assert_eq!(a.blobs("none").await, Ok(vec![]));
    if let Some(count) = medium.blobs().await {
        assert_eq!(count, 1);
    }
}

pub(crate) async fn the_largest_blob_fits_and_a_larger_one_does_not(medium: &dyn Medium) {
    let host = host(medium).await;
    let lease = begin(&*host, "s", &[]).await;
    let mut bytes: Vec<_> = (0..MOST_BLOB_BYTES).map(|n| (n % 251) as u8).collect();
    let digest = host.put_blob(&lease, &bytes).await.unwrap();
    let read = host.blob("s", &digest).await.unwrap();
    assert!(read.as_deref() == Some(&bytes[..]));
    bytes.push(0);
    let large = StoreError::TooLarge {
        bytes: MOST_BLOB_BYTES + 1,
    };
    assert_eq!(host.put_blob(&lease, &bytes).await, Err(large));
    assert_eq!(host.blobs("s").await.unwrap(), [digest]);
}

pub(crate) async fn an_old_owner_puts_no_blob(medium: &dyn Medium) {
    let host = host(medium).await;
    let old = begin(&*host, "s", &[]).await;
    let new = host.open("s").await.unwrap();
    let lost = StoreError::FenceLost {
        session: "s".to_owned(),
    };
    assert_eq!(host.put_blob(&old, b"abc").await, Err(lost.clone()));
    assert_eq!(host.blobs("s").await, Ok(vec![]));
    host.close(new.clone()).await.unwrap();
    assert_eq!(host.put_blob(&new, b"abc").await, Err(lost));
    if let Some(count) = medium.blobs().await {
        assert_eq!(count, 0);
    }
}

pub(crate) async fn deleting_frees_what_nobody_refers_to(medium: &dyn Medium) {
    let host = host(medium).await;
    let one = begin(&*host, "one", &[]).await;
    let two = begin(&*host, "two", &[]).await;
    for lease in [&one, &two] {
        host.put_blob(lease, b"abc").await.unwrap();
    }
    host.put_blob(&one, b"only one's").await.unwrap();
    let kept = host.put_blob(&two, b"only two's").await.unwrap();
    host.delete("one").await.unwrap();
    assert_eq!(host.blobs("two").await.unwrap().len(), 2);
    for (digest, bytes) in [(ABC, &b"abc"[..]), (&kept, b"only two's")] {
        assert_eq!(
            host.blob("two", digest).await.unwrap().as_deref(),
            Some(bytes)
        );
    }
    if let Some(count) = medium.blobs().await {
        assert_eq!(count, 2);
    }
    host.delete("two").await.unwrap();
    if let Some(count) = medium.blobs().await {
        assert_eq!(count, 0);
    }
    let again = host.open("one").await.unwrap();
    assert_eq!(host.blob("one", ABC).await, Ok(None));
    assert_eq!(host.put_blob(&again, b"abc").await.unwrap(), ABC);
}

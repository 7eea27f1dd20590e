//! Files from a server on loopback that breaks off, lies and sends something else.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use claw_runtime::download::{DownloadError, Fetched, Progress, Wanted, from_reader, from_url};
use tempfile::{TempDir, tempdir};

/// A file of 300,000 bytes, no two pieces of which are alike.
fn content() -> Vec<u8> {
    let mut bytes = b"GGUF".to_vec();
    bytes.extend((0..74_999u32).flat_map(u32::to_le_bytes));
    bytes
}

/// The digest of [`content`], by Python's hashlib.
const DIGEST: &str = "c38711a5cde9b993b87194dd743cc841f666a565250c61c5da175998d9b888f6";

type Handler = dyn Fn(usize, &str, &mut TcpStream) + Send + Sync;

/// A server whose answers a function writes: it gets the count of the request, from 0, its head and the connection,
/// which is closed after it.
struct Server {
    url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

fn server(answer: impl Fn(usize, &str, &mut TcpStream) + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/m.gguf", listener.local_addr().unwrap());
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    let answer: Arc<Handler> = Arc::new(answer);
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = String::new();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            while !head.ends_with("\r\n\r\n") {
                if lines.read_line(&mut head).unwrap_or(0) == 0 {
                    break;
                }
            }
            let head = head.to_ascii_lowercase();
            let count = {
                let mut seen = seen.lock().unwrap();
                seen.push(head.clone());
                seen.len() - 1
            };
            let answer = answer.clone();
            thread::spawn(move || answer(count, &head, &mut stream));
        }
    });
    Server { url, heads }
}

impl Server {
    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn send(stream: &mut TcpStream, head: &str, body: &[u8]) {
    let _ = stream.write_all(format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n").as_bytes());
    let _ = stream.write_all(body);
}

/// Answers as a good server does: a part where one is asked for and the tag is the same.
fn well(head: &str, stream: &mut TcpStream, etag: &str, most: usize) {
    let content = content();
    let header = |name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(name));
        line.map(|text| text.trim().to_owned())
    };
    let start = header("range: bytes=").and_then(|it| it.trim_end_matches('-').parse().ok());
    let is_same = header("if-range:").is_none_or(|tag| tag == etag);
    match start.filter(|_| is_same) {
        Some(start) if start >= content.len() => send(
            stream,
            &format!("416 X\r\ncontent-range: bytes */{}", content.len()),
            b"",
        ),
        start => {
            let (start, status) = start.map_or((0, "200"), |start| (start, "206"));
            let end = content.len() - 1;
            let head = format!(
                "{status} X\r\netag: {etag}\r\ncontent-length: {}\r\ncontent-range: bytes {start}-{end}/{}",
                content.len() - start,
                content.len()
            );
            send(
                stream,
                &head,
                &content[start..start.saturating_add(most).min(content.len())],
            );
        }
    }
}

fn wanted(folder: &TempDir) -> Wanted {
    Wanted {
        file: folder.path().join("m.gguf"),
        sha256: Some(DIGEST.to_owned()),
        size: None,
        most: 1_000_000,
        begins: b"GGUF",
        patience: Duration::from_secs(20),
    }
}

async fn fetch(wanted: &Wanted, url: &str) -> Result<Fetched, DownloadError> {
    from_url(wanted, url, &mut |_| {}).await
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn fetched(was_there: bool) -> Fetched {
    Fetched {
        sha256: DIGEST.to_owned(),
        size: 300_000,
        was_there,
    }
}

#[tokio::test]
async fn a_file_comes_whole_and_once() {
    let server = server(|_, head, stream| well(head, stream, "\"a\"", usize::MAX));
    let folder = tempdir().unwrap();
    let wanted = wanted(&folder);
    let mut last = None;
    let got = from_url(&wanted, &server.url, &mut |now| last = Some(now)).await;
    assert_eq!(got.unwrap(), fetched(false));
    assert_eq!(
        last,
        Some(Progress::Bytes {
            done: 300_000,
            total: Some(300_000)
        })
    );
    assert_eq!(fs::read(&wanted.file).unwrap(), content());
    assert_eq!(names(folder.path()), ["m.gguf", "m.gguf.lock"]);
    assert_eq!(fetch(&wanted, &server.url).await.unwrap(), fetched(true));
    assert_eq!(server.heads().len(), 1);
    assert!(server.heads()[0].contains("accept-encoding: identity"));
}

#[tokio::test]
async fn a_connection_that_breaks_is_gone_on_with() {
    let server = server(|_, head, stream| well(head, stream, "\"a\"", 100_000));
    let folder = tempdir().unwrap();
    let wanted = Wanted {
        sha256: None,
        ..wanted(&folder)
    };
    assert_eq!(fetch(&wanted, &server.url).await.unwrap(), fetched(false));
    let heads = server.heads();
    assert!(!heads[0].contains("range: "));
    assert!(heads.len() > 1 && heads[1].contains("if-range: \"a\""));
    assert_eq!(fs::read(&wanted.file).unwrap(), content());
}

#[tokio::test]
async fn the_next_process_goes_on_where_the_last_one_stopped() {
    let server = server(|count, head, stream| {
        if count == 0 {
            // Less than was told, then nothing for a while, as when somebody loses patience.
            send(
                stream,
                "200 X\r\netag: \"a\"\r\ncontent-length: 300000",
                &content()[..70_000],
            );
            thread::sleep(Duration::from_secs(60));
        } else {
            well(head, stream, "\"a\"", usize::MAX);
        }
    });
    let folder = tempdir().unwrap();
    let wanted = Wanted {
        sha256: None,
        ..wanted(&folder)
    };
    let (told, mut stop) = tokio::sync::mpsc::channel(1);
    let mut stopping = |now| {
        if now
            == (Progress::Bytes {
                done: 70_000,
                total: Some(300_000),
            })
        {
            let _ = told.try_send(());
        }
    };
    tokio::select! {
        _ = from_url(&wanted, &server.url, &mut stopping) => panic!("it cannot be whole"),
        _ = stop.recv() => {}
    }
    assert_eq!(
        names(folder.path()),
        ["m.gguf.lock", "m.gguf.part", "m.gguf.part.from"]
    );
    assert_eq!(fetch(&wanted, &server.url).await.unwrap(), fetched(false));
    assert!(server.heads()[1].contains("range: bytes=70000-"));
    assert_eq!(names(folder.path()), ["m.gguf", "m.gguf.lock"]);
}

/// Leaves the first bytes of a file, as if they had come from `url` under this tag.
fn leave(wanted: &Wanted, bytes: &[u8], from: Option<(&str, &str)>) {
    let part = wanted.file.with_file_name("m.gguf.part");
    fs::write(&part, bytes).unwrap();
    if let Some((url, etag)) = from {
        let address = claw_runtime::digest::of(url.as_bytes());
        let note = serde_json::json!({"address": address, "etag": etag});
        fs::write(part.with_extension("part.from"), note.to_string()).unwrap();
    }
}

#[tokio::test]
async fn what_may_be_of_another_file_is_not_gone_on_with() {
    for (pinned, from, resumes) in [
        // Nobody can tell where it came from.
        (false, None, false),
        (false, Some("http://127.0.0.1:1/other"), false),
        // The server has another content under this address now.
        (false, Some("here"), false),
        // The digest would tell a mixture.
        (true, None, true),
    ] {
        let server = server(|_, head, stream| well(head, stream, "\"new\"", usize::MAX));
        let folder = tempdir().unwrap();
        let wanted = Wanted {
            sha256: pinned.then(|| DIGEST.to_owned()),
            ..wanted(&folder)
        };
        let url = server.url.clone();
        let from = from.map(|it| (if it == "here" { url.as_str() } else { it }, "\"old\""));
        leave(&wanted, &content()[..1_000], from);
        assert_eq!(fetch(&wanted, &url).await.unwrap(), fetched(false));
        assert_eq!(fs::read(&wanted.file).unwrap(), content());
        let is_part_taken = server.heads()[0].contains("range: bytes=1000-")
            && !server.heads()[0].contains("if-range");
        assert_eq!(is_part_taken, resumes, "{:?}", server.heads());
    }
}

#[tokio::test]
async fn a_mixture_is_thrown_away_and_fetched_anew() {
    let server = server(|_, head, stream| well(head, stream, "\"a\"", usize::MAX));
    let folder = tempdir().unwrap();
    let wanted = wanted(&folder);
    let mut other = content();
    other[500] ^= 1;
    leave(&wanted, &other[..1_000], None);
    assert_eq!(fetch(&wanted, &server.url).await.unwrap(), fetched(false));
    assert_eq!(server.heads().len(), 2);
    // One that is longer than the file can be no part of it.
    fs::remove_file(&wanted.file).unwrap();
    leave(&wanted, &[0; 300_001], None);
    let known = Wanted {
        size: Some(300_000),
        ..wanted.clone()
    };
    assert_eq!(fetch(&known, &server.url).await.unwrap(), fetched(false));
}

#[tokio::test]
async fn a_whole_part_needs_no_bytes() {
    let server = server(|_, head, stream| well(head, stream, "\"a\"", usize::MAX));
    let folder = tempdir().unwrap();
    let wanted = wanted(&folder);
    leave(&wanted, &content(), None);
    assert_eq!(fetch(&wanted, &server.url).await.unwrap(), fetched(false));
    assert_eq!(server.heads().len(), 1);
}

#[tokio::test]
async fn a_server_that_knows_no_parts_sends_all_again() {
    let server = server(|_, _, stream| send(stream, "200 X\r\ncontent-length: 300000", &content()));
    let folder = tempdir().unwrap();
    let wanted = wanted(&folder);
    leave(&wanted, &content()[..1_000], None);
    assert_eq!(fetch(&wanted, &server.url).await.unwrap(), fetched(false));
    assert_eq!(fs::read(&wanted.file).unwrap(), content());
}

#[tokio::test]
async fn a_part_from_another_place_is_not_taken() {
    // It sends the beginning, and calls it so, whatever it is asked for.
    let server = server(|_, head, stream| {
        if head.contains("range: ") {
            send(
                stream,
                "206 X\r\ncontent-range: bytes 0-299999/300000\r\ncontent-length: 300000",
                &content(),
            );
        } else {
            send(stream, "200 X\r\ncontent-length: 300000", &content());
        }
    });
    let folder = tempdir().unwrap();
    let wanted = wanted(&folder);
    leave(&wanted, &content()[..1_000], None);
    assert_eq!(fetch(&wanted, &server.url).await.unwrap(), fetched(false));
    assert_eq!(fs::read(&wanted.file).unwrap(), content());

    let part = "206 X\r\ncontent-range: bytes 5-9/300000\r\ncontent-length: 5";
    let unasked = self::server(move |_, _, stream| send(stream, part, b"later"));
    fs::remove_file(&wanted.file).unwrap();
    let error = fetch(&wanted, &unasked.url).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server sent a part that was not asked for"
    );
}

#[tokio::test]
async fn a_file_with_another_digest_is_deleted() {
    let server = server(|_, _, stream| {
        let mut other = content();
        other[500] ^= 1;
        send(stream, "200 X\r\ncontent-length: 300000", &other);
    });
    let folder = tempdir().unwrap();
    let error = fetch(&wanted(&folder), &server.url).await.unwrap_err();
    let DownloadError::Digest { expected, found } = &error else {
        panic!("{error}");
    };
    assert_eq!(expected, DIGEST);
    assert_ne!(found, DIGEST);
    assert_eq!(names(folder.path()), ["m.gguf.lock"]);
    assert_eq!(server.heads().len(), 1, "all of it came from there");
}

#[tokio::test]
async fn what_is_too_long_ends_at_the_bound() {
    let endless = server(|_, _, stream| {
        send(stream, "200 X", b"GGUF");
        while stream.write_all(&[7; 10_000]).is_ok() {}
    });
    let told = server(|_, _, stream| send(stream, "200 X\r\ncontent-length: 99999999999", b"GGUF"));
    let folder = tempdir().unwrap();
    let wanted = wanted(&folder);
    for server in [endless, told] {
        let error = fetch(&wanted, &server.url).await.unwrap_err();
        assert_eq!(error.to_string(), "the file has more than 1000000 bytes");
        assert!(!wanted.file.exists());
        // A part that was told to be whole would be gone on with for ever.
        assert!(fs::metadata(folder.path().join("m.gguf.part")).map_or(0, |it| it.len()) < 5);
    }
}

#[tokio::test]
async fn a_known_length_is_held_to() {
    let folder = tempdir().unwrap();
    let wanted = Wanted {
        size: Some(300_000),
        sha256: None,
        ..wanted(&folder)
    };
    let longer = server(|_, _, stream| send(stream, "200 X\r\ncontent-length: 300001", b"GGUF"));
    let error = fetch(&wanted, &longer.url).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the file has 300001 bytes, expected 300000"
    );
    // Without a length of its own, an answer may end anywhere.
    let shorter = server(|_, _, stream| send(stream, "200 X", &content()[..1_000]));
    let error = fetch(&wanted, &shorter.url).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the file ended after 1000 of 300000 bytes"
    );
    assert_eq!(shorter.heads().len(), 6, "a few times, not for ever");
}

#[tokio::test]
async fn a_page_in_the_place_of_the_file_is_known_by_its_first_bytes() {
    for page in ["<html>", "GGU", ""] {
        let server = server(move |_, _, stream| send(stream, "200 X", page.as_bytes()));
        let folder = tempdir().unwrap();
        let wanted = Wanted {
            sha256: None,
            ..wanted(&folder)
        };
        let error = fetch(&wanted, &server.url).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "it is no file of the expected kind: it does not begin with \"GGUF\""
        );
        assert_eq!(names(folder.path()), ["m.gguf.lock"], "{page:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_the_file_is_refused() {
    for (head, expected) in [
        ("404 X", "the server answered with status 404"),
        (
            "503 X\r\nretry-after: 1",
            "the server answered with status 503",
        ),
        (
            "200 X\r\ncontent-encoding: gzip",
            "the server sent the file in a compressed form",
        ),
        (
            "416 X\r\ncontent-range: bytes */9",
            "the server answered with status 416",
        ),
    ] {
        let server = server(move |_, _, stream| send(stream, head, b"GGUFxxxx"));
        let folder = tempdir().unwrap();
        let error = fetch(&wanted(&folder), &server.url).await.unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(server.heads().len(), 1);
        assert_eq!(names(folder.path()), ["m.gguf.lock"]);
    }
}

#[tokio::test]
async fn a_silent_server_is_not_waited_for() {
    let server = server(|_, _, stream| {
        send(stream, "200 X\r\ncontent-length: 300000", b"GGUF");
        thread::sleep(Duration::from_secs(60));
    });
    let folder = tempdir().unwrap();
    let wanted = Wanted {
        patience: Duration::from_millis(50),
        ..wanted(&folder)
    };
    let error = fetch(&wanted, &server.url).await.unwrap_err();
    assert_eq!(error.to_string(), "less than 64 KiB came within 0.05 s");
}

#[tokio::test]
async fn redirects_are_followed_and_stay_where_fetching_is_allowed() {
    let file = server(|_, head, stream| well(head, stream, "\"a\"", usize::MAX));
    let folder = tempdir().unwrap();
    let wanted = wanted(&folder);
    let to = |place: String| {
        server(move |_, _, stream| send(stream, &format!("302 X\r\nlocation: {place}"), b""))
    };
    let once = to(file.url.clone());
    assert_eq!(fetch(&wanted, &once.url).await.unwrap(), fetched(false));
    assert!(!file.heads()[0].contains("referer"));
    fs::remove_file(&wanted.file).unwrap();
    let twice = to(to(file.url.clone()).url);
    fetch(&wanted, &twice.url).await.unwrap();
    fs::remove_file(&wanted.file).unwrap();
    for (place, expected) in [
        ("http://192.0.2.1/m.gguf", "only `https` addresses"),
        ("ftp://127.0.0.1/m.gguf", "only `https` addresses"),
        ("/m.gguf", "too many redirects"),
    ] {
        let server = to(place.to_owned());
        let error = fetch(&wanted, &server.url).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{place}: {error}");
        assert!(!error.contains(place) || place == "/m.gguf", "{error}");
    }
}

/// As from a hub: the address says where a store has the file, with a signature that ends soon.
#[tokio::test]
async fn what_broke_off_at_another_host_is_asked_for_anew_at_the_address() {
    let store = server(|_, head, stream| well(head, stream, "\"a\"", 100_000));
    let place = store.url.clone();
    let hub = server(move |count, _, stream| {
        let head = format!(
            "302 X\r\nlocation: {place}?signature={count}\r\nx-linked-size: 300000\r\nx-linked-etag: \"b\""
        );
        send(stream, &head, b"");
    });
    let folder = tempdir().unwrap();
    let wanted = Wanted {
        sha256: None,
        ..wanted(&folder)
    };
    assert_eq!(fetch(&wanted, &hub.url).await.unwrap(), fetched(false));
    for (count, head) in store.heads().iter().enumerate() {
        assert!(head.contains(&format!("signature={count}")), "{head}");
        let part = format!("range: bytes={}-", count * 100_000);
        assert_eq!(head.contains(&part), count > 0, "{head}");
        // The tag that counts is the store's.
        assert_eq!(head.contains("if-range: \"a\""), count > 0, "{head}");
    }
    assert_eq!(fs::read(&wanted.file).unwrap(), content());
}

#[tokio::test]
async fn addresses_that_may_not_be_fetched_from_are_refused_before_anything_is_sent() {
    let folder = tempdir().unwrap();
    for (address, expected) in [
        ("http://example.org/m.gguf", "only `https` addresses"),
        ("file:///etc/passwd", "only `https` addresses"),
        ("m.gguf", "it is no address"),
        (
            "https://me:hunter2@example.org/m",
            "must not hold a name or password",
        ),
    ] {
        let error = fetch(&wanted(&folder), address)
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{address}: {error}");
        assert!(!error.contains("hunter2"));
    }
    assert_eq!(names(folder.path()), [""; 0]);
}

#[tokio::test]
async fn two_at_once_fetch_it_once() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let server = server(move |_, head, stream| {
        wait.lock().unwrap().recv().unwrap();
        well(head, stream, "\"a\"", usize::MAX);
    });
    let folder = tempdir().unwrap();
    let wanted = wanted(&folder);
    let mut waited = false;
    let mut second = |now| {
        if now == Progress::Waiting {
            waited = true;
            // Only now may the first one get its file.
            go.send(()).unwrap();
        }
    };
    let first = fetch(&wanted, &server.url);
    let second = from_url(&wanted, &server.url, &mut second);
    let (first, second) = tokio::join!(first, second);
    assert_eq!(
        (first.unwrap(), second.unwrap()),
        (fetched(false), fetched(true))
    );
    assert!(waited);
    assert_eq!(server.heads().len(), 1);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_is_told() {
    let server = server(|_, head, stream| well(head, stream, "\"a\"", usize::MAX));
    let folder = tempdir().unwrap();
    let part = folder.path().join("m.gguf.part");
    std::os::unix::fs::symlink("/dev/full", &part).unwrap();
    let error = fetch(&wanted(&folder), &server.url).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot write `{}`: No space left on device (os error 28)",
            part.display()
        )
    );
    assert!(!folder.path().join("m.gguf").exists());
}

#[tokio::test]
async fn a_missing_folder_is_told() {
    let folder = tempdir().unwrap();
    let wanted = Wanted {
        file: folder.path().join("none/m.gguf"),
        ..wanted(&folder)
    };
    let error = fetch(&wanted, "https://127.0.0.1:9/m").await.unwrap_err();
    assert!(matches!(error, DownloadError::File { .. }), "{error}");
}

#[tokio::test]
async fn a_stream_is_held_to_the_same() {
    let folder = tempdir().unwrap();
    let wanted = wanted(&folder);
    leave(&wanted, &content()[..1_000], None);
    let whole = content();
    let got = from_reader(&wanted, &whole[..], &mut |_| {}).await;
    assert_eq!(got.unwrap(), fetched(false));
    assert_eq!(fs::read(&wanted.file).unwrap(), whole);
    fs::remove_file(&wanted.file).unwrap();
    let cut = from_reader(&wanted, &whole[..9_000], &mut |_| {}).await;
    assert!(matches!(cut, Err(DownloadError::Digest { .. })));
    let known = Wanted {
        size: Some(8_000),
        ..wanted
    };
    let long = from_reader(&known, &whole[..], &mut |_| {}).await;
    assert!(matches!(long, Err(DownloadError::TooLarge { most: 8_000 })));
}

//! One request at a time: how a fault is read, and when it is known.

use std::time::Duration;

use claw_runtime::message::{ContentBlock, text_of};
use claw_runtime::provider::{FailureClass, ProviderError};
use tokio::time::Instant;

use crate::fault::FAULTS;
use crate::format::{FORMATS, Format, KEY};
use crate::support::{Act, Server, answer, ask, gzip};

#[tokio::test(start_paused = true)]
async fn every_fault_is_read_alike_in_every_format() {
    let elsewhere = Server::start([]).await;
    // Every difference is told at once.
    let mut differ = Vec::new();
    for format in &FORMATS {
        for fault in &FAULTS {
            let about = format!("{}: {}", format.name, fault.name);
            let server = Server::start([(fault.acts)(format, &elsewhere.base)]).await;
            let provider = format.connect("p", &server);
            let began = Instant::now();
            let (answer, shown) = ask(&*provider, true).await;
            let Err(error) = answer else {
                differ.push(format!("{about}: {answer:?}"));
                continue;
            };
            let about = format!("{about}: {error}");
            let found = (error.class, error.retry_after, began.elapsed().as_secs());
            let expected = (
                fault.class,
                fault.asks.map(Duration::from_secs),
                (fault.takes)(format),
            );
            let said = if fault.said { "Hello" } else { "" };
            if found != expected || text_of(&error.partial) != said || shown != said {
                differ.push(format!("{about}: {found:?}, {:?}", error.partial));
            }
            let written = &error.message;
            assert!(!written.is_empty() && written.len() < 1_000, "{about}");
            let address = server.base.trim_start_matches("http://");
            assert!(
                !written.contains(KEY) && !written.contains(address),
                "{about}"
            );
            assert_eq!(server.received().len(), 1, "{about}: a provider asks once");
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert_eq!(elsewhere.connections().0, 0, "redirects are not followed");
}

#[tokio::test(start_paused = true)]
async fn what_is_oddly_labelled_or_compressed_is_read() {
    for format in &FORMATS {
        let body = format.body("Hello");
        for (headers, body) in [
            (
                "content-type: application/json\r\n",
                body.clone().into_bytes(),
            ),
            ("content-type: text/html\r\n", body.clone().into_bytes()),
            ("", body.clone().into_bytes()),
            ("content-encoding: gzip\r\n", gzip(body.as_bytes())),
        ] {
            let server = Server::start([answer(200, headers, body)]).await;
            let (answer, shown) = ask(&*format.connect("p", &server), true).await;
            let reply =
                answer.unwrap_or_else(|error| panic!("{}, {headers}: {error}", format.name));
            assert_eq!(reply.content, [ContentBlock::text("Hello")]);
            assert_eq!(shown, "Hello");
        }
    }
}

/// The most that is read of an answer, and what the system holds of it on the way.
const MOST_SENT: usize = (32 << 20) + (24 << 20);

/// Asks a server that never ends its answer, and returns how it is given up.
async fn flood(format: &Format, head: &str, endless: Vec<u8>) -> (ProviderError, String) {
    let head = format!("HTTP/1.1 {head}\r\n\r\n").into_bytes();
    let server = Server::start([vec![Act::Send(head), Act::Flood(endless)]]).await;
    let (answer, shown) = ask(&*format.connect("p", &server), true).await;
    let error = answer.expect_err(format.name);
    assert!(
        server.flooded() < MOST_SENT,
        "{}: {}",
        format.name,
        server.flooded()
    );
    assert!(error.message.len() < 1_000, "{error}");
    (error, shown)
}

/// On the true clock: between reading and the next bytes the system may take its moment, and one that is paused would jump to
/// the end of the patience.
#[tokio::test]
async fn an_endless_answer_is_read_up_to_a_bound() {
    let long = "x".repeat(1 << 16);
    for format in &FORMATS {
        let blank = " ".repeat(1 << 16);
        for endless in [long.clone(), blank, format!("{{\"a\":\"{long}")] {
            let (error, shown) = flood(format, "200 X", endless.into_bytes()).await;
            assert_eq!(
                error.class,
                FailureClass::BadResponse,
                "{}: {error}",
                format.name
            );
            assert!(error.message.contains("MiB") && shown.is_empty(), "{error}");
        }
        let (error, _) = flood(format, "500 X", long.clone().into_bytes()).await;
        assert_eq!(
            error.class,
            FailureClass::Overloaded,
            "{}: {error}",
            format.name
        );
        // What is well formed and never ends is bounded no less.
        let endless = (format.text)(&long).into_bytes();
        let (error, shown) = flood(format, "200 X", endless).await;
        assert_eq!(
            error.class,
            FailureClass::BadResponse,
            "{}: {error}",
            format.name
        );
        assert!(
            (1 << 20..=32 << 20).contains(&shown.len()),
            "{}",
            shown.len()
        );
    }
}

/// Returns a gzip file of blanks, a thousandth of what it holds: one literal, then copies of the byte before.
fn bomb(copies: usize) -> Vec<u8> {
    let mut bits: Vec<bool> = Vec::new();
    let huffman = |bits: &mut Vec<bool>, code: u16, length: u32| {
        bits.extend((0..length).rev().map(|at| code >> at & 1 == 1));
    };
    // The last block, with the codes of the standard: literals from 0x30, lengths from 280 at 0xC0, distance 1 as 0.
    bits.extend([true, true, false]);
    huffman(&mut bits, 0x30 + u16::from(b' '), 8);
    for _ in 0..copies {
        huffman(&mut bits, 0xC0 + 5, 8);
        huffman(&mut bits, 0, 5);
    }
    huffman(&mut bits, 0, 7);
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    out.extend(bits.chunks(8).map(|byte| {
        let bits = byte.iter().enumerate();
        bits.fold(0, |byte, (at, bit)| byte | u8::from(*bit) << at)
    }));
    // Neither sum nor length is right; nobody comes so far.
    out.extend([0; 8]);
    out
}

#[tokio::test(start_paused = true)]
async fn a_small_body_that_unpacks_to_a_large_one_is_bounded() {
    let body = bomb((64 << 20) / 258);
    assert!(body.len() < 1 << 19);
    for format in &FORMATS {
        let server = Server::start([answer(200, "content-encoding: gzip\r\n", &body)]).await;
        let error = ask(&*format.connect("p", &server), true)
            .await
            .0
            .unwrap_err();
        assert_eq!(
            error.class,
            FailureClass::BadResponse,
            "{}: {error}",
            format.name
        );
        assert!(error.message.contains("more than 32 MiB"), "{error}");
    }
}

//! Answers of servers and proxies that keep to HTTP, to events or to chat completions only so far.

use claw_runtime::message::{ContentBlock, StopReason};
use claw_runtime::provider::{ProviderError, Reply};

use crate::format::FORMATS;
use crate::support::{Act, Server, ask};

const DONE: &str = "data: [DONE]\n\n";

/// Returns an event of one choice with these members.
fn choice(members: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,{members}}}]}}\n\n")
}

fn says(text: &str) -> String {
    choice(&format!("\"delta\":{{\"content\":\"{text}\"}}"))
}

fn calls(call: &str) -> String {
    choice(&format!("\"delta\":{{\"tool_calls\":[{call}]}}"))
}

fn ends(reason: &str) -> String {
    choice(&format!("\"delta\":{{}},\"finish_reason\":\"{reason}\""))
}

/// Returns an answer of known length.
pub(crate) fn answer(headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Says in a line what came of a request.
fn told(answer: Result<Reply, ProviderError>) -> String {
    let said = |content: &[ContentBlock]| {
        let blocks = content.iter().map(|block| match block {
            ContentBlock::Text { text } => text.clone(),
            ContentBlock::ToolCall(call) => format!("{} {} {}", call.id, call.name, call.arguments),
            other => format!("{other:?}"),
        });
        blocks.collect::<Vec<_>>().join("; ")
    };
    match answer {
        Ok(reply) => match reply.stop {
            StopReason::Stop | StopReason::ToolCalls => said(&reply.content),
            stop => format!("{} ({stop:?})", said(&reply.content)),
        },
        Err(error) if error.partial.is_empty() => format!("! {:?}: {}", error.class, error.message),
        Err(error) => format!(
            "{} ! {:?}: {}",
            said(&error.partial),
            error.class,
            error.message
        ),
    }
}

async fn check(cases: Vec<(String, &str)>) {
    check_of("openai_chat", cases).await;
}

/// Asks a server that answers with these bytes and then closes the connection, with a stream and without.
pub(crate) async fn check_of(format: &str, cases: Vec<(String, &str)>) {
    let chat = FORMATS.iter().find(|known| known.name == format);
    let chat = chat.expect("a format");
    for (bytes, expected) in cases {
        for streamed in [true, false] {
            let acts = vec![Act::Send(bytes.clone().into_bytes()), Act::Close];
            let server = Server::start([acts]).await;
            let provider = chat.connect("p", &server);
            let (answer, _) = ask(&*provider, streamed).await;
            let begin: String = bytes.chars().take(300).collect();
            assert_eq!(told(answer), expected, "{begin}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn odd_heads_and_bodies_without_end_are_read() {
    let body = format!("{}{}{DONE}", says("Hi"), ends("stop"));
    let whole = r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    let chunked = |body: &str| {
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n")
    };
    let long = format!("x-a: {}\r\n", "a".repeat(300_000));
    check(vec![
        (format!("HTTP/1.0 200 OK\r\n\r\n{body}"), "Hi"),
        (format!("HTTP/1.0 200 OK\r\n\r\n{whole}"), "Hi"),
        (
            format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}"),
            "Hi",
        ),
        (
            format!("HTTP/1.1 200\ncontent-length: {}\n\n{body}", body.len()),
            "Hi",
        ),
        (
            format!(
                "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n{}",
                answer("", &body)
            ),
            "Hi",
        ),
        (answer(&long, &body), "Hi"),
        (answer("x-a: b\r\n c\r\n", &body), "Hi"),
        (answer("x a: b\r\nx-b : c\r\n", &body), "Hi"),
        (chunked(&body), "Hi"),
        (
            answer("", &body).replace("content-length: ", "content-length: 1"),
            "Hi",
        ),
        (
            "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
            "! IncompleteStream: the answer is empty",
        ),
        (
            chunked(&says("Hi")),
            "Hi ! IncompleteStream: the answer broke off: error reading a body from \
             connection: unexpected EOF during chunk size line",
        ),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn odd_events_are_read() {
    let body = format!("{}{}{DONE}", says("Hi"), ends("stop"));
    let cases = [
        (format!("\u{feff}{}", body.replace('\n', "\r\n")), "Hi"),
        (body.replace('\n', "\r"), "Hi"),
        (body.replace("data: ", "data:"), "Hi"),
        (body.replace("\n\n", "\n"), "Hi"),
        (format!(": ping\n\n:\nretry: 1\nid: 4\n{body}"), "Hi"),
        (body.replace(",\"delta\"", "\ndata: ,\"delta\""), "Hi"),
        (body.replace(DONE, ""), "Hi"),
        (
            format!("{}{DONE}", says("Hi")),
            "Hi ! IncompleteStream: the stream ended before the model stopped",
        ),
        (
            format!("{}{{\"error\":{{\"message\":\"boom\"}}}}\n\n", says("Hi")),
            "Hi ! Overloaded: boom",
        ),
        (
            "event: error\ndata: upstream timed out\n\n".to_owned(),
            "! Overloaded: upstream timed out",
        ),
        (
            "event: error\ndata: {\"message\":\"too many requests\"}\n\n".to_owned(),
            "! RateLimit: too many requests",
        ),
        (
            "<!doctype html><title>Sign in</title>".to_owned(),
            "! BadResponse: the service answered with a web page (`Sign in`); check the base URL",
        ),
    ];
    let cases = cases.map(|(body, expected)| (answer("", &body), expected));
    check(cases.into()).await;
}

#[tokio::test(start_paused = true)]
async fn odd_choices_and_calls_are_read() {
    let end = ends("tool_calls");
    let begun = |index: &str, id: &str, name: &str, arguments: &str| {
        let function = format!("{{\"name\":\"{name}\",\"arguments\":{arguments}}}");
        calls(&format!(
            "{{\"index\":{index},\"id\":\"{id}\",\"function\":{function}}}"
        ))
    };
    let more = |index: &str, id: &str, arguments: &str| {
        let function = format!("{{\"arguments\":{arguments}}}");
        calls(&format!(
            "{{\"index\":{index},\"id\":\"{id}\",\"function\":{function}}}"
        ))
    };
    let whole = r#""choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    let mut cases = vec![
        (
            format!("{{\"error\":null,\"code\":0,\"message\":\"ok\",{whole}"),
            "Hi",
        ),
        (
            format!("{{\"error\":{{\"code\":0,\"message\":\"\"}},{whole}"),
            "Hi",
        ),
        (
            r#"{"choices":[{"message":{"content":"Hi"}}]}"#.to_owned(),
            "Hi",
        ),
        (
            r#"{"choices":[]}"#.to_owned(),
            "! BadResponse: the answer is no JSON of a chat completion; check the base URL",
        ),
        (format!("{}{end}{DONE}", says("Hi")), "Hi"),
        (
            format!(
                "{}{}{}{}{end}",
                begun("0", "a", "f", r#""{\"x\":""#),
                begun("0", "b", "g", r#""{\"y\":""#),
                more("0", "a", r#""1}""#),
                more("0", "b", r#""2}""#)
            ),
            r#"a f {"x":1}; b g {"y":2}"#,
        ),
        (
            format!(
                "{}{end}",
                calls(r#"{"id":"a","name":"f","arguments":{"x":1}}"#)
            ),
            r#"a f {"x":1}"#,
        ),
        (
            format!(
                "{}{}{end}",
                begun("0", "a", "f", "{}"),
                more("0", "", r#"{"x":1}"#)
            ),
            r#"a f {"x":1}"#,
        ),
        (
            format!(
                "{}{}{end}",
                begun("0", "a", "f", "null"),
                more("0", "", r#""{\"x\":1}""#)
            ),
            r#"a f {"x":1}"#,
        ),
    ];
    // What is no object is the turn's to refuse; it is not taken for none.
    for (arguments, read) in [("true", "a f true"), ("5", "a f 5"), ("[1]", "a f [1]")] {
        cases.push((format!("{}{end}", begun("0", "a", "f", arguments)), read));
    }
    for index in ["1", "-1", "0.0", "\"0\"", "null"] {
        let first = begun(index, "a", "f", r#""{\"x\":""#);
        let body = format!("{first}{}{end}{DONE}", more(index, "", r#""1}""#));
        cases.push((body, r#"a f {"x":1}"#));
    }
    let cases = cases
        .into_iter()
        .map(|(body, expected)| (answer("", &body), expected));
    check(cases.collect()).await;
}

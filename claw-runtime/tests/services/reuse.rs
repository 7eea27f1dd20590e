//! Connections over the life of a session: used again, and replaced without a word when a service has closed one.

use std::sync::Arc;

use claw_runtime::agent::Agent;
use claw_runtime::message::{Message, text_of};
use claw_runtime::provider::{FailureClass, OpenAiChat, Provider};
use claw_runtime::registry::Toolset;
use claw_runtime::tool::{Effect, Spec, Tool, ToolOutput};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::format::{FORMATS, Format};
use crate::support::{Act, Server, ask, request, stream};

/// Asks twice, and checks what comes of it: both answers, this many requests over two connections.
async fn twice(format: &Format, about: &str, answers: Vec<Vec<Act>>, requests: usize) {
    let about = format!("{}: {about}", format.name);
    let server = Server::start(answers).await;
    let provider = format.connect("p", &server);
    for said in ["One", "Two"] {
        let (answer, shown) = ask(&*provider, true).await;
        let reply = answer.unwrap_or_else(|error| panic!("{about}: {error}"));
        assert_eq!(
            (&*text_of(&reply.content), &*shown),
            (said, said),
            "{about}"
        );
        // What the server does behind its answer is done before the next request.
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(server.received().len(), requests, "{about}");
    assert_eq!(server.connections().0, 2, "{about}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_was_closed_is_replaced_without_a_word() {
    for format in &FORMATS {
        let (one, two) = (|| format.says("One"), || format.says("Two"));
        for (name, end) in [("closed", Act::Close), ("reset", Act::Reset)] {
            let mut ended = one();
            ended.push(end.clone());
            twice(format, &format!("{name} while idle"), vec![ended, two()], 2).await;
            // As the request goes out: it came, and was never looked at.
            let about = format!("{name} under a request");
            twice(format, &about, vec![one(), vec![end], two()], 3).await;
        }
    }
}

/// What a server says that waited for a request in vain (RFC 9110, 15.5.9) is the answer to none.
#[tokio::test(start_paused = true)]
async fn a_word_on_an_idle_connection_is_no_answer() {
    const LATE: &[u8] =
        b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    for format in &FORMATS {
        for end in [Act::Close, Act::Reset] {
            let mut ended = format.says("One");
            ended.extend([Act::Send(LATE.to_vec()), end]);
            twice(format, "408 while idle", vec![ended, format.says("Two")], 2).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_has_begun_to_answer_is_not_asked_again() {
    for format in &FORMATS {
        for end in [Act::Close, Act::Reset] {
            let mut broken = format.open(&[&(format.text)("Half")]);
            broken.push(end);
            let server = Server::start([format.says("One"), broken, format.says("Two")]).await;
            let provider = format.connect("p", &server);
            assert!(ask(&*provider, true).await.0.is_ok());
            let (answer, shown) = ask(&*provider, true).await;
            let error = answer.expect_err(format.name);
            assert!(error.class.is_retryable(), "{}: {error}", format.name);
            assert_eq!(shown, "Half", "{}", format.name);
            assert_eq!((server.received().len(), server.connections().0), (2, 1));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_nobody_uses_is_closed_after_a_while() {
    let format = &FORMATS[0];
    let server = Server::start([format.says("One"), format.says("Two")]).await;
    let provider = format.connect("p", &server);
    let wait = |seconds| tokio::time::sleep(std::time::Duration::from_secs(seconds));
    for connections in [(1, 0), (2, 1)] {
        assert!(ask(&*provider, true).await.0.is_ok());
        wait(290).await;
        assert_eq!(server.connections(), connections);
        wait(330).await;
        assert_eq!(server.connections(), (connections.0, connections.0));
    }
}

/// What was begun within the head of an answer was begun.
#[tokio::test(start_paused = true)]
async fn a_service_that_breaks_off_within_the_head_is_not_asked_again() {
    for format in &FORMATS {
        for end in [Act::Close, Act::Reset] {
            let broken = vec![Act::Send(b"HTTP/1.1 200 OK\r\ncontent-ty".to_vec()), end];
            let server = Server::start([format.says("One"), broken, format.says("Two")]).await;
            let provider = format.connect("p", &server);
            assert!(ask(&*provider, true).await.0.is_ok());
            let error = ask(&*provider, true).await.0.expect_err(format.name);
            assert_eq!(
                error.class,
                FailureClass::Network,
                "{}: {error}",
                format.name
            );
            assert_eq!((server.received().len(), server.connections().0), (2, 1));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_connection_that_is_closed_is_a_failure() {
    for format in &FORMATS {
        let server = Server::start([vec![Act::Close], format.says("Two")]).await;
        let error = ask(&*format.connect("p", &server), true)
            .await
            .0
            .unwrap_err();
        assert_eq!(
            error.class,
            FailureClass::Network,
            "{}: {error}",
            format.name
        );
        assert_eq!(server.received().len(), 1, "{}", format.name);
    }
}

/// A request of megabytes, reset after its first bytes.
#[tokio::test]
async fn a_connection_that_is_reset_while_a_request_is_written_is_replaced() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let body = r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let server = tokio::spawn(async move {
        let mut wholes = 0;
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut seen = Vec::new();
            let mut buffer = vec![0; 1 << 16];
            loop {
                let read = stream.read(&mut buffer).await.unwrap();
                seen.extend_from_slice(&buffer[..read]);
                if read == 0 {
                    break;
                }
                if wholes == 1 {
                    // The first bytes of the second request.
                    wholes += 1;
                    stream.set_zero_linger().unwrap();
                    break;
                }
                if seen.ends_with(b"}") {
                    stream.write_all(answer.as_bytes()).await.unwrap();
                    wholes += 1;
                    if wholes == 3 {
                        return;
                    }
                    seen.clear();
                }
            }
        }
    });
    let provider = OpenAiChat::new("p", &base, None).unwrap();
    for text in ["Hi".to_owned(), "x".repeat(8 << 20)] {
        let messages = [Message::user(text)];
        let reply = provider.complete(request(&messages), None).await.unwrap();
        assert_eq!(text_of(&reply.content), "Hi");
    }
    server.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_rounds_of_a_turn_share_a_connection() {
    let call = |id: &str| {
        let call = json!({"choices": [{"delta": {"tool_calls": [
            {"index": 0, "id": id, "function": {"name": "look", "arguments": "{}"}},
        ]}, "finish_reason": "tool_calls"}]});
        stream(&[&format!("data: {call}\n\ndata: [DONE]\n\n")])
    };
    let chat = FORMATS
        .iter()
        .find(|format| format.name == "openai_chat")
        .unwrap();
    let server = Server::start([call("1"), call("2"), chat.says("Done.")]).await;
    let spec = Spec {
        effect: Effect::Pure,
        ..Spec::new("look".into(), "Looks.".into())
    };
    let run: claw_runtime::tool::Handler =
        Arc::new(|_, _| Box::pin(async { Ok(ToolOutput::text("seen")) }));
    let look = Arc::new(Tool::dynamic(spec, json!({"type": "object"}), run));
    let agent = Agent::builder()
        .model(chat.connect("p", &server), "m")
        .tools(Toolset::new([look]).unwrap())
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    assert_eq!(session.run("Look.").await.unwrap().text, "Done.");
    assert_eq!((server.received().len(), server.connections().0), (3, 1));
}

//! The formats beside chat completions against servers on loopback: where they ask, what they make of the answers.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
mod support;

use claw_runtime::message::{ContentBlock, StopReason, Usage};
use claw_runtime::provider::abilities::{Change, Rule};
use claw_runtime::provider::{
    Azure, Capabilities, DashScope, FailureClass, Ollama, OpenAiResponses, Provider, ProviderError,
    Reply,
};
use secrecy::SecretString;
use serde_json::{Value, json};
use support::{Server, answer, json as json_answer, stream};

const KEY: &str = "key-1234567890";

fn key() -> Option<SecretString> {
    Some(SecretString::from(KEY.to_owned()))
}

/// Returns the server's address without a path.
fn root(server: &Server) -> String {
    server.base.trim_end_matches("/v1").to_owned()
}

async fn ask(provider: &dyn Provider, streamed: bool) -> Result<Reply, ProviderError> {
    support::ask(provider, streamed).await.0
}

fn reply(reasoning: &str, text: &str, usage: Usage) -> Reply {
    Reply {
        content: vec![
            ContentBlock::Reasoning {
                text: reasoning.into(),
            },
            ContentBlock::text(text),
        ],
        cut_calls: Vec::new(),
        stop: StopReason::Stop,
        usage: Some(usage),
    }
}

fn event(event: &Value) -> String {
    format!("data: {event}\n\n")
}

#[tokio::test]
async fn a_response_is_the_same_streamed_and_whole() {
    let response = json!({
        "id": "resp_1", "object": "response", "status": "completed", "error": null,
        "output": [
            {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]},
            {"id": "msg_1", "type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": "Hello", "annotations": []}]},
        ],
        "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
            "input_tokens_details": {"cached_tokens": 4},
            "output_tokens_details": {"reasoning_tokens": 2}},
    });
    let pieces = [
        event(
            &json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "Hm"}),
        ),
        event(&json!({"type": "response.output_text.delta", "output_index": 1, "delta": "Hello"})),
        event(&json!({"type": "response.completed", "response": response})),
    ];
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let server = Server::start([stream(&pieces), json_answer(200, &response)]).await;
    let provider = OpenAiResponses::new("p", &server.base, key()).unwrap();
    let expected = reply(
        "Hm",
        "Hello",
        Usage {
            input_tokens: 10,
            output_tokens: 5,
            cached_tokens: 4,
            reasoning_tokens: 2,
        },
    );
    for streamed in [true, false] {
        assert_eq!(ask(&provider, streamed).await.unwrap(), expected);
    }
    let sent = server.received();
    assert_eq!(sent[0].json()["stream"], true);
    assert_eq!(sent[1].json().get("stream"), None);
}

#[tokio::test]
async fn an_ollama_answer_is_the_same_streamed_and_whole() {
    let line = |message: Value, done: bool| {
        json!({"model": "m", "message": message, "done": done, "done_reason": "stop",
            "prompt_eval_count": 10, "eval_count": 5})
    };
    let whole = line(
        json!({"role": "assistant", "thinking": "Hm", "content": "Hello"}),
        true,
    );
    let lines = [
        line(
            json!({"role": "assistant", "thinking": "Hm", "content": ""}),
            false,
        ),
        line(json!({"role": "assistant", "content": "Hello"}), false),
        line(json!({"role": "assistant", "content": ""}), true),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let server = Server::start([
        answer(200, "content-type: application/x-ndjson\r\n", &lines),
        json_answer(200, &whole),
    ])
    .await;
    let provider = Ollama::new("p", &root(&server), None).unwrap();
    let usage = Usage {
        input_tokens: 10,
        output_tokens: 5,
        ..Usage::default()
    };
    for streamed in [true, false] {
        assert_eq!(
            ask(&provider, streamed).await.unwrap(),
            reply("Hm", "Hello", usage)
        );
    }
    let sent = server.received();
    assert!(
        sent[0].head.starts_with("post /api/chat "),
        "{}",
        sent[0].head
    );
    assert_eq!(sent[0].json()["stream"], true);
    assert_eq!(sent[1].json()["stream"], false);
    assert_eq!(sent[1].json()["options"], json!({"num_ctx": 32_768}));
}

#[tokio::test]
async fn a_model_that_sees_is_asked_at_its_own_address() {
    let said = json!({"output": {"choices": [{"finish_reason": "stop",
        "message": {"role": "assistant", "content": [{"text": "A cat."}]}}]}});
    let server = Server::start([stream(&[&event(&said)])]).await;
    let sees = Rule {
        models: "m".into(),
        change: Change {
            vision: Some(true),
            ..Change::default()
        },
        is_guess: false,
    };
    let provider = DashScope::new("p", &root(&server), key())
        .unwrap()
        .rules([sees]);
    let reply = ask(&provider, false).await.unwrap();
    assert_eq!(reply.content, [ContentBlock::text("A cat.")]);
    let sent = &server.received()[0];
    let path = "post /api/v1/services/aigc/multimodal-generation/generation ";
    assert!(sent.head.starts_with(path), "{}", sent.head);
    assert!(
        sent.head
            .lines()
            .any(|line| line == "x-dashscope-sse: enable")
    );
    assert_eq!(
        sent.json()["input"]["messages"],
        json!([{"role": "user", "content": [{"text": "Hi"}]}])
    );
}

#[tokio::test]
async fn each_lists_its_models_where_it_has_them() {
    let openai = json!({"object": "list", "data": [{"id": "a"}, {"id": "b"}]});
    let tags = json!({"models": [{"name": "a", "size": 1}, {"name": "b", "size": 2}]});
    let list = async |make: fn(&str) -> Box<dyn Provider>, body: &Value, path: &str| {
        let server = Server::start([json_answer(200, body)]).await;
        let provider = make(&root(&server));
        assert_eq!(provider.models().await.unwrap(), ["a", "b"]);
        let head = server.received()[0].head.clone();
        assert!(head.starts_with(&format!("get {path} ")), "{head}");
    };
    list(
        |root| Box::new(OpenAiResponses::new("p", root, key()).unwrap()),
        &openai,
        "/v1/models",
    )
    .await;
    list(
        |root| Box::new(Azure::new("p", root, key()).unwrap()),
        &openai,
        "/openai/v1/models",
    )
    .await;
    list(
        |root| Box::new(Azure::new("p", root, key()).unwrap().api_version("v")),
        &openai,
        "/openai/models?api-version=v",
    )
    .await;
    list(
        |root| Box::new(DashScope::new("p", root, key()).unwrap()),
        &openai,
        "/compatible-mode/v1/models",
    )
    .await;
    list(
        |root| Box::new(Ollama::new("p", root, None).unwrap()),
        &tags,
        "/api/tags",
    )
    .await;
    let named = Azure::new("p", "http://127.0.0.1:9", key()).unwrap();
    let named = named.deployment("gpt-5", "ours");
    assert_eq!(named.models().await.unwrap(), ["gpt-5"], "nothing is asked");
}

#[tokio::test]
async fn what_ollama_shows_of_a_model_weighs_more_than_a_guess() {
    let shown = json!({"details": {}, "capabilities": ["completion", "vision"],
        "model_info": {"general.architecture": "llama", "llama.context_length": 8192}});
    let server = Server::start([json_answer(200, &shown), json_answer(200, &shown)]).await;
    let rule = |is_guess, change| Rule {
        models: "*".into(),
        change,
        is_guess,
    };
    let no_images = Change {
        vision: Some(false),
        ..Change::default()
    };
    let tools = Change {
        native_tools: Some(true),
        ..Change::default()
    };
    let ollama = || Ollama::new("p", &root(&server), None).unwrap();
    let shown = Capabilities {
        native_tools: false,
        vision: true,
        reasoning: false,
        window: Some(8192),
        ..Capabilities::FULL
    };
    let guessing = ollama().rules([rule(true, no_images)]);
    assert!(!guessing.capabilities("m").vision);
    assert_eq!(guessing.about("m").await.unwrap(), shown);
    let told = ollama().rules([rule(false, tools)]);
    let told = told.about("m").await.unwrap();
    assert_eq!(
        told,
        Capabilities {
            native_tools: true,
            ..shown
        }
    );
    assert_eq!(server.received()[0].json(), json!({"model": "m"}));
}

#[tokio::test]
async fn complaints_are_classified_and_tell_no_key() {
    let filtered = json!({"error": {"code": "content_filter", "status": 400,
        "message": format!("The prompt triggered the content management policy ({KEY})."),
        "innererror": {"content_filter_result": {
            "hate": {"filtered": false}, "jailbreak": {"filtered": true}}}}});
    let no_tools = json!({"error": "registry.ollama.ai/library/gemma2 does not support tools"});
    let arrears = json!({"code": "Arrearage", "message": "Access denied.", "request_id": "q"});
    let server = Server::start([
        json_answer(400, &filtered),
        json_answer(400, &no_tools),
        json_answer(400, &arrears),
    ])
    .await;
    let root = root(&server);
    let azure = Azure::new("p", &root, key()).unwrap();
    let error = ask(&azure, true).await.unwrap_err();
    assert_eq!(error.class, FailureClass::Filtered);
    assert_eq!(
        error.message,
        "The prompt triggered the content management policy (***). (filtered: jailbreak)"
    );
    let ollama = Ollama::new("p", &root, None).unwrap();
    let error = ask(&ollama, true).await.unwrap_err();
    assert_eq!(error.class, FailureClass::ToolsUnsupported);
    let dashscope = DashScope::new("p", &root, key()).unwrap();
    let error = ask(&dashscope, true).await.unwrap_err();
    assert_eq!(error.class, FailureClass::Quota);
}

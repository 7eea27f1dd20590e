//! Schemas that a service refuses: asked once more in the next laxer dialect, and remembered for that model.

use std::sync::Arc;

use claw_runtime::agent::Agent;
use claw_runtime::event::{EndReason, Event, Fact};
use claw_runtime::provider::openai_chat::Quirks;
use claw_runtime::provider::{
    Anthropic, Azure, FailureClass, Gemini, OpenAiChat, Provider, anthropic,
};
use claw_runtime::registry::Toolset;
use claw_runtime::session::{MemoryStore, SessionStore};
use claw_runtime::tool::{Spec, Tool, ToolOutput};
use serde_json::{Value, json};

use crate::format::{FORMATS, Format};
use crate::support::{Act, Server, json as json_answer};

fn weather() -> Toolset {
    let handler: claw_runtime::tool::Handler =
        Arc::new(|_, _| Box::pin(async { Ok::<_, _>(ToolOutput::text("")) }));
    let schema = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": false,
    });
    let spec = Spec::new("weather".into(), "Weather.".into());
    Toolset::new([Arc::new(Tool::dynamic(spec, schema, handler))]).unwrap()
}

/// A service with a strict dialect.
struct Case {
    format: &'static Format,
    connect: fn(&Server) -> Arc<dyn Provider>,
    /// From the dialect that is refused to the next.
    dialects: [&'static str; 2],
    /// Tells whether a request is in the first of them.
    is_first: fn(&Value) -> bool,
    status: u16,
    /// How it refuses.
    body: Value,
}

const STRICT: Quirks = Quirks {
    dialect: "openai-strict",
    ..Quirks::COMMON
};

fn root(server: &Server) -> &str {
    server.base.trim_end_matches("/v1")
}

fn openai(server: &Server) -> Arc<dyn Provider> {
    let provider = OpenAiChat::new("p", &server.base, None).unwrap();
    Arc::new(provider.quirks(STRICT))
}

fn azure(server: &Server) -> Arc<dyn Provider> {
    let provider = Azure::new("p", root(server), None).unwrap();
    Arc::new(provider.quirks(STRICT))
}

fn anthropic(server: &Server) -> Arc<dyn Provider> {
    let provider = Anthropic::new("p", root(server), None).unwrap();
    Arc::new(provider.options(anthropic::Options {
        dialect: "anthropic-strict",
        ..anthropic::Options::COMMON
    }))
}

fn gemini(server: &Server) -> Arc<dyn Provider> {
    Arc::new(Gemini::new("p", &server.base, None).unwrap())
}

fn cases() -> [Case; 5] {
    let openai_like = |connect, format: usize, status, body| Case {
        format: &FORMATS[format],
        connect,
        dialects: ["openai-strict", "openai"],
        is_first: |body| body["tools"][0]["function"]["strict"] == true,
        status,
        body,
    };
    [
        openai_like(
            openai,
            0,
            400,
            json!({"error": {
                "message": "Invalid schema for function 'weather': In context=('properties', 'days'), 'x' is not permitted.",
                "type": "invalid_request_error", "param": "tools[0].function.parameters",
                "code": "invalid_function_parameters",
            }}),
        ),
        // A server that never heard of strict tools.
        openai_like(
            openai,
            0,
            422,
            json!({"detail": [{"type": "extra_forbidden", "loc": ["body", "tools", 0, "function", "strict"],
                "msg": "Extra inputs are not permitted", "input": true}]}),
        ),
        openai_like(
            azure,
            1,
            400,
            json!({"error": {"message": "Unknown parameter.", "type": "invalid_request_error",
                "param": "tools[0].function.strict", "code": "unknown_parameter"}}),
        ),
        Case {
            format: &FORMATS[3],
            connect: anthropic,
            dialects: ["anthropic-strict", "anthropic"],
            is_first: |body| body["tools"][0]["strict"] == true,
            status: 400,
            body: json!({"type": "error", "error": {"type": "invalid_request_error",
                "message": "tools.0.custom.strict: Extra inputs are not permitted"}}),
        },
        Case {
            format: &FORMATS[4],
            connect: gemini,
            dialects: ["gemini", "gemini-parameters"],
            is_first: |body| {
                !body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"].is_null()
            },
            status: 400,
            body: json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message":
                "Invalid JSON payload received. Unknown name \"parametersJsonSchema\" at \
                 'tools[0].function_declarations[0]': Cannot find field."}}),
        },
    ]
}

fn agent(provider: Arc<dyn Provider>, store: Arc<dyn SessionStore>) -> Agent {
    Agent::builder()
        .model(provider, "m")
        .tools(weather())
        .store(store)
        .build()
        .unwrap()
}

/// Returns what a session learnt.
async fn learnt(store: &dyn SessionStore) -> Vec<Event> {
    let records = store.records("s", 0).await.unwrap();
    let events = records.iter().map(|record| record.read().unwrap());
    let is_learnt = |event: &Event| matches!(event, Event::Learnt { .. });
    events.filter(is_learnt).collect()
}

#[tokio::test]
async fn a_refused_schema_goes_in_the_laxer_dialect_from_then_on() {
    for case in cases() {
        let refused = json_answer(case.status, &case.body);
        let good = || case.format.says("Hello");
        let answers: [Vec<Act>; 4] = [refused, good(), good(), good()];
        let server = Server::start(answers).await;
        let store: Arc<MemoryStore> = Arc::default();
        let first = agent((case.connect)(&server), store.clone());
        let mut session = first.session("s").await.unwrap();
        for _ in 0..2 {
            assert_eq!(
                session.run("Hi").await.unwrap().text,
                "Hello",
                "{}",
                case.body
            );
        }
        let [from, to] = case.dialects;
        assert_eq!(first.targets(session.view().unwrap())[0].dialect, to);
        drop(session);
        // Another process that picks the session up knows it too.
        let second = agent((case.connect)(&server), store.clone());
        let mut session = second.session("s").await.unwrap();
        assert_eq!(session.run("Hi").await.unwrap().text, "Hello");
        let bodies: Vec<Value> = server.received().iter().map(|it| it.json()).collect();
        let strict: Vec<bool> = bodies.iter().map(case.is_first).collect();
        assert_eq!(strict, [true, false, false, false], "{}", case.body);
        assert!(bodies.iter().all(|body| body["tools"][0].is_object()));
        let expected = Event::Learnt {
            provider: "p".to_owned(),
            model: "m".to_owned(),
            fact: Fact::SchemaRefused {
                dialect: from.to_owned(),
            },
        };
        assert_eq!(learnt(&*store).await, [expected]);
    }
}

#[tokio::test]
async fn a_schema_that_is_refused_again_ends_the_turn_with_what_was_said() {
    for case in cases() {
        let refused = json_answer(case.status, &case.body);
        let server = Server::start(vec![refused; 5]).await;
        let store: Arc<MemoryStore> = Arc::default();
        let agent = agent((case.connect)(&server), store.clone());
        let outcome = agent.session("s").await.unwrap().run("Hi").await.unwrap();
        let EndReason::Failed { class, message } = outcome.reason else {
            panic!("{outcome:?}");
        };
        assert_eq!(class, FailureClass::SchemaRefused);
        assert!(
            !message.is_empty() && outcome.text.contains(&message),
            "{}",
            outcome.text
        );
        assert_eq!(server.received().len(), 2);
        assert_eq!(learnt(&*store).await.len(), 1);
    }
}

#[tokio::test]
async fn nothing_is_learnt_from_any_other_refusal() {
    let messages = [
        "Invalid value for 'temperature'",
        "tools[0].function.name: String should match pattern '^[a-z]+$'",
        "tools: Tool names must be unique.",
        "Invalid schema for response_format 'answer': 'x' is not permitted",
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
        "Unsupported parameter: 'parallel_tool_calls'",
    ];
    for case in cases() {
        for message in messages {
            let refused = json_answer(
                400,
                &(case.format.refusal)(400, "invalid_request_error", message),
            );
            let server = Server::start(vec![refused; 5]).await;
            let store: Arc<MemoryStore> = Arc::default();
            let agent = agent((case.connect)(&server), store.clone());
            let outcome = agent.session("s").await.unwrap().run("Hi").await.unwrap();
            let expected = EndReason::Failed {
                class: FailureClass::BadRequest,
                message: message.to_owned(),
            };
            assert_eq!(outcome.reason, expected);
            assert_eq!(server.received().len(), 1, "{message}");
            assert_eq!(learnt(&*store).await, []);
        }
    }
}

//! A whole turn with a service that speaks a dialect: only the wire does.

use std::sync::{Arc, Mutex};

use claw_runtime::agent::{Agent, Observer};
use claw_runtime::dialect::Dialect;
use claw_runtime::event::Event;
use claw_runtime::message::Message;
use claw_runtime::policy::Policy;
use claw_runtime::provider::scripted::{Scripted, calls, says};
use claw_runtime::provider::{
    Capabilities, Delta, DeltaSink, Provider, ProviderError, Reply, Request,
};
use claw_runtime::registry::Toolset;
use claw_runtime::tool::{Effect, Handler, Spec, Tool, ToolOutput};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// A scripted model of a service that wants OpenAI's strict schemas.
struct Strict(Scripted);

impl Provider for Strict {
    fn name(&self) -> &str {
        "strict"
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        self.0.capabilities(model)
    }

    fn dialect(&self, _model: &str) -> &'static Dialect {
        Dialect::named("openai-strict").unwrap()
    }

    fn complete<'a>(
        &'a self,
        request: Request<'_>,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        assert_eq!(request.dialect.name, "openai-strict");
        self.0.complete(request, sink)
    }
}

#[derive(Default)]
struct Seen {
    started: Vec<String>,
    dialects: Vec<String>,
}

impl Observer for Seen {
    fn event(&mut self, event: &Event) {
        if let Event::ModelRequest { target, .. } = event {
            self.dialects.push(target.dialect.clone());
        }
    }

    fn delta(&mut self, delta: &Delta) {
        if let Delta::CallStarted { name, .. } = delta {
            self.started.push(name.clone());
        }
    }
}

#[tokio::test]
async fn tool_journal_and_observer_know_no_dialect() {
    let received: Arc<Mutex<Vec<Value>>> = Arc::default();
    let handler: Handler = {
        let received = received.clone();
        Arc::new(move |_, arguments| {
            received.lock().unwrap().push(arguments);
            Box::pin(async { Ok::<_, _>(ToolOutput::text("3")) })
        })
    };
    let mut spec = Spec::new("math.sum".into(), "Adds.".into());
    spec.effect = Effect::Pure;
    let schema = json!({
        "type": "object",
        "properties": {
            "terms": {"type": "object", "additionalProperties": {"type": "integer"}},
            "round": {"type": "boolean"},
        },
        "required": ["terms"],
        "additionalProperties": false,
    });
    let tools = Toolset::new([Arc::new(Tool::dynamic(spec, schema, handler))]).unwrap();
    let offer = tools.offer(Dialect::named("openai-strict").unwrap());
    let wire = offer.iter().next().unwrap().name.clone();
    assert_ne!(wire, "math.sum");
    let on_wire =
        json!({"terms": [{"key": "a", "value": 1}, {"key": "b", "value": 2}], "round": null});
    let agent = Agent::builder()
        .model(
            Arc::new(Strict(Scripted::new([
                calls(wire, on_wire),
                says("Three."),
            ]))),
            "m",
        )
        .tools(tools)
        .policy(Policy::default())
        .build()
        .unwrap();
    let mut session = agent.session("s").await.unwrap();
    let mut seen = Seen::default();
    session
        .run_observed(Message::user("1 + 2?"), &mut seen)
        .await
        .unwrap();
    let canonical = json!({"terms": {"a": 1, "b": 2}});
    assert_eq!(
        received.lock().unwrap().as_slice(),
        std::slice::from_ref(&canonical)
    );
    let call = session.messages()[1].calls().next().unwrap();
    assert_eq!(call.name, "math.sum");
    assert_eq!(
        serde_json::from_str::<Value>(&call.arguments).unwrap(),
        canonical
    );
    assert_eq!(seen.started, ["math.sum"]);
    assert_eq!(seen.dialects, ["openai-strict", "openai-strict"]);
}

//! What a provider is asked with, and who sees its answer come.

use std::sync::Arc;

use claw_runtime::dialect::Dialect;
use claw_runtime::message::Message;
use claw_runtime::provider::{
    Delta, DeltaSink, Provider, ProviderError, Reply, Request, ToolChoice,
};
use claw_runtime::registry::Toolset;
use claw_runtime::tool::{Handler, Spec, Tool, ToolOutput};
use serde_json::json;

/// Keeps what it is shown.
#[derive(Default)]
pub(crate) struct Seen(pub(crate) Vec<Delta>);

impl DeltaSink for Seen {
    fn delta(&mut self, delta: Delta) {
        self.0.push(delta);
    }
}

/// Returns one tool, with a description that must be escaped.
pub(crate) fn weather() -> Toolset {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let handler: Handler = Arc::new(|_, _| Box::pin(async { Ok::<_, _>(ToolOutput::text("")) }));
    let spec = Spec::new("weather".into(), "Weather \"now\".".into());
    Toolset::new([Arc::new(Tool::dynamic(spec, schema, handler))]).unwrap()
}

/// Returns a bare request to the model `m`.
pub(crate) fn request(messages: &[Message]) -> Request<'_> {
    Request {
        model: "m",
        system: "",
        messages,
        history: None,
        tools: None,
        dialect: Dialect::CANONICAL,
        tool_choice: ToolChoice::Auto,
        max_output_tokens: None,
        stop: &[],
        form: None,
    }
}

/// Asks with the message `Hi`; returns the answer and the text that was shown, where it was streamed.
pub(crate) async fn ask(
    provider: &dyn Provider,
    streamed: bool,
) -> (Result<Reply, ProviderError>, String) {
    let messages = [Message::user("Hi")];
    let mut seen = Seen::default();
    let sink = streamed.then(|| Box::new(&mut seen) as Box<dyn DeltaSink + '_>);
    let answer = provider.complete(request(&messages), sink).await;
    let texts = seen.0.into_iter().filter_map(|delta| match delta {
        Delta::Text { text } => Some(text),
        _ => None,
    });
    (answer, texts.collect())
}

//! What a provider is asked with, and who sees its answer come.

use std::sync::Arc;

use claw_runtime::provider::{Delta, DeltaSink};
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

//! Secret arguments: the tool gets them, the journal, the model's next request and a person's question do not.

use serde_json::Value;

use crate::message::ToolCall;
use crate::registry::Toolset;
use crate::tool::Tool;

/// What stands in place of a secret value.
const MASK: &str = "***";

/// Returns a call as it may be kept and shown. What cannot be read, so that its secret could not be found, is left out.
pub(super) fn without_secrets(call: &ToolCall, tools: &Toolset) -> ToolCall {
    let mut call = call.clone();
    if let Some(tool) = tools.get(&call.name) {
        call.arguments = masked(tool, call.arguments);
    }
    call
}

/// Returns the arguments with the values of the tool's secret ones masked.
pub(super) fn masked(tool: &Tool, arguments: String) -> String {
    let secret = tool.secret_names();
    if secret.is_empty() {
        return arguments;
    }
    let Ok(Value::Object(mut members)) = serde_json::from_str(&arguments) else {
        return "{}".to_owned();
    };
    for (name, value) in &mut members {
        if secret.contains(&name.as_str()) {
            *value = MASK.into();
        }
    }
    Value::Object(members).to_string()
}

//! Secret arguments: the tool gets them, the journal, the model's next request and a person's question do not.

use serde_json::Value;

use crate::message::ToolCall;
use crate::registry::Toolset;
use crate::tool::Tool;

/// Returns a call as it may be kept and shown. What cannot be read, so that its secret could not be found, is left out.
pub(super) fn without_secrets(call: &ToolCall, tools: &Toolset) -> ToolCall {
    let mut call = call.clone();
    if let Some(tool) = tools.get(&call.name) {
        call.arguments = masked(tool, call.arguments);
    }
    call
}

/// Returns the arguments with every secret value masked, those of fields of arguments too.
pub(super) fn masked(tool: &Tool, arguments: String) -> String {
    if !tool.schema().has_secrets() {
        return arguments;
    }
    let Ok(mut value @ Value::Object(_)) = serde_json::from_str(&arguments) else {
        return "{}".to_owned();
    };
    tool.schema().mask(&mut value);
    value.to_string()
}

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

/// Returns the arguments with the values of the tool's secret ones masked, and those of names that nobody declared: one may be
/// a secret under a misspelt name.
pub(super) fn masked(tool: &Tool, arguments: String) -> String {
    let secret = tool.secret_names();
    if secret.is_empty() {
        return arguments;
    }
    let Ok(Value::Object(mut members)) = serde_json::from_str(&arguments) else {
        return "{}".to_owned();
    };
    for (name, value) in &mut members {
        if secret.contains(&name.as_str()) || !tool.schema().declares(name) {
            *value = MASK.into();
        }
    }
    Value::Object(members).to_string()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::tool::{Handler, Spec, ToolOutput};

    #[test]
    fn a_secret_under_any_name_is_masked() {
        let mut spec = Spec::new("login".into(), "Logs in.".into());
        spec.secret = &["password"];
        let schema = json!({
            "type": "object",
            "properties": {"user": {"type": "string"}, "password": {"type": "string"}},
        });
        let handler: Handler = Arc::new(|_, _| Box::pin(async { Ok(ToolOutput::default()) }));
        let tool = Tool::dynamic(spec, schema, handler);
        for (arguments, kept) in [
            (
                r#"{"user":"me","password":"hunter2"}"#,
                r#"{"user":"me","password":"***"}"#,
            ),
            (
                r#"{"user":"me","passwrd":"hunter2"}"#,
                r#"{"user":"me","passwrd":"***"}"#,
            ),
            (r#"{"auth":{"password":"hunter2"}}"#, r#"{"auth":"***"}"#),
            (r#""{\"password\":\"hunter2\"}""#, "{}"),
            (r#"{"password":"hunter2""#, "{}"),
            ("", "{}"),
        ] {
            let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            assert_eq!(read(&masked(&tool, arguments.to_owned())), read(kept));
        }
    }
}

//! Pieces of requests for the tests of encoders.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::{History, Kept, Request, ToolChoice};
use crate::dialect::Dialect;
use crate::message::{ContentBlock, Image, Message, Role, ToolCall, ToolResult};
use crate::registry::Toolset;
use crate::tool::{Handler, Spec, Tool, ToolOutput};

/// A request with nothing in it.
pub(crate) const BARE: Request<'_> = Request {
    model: "m",
    system: "",
    messages: &[],
    history: None,
    tools: None,
    dialect: Dialect::CANONICAL,
    tool_choice: ToolChoice::Auto,
    max_output_tokens: None,
    stop: &[],
    form: None,
};

/// Returns a call to `f`.
pub(crate) fn call(id: &str, arguments: &str) -> ContentBlock {
    ContentBlock::ToolCall(ToolCall {
        id: id.into(),
        name: "f".into(),
        arguments: arguments.into(),
    })
}

/// Returns a result of a call to `f`.
pub(crate) fn result(call_id: &str, content: Vec<ContentBlock>, is_error: bool) -> ContentBlock {
    ContentBlock::ToolResult(ToolResult {
        call_id: call_id.into(),
        name: "f".into(),
        content,
        is_error,
    })
}

/// Returns a message of results.
pub(crate) fn results(content: Vec<ContentBlock>) -> Message {
    Message {
        role: Role::Tool,
        content,
    }
}

/// Returns a message of a user.
pub(crate) fn user(content: Vec<ContentBlock>) -> Message {
    Message {
        role: Role::User,
        content,
    }
}

/// Returns an image by value.
pub(crate) fn image(media_type: &str) -> ContentBlock {
    ContentBlock::Image(Image::Data {
        media_type: media_type.into(),
        base64: "QUJD".into(),
    })
}

/// Returns tools of these names, each described as `It.`, whose arguments have these properties.
pub(crate) fn toolset<const N: usize>(tools: [(&'static str, Value); N]) -> Toolset {
    let tools = tools.map(|(name, properties)| {
        let handler: Handler =
            Arc::new(|_, _| Box::pin(async { Ok::<_, _>(ToolOutput::text("")) }));
        let spec = Spec::new(name.into(), "It.".into());
        let schema = json!({
            "type": "object", "properties": properties, "additionalProperties": false,
        });
        Arc::new(Tool::dynamic(spec, schema, handler))
    });
    Toolset::new(tools).expect("the names differ")
}

/// Checks that each beginning of a conversation, written on from what was kept of the one before, has the bytes of one
/// written anew.
pub(crate) fn assert_goes_on(
    conversation: &[Message],
    bare: Request<'_>,
    encode: impl Fn(&Request<'_>) -> Bytes,
) {
    let kept = Kept::default();
    for settled in 1..=conversation.len() {
        let anew = Request {
            messages: &conversation[..settled],
            ..bare
        };
        let history = Some(History {
            settled,
            kept: &kept,
        });
        let going_on = Request { history, ..anew };
        assert_eq!(encode(&going_on), encode(&anew));
    }
}

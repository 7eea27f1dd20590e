//! Content as the wire formats write it: texts joined, images in the form they come in.

use std::borrow::Cow;

use super::prefix::Buffer;
use crate::dialect::{Dialect, Offer};
use crate::message::{ContentBlock, Image, ToolCall, ToolResult};
use crate::schema::cursor::Cursor;

/// Returns content as one text, borrowed where it is one block.
pub(crate) fn text_of(content: &[ContentBlock], takes_images: bool) -> Cow<'_, str> {
    let mut all = content
        .iter()
        .filter_map(|block| text_of_block(block, takes_images));
    let mut text = all.next().unwrap_or_default();
    all.for_each(|more| text.to_mut().push_str(&more));
    text
}

/// Returns a block as text; `None` for one that is none.
pub(crate) fn text_of_block(block: &ContentBlock, takes_images: bool) -> Option<Cow<'_, str>> {
    Some(match block {
        ContentBlock::Text { text } => text.into(),
        ContentBlock::Resource { uri, description } if description.is_empty() => uri.into(),
        ContentBlock::Resource { uri, description } => format!("{description}: {uri}").into(),
        ContentBlock::Image(_) if !takes_images => "[image left out: the model takes none]".into(),
        _ => return None,
    })
}

/// Returns what the model reads of a result, never blank.
pub(crate) fn result_text(result: &ToolResult, takes_images: bool) -> Cow<'_, str> {
    let text = text_of(&result.content, takes_images);
    if text.trim().is_empty() {
        return "(no text)".into();
    }
    text
}

/// Returns the reasoning of a message as one text.
pub(crate) fn reasoning_of(content: &[ContentBlock]) -> String {
    let mut out = String::new();
    for block in content {
        if let ContentBlock::Reasoning { text } = block {
            out.push_str(text);
        }
    }
    out
}

/// Says that a call failed, for wires that have no mark for it but words.
pub(crate) fn with_mark<'r>(result: &ToolResult, mut text: Cow<'r, str>) -> Cow<'r, str> {
    let says_so = ["error", "tool call to"].iter().any(|start| {
        text.get(..start.len())
            .is_some_and(|it| it.eq_ignore_ascii_case(start))
    });
    if result.is_error && !says_so {
        text.to_mut().insert_str(0, "Error: ");
    }
    text
}

/// Tells whether a call's arguments are one JSON object that every service can read: half a character is JSON by the
/// letter, and refused by most.
fn is_object(arguments: &str) -> bool {
    let mut cursor = Cursor::new(arguments);
    cursor.peek() == Some(b'{') && cursor.skip().is_ok() && cursor.end().is_ok()
}

/// Returns name and arguments of an earlier call as the model wrote them. They are one JSON object always: services parse
/// the arguments of old calls, and refuse the conversation for bad ones.
pub(crate) fn wire_call<'c>(
    offer: Option<&'c Offer>,
    dialect: &Dialect,
    call: &'c ToolCall,
) -> (Cow<'c, str>, Cow<'c, str>) {
    let (name, arguments) = match offer {
        Some(offer) => offer.encode(call),
        None => {
            let name = dialect.tool_names.wire(&call.name);
            (name, call.arguments.as_str().into())
        }
    };
    if is_object(&arguments) {
        return (name, arguments);
    }
    let unreadable = serde_json::json!({ "unreadable_arguments": call.arguments });
    (name, unreadable.to_string().into())
}

/// Returns the name of a tool as the model knows it.
pub(crate) fn wire_name<'n>(
    offer: Option<&'n Offer>,
    dialect: &Dialect,
    name: &'n str,
) -> Cow<'n, str> {
    match offer {
        Some(offer) => offer.wire(name),
        None => dialect.tool_names.wire(name),
    }
}

/// Writes the list of tools in the form of chat completions, if there are any, behind a comma.
pub(crate) fn write_functions(out: &mut Buffer, offer: &Offer) {
    for (at, offered) in offer.iter().enumerate() {
        out.raw(if at == 0 { ",\"tools\":[" } else { "," });
        out.raw("{\"type\":\"function\",\"function\":{\"name\":");
        out.string(&offered.name);
        out.raw(",\"description\":");
        out.string(&offered.tool.spec().description);
        if offered.strict {
            out.raw(",\"strict\":true");
        }
        out.raw(",\"parameters\":");
        out.raw(&offered.lowered.schema);
        out.raw("}}");
    }
    if offer.iter().len() > 0 {
        out.raw("]");
    }
}

/// Returns the images of results as content of a user message, where a result is text on the wire; empty without any.
pub(crate) fn images_of_results(content: &[ContentBlock]) -> Vec<ContentBlock> {
    let results = content.iter().filter_map(|block| match block {
        ContentBlock::ToolResult(result) => Some(&result.content),
        _ => None,
    });
    let is_image = |block: &&ContentBlock| matches!(block, ContentBlock::Image(_));
    let mut images = Vec::new();
    for image in results.flatten().filter(is_image) {
        if images.is_empty() {
            images.push(ContentBlock::text("Images of the tool results above:"));
        }
        images.push(image.clone());
    }
    images
}

/// Returns the media type and the base64 text of an image that comes by value, also in a `data:` address.
pub(crate) fn image_data(image: &Image) -> Option<(&str, &str)> {
    match image {
        Image::Data { media_type, base64 } => Some((media_type, base64)),
        Image::Url(url) => url.strip_prefix("data:")?.split_once(";base64,"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_one_that_every_service_reads() {
        for (arguments, is_one) in [
            (r#" {"a":1} "#, true),
            (r#"{"a":"\ud83c\udf27"}"#, true),
            (r#"{"a":"\ud83c"}"#, false),
            (r#"{"a":"\uDF27"}"#, false),
            (r#"{"a":"\\ud83c"}"#, true),
            (r#"{"a":[1,{"b":"\n"}],"a":-1.5e3}"#, true),
            ("{} {}", false),
            (r#"{"a":1,}"#, false),
            ("{a:1}", false),
            ("[1]", false),
            ("", false),
        ] {
            assert_eq!(is_object(arguments), is_one, "{arguments}");
        }
    }
}

//! Content without secrets, block by block.

use std::borrow::Cow;

use super::{Known, Secrets};
use crate::message::{ContentBlock, Image, ToolCall};

impl Secrets {
    /// Masks the secrets in these blocks. A part that belongs to one provider and holds a secret is dropped: it must go back
    /// as it came, or not at all. Images by value are taken as they are.
    pub fn mask_content(&self, content: &mut Vec<ContentBlock>) {
        let known = self.now();
        if !known.secrets.is_empty() {
            known.mask_content(content);
        }
    }

    /// Masks the secrets in a call; its arguments stay JSON.
    pub fn mask_call(&self, call: &mut ToolCall) {
        self.now().mask_call(call);
    }

    /// Masks the secrets in a text where it is.
    pub fn mask_string(&self, text: &mut String) {
        self.now().mask_string(text);
    }
}

impl Known {
    fn mask_string(&self, text: &mut String) {
        if let Cow::Owned(masked) = self.mask(text, 0) {
            *text = masked;
        }
    }

    fn mask_call(&self, call: &mut ToolCall) {
        self.mask_string(&mut call.name);
        if let Cow::Owned(masked) = self.mask_json(&call.arguments) {
            call.arguments = masked;
        }
    }

    fn mask_content(&self, content: &mut Vec<ContentBlock>) {
        content.retain_mut(|block| {
            match block {
                ContentBlock::Text { text } | ContentBlock::Reasoning { text } => {
                    self.mask_string(text);
                }
                ContentBlock::Image(Image::Url(url)) => self.mask_string(url),
                ContentBlock::Image(Image::Data { .. }) => {}
                ContentBlock::ToolCall(call) => self.mask_call(call),
                ContentBlock::ToolResult(result) => self.mask_content(&mut result.content),
                ContentBlock::Resource { uri, description } => {
                    self.mask_string(uri);
                    self.mask_string(description);
                }
                ContentBlock::Opaque { value, .. } => {
                    return matches!(self.mask(&value.to_string(), 0), Cow::Borrowed(_));
                }
            }
            true
        });
    }
}

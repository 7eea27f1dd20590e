//! What stands in a conversation for what was taken out of it.

use std::collections::HashMap;

use super::conversation::{Held, Pins};
use crate::message::{ContentBlock, Message, ToolResult, text_of};

/// Characters of a result that stay in view when the rest is put aside.
pub(crate) const SHOWN: usize = 200;

const SUMMARY: &str = "[What was said before, summarised to make room:]";
const DROPPED: &str =
    "[What was said before was left out to make room; there is no summary of it.]";
const GOES_ON: &str = "[From here on the conversation is as it was.]";

/// Tells whether a message holds the result of one of these calls.
pub(super) fn names(message: &Message, elided: &HashMap<&str, &str>) -> bool {
    !elided.is_empty()
        && message.content.iter().any(|block| {
            matches!(block, ContentBlock::ToolResult(result) if elided.contains_key(&*result.call_id))
        })
}

/// Puts a reference in the place of each named result's content.
pub(super) fn elide(message: &mut Message, elided: &HashMap<&str, &str>) {
    for block in &mut message.content {
        if let ContentBlock::ToolResult(result) = block
            && let Some(digest) = elided.get(&*result.call_id)
        {
            result.content = vec![ContentBlock::text(reference(result, digest))];
        }
    }
}

fn reference(result: &ToolResult, digest: &str) -> String {
    let text = text_of(&result.content);
    let shown = text
        .char_indices()
        .nth(SHOWN)
        .map_or(&*text, |(end, _)| &text[..end]);
    let rest = text[shown.len()..].chars().count();
    let others = result
        .content
        .iter()
        .filter(|block| !matches!(block, ContentBlock::Text { .. }))
        .count();
    let others = match others {
        0 => String::new(),
        n => format!(", and {n} images or links are left out"),
    };
    format!(
        "{shown}\n[… {rest} more characters are put aside to make room{others}; the digest of the whole is {digest} …]"
    )
}

/// Returns what stands at the beginning for everything that is hidden: what is pinned, the summary, and what the running
/// turn is about.
pub(super) fn head(held: &[Held], pins: Pins<'_>, summary: Option<&str>) -> Vec<ContentBlock> {
    let said = |of_turn: bool| {
        held.iter()
            .filter(move |held| pins.of_turn(held) == of_turn)
            .flat_map(|held| held.content.iter().cloned())
    };
    let mut content: Vec<_> = said(false).collect();
    // Blocks of one message are read without anything between them.
    let apart = if content.is_empty() { "" } else { "\n\n" };
    content.push(ContentBlock::text(match summary {
        Some(summary) => format!("{apart}{SUMMARY}\n{summary}\n{GOES_ON}\n\n"),
        None => format!("{apart}{DROPPED}\n\n"),
    }));
    content.extend(said(true));
    content
}

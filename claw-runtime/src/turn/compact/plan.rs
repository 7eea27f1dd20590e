//! What is put aside and where the border between hidden and kept falls. Borders lie between rounds.

use crate::event::Elided;
use crate::message::{ContentBlock, Role, ToolResult, text_of};
use crate::session::{SHOWN, View};
use crate::tokens;

/// A result is put aside when its text is longer than this, in characters.
const ELIDABLE: usize = 5 * SHOWN;
/// What stands for a result that is put aside, in tokens.
const REFERENCE: u64 = 120;

/// Which results may be put aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those a model has read, the oldest first.
    Read,
    /// Those no model has read yet, the largest first.
    Unread,
}

/// Returns the results to put aside of those after event `through`, until the conversation is estimated at `goal` tokens or
/// none is left; `now` is what it is estimated at with all of them.
pub(super) fn elisions(
    view: &View,
    through: u64,
    mut now: u64,
    goal: u64,
    reach: Reach,
) -> Vec<Elided> {
    if now <= goal {
        return Vec::new();
    }
    let newest = newest(view);
    let hidden = view.marks().partition_point(|mark| mark.seq <= through);
    let messages = view.messages();
    let range = match reach {
        Reach::Read => &messages[hidden.min(newest)..newest],
        Reach::Unread => &messages[newest.max(hidden)..],
    };
    let mut results: Vec<(u64, &ToolResult)> = Vec::new();
    for block in range.iter().flat_map(|message| &message.content) {
        if let ContentBlock::ToolResult(result) = block {
            let size = tokens::of_content(&result.content);
            if size > REFERENCE && text_of(&result.content).chars().nth(ELIDABLE).is_some() {
                results.push((size, result));
            }
        }
    }
    if reach == Reach::Unread {
        results.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    }
    let mut elided = Vec::new();
    for (size, result) in results {
        if now <= goal {
            break;
        }
        now = now.saturating_sub(size - REFERENCE);
        elided.push(Elided {
            call: result.call_id.clone(),
            digest: match view.whole(&result.call_id) {
                Some(digest) => digest.to_owned(),
                None => crate::digest::of(text_of(&result.content).as_bytes()),
            },
        });
    }
    elided
}

/// Returns the last event to hide so that at most `keep` tokens and `messages` messages stay as they are, besides what no
/// model has read; `None` when hiding would not be worth a summary.
pub(super) fn border(view: &View, keep: u64, messages: usize) -> Option<u64> {
    let marks = view.marks();
    let last = view.messages().last().map_or(0, tokens::of_message);
    let newest = newest(view);
    let mut border = newest;
    let mut kept = 0;
    for at in (0..marks.len()).rev() {
        kept += if at + 1 == marks.len() {
            last
        } else {
            marks[at].tokens
        };
        if kept > keep || marks.len() - at > messages {
            break;
        }
        border = border.min(at);
    }
    let border = settle(view, border);
    let hidden: u64 = marks[..border].iter().map(|mark| mark.tokens).sum();
    (border > 0 && hidden > view.tokens() / 10).then(|| marks[border - 1].seq)
}

/// Returns the events at which something may be hidden, the oldest first.
pub(super) fn borders(view: &View) -> impl Iterator<Item = u64> {
    let marks = view.marks();
    (1..=newest(view))
        .filter(move |at| {
            marks
                .get(*at)
                .is_none_or(|mark| mark.seq != marks[at - 1].seq)
        })
        .map(move |at| marks[at - 1].seq)
}

/// Returns where what no model has read begins; in a turn that is over, the end.
pub(super) fn newest(view: &View) -> usize {
    let messages = view.messages();
    if !view.is_open() {
        return messages.len();
    }
    let said = messages
        .iter()
        .rposition(|message| message.role == Role::Assistant);
    let Some(said) = said else { return 0 };
    match messages.get(said + 1) {
        Some(next) if next.role == Role::Tool => settle(view, said),
        _ => said + 1,
    }
}

/// Moves a border back to where an event's messages begin.
fn settle(view: &View, border: usize) -> usize {
    let marks = view.marks();
    let Some(mark) = marks.get(border) else {
        return marks.len();
    };
    marks.partition_point(|other| other.seq < mark.seq)
}

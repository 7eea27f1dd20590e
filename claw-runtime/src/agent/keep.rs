//! What a session keeps beside its events: texts under their digests, before an event names them.

use super::{Agent, AgentError, Inner};
use crate::budget::Spent;
use crate::dispatch::Finished;
use crate::event::Event;
use crate::message::ContentBlock;
use crate::session::{Append, Lease, StoreError, View};
use crate::turn::Input;

/// The tool that reads what is kept, where an agent has it.
const READER: &str = "read_output";

/// Keeps the system prompt and the tool definitions as blobs, before an event names their digests.
pub(super) async fn keep_context(
    agent: &Agent,
    lease: &Lease,
    view: &View,
) -> Result<(), AgentError> {
    let inner = &agent.inner;
    let known = view.context();
    if known.is_none_or(|(system, _)| system != crate::digest::of(inner.system.as_bytes())) {
        inner.store.put_blob(lease, inner.system.as_bytes()).await?;
    }
    if known.is_none_or(|(_, toolset)| toolset != inner.tools.digest()) {
        inner
            .store
            .put_blob(lease, inner.tools.definitions().as_bytes())
            .await?;
    }
    Ok(())
}

/// Appends events, after what they refer to is kept.
pub(super) async fn append_kept(
    agent: &Inner,
    lease: &Lease,
    view: &View,
    append: Append<'_>,
) -> Result<(), StoreError> {
    let refers = |event: &Event| matches!(event, Event::Compacted { .. });
    if append.events.iter().any(refers) {
        // Boxed, as it is seldom there.
        Box::pin(keep_elided(agent, lease, view, &append.events)).await?;
    }
    agent.store.append(lease, append).await
}

/// Keeps the texts that a compaction puts aside, before the event that refers to them.
async fn keep_elided(
    agent: &Inner,
    lease: &Lease,
    view: &View,
    events: &[Event],
) -> Result<(), StoreError> {
    for event in events {
        let Event::Compacted { elided, .. } = event else {
            continue;
        };
        for elided in elided {
            if view.whole(&elided.call).is_none()
                && let Some(text) = view.result_text(&elided.call)
            {
                agent.store.put_blob(lease, text.as_bytes()).await?;
            }
        }
    }
    Ok(())
}

/// Returns what the turn is told of a call that ended; `blob` is the digest that the whole of its output is kept under.
pub(super) fn outcome(finished: Finished, blob: Option<String>, spent: Option<Spent>) -> Input {
    Input::Outcome {
        call: finished.call,
        status: finished.status,
        content: finished.content,
        blob,
        progress: finished.progress,
        spent,
    }
}

/// Keeps the whole of an output that had to be cut, so that it can be read later, and returns what the turn is told. Borrows
/// nothing of the work under way: what runs is not `Sync`, and a turn must be able to move between threads.
pub(super) async fn keep(
    agent: &Inner,
    lease: &Lease,
    mut finished: Finished,
    whole: String,
    spent: Option<Spent>,
) -> Input {
    let blob = match agent.store.put_blob(lease, whole.as_bytes()).await {
        Ok(digest) => {
            if agent.tools.get(READER).is_some() {
                finished.content.push(ContentBlock::text(format!(
                    "\n[`{READER}` gives any part of the whole, by its digest {digest}]"
                )));
            }
            Some(digest)
        }
        Err(error) => {
            let call = finished.call.as_str();
            tracing::warn!(%error, call, "the whole output of a call was not kept");
            None
        }
    };
    outcome(finished, blob, spent)
}

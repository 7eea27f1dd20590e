//! Conversations over many turns, shortened, taken back, pinned and crashed in any order: what holds of the fold then.

use std::collections::BTreeMap;

use claw_runtime::event::{Cause, Elided, Event};
use claw_runtime::fallback;
use claw_runtime::message::{ContentBlock, Message, text_of};
use claw_runtime::session::{View, check as checks};
use claw_runtime::tokens;
use proptest::prelude::*;

use super::driver::{World, check, run, said};
use super::{cases, world};

/// One thing that happens to a session.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// A turn; a crash leaves so much of its journal.
    Turn(Box<World>, Option<prop::sample::Index>),
    /// Somebody, or another version of claw, compacts in a way of their own.
    Compact(prop::sample::Index, bool, prop::sample::Index),
    Undo,
    Redo,
    /// A step to any event at all.
    Jump(prop::sample::Index),
    Pin(prop::sample::Index),
}

pub(crate) fn deed() -> impl Strategy<Value = Deed> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        5 => (world(), prop::option::weighted(0.2, index()))
            .prop_map(|(world, cut)| Deed::Turn(Box::new(world), cut)),
        3 => (index(), any::<bool>(), index()).prop_map(|(to, told, of)| Deed::Compact(to, told, of)),
        2 => Just(Deed::Undo),
        1 => Just(Deed::Redo),
        1 => index().prop_map(Deed::Jump),
        1 => index().prop_map(Deed::Pin),
    ]
}

/// The journal that comes of these deeds.
pub(crate) fn journal(deeds: &[Deed]) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let mut view = View::default();
    for (nth, deed) in deeds.iter().enumerate() {
        let new = match deed {
            Deed::Turn(world, cut) => {
                let mut new = run(world, view.clone(), &format!("turn {nth}")).events;
                if let Some(cut) = cut {
                    new.truncate(cut.index(new.len() + 1));
                }
                new
            }
            Deed::Compact(to, told, of) => vec![compaction(&view, *to, *told, *of)],
            Deed::Undo => view
                .back()
                .map(|to| Event::Undone { to })
                .into_iter()
                .collect(),
            Deed::Redo => view
                .forth()
                .map(|to| Event::Undone { to })
                .into_iter()
                .collect(),
            Deed::Jump(to) => vec![Event::Undone {
                to: to.index(events.len() + 2) as u64,
            }],
            Deed::Pin(seq) => vec![Event::Pinned {
                seq: seq.index(events.len() + 2) as u64,
            }],
        };
        new.iter().for_each(|event| view.apply(event));
        events.extend(new);
    }
    events
}

fn compaction(view: &View, to: prop::sample::Index, told: bool, of: prop::sample::Index) -> Event {
    let results: Vec<_> = view
        .messages()
        .iter()
        .flat_map(|message| &message.content)
        .filter_map(|block| match block {
            ContentBlock::ToolResult(result) => Some(Elided {
                call: result.call_id.clone(),
                digest: claw_runtime::digest::of(text_of(&result.content).as_bytes()),
            }),
            _ => None,
        })
        .collect();
    let some = of.index(results.len() + 1);
    Event::Compacted {
        through: to.index(usize::try_from(view.seq()).unwrap() + 2) as u64,
        summary: told.then(|| "They spoke of many things.".to_owned()),
        elided: results[..some].to_vec(),
        cause: Cause::Asked,
        before: 0,
        after: 0,
        usage: None,
    }
}

fn whole(messages: &[Message]) -> String {
    messages.iter().map(Message::text).collect()
}

/// Every fold that is asked of a view, over every prefix.
fn each(events: &[Event], mut see: impl FnMut(usize, &View, &View, &Event)) -> View {
    let mut view = View::default();
    for (at, event) in events.iter().enumerate() {
        let before = view.clone();
        view.apply(event);
        see(at, &before, &view, event);
    }
    view
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases() / 3, ..ProptestConfig::default() })]

    /// Pairing, order, ids: for every prefix the conversation is one that every service takes, natively and in prose.
    #[test]
    fn every_prefix_of_every_journal_is_valid(deeds in prop::collection::vec(deed(), 1..9)) {
        let events = journal(&deeds);
        each(&events, |_, _, view, _| {
            check(view.messages());
            assert_eq!(checks::conversation(view.messages()), Ok(()));
            let request = view.request_messages();
            assert_eq!(checks::conversation(&request), Ok(()));
            if !request.is_empty() {
                assert_eq!(checks::plain(&fallback::messages(&request)), Ok(()));
            }
        });
    }

    /// Deterministic, and what a request carried stays as it was: bytes of the prefix change where an event says so only.
    #[test]
    fn the_prefix_changes_at_a_compaction_or_a_step_back_only(deeds in prop::collection::vec(deed(), 1..9)) {
        let events = journal(&deeds);
        let bytes = |messages: &[Message]| serde_json::to_vec(messages).unwrap();
        let last = each(&events, |_, before, view, event| {
            if matches!(event, Event::Compacted { .. } | Event::Undone { .. }) {
                return;
            }
            let settled = before.settled();
            assert_eq!(bytes(&before.messages()[..settled]), bytes(&view.messages()[..settled]));
        });
        let stored: Vec<Event> = events
            .iter()
            .map(|event| serde_json::from_slice(&serde_json::to_vec(event).unwrap()).unwrap())
            .collect();
        prop_assert_eq!(stored.iter().collect::<View>(), last);
    }

    /// The estimate that is kept up is that of the messages, and that of a compaction is what it comes to.
    #[test]
    fn estimates_are_those_of_the_messages(deeds in prop::collection::vec(deed(), 1..9)) {
        let events = journal(&deeds);
        each(&events, |_, before, view, event| {
            assert_eq!(view.tokens(), tokens::of_messages(view.messages()));
            if matches!(event, Event::Compacted { .. }) {
                assert_eq!(before.tokens_after(event), view.tokens());
            }
        });
    }

    /// A step back, and one forth, give the very conversation that was.
    #[test]
    fn a_step_leads_to_the_conversation_that_was(deeds in prop::collection::vec(deed(), 1..9)) {
        let events = journal(&deeds);
        each(&events, |at, before, view, event| {
            let Event::Undone { to } = event else { return };
            assert!(view.has_ended() && view.open_calls().next().is_none());
            if before.back() == Some(*to) || before.forth() == Some(*to) {
                let then: View = events[..usize::try_from(*to).unwrap()].iter().collect();
                assert_eq!(view.messages(), then.messages());
            }
            // What happened stays known.
            assert_eq!(view.usage(), before.usage());
            assert_eq!(view.calls(), before.calls());
            assert_eq!(view.seq(), at as u64 + 1);
        });
    }

    /// All the way back is an empty conversation, and all the way forth the one before.
    #[test]
    fn every_turn_can_be_taken_back_and_given_again(deeds in prop::collection::vec(deed(), 1..7)) {
        let mut view: View = journal(&deeds).iter().collect();
        let end = |view: &mut View| {
            if view.is_open() {
                let to = view.back().unwrap();
                view.apply(&Event::Undone { to });
            }
        };
        end(&mut view);
        let messages = view.messages().to_vec();
        let mut steps = 0;
        while let Some(to) = view.back() {
            view.apply(&Event::Undone { to });
            steps += 1;
            prop_assert!(steps <= deeds.len());
        }
        prop_assert!(view.messages().is_empty());
        for _ in 0..steps {
            let to = view.forth();
            prop_assert!(to.is_some());
            view.apply(&Event::Undone { to: to.unwrap() });
        }
        prop_assert_eq!(view.messages(), &messages[..]);
    }

    /// What the user pinned, and what the running turn is about, stays word for word and once through every compaction.
    #[test]
    fn pins_stay_word_for_word(deeds in prop::collection::vec(deed(), 1..9)) {
        let events = journal(&deeds);
        let mut inputs: BTreeMap<u64, String> = BTreeMap::new();
        let mut pinned: Vec<u64> = Vec::new();
        each(&events, |at, before, view, event| match event {
            Event::UserInput { key, .. } => {
                inputs.insert(at as u64 + 1, said(key));
            }
            Event::Pinned { seq } => pinned.push(*seq),
            Event::Compacted { .. } => {
                let (then, now) = (whole(before.messages()), whole(view.messages()));
                for seq in &pinned {
                    let Some(text) = inputs.get(seq) else { continue };
                    assert_eq!(then.matches(text).count(), now.matches(text).count(), "{text}");
                }
                if before.is_open() {
                    let (_, text) = inputs.last_key_value().unwrap();
                    assert_eq!(then.matches(text).count(), now.matches(text).count(), "{text}");
                }
            }
            _ => {}
        });
    }

    /// Whatever the compactions, the newest unread results are in the next request, and it fits.
    #[test]
    fn a_turn_after_any_history_ends_with_an_answer(deeds in prop::collection::vec(deed(), 0..5), window in 300..5_000_u64) {
        let events = journal(&deeds);
        let view: View = events.iter().collect();
        let mut world = super::calm("All is well.");
        world.limits.window = Some(window);
        let ran = run(&world, view, "last");
        for (_, _, messages) in &ran.requests {
            prop_assert!(tokens::of_messages(messages) <= window);
        }
        prop_assert!(!ran.outcome.text.trim().is_empty());
    }
}

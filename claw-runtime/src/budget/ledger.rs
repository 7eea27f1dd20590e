//! What a session has spent: a fold over its journal.

use super::{Price, Reserved, Spent};
use crate::event::{Event, Purpose};
use crate::message::Usage;

/// What a session has spent, as its events say; a pure function of them.
///
/// A request is charged what its reply says it took, or what that is estimated to be where the service does not tell. One
/// that was under way when nobody heard of it any more is charged all that was reserved. Requests for a summary have no
/// replies in the journal; what they took stands in the event that ends the compaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    spent: Spent,
    before_turn: Spent,
    open: Option<Reserved>,
    /// Reserved for parts of a summary that were written.
    written: Spent,
    summarises: bool,
    /// Of the last request.
    price: Option<Price>,
}

impl Ledger {
    /// Folds one more event in.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::ModelRequest {
                reserved,
                purpose: Purpose::Summary,
                ..
            } => {
                match self.summarises {
                    true => self.written += self.open.take().unwrap_or_default().whole(),
                    false => self.lost(),
                }
                self.summarises = true;
                self.asked(*reserved);
            }
            Event::ModelRequest { reserved, .. } => {
                self.lost();
                self.asked(*reserved);
            }
            Event::Compacted { usage, .. } | Event::CompactionFailed { usage, .. } => {
                self.summarised(*usage);
            }
            Event::Assistant { content, usage, .. } => {
                self.spent += match self.open.take() {
                    Some(open) => open.of_reply(content, *usage),
                    None => Reserved::default().charge(usage.unwrap_or_default()),
                };
            }
            Event::ModelFailed { class, usage, .. } => {
                let open = self.open.take().unwrap_or_default();
                self.spent += open.of_failure(*class, *usage);
            }
            Event::Outcome { spent, .. } => self.spent += spent.unwrap_or_default(),
            Event::TurnEnd { .. } => {
                self.lost();
                self.before_turn = self.spent;
            }
            _ => {}
        }
    }

    /// Returns what the session has spent.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// Returns what the turn that has not ended has spent, or nothing between turns.
    pub fn turn(&self) -> Spent {
        self.spent.less(self.before_turn)
    }

    fn asked(&mut self, reserved: Option<Reserved>) {
        self.price = reserved.and_then(|reserved| reserved.price);
        self.open = reserved;
    }

    /// The answer never came: it may have cost all of it.
    fn lost(&mut self) {
        let open = self.open.take().unwrap_or_default();
        self.spent += open.whole();
        self.spent += std::mem::take(&mut self.written);
        self.summarises = false;
    }

    /// A compaction came to its end; only what its requests say they took counts, where they say so.
    fn summarised(&mut self, usage: Option<Usage>) {
        match (usage, self.summarises) {
            (Some(usage), true) => {
                let price = Reserved {
                    price: self.price,
                    ..Reserved::default()
                };
                self.open = None;
                self.spent += price.charge(usage);
                self.written = Spent::default();
                self.summarises = false;
            }
            (Some(usage), false) => self.spent += Reserved::default().charge(usage),
            (None, true) => self.lost(),
            (None, false) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::budget::Price;
    use crate::event::{EndReason, Status, TurnOutcome};
    use crate::message::{ContentBlock, StopReason, Usage};
    use crate::provider::{FailureClass, Protocol, Target, ToolChoice};

    fn request() -> Event {
        Event::ModelRequest {
            round: 1,
            attempt: 1,
            target: Arc::new(Target {
                provider: "p".to_owned(),
                model: "m".to_owned(),
                protocol: Protocol::Native,
                dialect: "json-schema".to_owned(),
                toolset: String::new(),
            }),
            tool_choice: ToolChoice::Auto,
            re_ask: None,
            constrained: false,
            purpose: Purpose::Answer,
            reserved: Some(Reserved {
                prompt: 100,
                output: 50,
                price: Some(Price {
                    input: 1.0,
                    output: 2.0,
                    cached: None,
                }),
            }),
        }
    }

    fn reply(usage: Option<Usage>) -> Event {
        Event::Assistant {
            content: vec![ContentBlock::text("hello world")],
            stop: StopReason::Stop,
            usage,
            incomplete: false,
        }
    }

    fn failed(class: FailureClass) -> Event {
        Event::ModelFailed {
            class,
            message: String::new(),
            retry_ms: None,
            usage: None,
        }
    }

    fn end() -> Event {
        Event::TurnEnd {
            outcome: TurnOutcome {
                text: String::new(),
                reason: EndReason::Cancelled,
                rounds: 1,
                usage: Usage::default(),
            },
            active_ms: 1,
        }
    }

    fn spent(events: &[Event]) -> (u64, u64) {
        let mut ledger = Ledger::default();
        events.iter().for_each(|event| ledger.apply(event));
        (ledger.spent().tokens, ledger.spent().cost)
    }

    #[test]
    fn a_reply_is_charged_what_it_says_or_what_it_seems() {
        let usage = Usage {
            input_tokens: 90,
            output_tokens: 7,
            ..Usage::default()
        };
        // 90 × 1 + 7 × 2.
        assert_eq!(spent(&[request(), reply(Some(usage))]), (97, 104));
        // The prompt as estimated, and two tokens of text.
        assert_eq!(spent(&[request(), reply(None)]), (102, 104));
        // Without a reservation only what the service says.
        assert_eq!(spent(&[reply(Some(usage))]), (97, 0));
        assert_eq!(spent(&[reply(None)]), (0, 0));
    }

    #[test]
    fn what_was_lost_is_charged_whole_and_what_was_refused_is_not() {
        for lost in [
            vec![request(), end()],
            vec![request(), failed(FailureClass::Stalled)],
            vec![request(), request(), failed(FailureClass::RateLimit)],
        ] {
            assert_eq!(spent(&lost), (150, 200), "{lost:?}");
        }
        assert_eq!(
            spent(&[request(), failed(FailureClass::RateLimit), end()]),
            (0, 0)
        );
    }

    #[test]
    fn a_turn_begins_with_nothing_and_has_what_its_calls_spent() {
        let call = Event::Outcome {
            call: "c".to_owned(),
            status: Status::Ok,
            content: Vec::new(),
            blob: None,
            progress: None,
            spent: Some(Spent {
                tokens: 10,
                cost: 20,
            }),
        };
        let mut ledger = Ledger::default();
        for event in [request(), end(), call] {
            ledger.apply(&event);
        }
        assert_eq!(
            ledger.turn(),
            Spent {
                tokens: 10,
                cost: 20
            }
        );
        assert_eq!(
            ledger.spent(),
            Spent {
                tokens: 160,
                cost: 220
            }
        );
    }
}

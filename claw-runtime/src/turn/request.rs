//! Asking a model: rounds, attempts, retries, the next model of the chain.

use std::sync::Arc;
use std::time::Duration;

use super::compact::Stage;
use super::form::is_refusal;
use super::reply::{Reading, clip, read, read_text};
use super::{Command, Phase, Timer, Turn};
use crate::dialect::Dialect;
use crate::event::{EndReason, Event, Fact, Purpose, ReAsk};
use crate::fallback::constrained;
use crate::message::{ContentBlock, StopReason, Usage, text_of};
use crate::provider::{FailureClass, Protocol, ProviderError, Reply, ToolChoice};

/// Characters of a failure's message that are kept.
const MESSAGE_CHARS: usize = 500;
pub(super) const EMPTY: &str = "Your last reply was empty. Answer the user, or call a tool.";

/// A request of a round, over all its attempts.
#[derive(Debug, Default)]
pub(super) struct Asking {
    /// Attempts of the round, over all models.
    pub(super) attempt: u32,
    /// Attempts of this request at this model.
    pub(super) tries: u32,
    pub(super) re_asks: u32,
    pub(super) empty_replies: u32,
    /// Why the model is asked again.
    pub(super) re_ask: Option<ReAsk>,
    /// Whether the running request holds the model to the form.
    pub(super) constrained: bool,
    /// Whether something of the running reply reached the user.
    pub(super) shown: bool,
    /// Whether the next attempt waits for its timer, so that nothing is under way.
    pub(super) paused: bool,
    /// Why the turn wraps up, when this is the wrap-up.
    pub(super) wrap_up: Option<EndReason>,
    /// How far the compaction before the request is.
    pub(super) stage: Stage,
    /// Whether the service found the request too long.
    pub(super) overflowed: bool,
    /// What it said, until the compaction that follows is done.
    pub(super) overflow: Option<String>,
}

impl Asking {
    pub(super) fn wrap_up(reason: EndReason, fault: String) -> Self {
        Self {
            wrap_up: Some(reason),
            re_ask: Some(ReAsk {
                said: String::new(),
                fault,
            }),
            ..Self::default()
        }
    }

    pub(super) fn wraps_up(&self) -> Option<&EndReason> {
        self.wrap_up.as_ref()
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused
    }

    pub(super) fn pause(&mut self) {
        self.paused = true;
    }

    pub(super) fn re_ask(&self) -> Option<&ReAsk> {
        self.re_ask.as_ref()
    }

    /// Begins an attempt and returns its number.
    pub(super) fn next_attempt(&mut self) -> u32 {
        // A journal may come from elsewhere and say anything.
        self.attempt = self.attempt.saturating_add(1);
        self.shown = false;
        self.paused = false;
        self.attempt
    }

    /// Notes that the service found the request too long; `false` when it said so before.
    pub(super) fn overflow(&mut self, message: &str) -> bool {
        if std::mem::replace(&mut self.overflowed, true) {
            return false;
        }
        self.overflow = Some(message.to_owned());
        true
    }

    pub(super) fn take_overflow(&mut self) -> Option<String> {
        self.overflow.take()
    }
}

impl Turn {
    /// Begins the next round, or wraps up when there is a reason to.
    pub(super) fn next_round(&mut self) {
        if let Some(reason) = self.ending.take() {
            return self.finish_composed(reason);
        }
        if let Some(reason) = self.stop.clone() {
            return self.wrap_up(reason);
        }
        if self.round >= self.setup.limits.rounds {
            let limit = format!("{} rounds", self.setup.limits.rounds);
            return self.wrap_up(EndReason::Limit { limit });
        }
        self.round += 1;
        self.phase = Phase::Asking(Asking::default());
        self.request();
    }

    fn wraps_up(&self) -> Option<EndReason> {
        match &self.phase {
            Phase::Asking(asking) => asking.wrap_up.clone(),
            _ => None,
        }
    }

    /// Makes one attempt.
    pub(super) fn request(&mut self) {
        let conversation = self.conversation_tokens();
        if self.compacts(conversation) {
            return;
        }
        if let Some(message) = self.too_long(conversation) {
            return match self.wraps_up() {
                Some(reason) => self.finish_composed(reason),
                None => self.next_target(FailureClass::ContextLength, message),
            };
        }
        let Phase::Asking(asking) = &mut self.phase else {
            return;
        };
        let Some(target) = self.setup.targets.get(self.target).cloned() else {
            let message = "the agent has no model".to_owned();
            return self.fail(FailureClass::NotFound, message);
        };
        let wraps_up = asking.wrap_up.is_some();
        let reserved = match self.reserve(wraps_up, conversation) {
            Ok(reserved) => reserved,
            Err(limit) => return self.beyond(EndReason::Limit { limit }, self.requests),
        };
        let constrained = self.holds();
        let told = self.told(self.re_ask());
        let Phase::Asking(asking) = &mut self.phase else {
            return;
        };
        asking.constrained = constrained;
        let attempt = asking.next_attempt();
        asking.tries += 1;
        self.requests += 1;
        self.unread = false;
        let (round, tool_choice) = match asking.wrap_up {
            Some(_) => (self.round.saturating_add(1), ToolChoice::None),
            None => (self.round, ToolChoice::Auto),
        };
        self.out.durable(Event::ModelRequest {
            round,
            attempt,
            target: target.clone(),
            tool_choice,
            re_ask: told,
            constrained,
            reserved,
            purpose: Purpose::Answer,
        });
        // A limit forces an output maximum, or there would be no bound.
        let limited = reserved
            .map(|reserved| reserved.output)
            .filter(|output| *output > 0);
        self.out.command(Command::Request {
            target,
            tool_choice,
            constrained,
            max_output_tokens: limited.or(self.setup.limits.max_output_tokens),
            reserved,
        });
    }

    fn re_ask(&self) -> Option<&ReAsk> {
        match &self.phase {
            Phase::Asking(asking) => asking.re_ask.as_ref(),
            _ => None,
        }
    }

    pub(super) fn shown(&mut self) {
        if let Phase::Asking(asking) = &mut self.phase {
            asking.shown = true;
        }
    }

    /// Returns the request that is under way.
    pub(super) fn asking(&mut self) -> Option<&mut Asking> {
        match &mut self.phase {
            Phase::Asking(asking) if !asking.paused => Some(asking),
            _ => None,
        }
    }

    pub(super) fn protocol(&self) -> Protocol {
        self.setup
            .targets
            .get(self.target)
            .map_or(Protocol::Chat, |target| target.protocol)
    }

    /// Takes a finished reply.
    pub(super) fn reply(&mut self, reply: Reply) {
        let Some(asking) = self.asking() else { return };
        let (wrap_up, held) = (asking.wrap_up.clone(), asking.constrained);
        let usage = reply.usage;
        if let Some(usage) = usage {
            self.usage += usage;
        }
        if self.is_summarising() {
            return self.summarised(reply);
        }
        if let Some(reason) = wrap_up {
            return self.wrapped_up(reply, reason);
        }
        self.continued = false;
        let heeded = !held || constrained::is_begun(&text_of(&reply.content), &reply.stop);
        let reading = read(reply, self.protocol(), held, &self.setup.tools, &self.view);
        if !heeded {
            self.learn_no_forms();
        }
        if !reading.calls.is_empty() {
            self.begun.clear();
            self.begin_calls(reading, usage);
        } else if !heeded {
            // No message of the conversation, but it was paid for.
            self.said(Vec::new(), reading.stop, usage);
            self.ask_without_form();
        } else if let Some(re_ask) = reading.re_ask() {
            if !held && reading.has_reasoning() {
                self.spare_reasoning();
            }
            // The faulty text is no message, but it was paid for.
            self.said(Vec::new(), reading.stop, usage);
            self.ask_again(re_ask);
        } else if reading.is_empty() {
            self.empty_reply(reading, usage);
        } else {
            self.answered(reading, usage);
        }
    }

    pub(super) fn said(
        &mut self,
        content: Vec<ContentBlock>,
        stop: Option<StopReason>,
        usage: Option<Usage>,
    ) {
        self.out.event(Event::Assistant {
            content,
            stop: stop.unwrap_or(StopReason::Stop),
            usage,
            incomplete: false,
        });
    }

    fn answered(&mut self, reading: Reading, usage: Option<Usage>) {
        let stop = reading.stop.clone();
        self.begun.push_str(&reading.text());
        self.said(reading.content, reading.stop, usage);
        self.close(stop);
    }

    /// Ends the turn with the answer, unless there is more to say to it.
    pub(super) fn close(&mut self, stop: Option<StopReason>) {
        if self.unread {
            self.begun.clear();
            return self.next_round();
        }
        let reason = match stop {
            Some(StopReason::Pause) => return self.next_round(),
            Some(StopReason::Length) => EndReason::Limit {
                limit: "the model's output limit".to_owned(),
            },
            Some(StopReason::ContentFilter) => EndReason::Failed {
                class: FailureClass::Filtered,
                message: "the provider's filter cut the answer".to_owned(),
            },
            _ => EndReason::Answered,
        };
        self.finish(reason);
    }

    fn empty_reply(&mut self, reading: Reading, usage: Option<Usage>) {
        let stop = reading.stop.clone();
        self.said(reading.content, reading.stop, usage);
        let most = self.setup.limits.empty_replies;
        let Phase::Asking(asking) = &mut self.phase else {
            return;
        };
        let (class, message) = match stop {
            Some(StopReason::ContentFilter) => (
                FailureClass::Filtered,
                "the provider's filter took the whole answer",
            ),
            _ if asking.empty_replies < most => {
                asking.empty_replies += 1;
                asking.tries = 0;
                asking.re_ask = Some(ReAsk {
                    said: String::new(),
                    fault: EMPTY.to_owned(),
                });
                return self.request();
            }
            Some(StopReason::Length) => (
                FailureClass::BadResponse,
                "the output limit was used up before the model said anything",
            ),
            _ => (
                FailureClass::BadResponse,
                "the model sent an empty reply, also when asked again",
            ),
        };
        self.fail(class, message.to_owned());
    }

    /// Asks again with the fault named, as often as the limits say; then wraps up.
    fn ask_again(&mut self, re_ask: ReAsk) {
        let most = self.setup.limits.re_asks;
        let Phase::Asking(asking) = &mut self.phase else {
            return;
        };
        if asking.re_asks < most {
            asking.re_asks += 1;
            asking.tries = 0;
            asking.re_ask = Some(re_ask);
            return self.request();
        }
        self.wrap_up(EndReason::Failed {
            class: FailureClass::MalformedCall,
            message: clip(&re_ask.fault, MESSAGE_CHARS),
        });
    }

    /// Takes a failed attempt.
    pub(super) fn failed(&mut self, error: ProviderError) {
        if self.is_summarising() {
            return self.summary_failed(&error);
        }
        let Some(asking) = self.asking() else { return };
        let (shown, wrap_up) = (asking.shown, asking.wrap_up.clone());
        let no_form = asking.constrained && is_refusal(error.class, &error.message);
        let ProviderError {
            class,
            message,
            retry_after,
            partial,
            usage,
            ..
        } = error;
        let message = clip(&message, MESSAGE_CHARS);
        let said = text_of(&partial);
        if shown {
            self.keep_partial(partial);
        }
        let retried = class.is_retryable() && !shown && !no_form && wrap_up.is_none();
        let pause = if retried {
            self.pause(retry_after)
        } else {
            None
        };
        self.out.event(Event::ModelFailed {
            class,
            message: message.clone(),
            retry_ms: pause.and_then(|pause| pause.as_millis().try_into().ok()),
            usage,
        });
        if let Some(usage) = usage {
            self.usage += usage;
        }
        if let Some(reason) = wrap_up {
            // What was refused for its form alone is said in another one.
            return match class {
                // No simpler form is left than that of an answer.
                _ if no_form && !shown => self.ask_without_form(),
                FailureClass::SchemaRefused if !shown && self.learn_dialect() => {}
                FailureClass::ToolsUnsupported if !shown && self.has_another_way() => {
                    self.learn_no_tools(class, message);
                }
                _ => self.finish_composed(reason),
            };
        }
        match class {
            _ if no_form => self.ask_in_another_form(&message),
            FailureClass::ToolsUnsupported if self.protocol() == Protocol::Native && !shown => {
                self.learn_no_tools(class, message);
            }
            FailureClass::SchemaRefused if !shown && self.learn_dialect() => {}
            FailureClass::MalformedCall => self.ask_again(ReAsk {
                said: clip(&said, MESSAGE_CHARS),
                fault: format!(
                    "Your tool call could not be read: {message}. Send it again as one complete JSON object, or answer \
                     without it."
                ),
            }),
            // What the user has seen is not taken back: the model goes on from there, once.
            class if class.is_retryable() && shown => {
                if self.continued {
                    return self.fail(class, message);
                }
                self.continued = true;
                self.next_round();
            }
            class if class.is_retryable() => self.retry(class, message, pause),
            FailureClass::ContextLength if !shown && self.overflowed(&message) => {}
            FailureClass::Quota
            | FailureClass::NotFound
            | FailureClass::Auth
            | FailureClass::ToolsUnsupported
            | FailureClass::SchemaRefused => self.next_target(class, message),
            // A request that is refused for its form or content is refused by the next model for the same reason.
            _ => self.fail(class, message),
        }
    }

    /// Keeps what reached the user of a reply that broke off.
    fn keep_partial(&mut self, partial: Vec<ContentBlock>) {
        let content = read_text(partial, self.protocol(), &self.setup.tools);
        let text = text_of(&content);
        if text.trim().is_empty() {
            return;
        }
        self.begun.push_str(&text);
        self.out.event(Event::Assistant {
            content,
            stop: StopReason::Other("broken off".to_owned()),
            usage: None,
            incomplete: true,
        });
    }

    /// Tells whether the model that is asked with tool definitions may be asked without.
    fn has_another_way(&self) -> bool {
        let otherwise = self.setup.otherwise.get(self.target).copied().flatten();
        self.protocol() == Protocol::Native && otherwise.is_some()
    }

    /// Asks the same again without tool definitions, or another model where the agent takes none that cannot call.
    fn learn_no_tools(&mut self, class: FailureClass, message: String) {
        self.learn(Fact::NoNativeTools);
        let otherwise = self.setup.otherwise.get(self.target).copied().flatten();
        let Some(protocol) = otherwise else {
            return self.next_target(class, message);
        };
        if let Some(target) = self.setup.targets.get_mut(self.target) {
            Arc::make_mut(target).protocol = protocol;
        }
        self.request_anew();
    }

    /// Asks the same again in the next laxer dialect; `false` when there is none.
    fn learn_dialect(&mut self) -> bool {
        let Some(target) = self.setup.targets.get_mut(self.target) else {
            return false;
        };
        let dialect = Dialect::named(&target.dialect);
        let Some(laxer) = dialect.and_then(Dialect::laxer) else {
            return false;
        };
        if target.protocol != Protocol::Native || self.setup.tools.is_empty() {
            return false;
        }
        let target = Arc::make_mut(target);
        let dialect = std::mem::replace(&mut target.dialect, laxer.name.to_owned());
        self.learn(Fact::SchemaRefused { dialect });
        self.request_anew();
        true
    }

    /// Keeps what a refusal shows of the model that is asked.
    fn learn(&mut self, fact: Fact) {
        let Some(target) = self.setup.targets.get(self.target) else {
            return;
        };
        let (provider, model) = (target.provider.clone(), target.model.clone());
        if !self.view.has_learnt(&provider, &model, &fact) {
            self.out.event(Event::Learnt {
                provider,
                model,
                fact,
            });
        }
    }

    /// Asks in another form; what was refused for its form was no attempt.
    pub(super) fn request_anew(&mut self) {
        if let Phase::Asking(asking) = &mut self.phase {
            asking.tries = asking.tries.saturating_sub(1);
        }
        self.request();
    }

    /// Returns how long to wait before the same model is asked again, or `None` when it is not.
    fn pause(&self, retry_after: Option<Duration>) -> Option<Duration> {
        let limits = &self.setup.limits;
        let Phase::Asking(asking) = &self.phase else {
            return None;
        };
        let too_long = retry_after.is_some_and(|wait| wait > limits.retry_after);
        if too_long || asking.tries >= limits.attempts {
            return None;
        }
        retry_after.or_else(|| Some(backoff(asking.tries, self.setup.seed ^ self.requests)))
    }

    fn retry(&mut self, class: FailureClass, message: String, pause: Option<Duration>) {
        let Some(after) = pause else {
            return self.next_target(class, message);
        };
        let Phase::Asking(asking) = &mut self.phase else {
            return;
        };
        asking.paused = true;
        let timer = Timer::Retry {
            request: self.requests,
        };
        self.out.command(Command::Arm { timer, after });
    }

    /// Goes on with the next model of the chain and stays there.
    fn next_target(&mut self, class: FailureClass, message: String) {
        if self.target + 1 >= self.setup.targets.len() {
            return self.fail(class, message);
        }
        self.target += 1;
        if let Phase::Asking(asking) = &mut self.phase {
            asking.tries = 0;
            asking.stage = Stage::Open;
        }
        self.request();
    }

    pub(super) fn fail(&mut self, class: FailureClass, message: String) {
        self.finish_composed(EndReason::Failed { class, message });
    }
}

/// Returns 1, 2, 4 … seconds, give or take a tenth.
fn backoff(tries: u32, seed: u64) -> Duration {
    let base = 1_000_u64 << tries.saturating_sub(1).min(5);
    // One round of splitmix64 spreads neighbouring seeds.
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let tenth = base / 10;
    Duration::from_millis(base - tenth + (z ^ (z >> 31)) % (2 * tenth + 1))
}

#[cfg(test)]
mod tests {
    use super::backoff;

    #[test]
    fn pauses_double_and_vary_by_a_tenth() {
        for seed in 0..1_000 {
            for (tries, base) in [(1, 1_000), (2, 2_000), (3, 4_000), (40, 32_000)] {
                let pause = backoff(tries, seed).as_millis();
                assert!(pause >= base * 9 / 10 && pause <= base * 11 / 10, "{pause}");
            }
        }
        assert_ne!(backoff(1, 1), backoff(1, 2));
    }
}

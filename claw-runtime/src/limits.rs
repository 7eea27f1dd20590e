//! One table of limits, all on by default, so that every turn ends.

use std::time::Duration;

/// Bounds of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rounds a turn.
    pub rounds: u32,
    /// Calls a round; more are refused.
    pub calls_per_round: u32,
    /// Calls a turn; more are refused.
    pub calls_per_turn: u32,
    /// Active time of a turn; waiting for a person does not count.
    pub active_time: Duration,
    /// Re-asks a round, after a reply that cannot be read.
    pub re_asks: u32,
    /// Retries a round after an empty reply.
    pub empty_replies: u32,
    /// Attempts a request, the first one included.
    pub attempts: u32,
    /// A call without a declared timeout.
    pub call_timeout: Duration,
    /// Characters of output a call that the model reads; the whole is kept.
    pub output_chars: usize,
    /// How often the same invalid call is answered before it is refused, and then the turn wraps up.
    pub same_invalid_call: u32,
    /// The same call with the same outcome, in a row or in a short cycle: from this many on the model is told.
    pub repeats_noted: u32,
    /// From this many on the call is refused.
    pub repeats_refused: u32,
    /// From this many on the turn wraps up.
    pub repeats_stopped: u32,
    /// Failing calls in a row, whatever they are, after which the turn wraps up.
    pub failures_in_row: u32,
    /// Calls in a row, whatever they are, that bring nothing not seen in the turn and change nothing, after which the turn
    /// wraps up. Waiting with a polling tool does not count.
    pub idle_calls: u32,
    /// Calls of one tool a turn; more are refused.
    pub calls_per_tool: u32,
    /// How long the same call of a polling tool may give the same before it counts as a repeat.
    pub poll_time: Duration,
    /// How many sub-agents deep sub-agents may start others.
    pub depth: u32,
    /// How often a turn whose process died is taken over without getting any further before it is ended.
    pub takeovers: u32,
    /// How long the wrap-up may take; after that the answer is composed without the model.
    pub wrap_up_time: Duration,
    /// The longest `Retry-After` that is waited for.
    pub retry_after: Duration,
    /// Output limit of a request in tokens.
    pub max_output_tokens: Option<u64>,
    /// How many tokens a model reads, prompt and answer together, whatever its provider says.
    pub window: Option<u64>,
    /// The conversation is compacted when it fills so many hundredths of the room that the window leaves to it.
    pub compact_at: u32,
    /// So many hundredths of that room stay word for word when older messages are summarised.
    pub keep_recent: u32,
    /// The conversation is compacted, too, when it has more messages than this.
    pub most_messages: Option<usize>,
    /// So many messages stay word for word then.
    pub keep_messages: usize,
    /// Requests one summary may take, each for a part of what is summarised.
    pub summary_requests: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rounds: 50,
            calls_per_round: 32,
            calls_per_turn: 200,
            active_time: Duration::from_secs(30 * 60),
            re_asks: 2,
            empty_replies: 1,
            attempts: 4,
            call_timeout: Duration::from_secs(120),
            output_chars: 12_000,
            same_invalid_call: 2,
            repeats_noted: 3,
            repeats_refused: 5,
            repeats_stopped: 7,
            failures_in_row: 10,
            idle_calls: 48,
            calls_per_tool: 100,
            poll_time: Duration::from_secs(10 * 60),
            depth: 2,
            takeovers: 3,
            wrap_up_time: Duration::from_secs(60),
            retry_after: Duration::from_secs(60),
            max_output_tokens: None,
            window: None,
            compact_at: 85,
            keep_recent: 30,
            most_messages: None,
            keep_messages: 10,
            summary_requests: 4,
        }
    }
}

impl Limits {
    /// Returns the most model requests one turn can make, per model of the chain.
    ///
    /// Each round asks once and again after a faulty or empty reply, each time with every attempt; a turn may repeat
    /// a request when a model turns out to take no tools, one when its service refuses a schema, two when it cannot follow
    /// parts of a form and one when it heeds none, and wraps up with one attempt. A continuation after a broken stream is a round. A round may be compacted before it
    /// asks, and again, with one more request, when the service
    /// finds it too long.
    pub fn most_requests(&self) -> u64 {
        let asked = 1 + u64::from(self.re_asks) + u64::from(self.empty_replies);
        let compacted = 1 + 2 * u64::from(self.summary_requests);
        let round = asked
            .saturating_mul(u64::from(self.attempts.max(1)))
            .saturating_add(compacted);
        u64::from(self.rounds)
            .saturating_mul(round)
            .saturating_add(6)
    }

    /// Returns the most calls one turn can start, each once unless its process ended meanwhile.
    pub fn most_calls(&self) -> u64 {
        u64::from(self.calls_per_turn)
    }

    /// Returns the most active time one turn can take before it is ended from outside the model.
    pub fn most_active_time(&self) -> Duration {
        self.active_time.saturating_add(self.wrap_up_time)
    }
}

#[cfg(test)]
mod tests {
    use super::Limits;

    #[test]
    fn the_bound_of_requests_has_no_bound_of_its_own() {
        assert_eq!(Limits::default().most_requests(), 50 * (4 * 4 + 9) + 6);
        let limits = Limits {
            rounds: u32::MAX,
            re_asks: u32::MAX,
            attempts: u32::MAX,
            ..Limits::default()
        };
        assert_eq!(limits.most_requests(), u64::MAX);
    }
}

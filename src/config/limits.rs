//! The limits of a turn under their names in [`Limits`].

use claw_runtime::limits::Limits;
use serde::Deserialize;

use super::value::Span;

/// Declares the settings once; the names, the reader and what they replace follow.
macro_rules! limits {
    ($($name:ident: $type:ty,)*) => {
        /// Bounds of a turn, as far as they are set.
        #[derive(Clone, Debug, Default, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub(crate) struct LimitsConfig {
            $($name: Option<$type>,)*
        }

        impl LimitsConfig {
            /// The names of all limits.
            pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// Returns the runtime's limits: the defaults where nothing is set.
            pub(crate) fn limits(&self) -> Limits {
                let mut limits = Limits::default();
                $(if let Some(value) = self.$name {
                    limits.$name = value.into();
                })*
                limits
            }

            /// Returns the names of the limits that are set higher than `bound` has them.
            pub(super) fn raised_over(&self, bound: &Limits) -> Vec<&'static str> {
                let ours = self.limits();
                let mut raised = Vec::new();
                $(if self.$name.is_some() && ours.$name > bound.$name {
                    raised.push(stringify!($name));
                })*
                // Those that may be absent, which is the highest.
                raised.retain(|name| match *name {
                    "max_output_tokens" => bound.max_output_tokens.is_some(),
                    "window" => bound.window.is_some(),
                    "most_messages" => bound.most_messages.is_some(),
                    _ => true,
                });
                raised
            }
        }
    };
}

limits! {
    rounds: u32,
    calls_per_round: u32,
    calls_per_turn: u32,
    active_time: Span,
    re_asks: u32,
    empty_replies: u32,
    attempts: u32,
    call_timeout: Span,
    output_chars: usize,
    same_invalid_call: u32,
    repeats_noted: u32,
    repeats_refused: u32,
    repeats_stopped: u32,
    failures_in_row: u32,
    idle_calls: u32,
    calls_per_tool: u32,
    takeovers: u32,
    poll_time: Span,
    depth: u32,
    wrap_up_time: Span,
    retry_after: Span,
    max_output_tokens: u64,
    window: u64,
    compact_at: u32,
    keep_recent: u32,
    most_messages: usize,
    keep_messages: usize,
    summary_requests: u32,
}

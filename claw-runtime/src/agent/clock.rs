//! The active time of a turn: it stands still while only a person is waited for.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::turn::{Millis, Timer};

/// How long the clock sleeps at a time.
///
/// A runtime of several threads wakes the one that waits for the network whenever a timer is set that ends before all
/// others, and a round sets four, minutes long. A near one that is always set makes them cheap: half of what a round cost
/// there was the waking.
const BEAT: Duration = Duration::from_secs(1);

/// Active time, and the timers that run on it.
#[derive(Debug)]
pub(super) struct Clock {
    past: Duration,
    running_since: Option<Instant>,
    timers: Vec<(Timer, Duration)>,
    /// Runs to the next timer, a beat at most. Kept, for it is waited for again and again.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Clock {
    /// Starts a clock that shows some active time already.
    pub(super) fn start_at(active: Millis) -> Self {
        Self {
            past: Duration::from_millis(active),
            running_since: Some(Instant::now()),
            timers: Vec::new(),
            sleep: None,
        }
    }

    fn active(&self) -> Duration {
        self.past
            + self
                .running_since
                .map_or(Duration::ZERO, |since| since.elapsed())
    }

    pub(super) fn now(&self) -> Millis {
        Millis::try_from(self.active().as_millis()).unwrap_or(Millis::MAX)
    }

    /// Stops or resumes the clock.
    pub(super) fn set_running(&mut self, running: bool) {
        match (running, self.running_since) {
            (true, None) => self.running_since = Some(Instant::now()),
            (false, Some(since)) => {
                self.past += since.elapsed();
                self.running_since = None;
            }
            _ => {}
        }
    }

    /// Starts a timer; an earlier one of the same name is replaced.
    pub(super) fn arm(&mut self, timer: Timer, after: Duration) {
        self.timers.retain(|(armed, _)| *armed != timer);
        self.timers
            .push((timer, self.active().saturating_add(after)));
    }

    /// Waits for the next timer and removes it; for ever when there is none or the clock stands still.
    pub(super) async fn fired(&mut self) -> Timer {
        let next = self
            .timers
            .iter()
            .enumerate()
            .min_by_key(|(_, (_, due))| *due)
            .map(|(at, _)| at);
        let (Some(at), Some(since)) = (next, self.running_since) else {
            return std::future::pending().await;
        };
        let left = self.timers[at].1.saturating_sub(self.past);
        // A time that no clock will show never comes.
        let Some(due) = since.checked_add(left) else {
            return std::future::pending().await;
        };
        loop {
            let sleep = self
                .sleep
                .get_or_insert_with(|| Box::pin(tokio::time::sleep(BEAT)));
            if sleep.deadline() > due {
                sleep.as_mut().reset(due);
            }
            sleep.as_mut().await;
            let now = Instant::now();
            if now >= due {
                break;
            }
            sleep.as_mut().reset(due.min(now + BEAT));
        }
        self.sleep = None;
        self.timers.swap_remove(at).0
    }
}

/// Returns a duration in whole milliseconds.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

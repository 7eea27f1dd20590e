//! What a request holds back of limits that it shares with others: counters in the store, and the purse of the call that
//! started a sub-agent.

use super::Inner;
use crate::budget::{Reserved, SharedBudget, Spent, money};
use crate::turn::{Command, Input};

/// Holds back for the running request, and corrects that when it is over.
#[derive(Debug, Default)]
pub(super) struct Meter {
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    reserved: Reserved,
    amount: Spent,
    /// Names of the counters and whether they count money.
    counters: Vec<(String, bool)>,
}

impl Meter {
    /// Holds back what the request among these commands may take, if there is one.
    ///
    /// # Errors
    ///
    /// Fails with the limit that is used up, in words; then nothing is held.
    pub(super) async fn hold(&mut self, agent: &Inner, commands: &[Command]) -> Result<(), String> {
        let requested = commands.iter().find_map(|command| match command {
            Command::Request { reserved, .. } => Some(*reserved),
            _ => None,
        });
        let Some(reserved) = requested else {
            return Ok(());
        };
        // One that never came to an answer keeps what it held: nobody knows what it took.
        self.held = None;
        let Some(reserved) = reserved.filter(|reserved| reserved.output > 0) else {
            return Ok(());
        };
        let amount = reserved.whole();
        let purse = agent.nest.purse.as_ref();
        if let Some(purse) = purse
            && !purse.draw(amount)
        {
            return Err(format!(
                "the budget of the call that started this agent: the next request takes up to {} tokens, and less is left",
                amount.tokens
            ));
        }
        // Boxed, as few agents share a budget, and every request is held through here.
        let counters = match agent.spending.shared.is_empty() {
            true => Vec::new(),
            false => Box::pin(hold_all(agent, amount)).await.inspect_err(|_| {
                if let Some(purse) = purse {
                    purse.settle(amount, Spent::default());
                }
            })?,
        };
        self.held = Some(Held {
            reserved,
            amount,
            counters,
        });
        Ok(())
    }

    /// Corrects what was held to what the request came to, when `input` says so.
    pub(super) async fn settle(&mut self, agent: &Inner, input: &Input) {
        let Some(held) = self
            .held
            .take_if(|_| matches!(input, Input::Reply(_) | Input::Failed(_)))
        else {
            return;
        };
        let actual = match input {
            Input::Reply(reply) => held.reserved.of_reply(&reply.content, reply.usage),
            Input::Failed(error) => held.reserved.of_failure(error.class, error.usage),
            _ => return,
        };
        if let Some(purse) = &agent.nest.purse {
            purse.settle(held.amount, actual);
        }
        if !held.counters.is_empty() {
            Box::pin(correct(agent, &held.counters, held.amount, actual)).await;
        }
    }
}

/// Holds the amount back in every shared budget, or in none; returns the counters it is held in.
async fn hold_all(agent: &Inner, amount: Spent) -> Result<Vec<(String, bool)>, String> {
    let mut counters = Vec::new();
    for shared in &agent.spending.shared {
        if let Err(limit) = hold_shared(agent, shared, amount, &mut counters).await {
            correct(agent, &counters, amount, Spent::default()).await;
            return Err(limit);
        }
    }
    Ok(counters)
}

async fn hold_shared(
    agent: &Inner,
    shared: &SharedBudget,
    amount: Spent,
    counters: &mut Vec<(String, bool)>,
) -> Result<(), String> {
    let name = (shared.counter)();
    for (is_money, most, amount) in [
        (false, shared.budget.tokens, amount.tokens),
        (true, shared.budget.cost, amount.cost),
    ] {
        let Some(most) = most.filter(|_| amount > 0) else {
            continue;
        };
        let counter = counter(&name, is_money);
        let add = i64::try_from(amount).unwrap_or(i64::MAX);
        match agent.store.count(&counter, add, most).await {
            Ok(true) => counters.push((counter, is_money)),
            Ok(false) => {
                let shown = |n| {
                    if is_money {
                        money(n)
                    } else {
                        format!("{n} tokens")
                    }
                };
                return Err(format!(
                    "the budget `{name}` of {}: less than the {} of the next request is left",
                    shown(most),
                    shown(amount)
                ));
            }
            Err(error) => return Err(format!("the budget `{name}` cannot be counted: {error}")),
        }
    }
    Ok(())
}

fn counter(name: &str, is_money: bool) -> String {
    format!("{name} {}", if is_money { "cost" } else { "tokens" })
}

/// Counts what was really spent in place of what was held.
async fn correct(agent: &Inner, counters: &[(String, bool)], held: Spent, actual: Spent) {
    for (counter, is_money) in counters {
        let (held, actual) = match is_money {
            true => (held.cost, actual.cost),
            false => (held.tokens, actual.tokens),
        };
        let more = i64::try_from(i128::from(actual) - i128::from(held)).unwrap_or(0);
        // What is spent is spent, over the limit or not.
        if more != 0
            && let Err(error) = agent.store.count(counter, more, u64::MAX).await
        {
            tracing::warn!(%error, counter, "a shared budget was not corrected");
        }
    }
}

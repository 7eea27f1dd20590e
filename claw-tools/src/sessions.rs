//! Sub-agents: `session_spawn`.

use claw::budget::Budget;
use claw::event::EndReason;
use claw::tool;
use claw::tool::{Spawn, ToolContext, ToolError, ToolOutput};

/// Gives a task to a sub-agent and returns its answer. It begins with nothing but the task, so say everything it needs to know
/// and what it is to report. Use it for work that needs many steps whose details do not matter here, several at once where
/// they do not depend on each other.
#[tool(effect = idempotent, group = "sessions", approve = never, parallel, timeout = "1h")]
pub async fn session_spawn(
    ctx: &ToolContext,
    /// The task, complete in itself.
    #[arg(len = 1..=50_000)]
    task: &str,
    /// The name of a special agent; without it, one like you.
    #[arg(len = 1..=100)]
    agent: Option<&str>,
    /// Names of the tools it may use; without it, all it has.
    #[arg(len = 1..=200)]
    tools: Option<Vec<String>>,
    /// The most rounds it may take; without it, as many as you.
    #[arg(range = 1..=1_000)]
    max_rounds: Option<u32>,
    /// The most tokens it may spend; without it, as many as are left to you.
    #[arg(range = 1..)]
    max_tokens: Option<u64>,
) -> Result<ToolOutput, ToolError> {
    let mut spawn = Spawn::new(task);
    spawn.agent = agent.map(str::to_owned);
    spawn.tools = tools;
    spawn.rounds = max_rounds;
    spawn.budget = Budget {
        tokens: max_tokens,
        cost: None,
    };
    let ended = ctx
        .spawn(spawn)
        .await
        .map_err(|error| ToolError::new(error.to_string()))?;
    match ended.reason {
        EndReason::Answered => Ok(ToolOutput::text(ended.text)),
        EndReason::Limit { limit } => Ok(ToolOutput::text(format!(
            "{}\n[The sub-agent stopped before it was done: {limit}.]",
            ended.text
        ))),
        _ => Err(ToolError::new(format!(
            "the sub-agent did not come to an answer. {}",
            ended.text
        ))),
    }
}

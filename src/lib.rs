//! claw turns ordinary functions into an AI agent.
//!
//! ```no_run
//! use claw::prelude::*;
//!
//! /// Adds two numbers.
//! #[tool(effect = pure)]
//! fn add(
//!     /// The first number.
//!     a: i64,
//!     /// The second number.
//!     b: i64,
//! ) -> Option<i64> {
//!     a.checked_add(b)
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     claw::main()
//! }
//! ```
//!
//! Every `#[tool]` function linked into the program is a tool of its agent. The program has `chat` (in a terminal),
//! `run "prompt"` (one shot, `--json` for programs), `tools` (list, call, check, audit, diff) and `doctor`; its settings stand in
//! `claw.toml`, [see below](#settings).
//!
//! Programs with a surface of their own build an [`Agent`](agent::Agent) and open [`Session`](agent::Session)s:
//!
//! ```no_run
//! # async fn f(provider: std::sync::Arc<dyn claw::provider::Provider>) -> Result<(), claw::agent::AgentError> {
//! use claw::prelude::*;
//!
//! let agent = Agent::builder()
//!     .model(provider, "some-model")
//!     .tools(Toolset::linked()?)
//!     .build()?;
//! let outcome = agent.session("first").await?.run("How warm is it in Oslo?").await?;
//! println!("{}", outcome.text);
//! # Ok(())
//! # }
//! ```
//!
//! [Writing tools](guide::writing_tools) is the guide; [compile errors](guide::compile_errors) has each message with its cure;
//! [without a provider](guide::without_a_provider) runs a model in the program itself.
//!
//! # Features
//!
//! - `cli` (default): the program behind `main`, its config file and terminal.
//! - `tools` (default): the built-in tools.
//! - `sqlite` (default): sessions kept in a file; without it they end with the program.
//! - `jsonschema` (default): schemas that others wrote checked in full, with patterns that look around.
//! - `local`: models that run in the process, from a file of weights.
//! - `postgres`: sessions in Postgres, shared by many hosts.
//!
//! # Settings
//!
//! Four layers, each stronger than the one before: the user's file (`$XDG_CONFIG_HOME/claw/claw.toml`), the working
//! folder's `claw.toml` or the file named by `--config`, environment variables (`CLAW_MODEL`, `CLAW_LIMITS_ROUNDS`, …),
//! and flags. Secrets never stand in a file: it names the variable or the file that holds one.
//!
//! The working folder's file is not trusted, as it may have come with somebody else's repository: it may narrow what the
//! agent does, and not widen it or choose where a key goes. `--config claw.toml` trusts it for one run; `doctor` shows
//! which files were read and what was ignored.
//!
#![doc = concat!("```toml\n", include_str!("config/claw.toml"), "```")]
#![cfg_attr(test, allow(clippy::unwrap_used))]

// Expansions of `#[tool]` name `::claw`, in this crate too.
extern crate self as claw;

// Without this line the crate is not linked, and its tools are missing without an error.
#[cfg(feature = "tools")]
use claw_tools as _;

// Some linkers do not bear an empty section of tools (linkme#114).
const _: () = {
    #[__private::linkme::distributed_slice(__private::__CLAW_TOOLS_V1)]
    #[linkme(crate = __private::linkme)]
    static SENTINEL: tool::ToolEntry = tool::ToolEntry::sentinel();
};

#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod config;
#[cfg(feature = "cli")]
mod program;

#[cfg(feature = "cli")]
pub use program::{Program, main, program};

#[doc(hidden)]
pub use claw_runtime::__private;
#[doc(inline)]
pub use claw_runtime::*;
pub use {serde, serde_json};

/// Guides: how to write tools, what to do when one does not compile, and how to run without a service.
///
/// Only the documentation has this module.
#[cfg(doc)]
pub mod guide {
    #[doc = include_str!("docs/writing-tools.md")]
    pub mod writing_tools {}

    #[doc = include_str!("docs/compile-errors.md")]
    pub mod compile_errors {}

    #[doc = include_str!("docs/without-a-provider.md")]
    pub mod without_a_provider {}
}

/// What nearly every program with tools imports.
pub mod prelude {
    pub use claw_runtime::agent::{Agent, Session};
    pub use claw_runtime::registry::Toolset;
    pub use claw_runtime::tool::{ToolContext, ToolError, ToolOutput, tools};
    pub use claw_runtime::{State, ToolInput, tool};
}

//! The program behind [`main`]: what an agent's author may change about it.

use std::any::Any;
use std::process::ExitCode;
use std::sync::Arc;

use claw_runtime::provider::Provider;
use claw_runtime::registry::Toolset;
use claw_runtime::tool::{StateMap, Tool, Tools};

/// Runs the program: every linked tool, settings from files, environment and flags.
///
/// The exit code is 0 for an answer; the others stand in `--help`.
pub fn main() -> ExitCode {
    program().main()
}

/// Starts to describe a program of one's own.
///
/// ```no_run
/// # struct Db;
/// fn main() -> std::process::ExitCode {
///     claw::program()
///         .name("weather")
///         .system("You are a meteorologist.")
///         .state(Db)
///         .main()
/// }
/// ```
pub fn program() -> Program {
    Program {
        name: "claw",
        version: env!("CARGO_PKG_VERSION"),
        system: None,
        state: StateMap::default(),
        tools: None,
        more: Vec::new(),
        model: None,
    }
}

/// A program of one's own: its name, its state, its tools. Ends in [`Program::main`].
#[must_use = "nothing runs before `.main()`"]
pub struct Program {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) system: Option<String>,
    pub(crate) state: StateMap,
    pub(crate) tools: Option<Toolset>,
    pub(crate) more: Vec<Arc<Tool>>,
    pub(crate) model: Option<(Arc<dyn Provider>, String)>,
}

impl Program {
    /// Sets the name it has in its help and its prompts; `claw` when left out.
    pub fn name(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// Sets the version `--version` prints; claw's own when left out.
    pub fn version(mut self, version: &'static str) -> Self {
        self.version = version;
        self
    }

    /// Sets the standing instructions; `system` in a config replaces them.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.system = Some(text.into());
        self
    }

    /// Adds state for tools that name its type.
    pub fn state<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.state.insert(value);
        self
    }

    /// Adds the tools of a `#[tools] impl`, which work on `value`.
    pub fn toolset<T: Tools>(mut self, value: T) -> Self {
        self.more.extend(Tool::all_of::<T>());
        self.state(value)
    }

    /// Sets the tools; every linked one when left out.
    pub fn tools(mut self, tools: Toolset) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Sets the model that is asked when no config, variable or flag names one.
    pub fn model(mut self, provider: Arc<dyn Provider>, name: impl Into<String>) -> Self {
        self.model = Some((provider, name.into()));
        self
    }

    /// Runs the program on the arguments of the process.
    ///
    /// Installs a panic hook that keeps panics of tools to one line; `RUST_BACKTRACE` has them in full.
    pub fn main(self) -> ExitCode {
        crate::cli::main(self)
    }
}

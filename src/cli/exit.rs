//! How the process ends: one code a reason, and the report of a failure.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

/// Help text about the codes.
pub(crate) const CODES: &str = "\
Exit codes:
  0    answered
  1    failed for another reason; `tools check` and `tools diff`: found something
  2    wrong usage or config
  3    no model is configured
  4    the model could not be reached or kept failing
  5    a limit ended the turn; the answer says what is missing
  6    `tools call`: the arguments do not fit, or the tool failed
  7    `--park`: a question is open; `sessions answer` answers it
  130  interrupted (Ctrl-C); 143 when terminated";

/// Why the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Answered,
    Other,
    Found,
    Usage,
    NoModel,
    ModelFailed,
    Limit,
    ToolFailed,
    Parked,
    Interrupted,
    Terminated,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Answered => 0,
            Self::Other | Self::Found => 1,
            Self::Usage => 2,
            Self::NoModel => 3,
            Self::ModelFailed => 4,
            Self::Limit => 5,
            Self::ToolFailed => 6,
            Self::Parked => 7,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// Prints a warning: the program goes on, but not as somebody wanted.
pub(crate) fn warn(text: &str) {
    let _ = writeln!(
        anstream::stderr(),
        "warning: {}",
        super::text::line(&super::secrets::masked_message(text), 1_000)
    );
}

/// A failure on its way to the operator: a cause a line, the way out last.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self {
            exit,
            message: message.to_string(),
            hints: Vec::new(),
        }
    }

    pub(crate) fn other(error: impl fmt::Display) -> Self {
        Self::new(Exit::Other, error)
    }

    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Adds a way out.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Prints it, and returns the code to end with.
    pub(crate) fn report(&self) -> ExitCode {
        // Where standard error is gone too, the code is all that is left to say.
        let _ = write!(anstream::stderr(), "{self}");
        self.exit.into()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = super::secrets::masked_message(&self.message);
        writeln!(f, "error: {}", super::text::visible(&said))?;
        for hint in &self.hints {
            let hint = super::secrets::masked(hint);
            writeln!(f, "hint: {}", super::text::visible(&hint))?;
        }
        Ok(())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::other(error)
    }
}

impl From<crate::config::ConfigError> for Failure {
    fn from(error: crate::config::ConfigError) -> Self {
        Self::usage(error)
    }
}

impl From<claw_runtime::agent::AgentError> for Failure {
    fn from(error: claw_runtime::agent::AgentError) -> Self {
        use claw_runtime::agent::AgentError::{Damaged, Store, Unfinished};
        let failure = Self::other(&error);
        match error {
            Store(error) => error.into(),
            Damaged { session, whole, .. } if whole > 0 => failure.hint(format!(
                "`sessions branch {session} --at {whole}` goes on from there"
            )),
            Unfinished { session } => {
                failure.hint(format!("`sessions resume {session}` goes on with it"))
            }
            _ => failure,
        }
    }
}

impl From<claw_runtime::registry::RegistryError> for Failure {
    fn from(error: claw_runtime::registry::RegistryError) -> Self {
        Self::other(error)
    }
}

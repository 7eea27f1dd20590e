//! What `tools` takes on the command line.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// What `tools` does.
#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    /// List the tools the model is offered
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one tool: what is declared, and its schema
    Show {
        /// The tool
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Validate arguments and run a tool, without a model
    ///
    /// Running it by hand is the approval: no rule of the policy applies.
    Call {
        /// The tool
        name: String,
        /// The arguments as a JSON object; `-` reads standard input
        #[arg(default_value = "{}", hide_default_value = true)]
        arguments: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Tell what each provider's dialect of JSON Schema keeps of each tool
    Check(Check),
    /// Print the definition of a tool as a provider gets it
    Schema(Schema),
    /// List what deserves a person's eye: effects, reach, secrets, approvals, origin
    Audit(Audit),
    /// Write down what callers rely on, for a later `diff`
    Snapshot(Snapshot),
    /// Compare the tools with a snapshot: breaking, additive, wording
    Diff(Diff),
}

/// What `tools check` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  claw tools check                                every tool in every dialect
  claw tools check weather                        one tool
  claw tools check --for openai-strict,gemini     these dialects

What a dialect cannot say is left to the description, and checked all the same
when a call comes.

Exit codes:
  0  every tool can be sent
  1  a dialect refuses one")]
pub(crate) struct Check {
    /// The tools; all of them when none is named
    pub(super) names: Vec<String>,
    /// Look at these dialects only
    #[arg(long = "for", value_name = "DIALECT", value_delimiter = ',')]
    pub(super) dialects: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// What `tools schema` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  claw tools schema weather                        as declared
  claw tools schema weather --for openai-strict    as OpenAI gets it in strict mode
  claw tools schema weather --for prompt           as a model without tool calling reads it

Exit codes:
  0  printed
  1  the dialect refuses the tool")]
pub(crate) struct Schema {
    /// The tool
    pub(super) name: String,
    /// For whom: json-schema, openai, openai-strict, anthropic, gemini, mcp, prompt and others
    #[arg(
        long = "for",
        value_name = "DIALECT",
        default_value = "json-schema",
        hide_default_value = true
    )]
    pub(super) dialect: String,
}

/// What `tools audit` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  claw tools audit                    every tool of the program
  claw tools audit exec write_file    these two
  claw tools audit --json             everything declared, for a program")]
pub(crate) struct Audit {
    /// The tools; all of them when none is named
    pub(super) names: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// What `tools snapshot` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  claw tools snapshot tools.json      write it, and keep it under version control
  claw tools snapshot                 print it

Settings do not change a snapshot: it holds every tool of the program, offered
or not.")]
pub(crate) struct Snapshot {
    /// The file to write; standard output when left out
    pub(super) file: Option<PathBuf>,
}

/// What `tools diff` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  claw tools diff tools.json              what changed since the snapshot
  claw tools diff tools.json --strict     in CI: what is new must be in it too

Breaking: a call or a rule that was good may not be any more.
Additive: more is possible than before.
Wording:  what models and people read.

Exit codes:
  0  nothing breaking (with --strict: nothing breaking or additive)
  1  something breaking (with --strict: breaking or additive)
  2  the snapshot cannot be read")]
pub(crate) struct Diff {
    /// The snapshot
    pub(super) file: PathBuf,
    /// Fail on additive changes too
    #[arg(long)]
    pub(super) strict: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

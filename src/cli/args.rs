//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use super::exit::CODES;
use super::sessions::Sessions;
use super::tools::Tools;
#[cfg(feature = "local")]
use super::weights::Weights;
use crate::config::{Sources, Span};
use crate::program::Program;

/// An agent whose tools are functions.
#[derive(Debug, Parser)]
#[command(after_help = CODES, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Read this config file in place of the working folder's `claw.toml`
    #[arg(long, global = true, value_name = "FILE", env = "CLAW_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// Ask this model
    #[arg(long, short, global = true, value_name = "PROVIDER:MODEL")]
    model: Option<String>,

    /// Ask the OpenAI-compatible service at this address
    #[arg(long, global = true, value_name = "URL")]
    base_url: Option<String>,

    /// Let the tools work in this folder
    #[arg(long, short = 'C', global = true, value_name = "FOLDER")]
    workspace: Option<PathBuf>,

    /// Offer the built-in tools of this profile: minimal, coding, messaging, local, full
    #[arg(long, global = true, value_name = "NAME")]
    profile: Option<String>,

    /// Let tool calls travel this way: native, prompt (as text, for models without tool calling), chat (no tools)
    #[arg(long, global = true, value_name = "HOW")]
    protocol: Option<String>,

    /// Send messages without the stamp of local time
    #[arg(long, global = true)]
    no_stamp: bool,

    /// Keep this session in memory only
    #[arg(long, global = true)]
    pub(crate) ephemeral: bool,

    /// Use colours: always, never, or on a terminal without NO_COLOR
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true
    )]
    pub(crate) color: Color,

    /// Log to standard error: error, warn, info, debug, trace, or filters like `claw_runtime=debug`
    #[arg(long, global = true, value_name = "LEVEL", env = "CLAW_LOG")]
    pub(crate) log: Option<String>,

    /// Log one JSON object a line
    #[arg(long, global = true, env = "CLAW_LOG_JSON", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) log_json: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Talk with the agent (the default on a terminal)
    Chat(SessionArgs),
    /// Answer one prompt and exit
    Run(RunArgs),
    /// Look at the tools, or call one
    #[command(subcommand)]
    Tools(Tools),
    /// Look at kept sessions, go on with one, move it between machines
    #[command(subcommand)]
    Sessions(Sessions),
    /// List the models that can be asked, of services and of this machine, and what each can do
    Models(ModelsArgs),
    /// Fetch, list and delete weights: files of models that run in this program, without a service
    #[cfg(feature = "local")]
    #[command(subcommand)]
    Model(Weights),
    /// The same, of a program that cannot run them.
    #[cfg(not(feature = "local"))]
    #[command(hide = true)]
    Model {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        _rest: Vec<OsString>,
    },
    /// Check config, workspace, tools and model
    Doctor,
}

/// What `models` takes.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ModelsArgs {
    /// List the models of this provider alone
    pub(crate) provider: Option<String>,

    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `run` takes.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct RunArgs {
    /// The prompt; text piped in is appended, or is the prompt when none is given
    pub(crate) prompt: Vec<String>,

    /// Print one JSON event a line: the journal, pieces of the answer, and the outcome last
    #[arg(long)]
    pub(crate) json: bool,

    /// Print the answer only
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// Fetch a small model without a question, where there is no model
    #[cfg(feature = "local")]
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Leave questions open for so long (90s, 5m, 1h), to be answered by `sessions answer`
    #[arg(long, value_name = "TIME")]
    pub(crate) park: Option<Span>,

    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

impl RunArgs {
    /// Tells whether a small model may be fetched without a question.
    pub(crate) fn agrees(&self) -> bool {
        #[cfg(feature = "local")]
        return self.yes;
        #[cfg(not(feature = "local"))]
        return false;
    }
}

/// Which session a turn belongs to: a new one when nothing is said.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct SessionArgs {
    /// Go on with this session, or begin it; the beginning of an id will do
    #[arg(long, value_name = "ID", conflicts_with_all = ["continue_last", "ephemeral"])]
    pub(crate) session: Option<String>,

    /// Go on with the session used last
    #[arg(long = "continue", short = 'c', conflicts_with = "ephemeral")]
    pub(crate) continue_last: bool,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

impl Color {
    /// Makes it the choice of every stream.
    pub(crate) fn write_global(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

impl Args {
    /// Reads the command line of `program`.
    pub(crate) fn read(
        program: &Program,
        args: impl IntoIterator<Item = OsString>,
    ) -> Result<Self, clap::Error> {
        let matches = Self::command()
            .name(program.name)
            .version(program.version)
            .try_get_matches_from(args)?;
        Self::from_arg_matches(&matches)
    }

    /// Returns where settings come from.
    pub(crate) fn sources(&self) -> std::io::Result<Sources> {
        let text = |text: &Option<String>| text.clone().map(toml::Value::String);
        let flags = [
            ("--model", &["model"] as &'static [_], text(&self.model)),
            ("--base-url", &["base_url"], text(&self.base_url)),
            ("--profile", &["policy", "profile"], text(&self.profile)),
            ("--protocol", &["protocol"], text(&self.protocol)),
            (
                "--workspace",
                &["workspace"],
                self.workspace
                    .as_ref()
                    .map(|path| path.to_string_lossy().into_owned().into()),
            ),
            (
                "--no-stamp",
                &["stamp"],
                self.no_stamp.then_some(toml::Value::Boolean(false)),
            ),
        ];
        Ok(Sources {
            user_folder: folder("XDG_CONFIG_HOME", ".config"),
            working_folder: std::env::current_dir()?,
            named: self.config.clone(),
            // Others than text cannot be settings.
            env: std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .filter(|(name, _)| name.starts_with("CLAW_"))
                .collect(),
            flags: flags
                .into_iter()
                .filter_map(|(name, path, value)| Some((name, path, value?)))
                .collect(),
        })
    }
}

/// Returns claw's folder below the one `variable` names, or below `fallback` in the home folder.
pub(crate) fn folder(variable: &str, fallback: &str) -> Option<PathBuf> {
    std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(std::env::home_dir()?.join(fallback)))
        .map(|base| base.join("claw"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }
}

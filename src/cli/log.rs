//! Logs on standard error: off unless asked for.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use super::args::Args;
use super::exit::Failure;

/// Starts to log as the flags say.
pub(crate) fn start(args: &Args) -> Result<(), Failure> {
    let Some(log) = args.log.as_deref().filter(|log| !log.is_empty()) else {
        return Ok(());
    };
    let filter = EnvFilter::try_new(directives(log)).map_err(|_| {
        Failure::usage(format!("`--log`: cannot read `{log}`"))
            .hint("expected error, warn, info, debug, trace, or filters like `claw_runtime=debug`")
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| super::secrets::Log)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none());
    if args.log_json {
        builder.json().init();
    } else {
        builder.init();
    }
    Ok(())
}

/// A plain level is for claw itself: what HTTP libraries log at `trace` may hold headers.
fn directives(log: &str) -> String {
    match log.to_ascii_lowercase().as_str() {
        level @ ("off" | "error" | "warn" | "info" | "debug" | "trace") => {
            format!("off,claw={level},claw_runtime={level},claw_tools={level}")
        }
        _ => log.to_owned(),
    }
}

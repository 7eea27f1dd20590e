//! Logs on standard error: off unless asked for.

use std::io::IsTerminal;

use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::args::Args;
use super::exit::Failure;

/// Starts to log as the flags say.
pub(crate) fn start(args: &Args) -> Result<(), Failure> {
    let Some(log) = args.log.as_deref().filter(|log| !log.is_empty()) else {
        return Ok(());
    };
    // No span of ours has a name, so levels by module say all that a filter by span would, and need no regular expressions.
    let filter: Targets = directives(log).parse().map_err(|_| {
        Failure::usage(format!("`--log`: cannot read `{log}`"))
            .hint("expected error, warn, info, debug, trace, or filters like `claw_runtime=debug`")
    })?;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(|| super::secrets::Log)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none());
    let registry = tracing_subscriber::registry().with(filter);
    if args.log_json {
        registry.with(lines.json()).init();
    } else {
        registry.with(lines).init();
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

//! `sessions resume`: a turn that was interrupted goes on.

use super::args::Resume;
use super::{Args, Exit, Failure};
use crate::program::Program;

/// Runs `sessions resume`.
pub(super) async fn resume(_: Program, _: &Args, _: &Resume) -> Result<Exit, Failure> {
    Err(Failure::other("resuming is being built"))
}

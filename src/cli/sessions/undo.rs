//! `sessions undo`: the last turns are taken back.

use super::args::Undo;
use super::{Args, Exit, Failure};
use crate::program::Program;

/// Runs `sessions undo`.
pub(super) async fn undo(_: Program, _: &Args, _: &Undo) -> Result<Exit, Failure> {
    Err(Failure::other("undoing is being built"))
}

//! The program as a process: what it prints where, and the code it ends with.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, missing_docs)]

mod config;
mod formats;
mod imports;
mod mask;
mod models;
mod network;
mod protocol;
mod proxies;
#[cfg(target_os = "linux")]
#[path = "../support/terminal.rs"]
mod pty;
mod secrets;
mod service;
mod sessions;
mod show;
#[cfg(target_os = "linux")]
mod terminal;
mod tools;
mod trust;
mod turn;
mod usage;
mod vendors;

use std::fs;
use std::process::Output;

use service::claw;
use tempfile::{TempDir, tempdir};

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

/// Runs the program in an empty folder.
fn run(args: &[&str]) -> (TempDir, Output) {
    let folder = tempdir().unwrap();
    let output = claw(folder.path()).args(args).output().unwrap();
    (folder, output)
}

/// Runs the program in a folder with this config.
fn with_config(config: &str, args: &[&str]) -> Output {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("claw.toml"), config).unwrap();
    claw(folder.path()).args(args).output().unwrap()
}

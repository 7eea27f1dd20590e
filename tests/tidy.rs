//! Rules of this repository that a reader relies on, checked.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::{fs, io};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn sources() -> Vec<(PathBuf, String)> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) -> io::Result<()> {
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            let name = entry_name(&path);
            if name == "tests" || name == "tests.rs" || name.ends_with("_tests.rs") {
                continue;
            }
            if path.is_dir() {
                walk(&path, out)?;
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                out.push(path);
            }
        }
        Ok(())
    }
    let mut paths = Vec::new();
    for dir in [
        "src",
        "examples",
        "claw-macros/src",
        "claw-runtime/src",
        "claw-tools/src",
    ] {
        walk(&Path::new(ROOT).join(dir), &mut paths).unwrap();
    }
    assert!(
        paths.len() > 40,
        "the walk found only {} files",
        paths.len()
    );
    paths
        .into_iter()
        .map(|path| (path.clone(), fs::read_to_string(&path).unwrap()))
        .collect()
}

fn entry_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Fails with every line that breaks a rule.
fn assert_none(rule: &str, broken: Vec<String>) {
    assert!(broken.is_empty(), "{rule}:\n{}", broken.join("\n"));
}

#[test]
fn a_file_is_one_idea() {
    let long = sources().into_iter().filter_map(|(path, text)| {
        let lines = text.lines().count();
        (lines > 600).then(|| format!("{}: {lines} lines", path.display()))
    });
    assert_none("files over 600 lines", long.collect());
}

#[test]
fn nothing_is_left_undone() {
    let marks = [
        concat!("to", "do!("),
        concat!("unimple", "mented!("),
        concat!("FIX", "ME"),
        concat!("TO", "DO"),
    ];
    let left = sources().into_iter().flat_map(|(path, text)| {
        let hits = text
            .lines()
            .enumerate()
            .filter(|(_, line)| marks.iter().any(|mark| line.contains(mark)));
        hits.map(|(at, line)| format!("{}:{}: {line}", path.display(), at + 1))
            .collect::<Vec<_>>()
    });
    assert_none("left undone", left.collect());
}

#[test]
fn every_module_says_why_it_exists() {
    let silent = sources().into_iter().filter(|(path, text)| {
        !path.ends_with("main.rs")
            && !text.trim_start().starts_with("//!")
            && !text.contains("#![doc")
    });
    assert_none(
        "modules without a `//!` line",
        silent.map(|(path, _)| path.display().to_string()).collect(),
    );
}

#[test]
fn the_runtime_is_handed_everything() {
    // The runtime and the tools read no configuration of their own: the program does, and hands it over.
    let forbidden = [
        "std::env::var",
        "env::var(",
        "env::args",
        "home_dir",
        "println!(",
        "eprintln!(",
    ];
    let broken = sources()
        .into_iter()
        .filter(|(path, _)| path.starts_with(Path::new(ROOT).join("claw-runtime")));
    let broken = broken.flat_map(|(path, text)| {
        let code = text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim_start().starts_with("//"));
        code.filter(|(_, line)| forbidden.iter().any(|word| line.contains(word)))
            .map(|(at, line)| format!("{}:{}: {line}", path.display(), at + 1))
            .collect::<Vec<_>>()
    });
    assert_none("claw-runtime reads or prints", broken.collect());
}

#[test]
fn the_code_map_names_what_is_there() {
    let map = fs::read_to_string(Path::new(ROOT).join("ARCHITECTURE.md")).unwrap();
    let mut missing = Vec::new();
    for krate in ["claw-runtime", "claw-macros"] {
        for entry in fs::read_dir(Path::new(ROOT).join(krate).join("src")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let minor = ["lib", "private"].contains(&name.as_str());
            if !minor && !map.contains(&name) {
                missing.push(format!("{krate}/src/{name}"));
            }
        }
    }
    assert_none("not in ARCHITECTURE.md", missing);
}

/// A message without what differs from case to case: names in backticks, lists of them, numbers, line breaks.
fn family(message: &str) -> String {
    let text = message.split('`').enumerate();
    let mut text: String = text
        .map(|(at, piece)| if at % 2 == 1 { "`" } else { piece })
        .filter(|piece| !piece.is_empty())
        .collect();
    while text.contains("`, `") {
        text = text.replace("`, `", "`");
    }
    text.retain(|c| !c.is_ascii_digit());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_compile_error_has_its_cure_in_the_guide() {
    let page = fs::read_to_string(Path::new(ROOT).join("src/docs/compile-errors.md")).unwrap();
    // Messages stand in bold.
    let explained: Vec<String> = page.split("**").skip(1).step_by(2).map(family).collect();
    let mut seen = 0;
    let mut missing = Vec::new();
    for entry in fs::read_dir(Path::new(ROOT).join("tests/ui/fail")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ext| ext != "stderr") {
            continue;
        }
        for line in fs::read_to_string(&path).unwrap().lines() {
            let Some((_, message)) = line
                .split_once(": ")
                .filter(|(kind, _)| kind.starts_with("error"))
            else {
                continue;
            };
            seen += 1;
            let message = message
                .strip_prefix("evaluation panicked: ")
                .unwrap_or(message);
            // A near name is told at the end, and is no part of the message.
            let whole = family(message);
            let short = family(message.split("; did you mean").next().unwrap_or(message));
            if !explained.contains(&whole) && !explained.contains(&short) {
                missing.push(format!("{}: {message}", entry_name(&path)));
            }
        }
    }
    assert!(seen > 100, "only {seen} messages were read");
    assert_none("not in src/docs/compile-errors.md", missing);
}

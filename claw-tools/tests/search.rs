//! The search tools on real folders.
#![allow(clippy::unwrap_used)]

mod common;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use claw_runtime::tool::ToolContext;
use claw_tools::fs::read_many;
use claw_tools::search::{glob, grep};
use common::{put, workspace};

fn find(ctx: &ToolContext, pattern: &str, path: &str) -> String {
    glob(ctx, pattern, path, false).unwrap_or_else(|err| format!("error: {err}"))
}

fn search(ctx: &ToolContext, pattern: &str, path: &str) -> String {
    grep(ctx, pattern, path, None, false, 0, 100, false)
        .unwrap_or_else(|err| format!("error: {err}"))
}

#[test]
fn globs_answer_in_order_and_honour_ignore_files() {
    let (_dir, ctx) = workspace(&[
        ("b.rs", ""),
        ("a.rs", ""),
        ("src/z.rs", ""),
        ("src/deep/y.rs", ""),
        ("target/gen.rs", ""),
        (".hidden/h.rs", ""),
        (".git/x.rs", ""),
        (".gitignore", "target/\n*.log\n"),
        ("src/.ignore", "/z.rs\n!keep.log\n"),
        ("src/keep.log", ""),
        ("src/other.log", ""),
    ]);
    assert_eq!(find(&ctx, "**/*.rs", "."), "a.rs\nb.rs\nsrc/deep/y.rs\n");
    assert_eq!(find(&ctx, "*.rs", "."), "a.rs\nb.rs\n");
    assert_eq!(find(&ctx, "**/*.log", "."), "src/keep.log\n");
    assert_eq!(find(&ctx, "*/*.rs", "src"), "src/deep/y.rs\n");
    assert_eq!(find(&ctx, "**/*.log", "src"), "src/keep.log\n");
    assert_eq!(find(&ctx, "*.rs", "target"), "target/gen.rs\n");
    assert_eq!(find(&ctx, "*.py", "."), "[no file matches `*.py`]");
    let all = glob(&ctx, "**/h.rs", ".", true).unwrap();
    assert_eq!(all, ".hidden/h.rs\n");
}

#[test]
fn bad_patterns_and_paths_are_refused() {
    let (_dir, ctx) = workspace(&[("a.rs", "")]);
    for (pattern, path, says) in [
        ("/etc/*", ".", "may not begin"),
        ("../*", ".", "`..`"),
        ("a[", ".", "is not a pattern"),
        ("*", "..", "outside"),
        ("*", "/etc", "outside"),
        ("*", "no", "does not exist"),
        ("*", "a.rs", "is a file"),
    ] {
        let got = find(&ctx, pattern, path);
        assert!(got.starts_with("error: ") && got.contains(says), "{got}");
    }
}

#[test]
fn a_pattern_of_any_length_is_matched_or_refused() {
    let (_dir, ctx) = workspace(&[("a.rs", "x")]);
    let long = "?".repeat(300_000);
    let refused = "error: a pattern of 300000 bytes is too long; give one of at most 4096, for example `src/**/*.rs`";
    assert_eq!(find(&ctx, &long, "."), refused);
    let got = read_many(&ctx, vec![&long]).unwrap();
    assert!(got.contains("is too long"), "{}", &got[got.len() - 200..]);
    let got = grep(
        &ctx,
        "x",
        ".",
        Some(&format!("/{long}")),
        false,
        0,
        1,
        false,
    )
    .unwrap_err();
    assert!(got.to_string().contains("is too long"), "{got}");
    let most = "?".repeat(4_096);
    assert!(find(&ctx, &most, ".").starts_with("[no file matches"));
}

#[test]
fn long_ignore_files_are_obeyed_as_far_as_there_is_room() {
    let rules = |last: &str| format!("*.log\n{}{last}\n", "#\n".repeat(65_531));
    let (_dir, ctx) = workspace(&[
        (".gitignore", &rules("src/keep.txt.bak")),
        ("a.log", ""),
        ("src/.gitignore", "*.txt\n"),
        ("src/keep.txt", ""),
        ("src/keep.txt.bak", ""),
        ("src/b.log", ""),
    ]);
    // The rule that does not fit is left out as a whole, and so are those of the folder inside.
    assert_eq!(find(&ctx, "**", "."), "src/keep.txt\nsrc/keep.txt.bak\n");
}

#[test]
fn walks_do_not_follow_links_or_hang_on_odd_ignore_files() {
    let outside = tempfile::tempdir().unwrap();
    put(outside.path(), "secret.txt", b"needle");
    let (dir, ctx) = workspace(&[("a.txt", "needle")]);
    symlink(outside.path(), dir.path().join("out")).unwrap();
    symlink(
        outside.path().join("secret.txt"),
        dir.path().join("leak.txt"),
    )
    .unwrap();
    symlink(".", dir.path().join("loop")).unwrap();
    symlink("/dev/zero", dir.path().join(".gitignore")).unwrap();
    let pipe = dir.path().join(".ignore");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(pipe)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(search(&ctx, "needle", "."), "a.txt\n1: needle\n");
    assert_eq!(find(&ctx, "**/*.txt", "."), "a.txt\nleak.txt\n");
    assert!(search(&ctx, "needle", "out").contains("outside"));
    assert!(search(&ctx, "needle", "leak.txt").contains("outside"));
}

#[test]
fn names_that_are_not_text_are_shown_with_replacements() {
    let (dir, ctx) = workspace(&[]);
    std::fs::write(
        dir.path().join(OsStr::from_bytes(b"caf\xe9\n.txt")),
        "needle\n",
    )
    .unwrap();
    assert_eq!(find(&ctx, "*.txt", "."), "caf\u{fffd}\u{fffd}.txt\n");
    assert_eq!(
        search(&ctx, "needle", "."),
        "caf\u{fffd}\u{fffd}.txt\n1: needle\n"
    );
}

#[test]
fn matches_stand_below_their_file() {
    let (dir, ctx) = workspace(&[
        ("a.txt", "one\ntwo\nthree\nfour\nTwo\n"),
        ("src/b.rs", "fn two() {}\r\n"),
    ]);
    put(dir.path(), "bin", b"two\n\0two\n");
    put(dir.path(), "latin", b"two caf\xe9\n");
    put(dir.path(), "utf16", b"\xff\xfet\0w\0o\0\n\0");
    assert_eq!(
        search(&ctx, "two", "."),
        "a.txt\n2: two\nlatin\n1: two caf\u{fffd}\nsrc/b.rs\n1: fn two() {}\nutf16\n1: two\n"
    );
    assert_eq!(
        search(&ctx, "two", "src/b.rs"),
        "src/b.rs\n1: fn two() {}\n"
    );
    let with =
        |glob, case, context| grep(&ctx, "two", ".", glob, case, context, 100, false).unwrap();
    assert_eq!(with(Some("*.rs"), false, 0), "src/b.rs\n1: fn two() {}\n");
    assert_eq!(with(Some("src/*"), false, 0), "src/b.rs\n1: fn two() {}\n");
    assert_eq!(
        with(Some("a.*"), true, 1),
        "a.txt\n1- one\n2: two\n3- three\n4- four\n5: Two\n"
    );
    assert_eq!(
        search(&ctx, "^nothing$", "."),
        "[no line matches `^nothing$`]\n"
    );
}

#[test]
fn many_matches_are_counted_and_cut() {
    let text = "needle and more of the line\n".repeat(5_000);
    let (_dir, ctx) = workspace(&[("a", &text), ("b", &text)]);
    let limited = grep(&ctx, "needle", ".", None, false, 0, 3, false).unwrap();
    assert_eq!(limited.matches(": needle").count(), 3);
    assert!(limited.ends_with("[9997 more matches; narrow the pattern, `path` or `glob`]\n"));
    let all = grep(&ctx, "needle", ".", None, false, 2, u32::MAX, false).unwrap();
    assert!(all.chars().count() < 11_000);
    let names: Vec<String> = (0..2_000)
        .map(|n| format!("folder/with/long/name/{n}.txt"))
        .collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let (_dir, ctx) = workspace(&files);
    let found = find(&ctx, "**", ".");
    assert!(found.len() < 11_000 && found.ends_with(" more; narrow the pattern or the path]\n"));
}

#[test]
fn bad_and_costly_expressions_end_at_once() {
    let (_dir, ctx) = workspace(&[("a", &"a".repeat(200_000))]);
    assert!(search(&ctx, "(", ".").contains("is not a regular expression"));
    assert!(search(&ctx, r"(?=a)b", ".").contains("is not a regular expression"));
    assert!(search(&ctx, &"(a{1000}){1000}".repeat(9), ".").starts_with("error: "));
    let costly = search(&ctx, r"(\w{100}){20}", ".");
    assert!(costly.contains("exceeds size limit"), "{costly}");
    assert_eq!(search(&ctx, "(a+)+b", "."), "[no line matches `(a+)+b`]\n");
    assert!(search(&ctx, "a", ".").len() < 1_000, "a long line is cut");
}

#[test]
fn cancelled_searches_end_early() {
    let (_dir, ctx) = workspace(&[("a", "x")]);
    ctx.cancellation().cancel();
    assert_eq!(find(&ctx, "*", "."), "error: cancelled");
    assert_eq!(search(&ctx, "x", "."), "error: cancelled");
}

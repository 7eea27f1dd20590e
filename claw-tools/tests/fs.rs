//! The file tools on real folders.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use claw_runtime::tool::ToolContext;
use claw_tools::fs::{edit_file, list_dir, read_file, read_many, write_file};
use common::{put, workspace};

fn read(ctx: &ToolContext, path: &str) -> String {
    read_file(ctx, path, 1, None).unwrap_or_else(|err| format!("error: {err}"))
}

fn edit(ctx: &ToolContext, path: &str, old: &str, new: &str) -> String {
    edit_file(ctx, path, old, new, false).unwrap_or_else(|err| format!("error: {err}"))
}

#[test]
fn a_short_file_is_read_as_it_is() {
    let (_dir, ctx) = workspace(&[("a.txt", "one\ntwo"), ("empty", "")]);
    assert_eq!(read(&ctx, "a.txt"), "one\ntwo");
    assert_eq!(read(&ctx, "empty"), "[the file is empty]");
}

#[test]
fn lines_are_read_by_offset_and_limit() {
    let (_dir, ctx) = workspace(&[("a", "1\n2\n3\n4\n")]);
    let lines = |offset, limit| read_file(&ctx, "a", offset, limit).map_err(|err| err.to_string());
    assert_eq!(
        lines(2, Some(2)).unwrap(),
        "2\n3\n[lines 2-3 of 4; go on with offset 4]\n"
    );
    assert_eq!(lines(4, None).unwrap(), "4\n[lines 4-4 of 4]\n");
    assert_eq!(lines(0, Some(9)).unwrap(), "1\n2\n3\n4\n");
    assert_eq!(
        lines(9, None).unwrap_err(),
        "`a` has 4 lines; `offset` 9 is behind its end"
    );
    assert!(lines(1, Some(0)).unwrap_err().contains("`limit` is 0"));
    assert!(lines(u64::MAX, Some(u64::MAX)).is_err());
}

#[test]
fn following_the_hints_reads_a_long_file_to_its_end() {
    let text: String = (0..3_000).map(|n| format!("line {n} of é\n")).collect();
    let (_dir, ctx) = workspace(&[("long", &text)]);
    let (mut offset, mut all) = (1, String::new());
    loop {
        let page = read_file(&ctx, "long", offset, None).unwrap();
        assert!(page.chars().count() < 11_000);
        let (body, note) = page.rsplit_once("\n[").unwrap();
        all.push_str(body);
        all.push('\n');
        match note.split_once("go on with offset ") {
            Some((_, next)) => offset = next.trim_end_matches("]\n").parse().unwrap(),
            None => break,
        }
    }
    assert!(all == text);
}

#[test]
fn a_line_longer_than_a_page_is_cut_and_told() {
    let (_dir, ctx) = workspace(&[("min.js", &"x".repeat(50_000))]);
    let page = read(&ctx, "min.js");
    assert!(
        page.ends_with(
            "x\n[lines 1-1 of 1; line 1 is longer than this page, its end is missing]\n"
        )
    );
}

#[test]
fn encodings_are_read_or_refused_kindly() {
    let (dir, ctx) = workspace(&[]);
    put(dir.path(), "utf16", b"\xff\xfeh\0i\0\n\0");
    put(dir.path(), "latin1", b"caf\xe9\n");
    put(dir.path(), "elf", b"\x7fELF\0\0\0");
    put(
        dir.path(),
        "late",
        &[&b"text\n".repeat(4_000)[..], b"\0"].concat(),
    );
    assert_eq!(read(&ctx, "utf16"), "hi\n");
    assert!(read(&ctx, "latin1").starts_with("caf\u{fffd}\n[not UTF-8"));
    assert_eq!(read(&ctx, "elf"), "error: `elf` is a binary file, not text");
    let late = read_file(&ctx, "late", 4_001, None).unwrap_err();
    assert_eq!(late.to_string(), "`late` is a binary file, not text");
}

#[test]
fn a_utf16_file_too_large_to_hold_is_refused_not_cut() {
    let (dir, ctx) = workspace(&[]);
    let mut bytes = b"\xff\xfe".to_vec();
    bytes.extend(b"a\0\n\0".repeat(4 << 20));
    put(dir.path(), "large", &bytes);
    assert!(read(&ctx, "large").contains("is UTF-16 and larger than 16777216 bytes"));
    put(dir.path(), "most", &bytes[..16 << 20]);
    assert!(read(&ctx, "most").contains("of 4194304; go on with"));
}

#[test]
fn pipes_and_devices_are_refused_at_once() {
    let (dir, ctx) = workspace(&[]);
    let made = std::process::Command::new("mkfifo")
        .arg(dir.path().join("pipe"))
        .status();
    assert!(made.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
    for name in ["pipe", "socket"] {
        assert!(read(&ctx, name).contains("not a regular file"));
        assert!(edit(&ctx, name, "a", "b").contains("not a regular file"));
        let err = write_file(&ctx, name, "x").unwrap_err();
        assert!(err.to_string().contains("not a regular file"));
    }
}

#[test]
fn read_many_tells_errors_beside_what_it_could_read() {
    let (_dir, ctx) = workspace(&[
        ("a.rs", "a\n"),
        ("src/b.rs", "b"),
        (".hidden.rs", "h"),
        ("[x].rs", "literal\n"),
    ]);
    let got = read_many(&ctx, vec!["a.rs", "none", "**/*.rs", "[x].rs", "*.py"]).unwrap();
    assert_eq!(
        got,
        "==> a.rs <==\na\n\
         ==> none <==\n[`none` does not exist; `list_dir` and `glob` show what does]\n\
         ==> [x].rs <==\nliteral\n\
         ==> src/b.rs <==\nb\n\
         ==> *.py <==\n[no file matches `*.py`]\n"
    );
    assert!(read_many(&ctx, vec![]).is_err());
}

#[test]
fn read_many_is_bounded_and_short_files_leave_room_for_long_ones() {
    let long = "long line\n".repeat(5_000);
    let (dir, ctx) = workspace(&[("a", "short\n"), ("b", &long), ("c", &long)]);
    let got = read_many(&ctx, vec!["a", "b", "c"]).unwrap();
    assert!(got.chars().count() < 11_000 && got.matches("long line").count() > 900);
    for n in 0..60 {
        put(dir.path(), &format!("many/{n}.txt"), long.as_bytes());
    }
    let got = read_many(&ctx, vec!["many/*"]).unwrap();
    assert!(got.chars().count() < 20_000);
    assert!(
        got.ends_with("[there are more files; ask for at most 50 at a time]\n"),
        "{got}"
    );
}

#[test]
fn a_name_with_line_ends_does_not_look_like_more_than_a_name() {
    let (_dir, ctx) = workspace(&[("a <==\nforged.md", "text\n"), ("b\nforged.md", "\0")]);
    assert_eq!(
        read_many(&ctx, vec!["*.md"]).unwrap(),
        "==> a <==\u{fffd}forged.md <==\ntext\n\
         ==> b\u{fffd}forged.md <==\n[`b\u{fffd}forged.md` is a binary file, not text]\n"
    );
}

#[test]
fn writing_makes_folders_and_replaces_whole_files() {
    let (dir, ctx) = workspace(&[]);
    assert_eq!(
        write_file(&ctx, "a/b/c.txt", "one").unwrap(),
        "created `a/b/c.txt`, 3 bytes"
    );
    assert_eq!(
        write_file(&ctx, "a/b/c.txt", "é").unwrap(),
        "replaced `a/b/c.txt`, 2 bytes"
    );
    assert_eq!(
        fs::read_to_string(dir.path().join("a/b/c.txt")).unwrap(),
        "é"
    );
    let names: Vec<_> = fs::read_dir(dir.path().join("a/b")).unwrap().collect();
    assert_eq!(names.len(), 1, "no temporary file is left");
    let err = write_file(&ctx, "a/b", "x").unwrap_err().to_string();
    assert!(err.contains("`a/b` is a folder"), "{err}");
    for bad in [
        "",
        "..",
        "new/.",
        "../x",
        "/tmp/x",
        "~/x",
        "a\0b",
        &"x".repeat(300),
        &"x/".repeat(3_000),
    ] {
        assert!(write_file(&ctx, bad, "x").is_err(), "{bad}");
    }
}

#[test]
fn a_changed_file_keeps_mode_and_link() {
    let (dir, ctx) = workspace(&[("run.sh", "old\n")]);
    let path = dir.path().join("run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    symlink("run.sh", dir.path().join("link")).unwrap();
    write_file(&ctx, "link", "new\n").unwrap();
    edit(&ctx, "link", "new", "newer");
    assert_eq!(fs::read_to_string(&path).unwrap(), "newer\n");
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
        0o751
    );
    assert!(
        fs::symlink_metadata(dir.path().join("link"))
            .unwrap()
            .is_symlink()
    );
}

#[test]
fn an_edit_needs_one_place_or_replace_all() {
    let (dir, ctx) = workspace(&[("a", "x = 1\nx = 2\n")]);
    assert_eq!(
        edit(&ctx, "a", "x", "y"),
        "error: `old` occurs 2 times in `a`; add neighbouring lines until it is unique, or set `replace_all`"
    );
    assert_eq!(edit(&ctx, "a", "x = 2", "x = 3"), "edited `a`, line 2");
    assert_eq!(
        edit_file(&ctx, "a", "x", "y", true).unwrap(),
        "edited `a` in 2 places, line 1"
    );
    assert_eq!(
        fs::read_to_string(dir.path().join("a")).unwrap(),
        "y = 1\ny = 3\n"
    );
    assert!(edit(&ctx, "a", "", "y").contains("`old` is empty"));
    assert!(edit(&ctx, "a", "y", "y").contains("the same"));
    assert!(edit(&ctx, "none", "a", "b").contains("does not exist"));
    assert!(edit(&ctx, ".", "a", "b").contains("folder"));
}

#[test]
fn an_edit_that_finds_nothing_names_the_nearest_line_and_changes_nothing() {
    let (dir, ctx) = workspace(&[("a", "fn main() {\n    let total = 1;\n}\n")]);
    let err = edit(&ctx, "a", "let totals = 1;", "x");
    assert!(err.contains("line 2: `    let total = 1;`"), "{err}");
    assert_eq!(
        fs::read_to_string(dir.path().join("a")).unwrap(),
        "fn main() {\n    let total = 1;\n}\n"
    );
}

#[test]
fn an_edit_keeps_mark_endings_and_encoding() {
    let (dir, ctx) = workspace(&[]);
    for (before, old, new, after) in [
        (
            &b"\xef\xbb\xbfa\r\nb\r\nc"[..],
            "a\nb",
            "x\ny",
            &b"\xef\xbb\xbfx\r\ny\r\nc"[..],
        ),
        (b"caf\xe9 one\n", "one", "two", b"caf\xe9 two\n"),
        (
            b"\xff\xfea\0\r\0\n\0",
            "a\n",
            "\u{e9}\n",
            b"\xff\xfe\xe9\0\r\0\n\0",
        ),
        (b"\xfe\xff\0a\0b", "b", "", b"\xfe\xff\0a"),
    ] {
        put(dir.path(), "f", before);
        assert!(edit(&ctx, "f", old, new).starts_with("edited"));
        assert_eq!(fs::read(dir.path().join("f")).unwrap(), after);
    }
    put(dir.path(), "f", b"caf\xe9\n");
    assert!(edit(&ctx, "f", "caf", "é").contains("only hold ASCII"));
    put(dir.path(), "f", b"a\0b");
    assert!(edit(&ctx, "f", "a", "b").contains("binary"));
}

#[test]
fn a_folder_is_listed_with_sizes_and_links() {
    let (dir, ctx) = workspace(&[
        ("b.txt", "12345"),
        ("a/x", "1"),
        ("a/d/y", ""),
        (".git/config", ""),
    ]);
    symlink("b.txt", dir.path().join("link")).unwrap();
    symlink("/etc", dir.path().join("out")).unwrap();
    assert_eq!(
        list_dir(&ctx, ".", 1).unwrap(),
        ".git/\na/\nb.txt (5)\nlink -> b.txt\nout -> (an absolute path)\n"
    );
    assert_eq!(list_dir(&ctx, "a", 5).unwrap(), "d/\n  y (0)\nx (1)\n");
    assert!(
        list_dir(&ctx, ".", 2)
            .unwrap()
            .contains("a/\n  d/\n  x (1)\nb.txt")
    );
    assert_eq!(
        list_dir(&ctx, "a/d/../..", 1).unwrap(),
        list_dir(&ctx, ".", 1).unwrap()
    );
    for (bad, says) in [
        ("b.txt", "not a folder"),
        ("out", "outside"),
        ("no", "does not exist"),
    ] {
        let err = list_dir(&ctx, bad, 1).unwrap_err().to_string();
        assert!(err.contains(says), "{err}");
    }
}

#[test]
fn a_large_folder_is_cut_and_told() {
    let (dir, ctx) = workspace(&[]);
    for n in 0..450 {
        put(dir.path(), &format!("f{n:03}\n"), b"");
    }
    let got = list_dir(&ctx, ".", 1).unwrap();
    assert!(
        got.ends_with("[50 more entries; list a folder inside]\n"),
        "{got}"
    );
    assert_eq!(
        got.lines().count(),
        401,
        "a line end in a name does not make a line"
    );
}

#[test]
fn cancelled_calls_end_early() {
    let (_dir, ctx) = workspace(&[("a", "x")]);
    ctx.cancellation().cancel();
    assert!(read_file(&ctx, "a", 1, None).is_err());
    assert!(read_many(&ctx, vec!["a"]).is_err());
    assert!(list_dir(&ctx, ".", 1).is_err());
}

use super::*;
use claw::tool::CallInfo;
use proptest::prelude::*;
use std::os::unix::fs::symlink;
use std::sync::{Arc, LazyLock};
use tempfile::TempDir;

/// A folder with a secret beside the workspace, and links of every kind in it.
struct Tree {
    base: TempDir,
    workspace: Arc<Workspace>,
}

fn tree() -> Tree {
    let base = tempfile::tempdir().unwrap();
    let inside = base.path().join("inside");
    std::fs::create_dir_all(inside.join("a/b")).unwrap();
    std::fs::write(base.path().join("secret"), "secret").unwrap();
    for name in ["f", "a/f", "a/b/f"] {
        std::fs::write(inside.join(name), "fine").unwrap();
    }
    for (target, link) in [
        ("..", "out"),
        ("../secret", "leak"),
        ("/etc/passwd", "absolute"),
        ("a/b", "in"),
        ("../../f", "a/b/up"),
        ("../../..", "a/b/far"),
        ("loop", "loop"),
        ("nothing", "dangling"),
        ("../made", "dangling_out"),
        ("in/up", "chain"),
        ("/proc/self/root", "magic"),
    ] {
        symlink(target, inside.join(link)).unwrap();
    }
    let workspace = Arc::new(Workspace::open(inside).unwrap());
    Tree { base, workspace }
}

fn context(tree: &Tree) -> ToolContext {
    ToolContext::new(CallInfo {
        workspace: Some(tree.workspace.clone()),
        ..Default::default()
    })
}

fn read(ctx: &ToolContext, path: &str) -> Result<String, String> {
    let file = Root::of(ctx)
        .unwrap()
        .file(path)
        .map_err(|err| err.to_string())?;
    std::io::read_to_string(file).map_err(|err| err.to_string())
}

#[test]
fn links_inside_resolve_and_links_out_are_refused() {
    let tree = tree();
    let ctx = context(&tree);
    for good in [
        "f",
        "./f",
        "a/../f",
        "in/f",
        "in/up",
        "chain",
        "a//b/f",
        "in/../b/f",
    ] {
        assert_eq!(read(&ctx, good).as_deref(), Ok("fine"), "{good}");
    }
    for bad in [
        "../secret",
        "out/secret",
        "leak",
        "absolute",
        "a/b/far/secret",
        "a/../../secret",
        "magic/etc/passwd",
        "..",
    ] {
        let err = read(&ctx, bad).unwrap_err();
        assert!(err.contains("outside the workspace"), "{bad}: {err}");
    }
    assert!(read(&ctx, "loop").unwrap_err().contains("loop"));
    assert!(
        read(&ctx, "dangling")
            .unwrap_err()
            .contains("does not exist")
    );
    assert!(read(&ctx, "a").unwrap_err().contains("folder"));
}

#[test]
fn absolute_paths_are_taken_inside_only() {
    let tree = tree();
    let ctx = context(&tree);
    let inside = tree.workspace.path().join("a/f");
    assert_eq!(read(&ctx, inside.to_str().unwrap()).as_deref(), Ok("fine"));
    let beside = tree.workspace.path().join("../secret");
    for bad in [
        "/etc/passwd",
        "/",
        "/nowhere/at/all",
        "~/x",
        "~",
        beside.to_str().unwrap(),
    ] {
        let err = read(&ctx, bad).unwrap_err();
        assert!(err.contains("outside the workspace"), "{bad}: {err}");
    }
}

#[test]
fn an_error_does_not_tell_whether_something_outside_exists() {
    let tree = tree();
    let ctx = context(&tree);
    let (there, not_there) = (read(&ctx, "out/secret"), read(&ctx, "out/absent"));
    assert_eq!(
        there.unwrap_err().replace("secret", "X"),
        not_there.unwrap_err().replace("absent", "X")
    );
}

#[test]
fn writing_follows_links_inside_and_makes_nothing_outside() {
    let tree = tree();
    let ctx = context(&tree);
    let root = Root::of(&ctx).unwrap();
    let place = root.place("chain", true).unwrap();
    assert_eq!(place.name, "f");
    for (bad, says) in [
        ("dangling", "link to nothing"),
        ("dangling_out", "outside"),
        ("leak", "outside"),
        ("absolute", "outside"),
        ("out/new", "outside"),
        ("a/b/far/deep/new", "outside"),
        ("../new/deep", "outside"),
        ("loop", "loop"),
        ("new/", "folder"),
        ("..", "folder"),
        ("dangling/new", "does not exist"),
        ("f/new", "is a file"),
    ] {
        let err = root.place(bad, true).map(|_| ()).unwrap_err().to_string();
        assert!(err.contains(says), "{bad}: {err}");
    }
    let beside: Vec<_> = std::fs::read_dir(tree.base.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(beside.len(), 2, "{beside:?}");
}

#[test]
fn without_a_workspace_there_are_no_files() {
    let ctx = ToolContext::detached();
    let err = Root::of(&ctx).map(|_| ()).unwrap_err();
    assert!(err.to_string().contains("no workspace"));
}

static SHARED: LazyLock<Tree> = LazyLock::new(tree);

fn any_path() -> impl Strategy<Value = String> {
    let part = proptest::sample::select(vec![
        "a", "b", "f", "..", ".", "", "out", "in", "leak", "up", "far", "loop", "dangling",
        "chain", "magic", "absolute", "secret", "inside", "etc", "passwd",
    ]);
    prop_oneof![
        8 => proptest::collection::vec(part, 0..8).prop_map(|parts| parts.join("/")),
        1 => "\\PC{0,20}",
        1 => any::<String>(),
    ]
}

proptest! {
    #[test]
    fn any_path_is_inside_or_refused(path in any_path()) {
        let ctx = context(&SHARED);
        if let Ok(text) = read(&ctx, &path) {
            prop_assert_eq!(text, "fine");
        }
        if let Ok(folder) = Root::of(&ctx).unwrap().folder(&path) {
            let real = std::fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&folder))).unwrap();
            prop_assert!(real.starts_with(SHARED.workspace.path()), "{:?}", real);
        }
    }

    #[test]
    fn walking_step_by_step_agrees_with_the_kernel(path in any_path()) {
        let ctx = context(&SHARED);
        let wanted = Path::new(&path);
        let root = ctx.workspace().unwrap().dir().as_fd();
        let kernel = open_beneath(root, wanted, READ).map(|file| fstat(file).unwrap().st_ino);
        let steps = walk_beneath(root, wanted, READ).map(|file| fstat(file).unwrap().st_ino);
        if !path.is_empty() && !path.contains('\0') {
            prop_assert_eq!(kernel.ok(), steps.ok());
        }
    }
}

#[test]
fn a_closed_folder_is_closed_by_every_way_in() {
    let tree = tree();
    let path = tree.workspace.path().to_owned();
    std::fs::create_dir(path.join("state")).unwrap();
    std::fs::write(path.join("state/db"), "sessions").unwrap();
    symlink("state", path.join("door")).unwrap();
    symlink("../state/db", path.join("a/window")).unwrap();
    let workspace = Workspace::open(&path).unwrap().close(&path.join("state"));
    let tree = Tree {
        workspace: Arc::new(workspace),
        ..tree
    };
    let ctx = context(&tree);
    let root = Root::of(&ctx).unwrap();
    for way in [
        "state/db",
        "door/db",
        "a/window",
        "a/../state/./db",
        "state/../door/db",
    ] {
        let error = read(&ctx, way).unwrap_err();
        assert!(error.ends_with("permission denied"), "{way}: {error}");
    }
    for way in ["state", "door"] {
        assert!(root.folder(way).is_err(), "{way}");
        assert!(root.found_folder(Path::new(way)).is_none(), "{way}");
    }
    for way in ["state/new", "door/db", "state/sub/new"] {
        assert!(root.place(way, true).is_err(), "{way}");
    }
    assert!(!path.join("state/sub").exists());
    assert_eq!(read(&ctx, "a/f").unwrap(), "fine");
}

#[test]
fn a_closed_file_is_closed_with_what_stands_beside_it() {
    let tree = tree();
    let path = tree.workspace.path().to_owned();
    std::fs::write(path.join("db"), "sessions").unwrap();
    std::fs::write(path.join("db-wal"), "sessions").unwrap();
    symlink("../db", path.join("a/window")).unwrap();
    let workspace = Workspace::open(&path).unwrap().close(&path.join("db"));
    let tree = Tree {
        workspace: Arc::new(workspace),
        ..tree
    };
    let ctx = context(&tree);
    let root = Root::of(&ctx).unwrap();
    for way in ["db", "db-wal", "a/window"] {
        assert!(read(&ctx, way).is_err(), "{way}");
        assert!(root.place(way, true).is_err(), "{way}");
        assert!(root.found(Path::new(way)).is_none(), "{way}");
    }
    assert!(root.place("db-journal", true).is_err());
    assert!(root.place("d", true).is_ok());
    assert_eq!(read(&ctx, "f").unwrap(), "fine");
}

#[test]
fn a_closed_folder_may_come_later_or_lie_elsewhere() {
    let tree = tree();
    let path = tree.workspace.path();
    let later = Workspace::open(path).unwrap().close(&path.join("later"));
    assert!(later.is_closed(&path.join("later/db")));
    let elsewhere = Workspace::open(path).unwrap().close(tree.base.path());
    assert!(!elsewhere.has_closed());
}

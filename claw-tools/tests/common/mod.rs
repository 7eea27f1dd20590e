//! A workspace in a temporary folder and the context of a call in it.

use std::path::Path;
use std::sync::Arc;

use claw_runtime::tool::{CallInfo, ToolContext, Workspace};
use tempfile::TempDir;

/// Makes a workspace with these files.
pub(crate) fn workspace(files: &[(&str, &str)]) -> (TempDir, ToolContext) {
    let dir = tempfile::tempdir().unwrap();
    for (path, content) in files {
        put(dir.path(), path, content.as_bytes());
    }
    let ctx = ToolContext::new(CallInfo {
        session_id: "session".into(),
        call_id: "call".to_owned(),
        workspace: Some(Arc::new(Workspace::open(dir.path()).unwrap())),
        ..Default::default()
    });
    (dir, ctx)
}

/// Writes one file and its folders.
pub(crate) fn put(dir: &Path, path: &str, content: &[u8]) {
    let path = dir.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

//! Reading and changing files of the workspace: `read_file`, `read_many`, `write_file`, `edit_file`, `list_dir`.
//!
//! Files keep what the model does not see: line endings, byte order mark, encoding, mode. Text is shown as it stands, without
//! line numbers: what was read can be copied into an edit as it is. There is no tool that deletes or moves; `exec` asks first.

mod edit;
mod list;
mod page;
mod read;
mod store;
mod text;
mod write;

pub use edit::edit_file;
pub use list::list_dir;
pub use read::{read_file, read_many};
pub use write::write_file;

/// The largest file that is held in memory at once, in bytes.
pub(crate) const MAX_FILE: u64 = 16 << 20;

//! The model that runs in this program.

use super::exit::Failure;

/// Says that this program was built without it.
#[cfg(not(feature = "local"))]
pub(super) fn not_built() -> Failure {
    Failure::usage("this program cannot run a model itself").hint(
        "build it with claw's feature `local`: `cargo install --locked --path . --features local`",
    )
}

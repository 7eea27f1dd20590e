//! The model that runs in this program: the provider `local`.

use claw_runtime::provider::presets;
use claw_runtime::tool::Spec;

use crate::config::{Config, Profile};

#[cfg(feature = "local")]
pub(super) use super::weights::{Embedded, choose, describe, offer};
#[cfg(not(feature = "local"))]
pub(super) use absent::{Embedded, choose, describe, not_built, offer};

/// Its name, before the colon in `provider:model`.
pub(super) const NAME: &str = presets::EMBEDDED;

/// The tag of tools that a small model calls for no reason, or wrongly.
const FOR_LARGE: &str = "large-models";

/// Tells whether the model in this program is offered a tool where no profile is named: what is told of each tool costs it
/// time.
pub(super) fn can_use(tool: &Spec) -> bool {
    Profile::Local.offers(&tool.group) && !tool.tags.contains(&FOR_LARGE)
}

/// Tells whether a provider of this name is the model in this program; a name with an address is a service.
pub(super) fn is(config: &Config, name: &str) -> bool {
    let is_service =
        |own: &crate::config::ProviderConfig| own.base_url.is_some() || own.format.is_some();
    name == NAME && config.base_url.is_none() && !config.providers.get(name).is_some_and(is_service)
}

/// What stands in where the program was built without it.
#[cfg(not(feature = "local"))]
mod absent {
    use std::sync::Arc;

    use claw_runtime::provider::Provider;

    use crate::cli::exit::Failure;
    use crate::cli::model::{self, Choice};
    use crate::config::{Config, ProviderConfig};

    const HOW: &str = "build it with claw's feature `local`, as in `cargo install --locked --path . --features local`";

    /// No model.
    pub(in crate::cli) enum Embedded {}

    impl Embedded {
        pub(in crate::cli) fn of(_: &ProviderConfig) -> Result<Self, Failure> {
            Err(not_built())
        }

        pub(in crate::cli) fn is_here(_: &Config) -> bool {
            false
        }

        pub(in crate::cli) fn usual(&self) -> String {
            match *self {}
        }

        pub(in crate::cli) fn models(&self) -> Vec<String> {
            match *self {}
        }

        pub(in crate::cli) fn connect(self, _: &str) -> Result<Arc<dyn Provider>, Failure> {
            match self {}
        }
    }

    /// Says that this program was built without a model of its own.
    pub(in crate::cli) fn not_built() -> Failure {
        Failure::usage("this program cannot run a model itself").hint(HOW)
    }

    /// Chooses the model; there is none to fetch.
    pub(in crate::cli) async fn choose(
        config: &Config,
        own: Option<(Arc<dyn Provider>, String)>,
        _: bool,
    ) -> Result<Choice, Failure> {
        model::choose(config, own).await
    }

    /// Tells what is in a model's file.
    pub(in crate::cli) async fn describe(_: &dyn Provider, _: &str) -> Result<String, Failure> {
        Err(not_built())
    }

    /// Says how to get one, for somebody who has none.
    pub(in crate::cli) fn offer() -> String {
        format!("or have a small model run in the program: {HOW}")
    }
}

//! The provider itself: address, key, options; one request, one answer.

use std::time::Duration;

use futures_util::future::BoxFuture;
use hyper::header::HeaderName;
use secrecy::SecretString;

use super::encode::{Peer, encode, model_ids};
use super::{Options, decoder};
use crate::dialect::Dialect;
use crate::provider::endpoint::{self, Endpoint, SetupError};
use crate::provider::{Capabilities, DeltaSink, Provider, ProviderError, Reply, Request};
use crate::secret::Secrets;

/// The version of the API that is spoken; a [header](Anthropic::header) of the same name asks for another.
const VERSION: &str = "2026-10-21";

/// A service that speaks Anthropic Messages.
///
/// ```
/// use claw_runtime::provider::{Anthropic, SetupError};
/// use secrecy::SecretString;
///
/// # fn main() -> Result<(), SetupError> {
/// let key = SecretString::from("the key".to_owned());
/// let anthropic = Anthropic::new("anthropic", "https://api.anthropic.com", Some(key))?;
/// # drop(anthropic);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Anthropic {
    endpoint: Endpoint,
    options: Options,
}

impl Anthropic {
    /// Returns the service at `base_url`, called `name` before the colon in `provider:model`.
    ///
    /// The address is the one in front of `/v1/messages`, with or without `/v1`. Nothing is connected and no TLS is set
    /// up before the first request. By default an answer may be silent for two minutes: the service sends the argument
    /// of a call only once it is whole, and a long file takes its time.
    ///
    /// # Errors
    ///
    /// Fails when the address or the key cannot be used.
    pub fn new(
        name: impl Into<String>,
        base_url: &str,
        key: Option<SecretString>,
    ) -> Result<Self, SetupError> {
        let mut endpoint = Endpoint::new(name.into(), base_url, key, fit)?
            .public_header(HeaderName::from_static("anthropic-version"), VERSION)
            .key_in(HeaderName::from_static("x-api-key"), "")?;
        endpoint.timeouts.between_content = Duration::from_secs(120);
        Ok(Self {
            endpoint,
            options: Options::COMMON,
        })
    }

    endpoint::options!();

    /// Sets what is asked for beside the conversation.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Encodes the request at once; what is returned borrows nothing of it.
    fn attempt<'a>(
        &'a self,
        request: &Request<'_>,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> impl Future<Output = Result<Reply, ProviderError>> + Send + 'a {
        let offers_tools = request.tools.is_some_and(|tools| !tools.is_empty());
        let stream = self
            .endpoint
            .streams(request.model, sink.is_some(), offers_tools);
        let peer = Peer {
            provider: &self.endpoint.name,
            quirks: self.options,
            capabilities: self.endpoint.capabilities(request.model),
        };
        let body = encode(request, peer, stream);
        let model = request.model.to_owned();
        let url = self.endpoint.below("messages");
        let decode = move |head| decoder(&self.endpoint.name, &model, head);
        self.endpoint.post(url, body, stream, decode, sink)
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    fn secrets(&self, known: &Secrets) {
        self.endpoint.secrets(known);
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        self.endpoint.capabilities(model)
    }

    fn dialect(&self, _model: &str) -> &'static Dialect {
        Dialect::named(self.options.dialect).unwrap_or(Dialect::CANONICAL)
    }

    fn complete<'a>(
        &'a self,
        request: Request<'_>,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(self.attempt(&request, sink))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, ProviderError>> {
        let mut url = self.endpoint.below("models");
        url.query_pairs_mut().append_pair("limit", "1000");
        let decode = |head| decoder(&self.endpoint.name, "", head);
        Box::pin(self.endpoint.get(url, "list of models", decode, model_ids))
    }
}

/// Returns the path in front of `/messages` for an address as people write it.
fn fit(path: &str) -> String {
    let path = path.strip_suffix("/messages").unwrap_or(path);
    endpoint::versioned(path, "v1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_as_people_write_it() {
        for (base, url) in [
            (
                "https://api.anthropic.com",
                "https://api.anthropic.com/v1/messages",
            ),
            (
                "https://api.anthropic.com/v1/",
                "https://api.anthropic.com/v1/messages",
            ),
            (
                "https://api.anthropic.com/v1/messages",
                "https://api.anthropic.com/v1/messages",
            ),
            (
                "https://api.deepseek.com/anthropic",
                "https://api.deepseek.com/anthropic/v1/messages",
            ),
            (
                "http://[::1]:8080/gateway/v2",
                "http://[::1]:8080/gateway/v2/messages",
            ),
        ] {
            let service = Anthropic::new("x", base, None).unwrap();
            assert_eq!(service.endpoint.below("messages").as_str(), url);
        }
        for base in ["", "api.anthropic.com", "ftp://h", "/v1"] {
            assert!(Anthropic::new("x", base, None).is_err(), "{base}");
        }
    }
}

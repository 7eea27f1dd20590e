//! The provider itself: address, key, options; one request, one answer.

use futures_util::future::BoxFuture;
use hyper::header::HeaderName;
use secrecy::SecretString;
use url::Url;

use super::chunk::model_ids;
use super::encode::{Peer, encode};
use super::{Options, decoder};
use crate::dialect::Dialect;
use crate::provider::endpoint::{self, Endpoint, SetupError};
use crate::provider::{Capabilities, DeltaSink, Provider, ProviderError, Reply, Request};
use crate::secret::Secrets;

/// A service that speaks Gemini `generateContent`.
///
/// ```
/// use claw_runtime::provider::{Gemini, SetupError};
/// use secrecy::SecretString;
///
/// # fn main() -> Result<(), SetupError> {
/// let key = SecretString::from("the key".to_owned());
/// let gemini = Gemini::new("gemini", "https://generativelanguage.googleapis.com", Some(key))?;
/// # drop(gemini);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Gemini {
    endpoint: Endpoint,
    options: Options,
}

impl Gemini {
    /// Returns the service at `base_url`, called `name` before the colon in `provider:model`.
    ///
    /// The address is the one in front of `/models`; one without a version gets `/v1beta`. Nothing is connected and no
    /// TLS is set up before the first request.
    ///
    /// # Errors
    ///
    /// Fails when the address or the key cannot be used.
    pub fn new(
        name: impl Into<String>,
        base_url: &str,
        key: Option<SecretString>,
    ) -> Result<Self, SetupError> {
        let endpoint = Endpoint::new(name.into(), base_url, key, fit)?
            .key_in(HeaderName::from_static("x-goog-api-key"), "")?;
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
        let body = encode(request, peer);
        let model = request.model.to_owned();
        let url = self.address(&model, stream);
        let decode = move |head| decoder(&self.endpoint.name, &model, head);
        self.endpoint.post(url, body, stream, decode, sink)
    }

    fn address(&self, model: &str, stream: bool) -> Url {
        // A tuned model has a folder of its own.
        let folder = if model.contains('/') { "" } else { "models/" };
        let method = if stream {
            "streamGenerateContent"
        } else {
            "generateContent"
        };
        let mut url = self.endpoint.below(&format!("{folder}{model}:{method}"));
        if stream {
            url.query_pairs_mut().append_pair("alt", "sse");
        }
        url
    }
}

impl Provider for Gemini {
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
        url.query_pairs_mut().append_pair("pageSize", "1000");
        let decode = |head| decoder(&self.endpoint.name, "", head);
        Box::pin(self.endpoint.get(url, "list of models", decode, model_ids))
    }
}

/// Returns the path in front of `/models` for an address as people write it; also for that of the vendor's own imitation
/// of OpenAI.
fn fit(path: &str) -> String {
    let path = path.strip_suffix("/openai").unwrap_or(path);
    let path = path.strip_suffix("/models").unwrap_or(path);
    endpoint::versioned(path, "v1beta")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_as_people_write_it() {
        for (base, model, url) in [
            (
                "https://h",
                "g",
                "https://h/v1beta/models/g:generateContent",
            ),
            (
                "https://h/v1/",
                "g",
                "https://h/v1/models/g:generateContent",
            ),
            (
                "https://h/v1beta/openai",
                "models/g",
                "https://h/v1beta/models/g:generateContent",
            ),
            (
                "https://h/gateway",
                "tunedModels/g",
                "https://h/gateway/v1beta/tunedModels/g:generateContent",
            ),
            (
                "https://h/?key=k",
                "a b?c",
                "https://h/v1beta/models/a%20b%3Fc:generateContent?key=k",
            ),
        ] {
            let service = Gemini::new("x", base, None).unwrap();
            assert_eq!(service.address(model, false).as_str(), url);
        }
        let service = Gemini::new("x", "https://h?key=k", None).unwrap();
        assert_eq!(
            service.address("g", true).as_str(),
            "https://h/v1beta/models/g:streamGenerateContent?key=k&alt=sse"
        );
        for base in ["", "h", "ftp://h", "/v1beta"] {
            assert!(Gemini::new("x", base, None).is_err(), "{base}");
        }
    }
}

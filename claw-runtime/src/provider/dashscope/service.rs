//! The provider itself: address, key, options; one request, one answer.

use futures_util::future::BoxFuture;
use hyper::header::{AUTHORIZATION, HeaderName};
use secrecy::SecretString;

use super::encode::{Options, Peer, encode};
use super::{Pieces, decoder};
use crate::dialect::Dialect;
use crate::provider::abilities;
use crate::provider::endpoint::{self, Endpoint, SetupError};
use crate::provider::openai_chat::model_ids;
use crate::provider::{Capabilities, DeltaSink, Provider, ProviderError, Reply, Request, Thinking};
use crate::secret::Secrets;

const TEXT: &str = "services/aigc/text-generation/generation";
const MULTIMODAL: &str = "services/aigc/multimodal-generation/generation";

/// Alibaba's DashScope, in its own format.
#[derive(Debug)]
pub struct DashScope {
    endpoint: Endpoint,
    options: Options,
}

impl DashScope {
    /// Returns the service at `base_url`, called `name` before the colon in `provider:model`.
    ///
    /// The address is the one in front of `/services/aigc`, as `https://dashscope.aliyuncs.com/api/v1`; other regions
    /// have other hosts. One without a path gets `/api/v1`.
    ///
    /// # Errors
    ///
    /// Fails when the address or the key cannot be used.
    pub fn new(
        name: impl Into<String>,
        base_url: &str,
        key: Option<SecretString>,
    ) -> Result<Self, SetupError> {
        let endpoint = Endpoint::new(name.into(), base_url, key, |path| {
            let path = path.split("/services/").next().unwrap_or(path);
            let path = path.strip_suffix("/compatible-mode/v1").unwrap_or(path);
            if path.is_empty() { "/api/v1" } else { path }.to_owned()
        })?;
        let streamed = HeaderName::from_static("x-dashscope-sse");
        let mut endpoint = endpoint
            .key_in(AUTHORIZATION, "Bearer ")?
            .public_header(streamed, "enable");
        // The address depends on them.
        endpoint.rules = abilities::known("dashscope");
        Ok(Self {
            endpoint,
            options: Options {
                pieces: Pieces::New,
                thinking: Thinking::Unsaid,
            },
        })
    }

    endpoint::options!();

    /// Sets what the events of a stream hold; [`Pieces::New`] without. Models that think take nothing else.
    pub fn pieces(mut self, pieces: Pieces) -> Self {
        self.options.pieces = pieces;
        self
    }

    /// Sets whether models reason before they answer.
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.options.thinking = thinking;
        self
    }

    /// Encodes the request at once; what is returned borrows nothing of it.
    fn attempt<'a>(
        &'a self,
        request: &Request<'_>,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> impl Future<Output = Result<Reply, ProviderError>> + Send + 'a {
        let capabilities = self.endpoint.capabilities(request.model);
        let peer = Peer {
            provider: &self.endpoint.name,
            quirks: self.options,
            capabilities,
        };
        let body = encode(request, peer);
        let model = request.model.to_owned();
        let path = if capabilities.vision {
            MULTIMODAL
        } else {
            TEXT
        };
        let url = self.endpoint.below(path);
        let decode = move |head| decoder(&self.endpoint.name, &model, self.options.pieces, head);
        self.endpoint.post(url, body, true, decode, sink)
    }
}

impl Provider for DashScope {
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
        Dialect::named("dashscope").unwrap_or(Dialect::CANONICAL)
    }

    fn complete<'a>(
        &'a self,
        request: Request<'_>,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(self.attempt(&request, sink))
    }

    /// The service lists its models in the OpenAI form only.
    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, ProviderError>> {
        let mut url = self.endpoint.below("");
        let path = self.endpoint.base.path();
        let root = path.strip_suffix("/api/v1").unwrap_or(path);
        url.set_path(&format!("{root}/compatible-mode/v1/models"));
        let decode = |head| decoder(&self.endpoint.name, "", Pieces::New, head);
        Box::pin(self.endpoint.get(url, "list of models", decode, model_ids))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_depends_on_whether_the_model_sees() {
        for base in [
            "https://dashscope.aliyuncs.com/api/v1",
            "https://dashscope.aliyuncs.com",
            "https://dashscope.aliyuncs.com/compatible-mode/v1",
            "https://dashscope.aliyuncs.com/api/v1/services/aigc/text-generation/generation",
        ] {
            let service = DashScope::new("x", base, None).unwrap();
            assert_eq!(
                service.endpoint.below(TEXT).as_str(),
                "https://dashscope.aliyuncs.com/api/v1/services/aigc/text-generation/generation",
                "{base}"
            );
        }
        let service = DashScope::new("x", "https://h", None).unwrap();
        let service = service.declare_model("qwen3.5-plus", Capabilities::FULL);
        for (model, sees) in [
            ("qwen-plus", false),
            ("qwen3-vl-plus", true),
            ("qvq-max", true),
            ("qwen3.5-plus", true),
        ] {
            assert_eq!(service.capabilities(model).vision, sees, "{model}");
        }
    }
}

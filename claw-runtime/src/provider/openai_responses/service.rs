//! The provider itself: address, key, options; one request, one answer.

use futures_util::future::BoxFuture;
use hyper::header::AUTHORIZATION;
use secrecy::SecretString;

use super::decoder;
use super::encode::{Peer, encode};
use crate::dialect::Dialect;
use crate::provider::endpoint::{self, Endpoint, SetupError};
use crate::provider::openai_chat::model_ids;
use crate::provider::{Capabilities, DeltaSink, Effort, Provider, ProviderError, Reply, Request};
use crate::secret::Secrets;

/// A service that speaks OpenAI's Responses API.
#[derive(Debug)]
pub struct OpenAiResponses {
    endpoint: Endpoint,
    effort: Option<Effort>,
}

impl OpenAiResponses {
    /// Returns the service at `base_url`, called `name` before the colon in `provider:model`.
    ///
    /// The address is the one in front of `/responses`, as `https://api.openai.com/v1` or, at Azure,
    /// `https://RESOURCE.openai.azure.com/openai/v1`; one without a path gets `/v1`. By default an answer may be silent for
    /// five minutes: models think long and say nothing of it.
    ///
    /// # Errors
    ///
    /// Fails when the address or the key cannot be used.
    pub fn new(
        name: impl Into<String>,
        base_url: &str,
        key: Option<SecretString>,
    ) -> Result<Self, SetupError> {
        let mut endpoint = Endpoint::new(name.into(), base_url, key, |path| {
            let path = path.strip_suffix("/responses").unwrap_or(path);
            if path.is_empty() { "/v1" } else { path }.to_owned()
        })?;
        endpoint.timeouts.between_content = endpoint.timeouts.first_content;
        Ok(Self {
            endpoint: endpoint.key_in(AUTHORIZATION, "Bearer ")?,
            effort: None,
        })
    }

    endpoint::options!();

    /// Sets how hard models reason that are declared to; as each does unasked when left out.
    pub fn effort(mut self, effort: Effort) -> Self {
        self.effort = Some(effort);
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
            quirks: self.effort,
            capabilities: self.endpoint.capabilities(request.model),
        };
        let body = encode(request, peer, stream);
        let model = request.model.to_owned();
        let url = self.endpoint.below("responses");
        let decode = move |head| decoder(&self.endpoint.name, &model, head);
        self.endpoint.post(url, body, stream, decode, sink)
    }
}

impl Provider for OpenAiResponses {
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
        Dialect::named("openai").unwrap_or(Dialect::CANONICAL)
    }

    fn complete<'a>(
        &'a self,
        request: Request<'_>,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(self.attempt(&request, sink))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, ProviderError>> {
        let url = self.endpoint.below("models");
        let decode = |head| decoder(&self.endpoint.name, "", head);
        Box::pin(self.endpoint.get(url, "list of models", decode, model_ids))
    }
}

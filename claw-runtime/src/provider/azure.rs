//! Azure OpenAI: chat completions as OpenAI has them, at addresses of its own.
//!
//! A resource serves *deployments*, which have names of their own. Its v1 address takes OpenAI's bodies as they are; the
//! older one names the deployment in the path and wants an `api-version`. The Responses API is at the v1 address too:
//! [`OpenAiResponses`](super::OpenAiResponses) with `https://RESOURCE.openai.azure.com/openai/v1`.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use hyper::header::HeaderName;
use secrecy::SecretString;
use url::Url;

use super::endpoint::{self, Endpoint, SetupError};
use super::openai_chat::{MaxTokens, Peer, Quirks, decoder, encode, model_ids};
use super::{Capabilities, DeltaSink, Provider, ProviderError, Reply, Request};
use crate::dialect::Dialect;
use crate::secret::Secrets;

/// One Azure OpenAI resource; several are several providers.
#[derive(Debug)]
pub struct Azure {
    endpoint: Endpoint,
    /// The version of the older addresses; `None` for the v1 address.
    api_version: Option<String>,
    /// Deployments by the model's name.
    deployments: BTreeMap<String, String>,
    quirks: Quirks,
}

impl Azure {
    /// Returns the resource at `base_url`, called `name` before the colon in `provider:model`.
    ///
    /// The address is the resource's, as `https://RESOURCE.openai.azure.com`. What Azure's pages show behind it may stand
    /// there too: an address with `/deployments/` and `?api-version=` means the older form.
    ///
    /// # Errors
    ///
    /// Fails when the address or the key cannot be used.
    pub fn new(
        name: impl Into<String>,
        base_url: &str,
        key: Option<SecretString>,
    ) -> Result<Self, SetupError> {
        let mut endpoint = Endpoint::new(name.into(), base_url, key, str::to_owned)?
            .key_in(HeaderName::from_static("api-key"), "")?;
        let base = &mut endpoint.base;
        let is_v1 = base.path().contains("/openai/v1");
        let version = base
            .query_pairs()
            .find(|(name, _)| name == "api-version")
            .map(|(_, version)| version.into_owned())
            .filter(|_| !is_v1);
        if version.is_some() {
            // It is added to every address anew.
            let others: Vec<(String, String)> = base
                .query_pairs()
                .filter(|(name, _)| name != "api-version")
                .map(|(name, value)| (name.into_owned(), value.into_owned()))
                .collect();
            base.set_query(None);
            if !others.is_empty() {
                base.query_pairs_mut().extend_pairs(others);
            }
        }
        let path = base.path().split("/openai").next().unwrap_or("").to_owned();
        base.set_path(&path);
        Ok(Self {
            endpoint,
            api_version: version,
            deployments: BTreeMap::new(),
            quirks: Quirks {
                max_tokens: MaxTokens::MaxCompletionTokens,
                stop: false,
                ..Quirks::COMMON
            },
        })
    }

    endpoint::options!();

    /// Uses the addresses of this `api-version`, as `2024-10-21`, in place of the v1 address.
    pub fn api_version(mut self, version: impl Into<String>) -> Self {
        self.api_version = Some(version.into());
        self
    }

    /// Names the deployment that serves `model`; without, it has the model's name.
    pub fn deployment(mut self, model: impl Into<String>, deployment: impl Into<String>) -> Self {
        self.deployments.insert(model.into(), deployment.into());
        self
    }

    /// Sets where the resource's models depart from the common form.
    pub fn quirks(mut self, quirks: Quirks) -> Self {
        self.quirks = quirks;
        self
    }

    fn deployment_of<'m>(&'m self, model: &'m str) -> &'m str {
        self.deployments.get(model).map_or(model, String::as_str)
    }

    fn chat(&self, deployment: &str) -> Url {
        let Some(version) = &self.api_version else {
            return self.endpoint.below("openai/v1/chat/completions");
        };
        let mut url = self.endpoint.below("openai/deployments");
        if let Ok(mut path) = url.path_segments_mut() {
            path.extend([deployment, "chat", "completions"]);
        }
        url.query_pairs_mut().append_pair("api-version", version);
        url
    }

    fn list(&self) -> Url {
        let Some(version) = &self.api_version else {
            return self.endpoint.below("openai/v1/models");
        };
        let mut url = self.endpoint.below("openai/models");
        url.query_pairs_mut().append_pair("api-version", version);
        url
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
            quirks: self.quirks,
            capabilities: self.endpoint.capabilities(request.model),
        };
        let deployment = self.deployment_of(request.model);
        let url = self.chat(deployment);
        let request = Request {
            model: deployment,
            ..*request
        };
        let body = encode(&request, peer, stream);
        let model = deployment.to_owned();
        let decode = move |head| decoder(&self.endpoint.name, &model, head);
        self.endpoint.post(url, body, stream, decode, sink)
    }
}

impl Provider for Azure {
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
        Dialect::named(self.quirks.dialect).unwrap_or(Dialect::CANONICAL)
    }

    fn complete<'a>(
        &'a self,
        request: Request<'_>,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(self.attempt(&request, sink))
    }

    /// Lists the models with a named deployment; the resource itself only knows what could be deployed.
    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, ProviderError>> {
        if !self.deployments.is_empty() {
            let named = self.deployments.keys().cloned().collect();
            return Box::pin(async { Ok(named) });
        }
        let decode = |head| decoder(&self.endpoint.name, "", head);
        let url = self.list();
        Box::pin(self.endpoint.get(url, "list of models", decode, model_ids))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_as_azure_shows_it() {
        let v1 = "https://r.openai.azure.com/openai/v1/chat/completions";
        let older = "https://r.openai.azure.com/openai/deployments/mini%20one/chat/completions?api-version=2024-10-21";
        for (base, expected) in [
            ("https://r.openai.azure.com", v1),
            ("https://r.openai.azure.com/", v1),
            ("https://r.openai.azure.com/openai/v1/", v1),
            ("https://r.openai.azure.com?api-version=2024-10-21", older),
            (
                "https://r.openai.azure.com/openai/deployments/other/chat/completions?api-version=2024-10-21",
                older,
            ),
            (
                "https://r.openai.azure.com/openai/v1?api-version=preview",
                "https://r.openai.azure.com/openai/v1/chat/completions?api-version=preview",
            ),
            (
                "https://apim.example/team/openai",
                "https://apim.example/team/openai/v1/chat/completions",
            ),
        ] {
            let azure = Azure::new("x", base, None).unwrap();
            let azure = azure.deployment("gpt-5-mini", "mini one");
            let url = azure.chat(azure.deployment_of("gpt-5-mini"));
            assert_eq!(url.as_str(), expected, "{base}");
        }
        let azure = Azure::new("x", "https://r.openai.azure.com", None).unwrap();
        let azure = azure.api_version("2024-10-21");
        assert_eq!(
            azure.list().as_str(),
            "https://r.openai.azure.com/openai/models?api-version=2024-10-21"
        );
        assert_eq!(azure.deployment_of("gpt-5"), "gpt-5");
    }
}

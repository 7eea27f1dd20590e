//! The provider itself: address, key, options; one request, one answer.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use hyper::header::AUTHORIZATION;
use secrecy::SecretString;
use serde_json::Value;
use url::Url;

use super::encode::{Peer, encode, model_ids};
use super::props::Props;
use super::{Quirks, decoder};
use crate::dialect::Dialect;
use crate::provider::endpoint::{self, Endpoint, SetupError};
use crate::provider::{
    Capabilities, DeltaSink, FailureClass, Provider, ProviderError, Reply, Request,
};
use crate::registry::Toolset;
use crate::secret::Secrets;

/// A service that speaks OpenAI chat completions.
///
/// ```
/// use claw_runtime::provider::{OpenAiChat, SetupError, presets};
///
/// # fn main() -> Result<(), SetupError> {
/// let preset = presets::named("ollama").expect("a known service");
/// let ollama = OpenAiChat::new(preset.name, preset.base_url, None)?.quirks(preset.quirks);
/// # drop(ollama);
/// # Ok(())
/// # }
/// ```
pub struct OpenAiChat {
    endpoint: Endpoint,
    completions: Url,
    quirks: Quirks,
    /// What a llama.cpp server told of its models.
    told: Mutex<HashMap<String, Props>>,
}

impl OpenAiChat {
    /// Returns the service at `base_url`, called `name` before the colon in `provider:model`.
    ///
    /// The address is the one in front of `/chat/completions`; a slash at its end does not matter, and one without a
    /// path gets `/v1`. Nothing is connected and no TLS is set up before the first request.
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
            // What people paste is the address of one of its functions as often.
            let functions = ["/chat/completions", "/completions", "/models", "/responses"];
            let base = functions.iter().find_map(|it| path.strip_suffix(it));
            let path = base.unwrap_or(path);
            if path.is_empty() { "/v1" } else { path }.to_owned()
        })?;
        Ok(Self {
            completions: endpoint.below("chat/completions"),
            endpoint: endpoint.key_in(AUTHORIZATION, "Bearer ")?,
            quirks: Quirks::COMMON,
            told: Mutex::default(),
        })
    }

    endpoint::options!();

    /// Sets where the service departs from the common form.
    pub fn quirks(mut self, quirks: Quirks) -> Self {
        self.quirks = quirks;
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
            quirks: self.quirks,
            capabilities: self.endpoint.capabilities(request.model),
        };
        let body = encode(request, peer, stream);
        let model = request.model.to_owned();
        let url = self.completions.clone();
        let decode = move |head| decoder(&self.endpoint.name, &model, head);
        self.endpoint.post(url, body, stream, decode, sink)
    }
}

impl OpenAiChat {
    /// Asks a llama.cpp server about `model`, once; `None` where it does not tell.
    async fn props(&self, model: &str) -> Result<Option<Props>, ProviderError> {
        // Nothing is half done when a panic passes here.
        let known = || self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(model).copied();
        if found.is_some() || !self.quirks.props {
            return Ok(found);
        }
        let mut url = self.endpoint.below("props");
        let path = url.path().to_owned();
        // It stands beside the common routes, not below them.
        url.set_path(&path.replace("/v1/props", "/props"));
        url.query_pairs_mut().append_pair("model", model);
        let decode = |head| decoder(&self.endpoint.name, model, head);
        let read = |document: &Value| Some(Props::read(document));
        let props = self.endpoint.get(url, "properties", decode, read).await?;
        if let Some(props) = props {
            known().insert(model.to_owned(), props);
        }
        Ok(props)
    }

    /// Fails where tools would be dropped without a word.
    async fn has_room_for_tools(&self, model: &str) -> Result<(), ProviderError> {
        match self.props(model).await {
            Ok(Some(props)) if !props.takes_tools => {
                let message = "the chat template of this model has no place for tools, says the server at `/props`";
                Err(ProviderError::new(FailureClass::ToolsUnsupported, message))
            }
            // What is wrong with the server shows in the request itself.
            _ => Ok(()),
        }
    }
}

impl Provider for OpenAiChat {
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

    /// A server on this machine is taken to heed a form where nothing is known of it: those in use do.
    fn takes_form(&self, model: &str) -> bool {
        self.endpoint.takes_form(model, self.endpoint.is_local())
    }

    fn complete<'a>(
        &'a self,
        request: Request<'_>,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        let attempt = Box::pin(self.attempt(&request, sink));
        if !self.quirks.props || request.tools.is_none_or(Toolset::is_empty) {
            return attempt;
        }
        let model = request.model.to_owned();
        Box::pin(async move {
            self.has_room_for_tools(&model).await?;
            attempt.await
        })
    }

    fn about<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<Capabilities, ProviderError>> {
        Box::pin(async move {
            let usual = self.endpoint.capabilities(model);
            let Some(props) = self.props(model).await? else {
                return Ok(usual);
            };
            Ok(self.endpoint.declared_over(model, props.apply(usual)))
        })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, ProviderError>> {
        let url = self.endpoint.below("models");
        let decode = |head| decoder(&self.endpoint.name, "", head);
        Box::pin(self.endpoint.get(url, "list of models", decode, model_ids))
    }
}

impl std::fmt::Debug for OpenAiChat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAiChat")
            .field("endpoint", &self.endpoint)
            .field("quirks", &self.quirks)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::abilities;

    #[test]
    fn a_form_is_for_who_is_known_to_take_it_and_for_unknown_servers_here() {
        let takes = |name: &str, base| {
            let rules = abilities::known(name);
            OpenAiChat::new(name, base, None)
                .unwrap()
                .rules(rules)
                .takes_form("m")
        };
        let here = "http://127.0.0.1:8080/v1";
        for name in ["llamacpp", "vllm", "lmstudio", "ollama", "own"] {
            assert!(takes(name, here), "{name}");
        }
        assert!(takes("own", "http://localhost:1234"));
        assert!(!takes("own", "https://llm.lab.example/v1"));
        assert!(!takes("deepseek", here), "it is known to take objects only");
        let none = Capabilities::FULL;
        let own = OpenAiChat::new("own", here, None).unwrap();
        assert!(!own.declare_model("m", none).takes_form("m"));
    }

    #[test]
    fn an_address_is_taken_as_people_write_it() {
        let cases = [
            (
                "https://api.openai.com/v1",
                "https://api.openai.com/v1/chat/completions",
            ),
            (
                "https://api.openai.com/v1/",
                "https://api.openai.com/v1/chat/completions",
            ),
            (
                " http://127.0.0.1:8080 ",
                "http://127.0.0.1:8080/v1/chat/completions",
            ),
            (
                "http://[::1]:8080/",
                "http://[::1]:8080/v1/chat/completions",
            ),
            (
                "https://h/api/paas/v4",
                "https://h/api/paas/v4/chat/completions",
            ),
            (
                "https://h/v1/chat/completions",
                "https://h/v1/chat/completions",
            ),
            (
                "https://h/v1?api-version=1#x",
                "https://h/v1/chat/completions?api-version=1",
            ),
        ];
        for (base, url) in cases {
            let service = OpenAiChat::new("x", base, None).unwrap();
            assert_eq!(service.endpoint.below("chat/completions").as_str(), url);
        }
        for base in ["", "api.openai.com", "ftp://h", "http://", "/v1"] {
            assert!(OpenAiChat::new("x", base, None).is_err(), "{base}");
        }
    }
}

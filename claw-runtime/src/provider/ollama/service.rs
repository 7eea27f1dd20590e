//! The provider itself: address, key, options; one request, one answer.

use futures_util::future::BoxFuture;
use hyper::header::AUTHORIZATION;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::decoder;
use super::encode::{Options, Peer, encode};
use crate::dialect::Dialect;
use crate::provider::endpoint::{self, Endpoint, SetupError};
use crate::provider::openai_chat::model_ids;
use crate::provider::{Capabilities, DeltaSink, Provider, ProviderError, Reply, Request, Thinking};
use crate::secret::Secrets;

/// The context window asked for where none is set, in tokens. The service takes less for a model that has less.
const WINDOW: u64 = 32_768;

/// An Ollama server, in its own format.
#[derive(Debug)]
pub struct Ollama {
    endpoint: Endpoint,
    options: Options,
}

impl Ollama {
    /// Returns the server at `base_url`, called `name` before the colon in `provider:model`.
    ///
    /// The address is the one in front of `/api/chat`, as `http://127.0.0.1:11434`. A key is needed for the cloud only.
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
            let endings = ["/api/chat", "/api", "/v1"];
            let ending = endings.iter().find_map(|ending| path.strip_suffix(ending));
            ending.unwrap_or(path).to_owned()
        })?;
        Ok(Self {
            endpoint: endpoint.key_in(AUTHORIZATION, "Bearer ")?,
            options: Options {
                window: Some(WINDOW),
                thinking: Thinking::Unsaid,
            },
        })
    }

    endpoint::options!();

    /// Sets the context window asked for, in tokens, where no [capability](Capabilities::window) of a model does; 32,768
    /// without. `None` leaves it to the server, whose own may be so
    /// small that the front of a conversation is lost without a word.
    pub fn window(mut self, tokens: Option<u64>) -> Self {
        self.options.window = tokens;
        self
    }

    /// Sets whether models reason before they answer; they know no bound, so one means as much as they find right.
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
        let offers_tools = request.tools.is_some_and(|tools| !tools.is_empty());
        let stream = self
            .endpoint
            .streams(request.model, sink.is_some(), offers_tools);
        let capabilities = self.endpoint.capabilities(request.model);
        let peer = Peer {
            provider: &self.endpoint.name,
            quirks: Options {
                window: capabilities.window.or(self.options.window),
                ..self.options
            },
            capabilities,
        };
        let body = encode(request, peer, stream);
        let model = request.model.to_owned();
        let url = self.endpoint.below("api/chat");
        let decode = move |head| decoder(&self.endpoint.name, &model, head);
        self.endpoint.post(url, body, stream, decode, sink)
    }
}

impl Provider for Ollama {
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
        Dialect::named("ollama").unwrap_or(Dialect::CANONICAL)
    }

    fn takes_form(&self, model: &str) -> bool {
        self.endpoint.takes_form(model, true)
    }

    fn complete<'a>(
        &'a self,
        request: Request<'_>,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        Box::pin(self.attempt(&request, sink))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, ProviderError>> {
        let url = self.endpoint.below("api/tags");
        let decode = |head| decoder(&self.endpoint.name, "", head);
        Box::pin(self.endpoint.get(url, "list of models", decode, model_ids))
    }

    fn about<'a>(&'a self, model: &'a str) -> BoxFuture<'a, Result<Capabilities, ProviderError>> {
        let url = self.endpoint.below("api/show");
        let decode = |head| decoder(&self.endpoint.name, model, head);
        let read = move |shown: &Value| {
            let shown = about(shown, self.endpoint.capabilities)?;
            Some(self.endpoint.declared_over(model, shown))
        };
        let body = json!({ "model": model });
        Box::pin(
            self.endpoint
                .exchange(url, body, "description of a model", decode, read),
        )
    }
}

/// Reads what the server shows of a model; `usual` is what it says nothing about.
fn about(shown: &Value, usual: Capabilities) -> Option<Capabilities> {
    let listed = shown["capabilities"].as_array();
    let info = shown["model_info"].as_object();
    if listed.is_none() && info.is_none() && shown["details"].is_null() {
        return None;
    }
    let has = |word: &str| listed.map(|list| list.iter().any(|it| it == word));
    let window = info.and_then(|info| {
        let mut lengths = info
            .iter()
            .filter(|(key, _)| key.ends_with(".context_length"));
        lengths.find_map(|(_, length)| length.as_u64())
    });
    Some(Capabilities {
        native_tools: has("tools").unwrap_or(usual.native_tools),
        vision: has("vision").unwrap_or(usual.vision),
        reasoning: has("thinking").unwrap_or(usual.reasoning),
        window,
        ..usual
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_taken_with_and_without_a_path() {
        for base in [
            "http://127.0.0.1:11434",
            "http://127.0.0.1:11434/",
            "http://127.0.0.1:11434/api",
            "http://127.0.0.1:11434/v1",
            "http://127.0.0.1:11434/api/chat",
        ] {
            let ollama = Ollama::new("x", base, None).unwrap();
            let url = ollama.endpoint.below("api/chat");
            assert_eq!(url.as_str(), "http://127.0.0.1:11434/api/chat", "{base}");
        }
    }

    #[test]
    fn what_a_model_can_do_is_read() {
        let shown = json!({
            "details": {"family": "qwen3"},
            "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
            "capabilities": ["completion", "tools", "thinking"],
        });
        assert_eq!(
            about(&shown, Capabilities::FULL),
            Some(Capabilities {
                vision: false,
                reasoning: true,
                window: Some(40_960),
                ..Capabilities::FULL
            })
        );
        assert_eq!(about(&json!({"models": []}), Capabilities::FULL), None);
    }
}

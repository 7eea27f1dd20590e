//! The provider itself: address, key, options; one request, one answer.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

use super::encode::{Peer, encode, model_ids};
use super::{Decoder, Head, Progress, Quirks};
use crate::dialect::Dialect;
use crate::provider::failure::Complaint;
use crate::provider::http::{self, Timeouts};
use crate::provider::{
    Capabilities, Delta, DeltaSink, FailureClass, Provider, ProviderError, Reply, Request,
};

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
    name: String,
    base: Url,
    /// Where completions are.
    chat: Url,
    key: Option<SecretString>,
    headers: HeaderMap,
    quirks: Quirks,
    capabilities: Capabilities,
    of_models: HashMap<String, Capabilities>,
    timeouts: Timeouts,
    client: OnceLock<Client>,
}

/// Why a provider cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The address is none.
    #[error(
        "base URL of provider `{provider}` is no http or https address; expected one like `https://api.openai.com/v1`"
    )]
    BaseUrl {
        /// The provider.
        provider: String,
    },
    /// The key cannot stand in a header.
    #[error(
        "key of provider `{provider}` has characters that no key has; expected visible ASCII on one line"
    )]
    Key {
        /// The provider.
        provider: String,
    },
    /// A header cannot be sent.
    #[error("header `{header}` of provider `{provider}` has characters that HTTP does not allow")]
    Header {
        /// The provider.
        provider: String,
        /// The header's name.
        header: String,
    },
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
        let name = name.into();
        let base = parse_base(base_url).ok_or_else(|| SetupError::BaseUrl {
            provider: name.clone(),
        })?;
        let mut headers = HeaderMap::new();
        // A key from a file ends with a line feed; an empty one is none.
        let key = key.filter(|key| !key.expose_secret().trim().is_empty());
        if let Some(key) = &key {
            let bearer = format!("Bearer {}", key.expose_secret().trim());
            let mut value = HeaderValue::from_str(&bearer).map_err(|_| SetupError::Key {
                provider: name.clone(),
            })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(Self {
            name,
            chat: below(&base, "chat/completions"),
            base,
            key,
            headers,
            quirks: Quirks::COMMON,
            capabilities: Capabilities::FULL,
            of_models: HashMap::new(),
            timeouts: Timeouts::default(),
            client: OnceLock::new(),
        })
    }

    /// Sends this header with every request; its value is treated as a secret.
    ///
    /// # Errors
    ///
    /// Fails when HTTP does not allow the name or the value.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, SetupError> {
        let fault = || SetupError::Header {
            provider: self.name.clone(),
            header: name.to_owned(),
        };
        let header: HeaderName = name.parse().map_err(|_| fault())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| fault())?;
        value.set_sensitive(true);
        self.headers.insert(header, value);
        Ok(self)
    }

    /// Sets where the service departs from the common form.
    pub fn quirks(mut self, quirks: Quirks) -> Self {
        self.quirks = quirks;
        self
    }

    /// Sets what the service's models can do; [`Capabilities::FULL`] without.
    pub fn declare(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Sets what one model can do.
    pub fn declare_model(mut self, model: impl Into<String>, capabilities: Capabilities) -> Self {
        self.of_models.insert(model.into(), capabilities);
        self
    }

    /// Sets how long an answer may be silent.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    fn client(&self) -> Result<&Client, ProviderError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = http::client(&self.base, &self.timeouts)?;
        Ok(self.client.get_or_init(|| client))
    }

    /// Encodes the request at once; what is returned borrows nothing of it.
    fn attempt<'a>(
        &'a self,
        request: &Request<'_>,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> impl Future<Output = Result<Reply, ProviderError>> + Send + 'a {
        let capabilities = self.capabilities(request.model);
        let offers_tools = request.tools.is_some_and(|tools| !tools.is_empty());
        let stream = sink.is_some()
            && capabilities.streaming
            && (capabilities.streaming_with_tools || !offers_tools);
        let peer = Peer {
            provider: &self.name,
            quirks: self.quirks,
            capabilities,
        };
        let body = encode(request, peer, stream);
        let model = request.model.to_owned();
        let sink = sink.unwrap_or_else(|| Box::new(Discard));
        self.post(body, model, stream, sink)
    }

    async fn post(
        &self,
        body: Bytes,
        model: String,
        stream: bool,
        mut sink: Box<dyn DeltaSink + '_>,
    ) -> Result<Reply, ProviderError> {
        let sink = &mut *sink;
        let started = Instant::now();
        let accept = if stream {
            "text/event-stream"
        } else {
            "application/json"
        };
        let post = self
            .client()?
            .post(self.chat.clone())
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, accept)
            .body(body);
        let response = http::send(post, &self.timeouts).await?;
        let mut decoder = Decoder::new(&self.name, &model, head(&response));
        let read = http::read(response, started, &self.timeouts, |bytes| {
            decoder.feed(bytes, sink)
        });
        match read.await {
            Ok(()) => decoder.finish(sink),
            Err(error) => decoder.interrupt(error, sink),
        }
    }

    async fn list(&self) -> Result<Vec<String>, ProviderError> {
        const MOST: usize = 8 << 20;
        let started = Instant::now();
        let get = self
            .client()?
            .get(below(&self.base, "models"))
            .headers(self.headers.clone());
        let response = http::send(get, &self.timeouts).await?;
        let head = head(&response);
        let mut body = Vec::new();
        http::read(response, started, &self.timeouts, |bytes| {
            body.extend_from_slice(bytes);
            Progress {
                content: true,
                stopped: false,
                done: body.len() > MOST,
            }
        })
        .await?;
        if !(200..300).contains(&head.status) {
            let mut decoder = Decoder::new(&self.name, "", head);
            decoder.feed(&body, &mut Discard);
            return decoder.finish(&mut Discard).map(|_| Vec::new());
        }
        let body: Option<serde_json::Value> = serde_json::from_slice(&body).ok();
        if let Some(models) = body.as_ref().and_then(model_ids) {
            return Ok(models);
        }
        Err(match body.as_ref().and_then(Complaint::in_body) {
            Some(complaint) => complaint.into_error(head.status),
            None => ProviderError::new(
                FailureClass::BadResponse,
                "the answer is no list of models; check the base URL",
            ),
        })
    }

    /// Takes the secrets out of an error's message: a service may repeat what it was sent.
    fn scrub(&self, mut error: ProviderError) -> ProviderError {
        let key = self.key.as_ref().map(|key| key.expose_secret().trim());
        let headers = self.headers.values().filter_map(|it| it.to_str().ok());
        let mut secrets: Vec<Cow<'_, str>> =
            key.into_iter().chain(headers).map(Cow::from).collect();
        // Services that take the key in the address repeat the address.
        secrets.extend(self.base.password().map(Cow::from));
        for part in self.base.query().into_iter().flat_map(|it| it.split('&')) {
            secrets.extend(part.split_once('=').map(|(_, value)| Cow::from(value)));
        }
        secrets.extend(self.base.query_pairs().map(|(_, value)| value));
        for secret in &secrets {
            remove(secret, &mut error.message);
        }
        error
    }
}

/// Replaces `secret` wherever it stands in a bounded message, also where the bound cut it.
fn remove(secret: &str, message: &mut String) {
    /// What is shorter is no secret, and would take ordinary words out.
    const SHORTEST: usize = 6;
    /// A beginning of so little tells nothing.
    const BEGINNING: usize = 4;
    if secret.len() < SHORTEST {
        return;
    }
    if message.contains(secret) {
        *message = message.replace(secret, "***");
    }
    let Some(kept) = message.strip_suffix('…') else {
        return;
    };
    let cut = (BEGINNING..secret.len())
        .rev()
        .filter_map(|end| secret.get(..end))
        .find(|beginning| kept.ends_with(beginning));
    if let Some(beginning) = cut {
        message.truncate(kept.len() - beginning.len());
        message.push_str("***…");
    }
}

impl Provider for OpenAiChat {
    fn name(&self) -> &str {
        &self.name
    }

    fn capabilities(&self, model: &str) -> Capabilities {
        self.of_models
            .get(model)
            .copied()
            .unwrap_or(self.capabilities)
    }

    fn dialect(&self, _model: &str) -> &'static Dialect {
        Dialect::named(self.quirks.dialect).unwrap_or(Dialect::CANONICAL)
    }

    fn complete<'a>(
        &'a self,
        request: Request<'_>,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> BoxFuture<'a, Result<Reply, ProviderError>> {
        let attempt = self.attempt(&request, sink);
        Box::pin(async move { attempt.await.map_err(|error| self.scrub(error)) })
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<String>, ProviderError>> {
        Box::pin(async move { self.list().await.map_err(|error| self.scrub(error)) })
    }
}

impl std::fmt::Debug for OpenAiChat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAiChat")
            .field("name", &self.name)
            .field("host", &self.base.host_str())
            .field("has_key", &self.key.is_some())
            .field("quirks", &self.quirks)
            .finish_non_exhaustive()
    }
}

struct Discard;

impl DeltaSink for Discard {
    fn delta(&mut self, _delta: Delta) {}
}

fn head(response: &Response) -> Head {
    Head {
        status: response.status().as_u16(),
        retry_after: http::retry_after(response.headers()),
    }
}

fn parse_base(text: &str) -> Option<Url> {
    let mut url = Url::parse(text.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return None;
    }
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix("/chat/completions").unwrap_or(path);
    let path = if path.is_empty() { "/v1" } else { path }.to_owned();
    url.set_path(&path);
    url.set_fragment(None);
    Some(url)
}

fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    url
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(service.chat.as_str(), url);
        }
        for base in ["", "api.openai.com", "ftp://h", "http://", "/v1"] {
            assert!(OpenAiChat::new("x", base, None).is_err(), "{base}");
        }
    }

    #[test]
    fn a_key_shows_nowhere() {
        let key = SecretString::from("very-secret-key\n".to_owned());
        let service = OpenAiChat::new("x", "http://user:pass@h", Some(key)).unwrap();
        let service = service.header("x-token", "other-secret").unwrap();
        let shown = format!("{service:?}");
        for secret in ["very-secret", "other-secret", "pass"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        let error = ProviderError::new(FailureClass::Auth, "no: very-secret-key, other-secret");
        assert_eq!(service.scrub(error).message, "no: ***, ***");
        let error = ProviderError::new(FailureClass::Auth, "no: very-secret…");
        assert_eq!(service.scrub(error).message, "no: ***…");
        let keyed =
            OpenAiChat::new("x", "http://u:p%40ssword@h?v=1&key=a%2Fb-secret", None).unwrap();
        let error = ProviderError::new(
            FailureClass::NotFound,
            "no /v1?v=1&key=a%2Fb-secret, a/b-secret, p%40ssword",
        );
        assert_eq!(keyed.scrub(error).message, "no /v1?v=1&key=***, ***, ***");
        let bad = SecretString::from("two\nlines".to_owned());
        let refused = OpenAiChat::new("x", "http://h", Some(bad))
            .unwrap_err()
            .to_string();
        assert!(!refused.contains("two"), "{refused}");
    }
}

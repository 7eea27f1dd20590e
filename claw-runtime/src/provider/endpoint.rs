//! Where a service is and how it is asked: address, key, headers, timers; one request, one answer.
//!
//! The same for every wire format. A format adds its paths, the header its key goes in, and what a body means.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bytes::Bytes;
use hyper::Method;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use rustls::pki_types::TrustAnchor;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use super::abilities::Rule;
use super::decode::{Decoder, Head, Progress};
use super::failure::Complaint;
use super::http::{self, Timeouts};
use super::{Capabilities, Delta, DeltaSink, FailureClass, ProviderError, Reply};
use super::{wait, wrong_address};
use crate::secret::{Secrets, is_secret_name};
use crate::tls;
use crate::transport::{self, Answer, Body, Client};

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
    /// The file of an authority cannot be used.
    #[error(
        "`{}`, the `ca_file` of provider `{provider}`, cannot be used: {message}; expected certificates in PEM form",
        file.display()
    )]
    Authority {
        /// The provider.
        provider: String,
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        message: String,
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

/// What every provider can be told of its endpoint.
macro_rules! options {
    () => {
        /// Sends this header with every request; its value shows in no error. Where its name is that of a secret, as
        /// `x-token`, an agent masks it wherever something is kept or shown.
        ///
        /// # Errors
        ///
        /// Fails when HTTP does not allow the name or the value.
        pub fn header(
            mut self,
            name: &str,
            value: &str,
        ) -> Result<Self, $crate::provider::SetupError> {
            self.endpoint = self.endpoint.header(name, value)?;
            Ok(self)
        }

        /// Sets what the service's models can do, where no rule says otherwise.
        pub fn declare(mut self, capabilities: $crate::provider::Capabilities) -> Self {
            self.endpoint.capabilities = capabilities;
            self
        }

        /// Sets what one model can do, whatever the rules say.
        pub fn declare_model(
            mut self,
            model: impl Into<String>,
            capabilities: $crate::provider::Capabilities,
        ) -> Self {
            self.endpoint.of_models.insert(model.into(), capabilities);
            self
        }

        /// Adds rules about what models can do; see [`abilities`]($crate::provider::abilities). Later ones weigh more.
        pub fn rules(
            mut self,
            rules: impl IntoIterator<Item = $crate::provider::abilities::Rule>,
        ) -> Self {
            self.endpoint.rules.extend(rules);
            self
        }

        /// Trusts the authorities in this PEM file too, besides the system's and Mozilla's.
        ///
        /// # Errors
        ///
        /// Fails when the file cannot be read or holds no certificate of an authority.
        pub fn ca_file(
            mut self,
            pem: &std::path::Path,
        ) -> Result<Self, $crate::provider::SetupError> {
            self.endpoint = self.endpoint.ca_file(pem)?;
            Ok(self)
        }

        /// Sets how long an answer may be silent.
        pub fn timeouts(mut self, timeouts: $crate::provider::Timeouts) -> Self {
            self.endpoint.timeouts = timeouts;
            self
        }
    };
}
pub(crate) use options;

/// A service's address and key, and what its models can do.
pub(crate) struct Endpoint {
    pub(crate) name: String,
    pub(crate) base: Url,
    key: Option<SecretString>,
    headers: HeaderMap,
    pub(crate) capabilities: Capabilities,
    pub(crate) of_models: HashMap<String, Capabilities>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) timeouts: Timeouts,
    /// Trusted besides the public ones.
    authorities: Vec<TrustAnchor<'static>>,
    client: OnceLock<Client>,
    /// What no error may show, collected when the first one comes.
    unsaid: OnceLock<Secrets>,
}

impl Endpoint {
    /// Returns the service at `base_url`, with the path that `fit` makes of the address's own. Nothing is connected and
    /// no TLS is set up before the first request.
    pub(crate) fn new(
        name: String,
        base_url: &str,
        key: Option<SecretString>,
        fit: impl FnOnce(&str) -> String,
    ) -> Result<Self, SetupError> {
        let base = parse_base(base_url, fit).ok_or_else(|| SetupError::BaseUrl {
            provider: name.clone(),
        })?;
        Ok(Self {
            name,
            base,
            // A key from a file ends with a line feed; an empty one is none.
            key: key.filter(|key| !key.expose_secret().trim().is_empty()),
            headers: HeaderMap::new(),
            capabilities: Capabilities::FULL,
            of_models: HashMap::new(),
            rules: Vec::new(),
            timeouts: Timeouts::default(),
            authorities: Vec::new(),
            client: OnceLock::new(),
            unsaid: OnceLock::new(),
        })
    }

    /// Sends the key, if there is one, in this header behind `prefix`.
    pub(crate) fn key_in(mut self, header: HeaderName, prefix: &str) -> Result<Self, SetupError> {
        if let Some(key) = &self.key {
            let text = format!("{prefix}{}", key.expose_secret().trim());
            let mut value = HeaderValue::from_str(&text).map_err(|_| SetupError::Key {
                provider: self.name.clone(),
            })?;
            value.set_sensitive(true);
            self.headers.insert(header, value);
        }
        Ok(self)
    }

    /// Sends this header with every request; its value is treated as a secret.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Result<Self, SetupError> {
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

    /// Trusts the authorities in this PEM file too.
    pub(crate) fn ca_file(mut self, pem: &Path) -> Result<Self, SetupError> {
        let read = tls::authorities(pem).map_err(|message| SetupError::Authority {
            provider: self.name.clone(),
            file: pem.to_owned(),
            message,
        })?;
        self.authorities.extend(read);
        Ok(self)
    }

    /// Sends a header that is no secret, unless it is given otherwise.
    pub(crate) fn public_header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.insert(name, HeaderValue::from_static(value));
        self
    }

    pub(crate) fn capabilities(&self, model: &str) -> Capabilities {
        if let Some(declared) = self.of_models.get(model) {
            return *declared;
        }
        let rules = self.rules.iter().filter(|rule| rule.covers(model));
        rules.fold(self.capabilities, |before, rule| rule.change.apply(before))
    }

    /// Tells whether requests to `model` may carry a form: as it is declared, `otherwise` where nobody says.
    pub(crate) fn takes_form(&self, model: &str, otherwise: bool) -> bool {
        let says = |rule: &Rule| rule.change.structured.is_some() && rule.covers(model);
        let is_said = self.of_models.contains_key(model) || self.rules.iter().any(says);
        self.capabilities(model).structured.takes_schema() || (otherwise && !is_said)
    }

    /// Tells whether the service is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        transport::is_loopback(&self.base)
    }

    /// Returns what is declared of `model` in the place of what its service shows.
    pub(crate) fn declared_over(&self, model: &str, shown: Capabilities) -> Capabilities {
        match self.of_models.get(model) {
            Some(declared) => *declared,
            None => self
                .rules
                .iter()
                .filter(|rule| !rule.is_guess && rule.covers(model))
                .fold(shown, |before, rule| rule.change.apply(before)),
        }
    }

    /// Tells whether a request is streamed.
    pub(crate) fn streams(&self, model: &str, wanted: bool, offers_tools: bool) -> bool {
        let capabilities = self.capabilities(model);
        wanted && capabilities.streaming && (capabilities.streaming_with_tools || !offers_tools)
    }

    /// Returns the address of `path` below the base.
    pub(crate) fn below(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!(
            "{}/{path}",
            self.base.path().trim_end_matches('/')
        ));
        url
    }

    /// Posts a body and reads the answer.
    ///
    /// One block and not a function of its own for each step: of those, each has room for what it was given twice.
    pub(crate) fn post<'a>(
        &'a self,
        url: Url,
        body: Bytes,
        stream: bool,
        decoder: impl FnOnce(Head) -> Decoder + Send + 'a,
        sink: Option<Box<dyn DeltaSink + 'a>>,
    ) -> impl Future<Output = Result<Reply, ProviderError>> + Send + 'a {
        let accept = if stream {
            "text/event-stream"
        } else {
            "application/json"
        };
        async move {
            let started = Instant::now();
            let mut sink = sink.unwrap_or_else(|| Box::new(Discard));
            let post = transport::Request {
                method: Method::POST,
                url: &url,
                accept,
                body,
            };
            let client = self.client().map_err(|error| self.scrub(error))?;
            let answer = match http::send(client, &post, &self.timeouts).await {
                Ok(answer) => answer,
                Err(error) => return Err(self.scrub(error)),
            };
            let (head, body) = parts(answer);
            // In a place of its own: the request's future is small enough then that allocating it costs little.
            let mut decoder = Box::new(decoder(head));
            let read = http::read(body, started, &self.timeouts, |bytes| {
                decoder.feed(bytes, &mut *sink)
            });
            let reply = match read.await {
                Ok(()) => decoder.finish(&mut *sink),
                Err(error) => decoder.interrupt(error, &mut *sink),
            };
            reply.map_err(|error| self.scrub(error))
        }
    }

    /// Posts a small JSON document, and reads the one that answers as [`get`](Self::get) does.
    pub(crate) async fn exchange<T>(
        &self,
        url: Url,
        body: Value,
        what: &str,
        decoder: impl FnOnce(Head) -> Decoder,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<T, ProviderError> {
        let post = transport::Request {
            method: Method::POST,
            url: &url,
            accept: "application/json",
            body: body.to_string().into(),
        };
        let found = self.document(post, what, decoder, read).await;
        found.map_err(|error| self.scrub(error))
    }

    /// Gets a JSON document in which `read` finds what it looks for; without it the answer is no `what`.
    pub(crate) async fn get<T>(
        &self,
        url: Url,
        what: &str,
        decoder: impl FnOnce(Head) -> Decoder,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<T, ProviderError> {
        let get = transport::Request {
            method: Method::GET,
            url: &url,
            accept: "application/json",
            body: Bytes::new(),
        };
        let found = self.document(get, what, decoder, read).await;
        found.map_err(|error| self.scrub(error))
    }

    async fn document<T>(
        &self,
        request: transport::Request<'_>,
        what: &str,
        decoder: impl FnOnce(Head) -> Decoder,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<T, ProviderError> {
        const MOST: usize = 8 << 20;
        let started = Instant::now();
        let client = self.client()?;
        let (head, came) = parts(http::send(client, &request, &self.timeouts).await?);
        let mut body = Vec::new();
        http::read(came, started, &self.timeouts, |bytes| {
            body.extend_from_slice(bytes);
            Progress {
                content: true,
                stopped: false,
                done: body.len() > MOST,
            }
        })
        .await?;
        let no_answer = || {
            ProviderError::new(
                FailureClass::BadResponse,
                format!("the answer is no {what}; check the base URL"),
            )
        };
        if !(200..300).contains(&head.status) {
            let mut decoder = decoder(head);
            decoder.feed(&body, &mut Discard);
            return match decoder.finish(&mut Discard) {
                Err(error) => Err(error),
                Ok(_) => Err(no_answer()),
            };
        }
        let document: Option<Value> = serde_json::from_slice(&body).ok();
        if let Some(found) = document.as_ref().and_then(read) {
            return Ok(found);
        }
        Err(match document.as_ref().and_then(Complaint::in_body) {
            Some(complaint) => complaint.into_error(head.status),
            None if document.is_some() => no_answer(),
            None => {
                let text = String::from_utf8_lossy(&body);
                let message = match text.trim_start().starts_with('<') {
                    true => wrong_address::page(&text, head.status),
                    false => wrong_address::text(&text, &format!("a {what}")),
                };
                ProviderError::new(FailureClass::BadResponse, message)
            }
        })
    }

    fn client(&self) -> Result<&Client, ProviderError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let headers = self.headers.clone();
        let client = http::client(&self.base, headers, &self.authorities, &self.timeouts)?;
        Ok(self.client.get_or_init(|| client))
    }

    /// Adds key, password and what is named like a secret to `known`.
    pub(crate) fn secrets(&self, known: &Secrets) {
        if let Some(key) = &self.key {
            known.add(key.expose_secret());
        }
        if let Some(password) = self.base.password() {
            known.add(password);
        }
        let headers = self.headers.iter();
        for (name, value) in headers.filter(|(_, value)| value.is_sensitive()) {
            if names_secret(name.as_str())
                && let Ok(value) = value.to_str()
            {
                known.add(value);
            }
        }
        for (name, value) in self.base.query_pairs() {
            if names_secret(&name) {
                known.add(&value);
            }
        }
    }

    /// Takes the secrets out of an error: a service may repeat what it was sent.
    fn scrub(&self, mut error: ProviderError) -> ProviderError {
        let unsaid = self.unsaid.get_or_init(|| {
            let unsaid = Secrets::new();
            self.secrets(&unsaid);
            // An error is no place for any of them, whatever they are called.
            let headers = self.headers.values().filter(|value| value.is_sensitive());
            for value in headers.filter_map(|value| value.to_str().ok()) {
                unsaid.add(value);
            }
            for (_, value) in self.base.query_pairs() {
                unsaid.add(&value);
            }
            unsaid
        });
        error.message = unsaid.mask_message(&error.message);
        unsaid.mask_content(&mut error.partial);
        error
    }
}

/// Tells whether a header or a part of a query holds a secret, by its name.
fn names_secret(name: &str) -> bool {
    let name = name.replace('-', "_");
    let word = name
        .rsplit('_')
        .next()
        .unwrap_or(&name)
        .to_ascii_lowercase();
    is_secret_name(&name) || matches!(&*word, "authorization" | "auth" | "sig" | "signature")
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("name", &self.name)
            .field("host", &self.base.host_str())
            .field("has_key", &self.key.is_some())
            .finish_non_exhaustive()
    }
}

struct Discard;

impl DeltaSink for Discard {
    fn delta(&mut self, _delta: Delta) {}
}

/// Takes an answer apart; of its headers what counts is kept, for they hold the buffer they came in.
fn parts(answer: Answer) -> (Head, Body) {
    let status = answer.status.as_u16();
    let head = Head {
        status,
        retry_after: wait::retry_after(status, &answer.headers),
    };
    (head, answer.body)
}

fn parse_base(text: &str, fit: impl FnOnce(&str) -> String) -> Option<Url> {
    let mut url = Url::parse(text.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return None;
    }
    let path = fit(url.path().trim_end_matches('/'));
    url.set_path(&path);
    url.set_fragment(None);
    Some(url)
}

/// Returns a path with a version at its end: the one that stands there (`/v2`), else this.
pub(crate) fn versioned(path: &str, version: &str) -> String {
    let last = path.rsplit('/').next().unwrap_or("");
    let is_version = last
        .strip_prefix('v')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if is_version {
        path.to_owned()
    } else {
        format!("{path}/{version}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_shows_nowhere() {
        let endpoint = |base: &str, key: Option<&str>| {
            let key = key.map(|key| SecretString::from(key.to_owned()));
            Endpoint::new("x".into(), base, key, str::to_owned)
                .and_then(|it| it.key_in(hyper::header::AUTHORIZATION, "Bearer "))
        };
        let service = endpoint("http://user:pass@h", Some("very-secret-key\n")).unwrap();
        let service = service.header("x-token", "other-secret").unwrap();
        let shown = format!("{service:?}");
        for secret in ["very-secret", "other-secret", "pass"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        let error = ProviderError::new(FailureClass::Auth, "no: very-secret-key, other-secret");
        assert_eq!(service.scrub(error).message, "no: ***, ***");
        let error = ProviderError::new(FailureClass::Auth, "no: very-secret…");
        assert_eq!(service.scrub(error).message, "no: ***…");
        let keyed = endpoint("http://u:p%40ssword@h?v=1&key=a%2Fb-secret", None).unwrap();
        let error = ProviderError::new(
            FailureClass::NotFound,
            "no /v1?v=1&key=a%2Fb-secret, a/b-secret, p%40ssword",
        );
        assert_eq!(keyed.scrub(error).message, "no /v1?v=1&key=***, ***, ***");
        let refused = endpoint("http://h", Some("two\nlines"))
            .unwrap_err()
            .to_string();
        assert!(!refused.contains("two"), "{refused}");
    }
}

//! TLS as every client here speaks it: rustls with ring, the system's roots and Mozilla's, made when first needed.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, TrustAnchor};
use rustls::{ClientConfig, RootCertStore};

/// Returns the settings that trust the system's roots and Mozilla's: reading them takes milliseconds, so once.
pub(crate) fn config() -> Arc<ClientConfig> {
    static TLS: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    TLS.get_or_init(|| Arc::new(trusting(public_roots())))
        .clone()
}

/// Returns settings that trust nobody, for what is not encrypted: they cost nothing.
#[cfg(feature = "postgres")]
pub(crate) fn trusting_nobody() -> ClientConfig {
    trusting(RootCertStore::empty())
}

/// Returns settings that trust the public roots and these.
pub(crate) fn with(authorities: &[TrustAnchor<'static>]) -> ClientConfig {
    let mut roots = public_roots();
    roots.extend(authorities.iter().cloned());
    trusting(roots)
}

/// Reads the authorities in a PEM file.
pub(crate) fn authorities(pem: &Path) -> Result<Vec<TrustAnchor<'static>>, String> {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(pem).map_err(|error| error.to_string())?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() {
        return Err("there is no certificate in it".to_owned());
    }
    Ok(roots.roots)
}

fn public_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    roots
}

fn trusting(roots: RootCertStore) -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has the default protocol versions")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

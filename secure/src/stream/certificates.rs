//! Certificates and keys from files, the settings of TLS, and why a handshake has failed.

use crate::secrets::{read_file, read_secret};
use crate::settings::{ClientCertificates, TcpEnds, TcpSettings};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, Error, RootCertStore, ServerConfig,
};
use std::path::Path;
use std::sync::Arc;

/// Settings of TLS for one side of a link.
#[derive(Clone, Debug)]
pub enum TlsConfig {
    /// Of the side that listens.
    Server(Arc<ServerConfig>),
    /// Of the side that connects, with the name in the other side's certificate.
    Client(Arc<ClientConfig>, ServerName<'static>),
}

/// Reads the files of a link. Relative paths start at `folder`.
///
/// # Errors
/// A description with the file and what to do.
pub fn read_tls(settings: &TcpSettings, folder: &Path) -> Result<TlsConfig, String> {
    let keys = &settings.keys;
    let provider = Arc::new(ring::default_provider());
    let authority = folder.join(&keys.authority);
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(&authority)? {
        let added = roots.add(certificate);
        added.map_err(|error| format!("{}: {error}", authority.display()))?;
    }
    let own = match (&keys.certificate, &keys.key) {
        (Some(certificate), Some(key)) => {
            let chain = read_certificates(&folder.join(certificate))?;
            Some((chain, read_private_key(&folder.join(key))?))
        }
        _ => None,
    };
    let name = certificate_name(keys.certificate.as_deref());
    match &settings.ends {
        TcpEnds::Listen { .. } => {
            let (chain, key) = own.ok_or("a side that listens needs a certificate")?;
            server(provider, roots, chain, key, keys.client_certificates)
                .map(|config| TlsConfig::Server(Arc::new(config)))
        }
        TcpEnds::Connect { connect, .. } => {
            let host = connect.rsplit_once(':').map_or("", |(host, _)| host);
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let server = keys.server_name.as_deref().unwrap_or(host).to_owned();
            let server = ServerName::try_from(server.clone())
                .map_err(|_| format!("`{server}` is not a name that certificates have"))?;
            let own = own.filter(|_| keys.client_certificates == ClientCertificates::Required);
            client(provider, roots, own).map(|config| TlsConfig::Client(Arc::new(config), server))
        }
    }
    .map_err(|error| format!("{name}: {error}"))
}

fn certificate_name(certificate: Option<&str>) -> &str {
    certificate.unwrap_or("TLS")
}

type OwnCertificate = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn server(
    provider: Arc<CryptoProvider>,
    roots: RootCertStore,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    clients: ClientCertificates,
) -> Result<ServerConfig, String> {
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| error.to_string())?;
    let builder = match clients {
        ClientCertificates::Required => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = verifier.build().map_err(|error| error.to_string())?;
            builder.with_client_cert_verifier(verifier)
        }
        ClientCertificates::None => builder.with_no_client_auth(),
    };
    let config = builder.with_single_cert(chain, key);
    let mut config = config.map_err(|error| error.to_string())?;
    // Each connection shows its certificate: no resumption, and so no early data, which could be
    // replayed.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

fn client(
    provider: Arc<CryptoProvider>,
    roots: RootCertStore,
    own: Option<OwnCertificate>,
) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots);
    let config = match own {
        Some((chain, key)) => builder.with_client_auth_cert(chain, key),
        None => Ok(builder.with_no_client_auth()),
    };
    let mut config = config.map_err(|error| error.to_string())?;
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = read_file(path)?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match read {
        Ok(chain) if !chain.is_empty() => Ok(chain),
        Ok(_) => Err(format!("{} has no certificate in PEM", path.display())),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

fn read_private_key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let text = read_secret(path)?;
    // The error of the library could show a part of the file.
    PrivateKeyDer::from_pem_slice(&text)
        .map_err(|_| format!("{} has no private key in PEM", path.display()))
}

/// Returns why a handshake or a connection has failed, for a person of this side.
#[must_use]
pub fn reason(error: &Error) -> String {
    match error {
        Error::NoCertificatesPresented => "it shows no certificate".to_owned(),
        Error::InvalidCertificate(wrong) => match wrong {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its certificate has expired".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate is not valid yet: compare the clocks".to_owned()
            }
            CertificateError::UnknownIssuer => {
                "its certificate is not by our `authority`".to_owned()
            }
            CertificateError::BadSignature => {
                "its certificate is not by our `authority`, but has its name".to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!("its certificate has another name, see `server_name`: {wrong}")
            }
            _ => format!("its certificate is not valid: {wrong}"),
        },
        Error::AlertReceived(alert) => match alert {
            AlertDescription::CertificateExpired => {
                "it refuses our certificate, which has expired".to_owned()
            }
            AlertDescription::CertificateRequired => "it wants a certificate of us".to_owned(),
            AlertDescription::UnknownCA | AlertDescription::DecryptError => {
                "it refuses our certificate, which is not by its `authority`".to_owned()
            }
            _ => format!("it ends the connection: {alert:?}"),
        },
        Error::InvalidMessage(_) => "it does not speak TLS".to_owned(),
        Error::PeerIncompatible(_) => format!("it does not speak TLS 1.3: {error}"),
        _ => error.to_string(),
    }
}

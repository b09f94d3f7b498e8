//! TLS for the connection: always verified, against the file that the address names (`sslrootcert`), else the machine's
//! roots. Both are read only where a server offers TLS.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

#[derive(Clone)]
pub struct Connector {
    root_file: Option<PathBuf>,
}

impl Connector {
    pub fn new(root_file: Option<PathBuf>) -> Self {
        Self { root_file }
    }
}

pub struct HostTls {
    host: String,
    root_file: Option<PathBuf>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Connector {
    type Stream = SecuredStream<S>;
    type TlsConnect = HostTls;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<HostTls> {
        Ok(HostTls { host: host.to_owned(), root_file: self.root_file.clone() })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for HostTls {
    type Stream = SecuredStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<SecuredStream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let host = ServerName::try_from(self.host).map_err(io::Error::other)?;
            let connector = TlsConnector::from(Arc::new(client(self.root_file.as_deref())?));
            Ok(SecuredStream(connector.connect(host, stream).await?))
        })
    }
}

/// Whom we believe. A file without a certificate is an error: nobody must be let in by an empty list.
fn roots(file: Option<&Path>) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let unusable = |why: String| io::Error::other(format!("sslrootcert {} cannot be used: {why}", file.display()));
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unusable(error.to_string()))? {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    if roots.is_empty() { Err(unusable("there is no certificate in it".into())) } else { Ok(roots) }
}

fn client(root_file: Option<&Path>) -> io::Result<ClientConfig> {
    let roots = roots(root_file)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(config.map_err(io::Error::other)?.with_root_certificates(roots).with_no_client_auth())
}

pub struct SecuredStream<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for SecuredStream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for SecuredStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for SecuredStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

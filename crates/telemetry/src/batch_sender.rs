//! Sends one batch of one signal to a collector. A refused batch is lost without a message.

use crate::config::{Protocol, SignalConfig, TlsFiles};
use crate::grpc::{self, Delivery};
use crate::protobuf;
use serde_json::Value;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

/// For one request. The last export has a tighter limit of its own.
const REQUEST_WAIT: Duration = Duration::from_secs(10);
/// A collector that is busy is asked once more after this time.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// For a collector behind TLS, as PEM.
#[derive(Clone, Default)]
pub struct Tls {
    /// Our certificate and its key.
    pub identity: Option<Vec<u8>>,
    /// Certificates to trust beside the system's.
    pub roots: Vec<Vec<u8>>,
}

/// A certificate or a key longer than this is something else.
const PEM_MAX: u64 = 1 << 20;

/// A file that a variable names; `None` where it cannot be read.
pub fn read_pem(file: &Path) -> Option<Vec<u8>> {
    let is_small = std::fs::metadata(file).ok()?.len() <= PEM_MAX;
    std::fs::read(file).ok().filter(|_| is_small)
}

impl Tls {
    /// `None` where a file that is named cannot be read, or a certificate has no key.
    pub fn of_files(files: &TlsFiles) -> Option<Self> {
        let read = |name: &Option<String>| match name {
            Some(name) => read_pem(Path::new(name)).map(Some),
            None => Some(None),
        };
        let identity = match (read(&files.certificate)?, read(&files.key)?) {
            (Some(certificate), Some(key)) => Some([certificate, b"\n".to_vec(), key].concat()),
            (None, None) => None,
            _ => return None,
        };
        Some(Self { identity, roots: read(&files.roots)?.into_iter().collect() })
    }

    /// `None` where a file does not hold what it should.
    fn apply(&self, mut builder: reqwest::ClientBuilder) -> Option<reqwest::ClientBuilder> {
        let mut roots = Vec::new();
        for pem in &self.roots {
            roots.extend(reqwest::Certificate::from_pem_bundle(pem).ok()?);
        }
        builder = builder.tls_certs_merge(roots);
        match &self.identity {
            Some(pem) => reqwest::Identity::from_pem(pem).ok().map(|identity| builder.identity(identity)),
            None => Some(builder),
        }
    }
}

/// One connection pool a signal, so that a slow answer to one does not hold up the others.
pub(crate) struct BatchSender {
    config: SignalConfig,
    http: Option<reqwest::Client>,
}

impl BatchSender {
    pub(crate) fn new(config: SignalConfig, tls: &dyn Fn(&SignalConfig) -> Option<Tls>) -> Self {
        // An error means that a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("ralph-telemetry/", env!("CARGO_PKG_VERSION")))
            .timeout(REQUEST_WAIT);
        if config.protocol == Protocol::Grpc {
            builder = builder.http2_prior_knowledge();
        }
        let builder = if config.url.starts_with("https:") {
            tls(&config).and_then(|tls| tls.apply(builder))
        } else {
            Some(builder.tls_certs_only([]))
        };
        Self { http: builder.and_then(|builder| builder.build().ok()), config }
    }

    /// Tries, and once more where the collector says that it is busy.
    pub(crate) async fn send(&self, tree: &Value, headers: &[(String, String)]) {
        let body = Body::of(tree, self.config.protocol, self.config.is_compressed);
        if self.post(&body, headers).await == Some(Delivery::Busy) {
            tokio::time::sleep(RETRY_AFTER).await;
            self.post(&body, headers).await;
        }
    }

    /// `None` where there was no answer.
    async fn post(&self, body: &Body, headers: &[(String, String)]) -> Option<Delivery> {
        let mut request = self.http.as_ref()?.post(&self.config.url).body(body.bytes.clone());
        for (name, value) in &body.headers {
            request = request.header(*name, *value);
        }
        let own = self
            .config
            .headers
            .iter()
            .filter(|(name, _)| !headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
        for (name, value) in own.chain(headers) {
            request = request.header(name, value);
        }
        let response = request.send().await.ok()?;
        Some(match self.config.protocol {
            Protocol::Grpc => grpc::delivery(response).await,
            Protocol::HttpJson | Protocol::HttpProtobuf => Delivery::of_http(response.status().as_u16()),
        })
    }
}

/// A batch as it is sent, with the headers that say how to read it.
pub(crate) struct Body {
    pub bytes: Vec<u8>,
    pub headers: Vec<(&'static str, &'static str)>,
}

impl Body {
    pub(crate) fn of(tree: &Value, protocol: Protocol, is_compressed: bool) -> Self {
        let (whole, kind) = match protocol {
            Protocol::HttpJson => (tree.to_string().into_bytes(), "application/json"),
            Protocol::HttpProtobuf => (protobuf::encode(tree), "application/x-protobuf"),
            Protocol::Grpc => (protobuf::encode(tree), "application/grpc"),
        };
        let mut headers = vec![("content-type", kind)];
        let small = if is_compressed { compressed(&whole) } else { None };
        let is_small = small.is_some();
        let bytes = small.unwrap_or(whole);
        if is_small {
            let name = if protocol == Protocol::Grpc { "grpc-encoding" } else { "content-encoding" };
            headers.push((name, "gzip"));
        }
        if protocol != Protocol::Grpc {
            return Self { bytes, headers };
        }
        headers.push(("te", "trailers"));
        // Whether it is compressed, then the length.
        let mut framed = vec![u8::from(is_small)];
        framed.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
        framed.extend(bytes);
        Self { bytes: framed, headers }
    }
}

fn compressed(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

//! Sends one batch of one signal to a collector. A refused batch is lost without a message.

use crate::config::{Protocol, SignalConfig};
use crate::protobuf;
use serde_json::Value;
use std::io::Write as _;
use std::time::Duration;

/// For one request. The last export has a tighter limit of its own.
const REQUEST_WAIT: Duration = Duration::from_secs(10);
/// A collector that is busy is asked once more after this time.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// One connection pool a signal, so that a slow answer to one does not hold up the others.
pub(crate) struct BatchSender {
    config: SignalConfig,
    http: Option<reqwest::Client>,
}

impl BatchSender {
    pub(crate) fn new(config: SignalConfig) -> Self {
        // An error means that a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("ralph-telemetry/", env!("CARGO_PKG_VERSION")))
            .timeout(REQUEST_WAIT);
        if config.protocol == Protocol::Grpc {
            builder = builder.http2_prior_knowledge();
        }
        if !config.url.starts_with("https:") {
            builder = builder.tls_certs_only([]);
        }
        Self { http: builder.build().ok(), config }
    }

    /// Tries, and once more where the collector says that it is busy.
    pub(crate) async fn send(&self, tree: &Value, headers: &[(String, String)]) -> bool {
        let (body, kind) = encoded(tree, self.config.protocol);
        let small =
            if self.config.is_compressed && self.config.protocol != Protocol::Grpc { compressed(&body) } else { None };
        let is_compressed = small.is_some();
        let body = small.unwrap_or(body);
        for is_last in [false, true] {
            match self.post(body.clone(), kind, is_compressed, headers).await {
                Some(status) if matches!(status, 429 | 502..=504) && !is_last => tokio::time::sleep(RETRY_AFTER).await,
                status => return status.is_some_and(|status| (200..300).contains(&status)),
            }
        }
        false
    }

    async fn post(&self, body: Vec<u8>, kind: &str, is_compressed: bool, headers: &[(String, String)]) -> Option<u16> {
        let mut request = self.http.as_ref()?.post(&self.config.url).header("content-type", kind).body(body);
        if is_compressed {
            request = request.header("content-encoding", "gzip");
        }
        if self.config.protocol == Protocol::Grpc {
            request = request.header("te", "trailers");
        }
        let own = self
            .config
            .headers
            .iter()
            .filter(|(name, _)| !headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
        for (name, value) in own.chain(headers) {
            request = request.header(name, value);
        }
        request.send().await.ok().map(|response| response.status().as_u16())
    }
}

/// The body and its type.
pub(crate) fn encoded(tree: &Value, protocol: Protocol) -> (Vec<u8>, &'static str) {
    match protocol {
        Protocol::HttpJson => (tree.to_string().into_bytes(), "application/json"),
        Protocol::HttpProtobuf => (protobuf::encode(tree), "application/x-protobuf"),
        Protocol::Grpc => {
            let message = protobuf::encode(tree);
            // Not compressed, then the length.
            let mut framed = vec![0];
            framed.extend(u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
            framed.extend(message);
            (framed, "application/grpc")
        }
    }
}

fn compressed(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

//! The configuration of the export, from the user's variables. Pure: variables are looked up through a parameter.

use crate::limits::Limits;
use crate::raw_bodies::RawBodies;
use crate::sampling::Sampler;
use crate::trace::TraceContext;
use percent_encoding::percent_decode_str;
use std::time::Duration;

/// How long the process may live on for its last export.
const SHUTDOWN: Duration = Duration::from_secs(2);
const METRICS_INTERVAL: Duration = Duration::from_mins(1);
const OTHER_INTERVAL: Duration = Duration::from_secs(5);
const DEFAULT_ENDPOINT: &str = "http://localhost:4318";
const DEFAULT_GRPC_ENDPOINT: &str = "http://localhost:4317";
/// UTF-16 units of content in a record.
const CONTENT_MAX: usize = 61_440;
const PROMETHEUS_PORT: u16 = 9464;
const RAW_BODIES: &str = "OTEL_LOG_RAW_API_BODIES";
/// Tokens of collectors live half an hour or longer.
const HEADERS_AGE: Duration = Duration::from_mins(29);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Metrics,
    Logs,
    Traces,
}

impl Signal {
    pub const ALL: [Self; 3] = [Self::Traces, Self::Logs, Self::Metrics];

    fn word(self) -> &'static str {
        match self {
            Self::Metrics => "METRICS",
            Self::Logs => "LOGS",
            Self::Traces => "TRACES",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Metrics => "v1/metrics",
            Self::Logs => "v1/logs",
            Self::Traces => "v1/traces",
        }
    }

    fn grpc_path(self) -> &'static str {
        match self {
            Self::Metrics => "opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
            Self::Logs => "opentelemetry.proto.collector.logs.v1.LogsService/Export",
            Self::Traces => "opentelemetry.proto.collector.trace.v1.TraceService/Export",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    HttpJson,
    HttpProtobuf,
    Grpc,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exporter {
    Otlp,
    Console,
    /// Metrics only.
    Prometheus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Temporality {
    Delta,
    Cumulative,
}

/// How one signal is exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalConfig {
    pub signal: Signal,
    pub exporters: Vec<Exporter>,
    pub protocol: Protocol,
    /// The whole address.
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub is_compressed: bool,
    pub interval: Duration,
    /// For gRPC; over HTTP the certificates are those of the model's endpoint.
    pub tls: TlsFiles,
}

/// PEM files that variables name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsFiles {
    pub roots: Option<String>,
    pub certificate: Option<String>,
    pub key: Option<String>,
}

/// What content leaves the machine: nothing, unless the user says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gates {
    bits: u8,
}

const PROMPTS: u8 = 1;
const RESPONSES: u8 = 2;
const TOOL_DETAILS: u8 = 4;
const TOOL_CONTENT: u8 = 8;
const MANAGED_SETTINGS: u8 = 16;

impl Gates {
    pub fn prompts(self) -> bool {
        self.bits & PROMPTS != 0
    }

    pub fn responses(self) -> bool {
        self.bits & RESPONSES != 0
    }

    pub fn tool_details(self) -> bool {
        self.bits & TOOL_DETAILS != 0
    }

    pub fn tool_content(self) -> bool {
        self.bits & TOOL_CONTENT != 0
    }

    pub fn managed_settings(self) -> bool {
        self.bits & MANAGED_SETTINGS != 0
    }
}

/// Which of the common attributes are exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttributeChoice {
    pub session: bool,
    pub version: bool,
    pub entrypoint: bool,
    pub account: bool,
    pub resource_attributes: bool,
    pub repository: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Those with an exporter.
    pub signals: Vec<SignalConfig>,
    pub temporality: Temporality,
    pub gates: Gates,
    pub raw_bodies: RawBodies,
    /// Hooks have spans, and the others more attributes.
    pub(crate) is_detailed: bool,
    pub(crate) sampler: Sampler,
    pub(crate) limits: Limits,
    /// UTF-16 units.
    pub content_max: usize,
    /// For the last export, all signals together.
    pub shutdown: Duration,
    /// After this time the headers helper is asked again.
    pub headers_age: Duration,
    pub prometheus: (String, u16),
    /// The span of another process that this one belongs to.
    pub incoming: Option<TraceContext>,
    /// `TRACESTATE`, where a trace came in with it.
    pub(crate) trace_state: Option<String>,
    pub(crate) shows: AttributeChoice,
    pub(crate) terminal: Option<String>,
    pub(crate) service_name: Option<String>,
    pub(crate) resource_attributes: Vec<(String, String)>,
}

struct Variables<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name)?.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Some(true),
            "0" | "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    fn is_on(&self, name: &str) -> bool {
        self.flag(name) == Some(true)
    }

    fn millis(&self, name: &str) -> Option<Duration> {
        self.get(name)?.parse().ok().map(Duration::from_millis)
    }

    /// Where detailed tracing sends spans and events, where it is on.
    fn detailed_endpoint(&self) -> Option<String> {
        self.get("BETA_TRACING_ENDPOINT").filter(|_| self.is_on("ENABLE_BETA_TRACING_DETAILED"))
    }

    /// The signal's own variable, or the one for all of them.
    fn of_signal(&self, signal: Signal, name: &str) -> Option<String> {
        let own = format!("OTEL_EXPORTER_OTLP_{}_{name}", signal.word());
        self.get(&own).or_else(|| self.get(&format!("OTEL_EXPORTER_OTLP_{name}")))
    }
}

impl Config {
    /// `None` where nothing is exported.
    pub fn read(lookup: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let variables = Variables(lookup);
        if !variables.is_on("CLAUDE_CODE_ENABLE_TELEMETRY") {
            return None;
        }
        let signals: Vec<SignalConfig> =
            Signal::ALL.iter().filter_map(|signal| read_signal(*signal, &variables)).collect();
        if signals.is_empty() {
            return None;
        }
        let port = variables.get("OTEL_EXPORTER_PROMETHEUS_PORT").and_then(|port| port.parse().ok());
        let resource_attributes = resource_attributes(&variables);
        let limits = Limits::read(&|name| variables.get(name)?.parse().ok());
        let named = resource_attributes.iter().find(|(name, _)| name == "service.name").map(|(_, value)| value.clone());
        Some(Self {
            signals,
            temporality: match variables.get("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE").as_deref() {
                Some("cumulative") => Temporality::Cumulative,
                _ => Temporality::Delta,
            },
            gates: gates(&variables),
            raw_bodies: RawBodies::read(variables.get(RAW_BODIES).as_deref(), variables.is_on(RAW_BODIES)),
            is_detailed: variables.detailed_endpoint().is_some(),
            sampler: sampler(&variables),
            content_max: content_max(&variables, limits),
            limits,
            shutdown: variables.millis("CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS").unwrap_or(SHUTDOWN),
            headers_age: variables
                .millis("CLAUDE_CODE_OTEL_HEADERS_HELPER_DEBOUNCE_MS")
                .filter(|age| !age.is_zero())
                .unwrap_or(HEADERS_AGE),
            prometheus: (
                variables.get("OTEL_EXPORTER_PROMETHEUS_HOST").unwrap_or_else(|| "0.0.0.0".to_owned()),
                port.unwrap_or(PROMETHEUS_PORT),
            ),
            incoming: variables.get("TRACEPARENT").and_then(|text| TraceContext::parse(&text)),
            trace_state: variables.get("TRACEPARENT").and_then(|_| variables.get("TRACESTATE")),
            shows: AttributeChoice {
                session: variables.flag("OTEL_METRICS_INCLUDE_SESSION_ID") != Some(false),
                version: variables.is_on("OTEL_METRICS_INCLUDE_VERSION"),
                entrypoint: variables.is_on("OTEL_METRICS_INCLUDE_ENTRYPOINT"),
                account: variables.flag("OTEL_METRICS_INCLUDE_ACCOUNT_UUID") != Some(false),
                resource_attributes: variables.flag("OTEL_METRICS_INCLUDE_RESOURCE_ATTRIBUTES") != Some(false),
                repository: variables.is_on("OTEL_METRICS_INCLUDE_REPOSITORY"),
            },
            terminal: variables.get("TERM_PROGRAM").or_else(|| variables.get("TERM")),
            service_name: variables.get("OTEL_SERVICE_NAME").or(named),
            resource_attributes: resource_attributes.into_iter().filter(|(name, _)| name != "service.name").collect(),
        })
    }

    /// Whether the repository is told of, and the user has not said which one it is.
    pub fn wants_repository(&self) -> bool {
        self.shows.repository && !self.resource_attributes.iter().any(|(name, _)| name == "vcs.repository.url.full")
    }

    pub fn signal(&self, signal: Signal) -> Option<&SignalConfig> {
        self.signals.iter().find(|config| config.signal == signal)
    }

    pub fn exports_to(&self, exporter: Exporter) -> bool {
        self.signals.iter().any(|signal| signal.exporters.contains(&exporter))
    }
}

fn read_signal(signal: Signal, variables: &Variables) -> Option<SignalConfig> {
    let word = signal.word();
    if signal == Signal::Traces {
        let beta = ["CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", "ENABLE_ENHANCED_TELEMETRY_BETA"];
        if sampler(variables).is_off() || !beta.iter().any(|name| variables.is_on(name)) {
            return None;
        }
    }
    let listed = variables.get(&format!("OTEL_{word}_EXPORTER"))?;
    let exporters: Vec<Exporter> = listed.split(',').filter_map(|name| exporter(name.trim(), signal)).collect();
    if exporters.is_empty() {
        return None;
    }
    let protocol = match variables.of_signal(signal, "PROTOCOL").as_deref() {
        Some("http/json") => Protocol::HttpJson,
        Some("grpc") => Protocol::Grpc,
        _ => Protocol::HttpProtobuf,
    };
    let interval = match signal {
        Signal::Metrics => variables.millis("OTEL_METRIC_EXPORT_INTERVAL").unwrap_or(METRICS_INTERVAL),
        _ => variables.millis(&format!("OTEL_{word}_EXPORT_INTERVAL")).unwrap_or(OTHER_INTERVAL),
    };
    Some(SignalConfig {
        signal,
        exporters,
        protocol,
        url: url(signal, protocol, variables),
        headers: headers(signal, variables),
        is_compressed: variables.of_signal(signal, "COMPRESSION").as_deref() == Some("gzip"),
        interval,
        tls: TlsFiles {
            roots: variables.of_signal(signal, "CERTIFICATE"),
            certificate: variables.of_signal(signal, "CLIENT_CERTIFICATE"),
            key: variables.of_signal(signal, "CLIENT_KEY"),
        },
    })
}

fn sampler(variables: &Variables) -> Sampler {
    let value = |name: &str| variables.get(name);
    Sampler::read(value("OTEL_TRACES_SAMPLER").as_deref(), value("OTEL_TRACES_SAMPLER_ARG").as_deref())
}

/// No more than an attribute may have, so that the mark of a cut is not cut off.
fn content_max(variables: &Variables, limits: Limits) -> usize {
    let named = variables.get("CLAUDE_CODE_OTEL_CONTENT_MAX_LENGTH").and_then(|most| most.parse().ok());
    let lengths = [limits.log.length, limits.span.length];
    lengths.into_iter().flatten().fold(named.unwrap_or(CONTENT_MAX), usize::min)
}

fn exporter(name: &str, signal: Signal) -> Option<Exporter> {
    match name {
        "otlp" => Some(Exporter::Otlp),
        "console" => Some(Exporter::Console),
        "prometheus" if signal == Signal::Metrics => Some(Exporter::Prometheus),
        _ => None,
    }
}

/// A signal's own address is taken as it is; the common one gets the signal's path. Detailed tracing has an address for spans
/// and events that wins over both.
fn url(signal: Signal, protocol: Protocol, variables: &Variables) -> String {
    let detailed = variables.detailed_endpoint().filter(|_| signal != Signal::Metrics);
    let own = variables.get(&format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", signal.word())).filter(|_| detailed.is_none());
    let common = detailed.or_else(|| variables.get("OTEL_EXPORTER_OTLP_ENDPOINT"));
    match (protocol, own, common) {
        (Protocol::Grpc, own, common) => {
            let base = own.or(common).unwrap_or_else(|| DEFAULT_GRPC_ENDPOINT.to_owned());
            let base = if base.contains("://") { base } else { format!("http://{base}") };
            format!("{}/{}", base.trim_end_matches('/'), signal.grpc_path())
        }
        (_, Some(own), _) => own,
        (_, None, common) => {
            let base = common.unwrap_or_else(|| DEFAULT_ENDPOINT.to_owned());
            format!("{}/{}", base.trim_end_matches('/'), signal.path())
        }
    }
}

/// `k=v,k=v`, values as they are; the signal's own win.
fn headers(signal: Signal, variables: &Variables) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for name in ["OTEL_EXPORTER_OTLP_HEADERS".to_owned(), format!("OTEL_EXPORTER_OTLP_{}_HEADERS", signal.word())] {
        for (key, value) in pairs(&variables.get(&name).unwrap_or_default()) {
            all.retain(|(known, _)| !known.eq_ignore_ascii_case(&key));
            all.push((key, value));
        }
    }
    all
}

fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |part: &str| part.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
    text.split(',').filter_map(pair).filter(|(key, _)| !key.is_empty()).collect()
}

fn resource_attributes(variables: &Variables) -> Vec<(String, String)> {
    let listed = pairs(&variables.get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
    listed.into_iter().map(|(key, value)| (key, percent_decode_str(&value).decode_utf8_lossy().into_owned())).collect()
}

fn gates(variables: &Variables) -> Gates {
    let prompts = variables.is_on("OTEL_LOG_USER_PROMPTS");
    let responses = variables.flag("OTEL_LOG_ASSISTANT_RESPONSES").unwrap_or(prompts);
    let rows = [
        (PROMPTS, prompts),
        (RESPONSES, responses),
        (TOOL_DETAILS, variables.is_on("OTEL_LOG_TOOL_DETAILS")),
        (TOOL_CONTENT, variables.is_on("OTEL_LOG_TOOL_CONTENT")),
        (MANAGED_SETTINGS, variables.is_on("OTEL_LOG_MANAGED_SETTINGS")),
    ];
    Gates { bits: rows.iter().filter(|(_, on)| *on).fold(0, |bits, (bit, _)| bits | bit) }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;

use super::*;

fn read(pairs: &[(&str, &str)]) -> Option<Config> {
    Config::read(&|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
}

const ON: (&str, &str) = ("CLAUDE_CODE_ENABLE_TELEMETRY", "1");
const LOGS: (&str, &str) = ("OTEL_LOGS_EXPORTER", "otlp");

#[test]
fn nothing_is_exported_unless_all_switches_say_so() {
    type Row<'a> = (&'a [(&'a str, &'a str)], &'a [Signal]);
    let traces = ("OTEL_TRACES_EXPORTER", "otlp");
    let beta = ("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", "1");
    let rows: &[Row<'_>] = &[
        (&[], &[]),
        (&[LOGS], &[]),
        (&[ON], &[]),
        (&[ON, LOGS], &[Signal::Logs]),
        (&[ON, ("OTEL_LOGS_EXPORTER", "none")], &[]),
        (&[ON, ("OTEL_LOGS_EXPORTER", "nonsense,console")], &[Signal::Logs]),
        (&[ON, ("OTEL_LOGS_EXPORTER", "prometheus")], &[]),
        (&[ON, traces], &[]),
        (&[ON, traces, beta], &[Signal::Traces]),
        (&[ON, traces, ("ENABLE_ENHANCED_TELEMETRY_BETA", "true")], &[Signal::Traces]),
        (&[ON, traces, beta, ("OTEL_TRACES_SAMPLER", "always_off")], &[]),
        (&[ON, LOGS, ("DISABLE_TELEMETRY", "1")], &[Signal::Logs]),
    ];
    for (pairs, expected) in rows {
        let signals: Vec<Signal> =
            read(pairs).map(|config| config.signals.iter().map(|one| one.signal).collect()).unwrap_or_default();
        assert_eq!(signals, *expected, "{pairs:?}");
    }
}

#[test]
fn addresses_headers_and_protocols_are_those_of_the_signal() {
    let logs = |pairs: &[(&str, &str)]| {
        let mut all = vec![ON, LOGS];
        all.extend(pairs);
        read(&all).and_then(|config| config.signal(Signal::Logs).cloned()).unwrap()
    };
    for (pairs, url, protocol) in [
        (&[][..], "http://localhost:4318/v1/logs", Protocol::HttpProtobuf),
        (&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:1/x/")], "http://h:1/x/v1/logs", Protocol::HttpProtobuf),
        (&[("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://h:1")], "http://h:1", Protocol::HttpProtobuf),
        (&[("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")], "http://localhost:4318/v1/logs", Protocol::HttpJson),
        (
            &[("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "grpc"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "h:4317")],
            "http://h:4317/opentelemetry.proto.collector.logs.v1.LogsService/Export",
            Protocol::Grpc,
        ),
    ] {
        let got = logs(pairs);
        assert_eq!((got.url.as_str(), got.protocol), (url, protocol), "{pairs:?}");
    }
    let got = logs(&[
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization = Bearer%20tok , x-a=1,bad"),
        ("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "x-a=2"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ("OTEL_LOGS_EXPORT_INTERVAL", "250"),
    ]);
    assert_eq!(got.headers, [("authorization".into(), "Bearer%20tok".into()), ("x-a".into(), "2".into())]);
    assert!(got.is_compressed && got.interval == Duration::from_millis(250));
}

#[test]
fn content_leaves_only_where_the_user_says_so() {
    let shown = |pairs: &[(&str, &str)]| {
        let mut all = vec![ON, LOGS];
        all.extend(pairs);
        let gates = read(&all).unwrap().gates;
        [gates.prompts(), gates.responses(), gates.tool_details(), gates.tool_content()]
    };
    let prompts = ("OTEL_LOG_USER_PROMPTS", "1");
    assert_eq!(shown(&[]), [false; 4]);
    assert_eq!(shown(&[prompts]), [true, true, false, false]);
    assert_eq!(shown(&[prompts, ("OTEL_LOG_ASSISTANT_RESPONSES", "0")]), [true, false, false, false]);
    assert_eq!(shown(&[("OTEL_LOG_TOOL_DETAILS", "yes"), ("OTEL_LOG_TOOL_CONTENT", "on")]), [false, false, true, true]);
    assert_eq!(shown(&[("OTEL_LOG_USER_PROMPTS", "perhaps")]), [false; 4], "what is not understood shows nothing");
}

#[test]
fn resource_attributes_are_decoded_and_name_the_service() {
    let config = read(&[ON, LOGS, ("OTEL_RESOURCE_ATTRIBUTES", "team=a%20b,service.name=mine,odd=%zz")]).unwrap();
    assert_eq!(config.resource_attributes, [("team".into(), "a b".into()), ("odd".into(), "%zz".into())]);
    assert_eq!(config.service_name.as_deref(), Some("mine"));
}

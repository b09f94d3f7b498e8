//! The metrics as Prometheus reads them, and the small server that it asks.

use crate::attribute::{Attributes, Value};
use crate::record::Series;
use crate::telemetry::Telemetry;
use std::fmt::Write as _;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const SCOPE: &str = "com.anthropic.claude_code";
/// A scraper that says nothing is let go.
const REQUEST_WAIT: Duration = Duration::from_secs(5);
const REQUEST_MAX: usize = 8 * 1024;

pub(crate) fn text(resource: &Attributes, series: &[Series], version: &str) -> String {
    let mut out = String::from("# HELP target_info Target metadata\n# TYPE target_info gauge\n");
    // Writing into a String cannot fail.
    let _ = writeln!(out, "target_info{{{}}} 1", labels(resource, &[]));
    for one in series {
        let name = format!("{}_total", sanitised(&one.name));
        let _ = writeln!(out, "# HELP {name} {}\n# TYPE {name} counter", one.description);
        for point in &one.points {
            let scope = [("otel_scope_name", SCOPE), ("otel_scope_version", version)];
            let _ = writeln!(out, "{name}{{{}}} {}", labels(&point.attributes, &scope), point.sum);
        }
    }
    out
}

fn labels(attributes: &Attributes, more: &[(&str, &str)]) -> String {
    let own = attributes.iter().map(|(name, value)| {
        let value = match value {
            Value::Text(text) => text.clone(),
            Value::Int(number) => number.to_string(),
            Value::Double(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            Value::List(items) => items.join(","),
        };
        (sanitised(name), value)
    });
    let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let label = |(name, value): (String, String)| {
        format!("{name}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
    };
    own.chain(more).map(label).collect::<Vec<String>>().join(",")
}

fn sanitised(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '_' }).collect()
}

/// Answers scrapes until dropped.
pub async fn serve(listener: TcpListener, telemetry: Telemetry) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let telemetry = telemetry.clone();
        drop(tokio::spawn(async move {
            let mut head = vec![0; REQUEST_MAX];
            let read = tokio::time::timeout(REQUEST_WAIT, stream.read(&mut head)).await;
            let length = read.ok().and_then(Result::ok).unwrap_or(0);
            let is_known = head[..length].starts_with(b"GET /metrics");
            let (status, body) =
                if is_known { ("200 OK", telemetry.prometheus_text()) } else { ("404 Not Found", String::new()) };
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = tokio::time::timeout(REQUEST_WAIT, stream.write_all(answer.as_bytes())).await;
        }));
    }
}

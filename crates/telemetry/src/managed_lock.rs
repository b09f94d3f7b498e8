//! An administrator who says where telemetry goes: variables of the user's that would send it elsewhere do not count. Pure.
//!
//! What is collected stays the user's choice, and so do variables that the administrator sets for one signal.

use serde_json::{Map, Value};

const PREFIX: &str = "OTEL_EXPORTER_OTLP_";
const SIGNALS: [&str; 3] = ["METRICS_", "LOGS_", "TRACES_"];
/// Whoever has these may read what is meant for another, or send in somebody's name.
const CREDENTIALS: [&str; 3] = ["HEADERS", "CLIENT_KEY", "CLIENT_CERTIFICATE"];

/// The settings of the administrator, as far as they are about telemetry.
pub struct ManagedLock<'a> {
    env: Option<&'a Map<String, Value>>,
    has_helper: bool,
}

impl<'a> ManagedLock<'a> {
    pub fn new(managed: &'a Value) -> Self {
        let has_helper = managed["otelHeadersHelper"].as_str().is_some_and(|command| !command.trim().is_empty());
        Self { env: managed["env"].as_object(), has_helper }
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.env.and_then(|env| env.get(name))
    }

    fn sets(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    fn sets_general(&self, word: &str) -> bool {
        self.sets(&format!("{PREFIX}{word}"))
    }

    /// Whether a variable does not count, whoever has set it.
    pub fn drops(&self, name: &str) -> bool {
        if self.env.is_none() && !self.has_helper || self.sets(name) {
            return false;
        }
        if name == "BETA_TRACING_ENDPOINT" {
            return self.decides_other_signals();
        }
        let Some(word) = name.strip_prefix(PREFIX) else { return false };
        let has_credentials = CREDENTIALS.iter().any(|credential| self.sets_general(credential));
        let Some((signal, word)) = SIGNALS.iter().find_map(|signal| Some((signal, word.strip_prefix(signal)?))) else {
            return word == "ENDPOINT" && has_credentials;
        };
        match word {
            "ENDPOINT" => {
                let own = CREDENTIALS.iter().any(|credential| self.sets_general(&format!("{signal}{credential}")));
                own || has_credentials || self.sets_general("ENDPOINT")
            }
            "PROTOCOL" => self.sets_general("PROTOCOL"),
            credential => CREDENTIALS.contains(&credential) && self.sets_general(credential),
        }
    }

    /// The administrator says where events or spans go, or that they go nowhere.
    fn decides_other_signals(&self) -> bool {
        let says = |word: &str| {
            let of_signal = |signal: &&str| self.sets_general(&format!("{signal}{word}"));
            self.sets_general(word) || SIGNALS[1..].iter().any(of_signal)
        };
        let is_kept_here = |name: &str| {
            let value = self.value(name).and_then(Value::as_str);
            value.is_some_and(|value| matches!(value.trim(), "" | "none" | "console"))
        };
        let is_off = || match self.value("CLAUDE_CODE_ENABLE_TELEMETRY") {
            Some(Value::String(text)) => matches!(text.trim(), "" | "0" | "false" | "no" | "off"),
            Some(value) => matches!(value, Value::Bool(false)) || value.as_f64() == Some(0.0),
            None => false,
        };
        self.has_helper
            || says("ENDPOINT")
            || CREDENTIALS.iter().any(|credential| says(credential))
            || ["OTEL_LOGS_EXPORTER", "OTEL_TRACES_EXPORTER"].into_iter().any(is_kept_here)
            || is_off()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn variables_that_would_send_it_elsewhere_do_not_count() {
        let names = [
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
            "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL",
            "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
            "BETA_TRACING_ENDPOINT",
            "OTEL_LOGS_EXPORTER",
            "OTEL_LOG_USER_PROMPTS",
        ];
        let env = |pairs: &[(&str, &str)]| {
            let env: Map<String, Value> =
                pairs.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
            json!({"env": env})
        };
        for (managed, dropped) in [
            (json!({}), vec![]),
            (env(&[("OTEL_LOG_USER_PROMPTS", "0")]), vec![]),
            (env(&[(names[0], "http://a")]), vec![names[1], names[2], names[5]]),
            (env(&[(names[0], "http://a"), (names[1], "http://b")]), vec![names[2], names[5]]),
            (env(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]), vec![names[3]]),
            (env(&[("OTEL_EXPORTER_OTLP_HEADERS", "a=b")]), vec![names[0], names[1], names[2], names[4], names[5]]),
            (env(&[(names[4], "a=b")]), vec![names[1], names[5]]),
            (env(&[("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "a=b")]), vec![names[2]]),
            (env(&[("OTEL_LOGS_EXPORTER", "none")]), vec![names[5]]),
            (env(&[("OTEL_LOGS_EXPORTER", "otlp")]), vec![]),
            (env(&[("CLAUDE_CODE_ENABLE_TELEMETRY", "0")]), vec![names[5]]),
            (json!({"otelHeadersHelper": "x"}), vec![names[5]]),
        ] {
            let lock = ManagedLock::new(&managed);
            let found: Vec<&str> = names.into_iter().filter(|name| lock.drops(name)).collect();
            assert_eq!(found, dropped, "{managed}");
        }
    }
}

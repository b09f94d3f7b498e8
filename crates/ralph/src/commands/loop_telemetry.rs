//! The loop's own export to the user's collector: what is configured, and who is named in it.

use crate::failure::Failure;
use crate::say;
use ::cloud::world::{CloudEnvironment as _, Command};
use resolve::{Environment, Machine};
use std::time::Duration;
use telemetry::{Common, Config, Resource, Telemetry, TraceContext};

/// A helper that asks for headers answers at once or not at all.
const HELPER_WAIT: Duration = Duration::from_secs(30);

/// What came in with the environment.
pub fn incoming(environment: &Environment) -> Option<TraceContext> {
    TraceContext::parse(environment.get("TRACEPARENT")?)
}

/// The handle; an empty one where nothing is configured.
pub async fn open(environment: &Environment) -> Telemetry {
    let Some(config) = Config::read(&|name| environment.get(name).map(str::to_owned)) else { return Telemetry::off() };
    let headers = match helper_headers(environment).await {
        Ok(headers) => headers,
        Err(failure) => {
            say::err(&format!("warning: otelHeadersHelper: {}; nothing is exported.", failure.reason()));
            return Telemetry::off();
        }
    };
    let telemetry = Telemetry::new(config, &resource(), &common(environment), incoming(environment));
    telemetry.set_headers(headers);
    telemetry
}

fn resource() -> Resource {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Resource {
        arch: arch.to_owned(),
        os: std::env::consts::OS.to_owned(),
        os_version: release.trim().to_owned(),
        service: "ralph".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn common(environment: &Environment) -> Common {
    let state = std::fs::read_to_string(resolve::places(environment).global_file()).unwrap_or_default();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap_or_default();
    // An id that is kept nowhere is one for this process.
    let fresh = || format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
    Common {
        user_id: state["userID"].as_str().map_or_else(fresh, str::to_owned),
        session_id: uuid::Uuid::new_v4().to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        terminal: environment.get("TERM_PROGRAM").or(environment.get("TERM")).map(str::to_owned),
        ..Common::default()
    }
}

/// What the user's or the administrator's helper says; a folder's never counts.
async fn helper_headers(environment: &Environment) -> Result<Vec<(String, String)>, Failure> {
    let Some(command) = resolve::user_setting("otelHeadersHelper", environment) else { return Ok(Vec::new()) };
    let client = resolve::api(environment)?;
    let machine = Machine::new(environment, &client);
    let said = machine.run(Command::Shell(command), HELPER_WAIT).await.map_err(Failure::failed)?;
    let said: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&said).map_err(|_| Failure::failed("its output is no JSON object of texts"))?;
    let header = |(name, value): (String, serde_json::Value)| Some((name, value.as_str()?.to_owned()));
    Ok(said.into_iter().filter_map(header).collect())
}

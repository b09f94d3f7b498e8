//! Export to the user's collector, for the loop and for the agent: with which certificates and headers.

use crate::say;
use ::cloud::world::{CloudEnvironment as _, Command};
use model::ClientConfig;
use resolve::Machine;
use std::sync::Arc;
use std::time::Duration;
use telemetry::{HeadersHelper, HelperError, Printed, Protocol, SignalConfig, Tls};

/// A helper that asks for headers answers at once or not at all.
const HELPER_WAIT: Duration = Duration::from_secs(30);

/// What a collector behind TLS is shown: over HTTP what the model's endpoint is shown, over gRPC what the variables name.
pub fn tls(signal: &SignalConfig, client: &ClientConfig) -> Option<Tls> {
    if signal.protocol == Protocol::Grpc {
        return Tls::of_files(&signal.tls);
    }
    let identity = client.tls.identity_pem().ok()?.map(String::into_bytes);
    let roots = client.extra_ca_files.iter().filter_map(|file| telemetry::read_pem(file)).collect();
    Some(Tls { identity, roots })
}

pub fn helper(command: String, machine: Machine) -> HeadersHelper {
    let machine = Arc::new(machine);
    let run = move || -> Printed {
        let (machine, command) = (Arc::clone(&machine), Command::Shell(command.clone()));
        let failed = |error: ::cloud::world::WorldError| HelperError::Failed(error.to_string());
        Box::pin(async move { machine.run(command, HELPER_WAIT).await.map_err(failed) })
    };
    HeadersHelper { run: Box::new(run), warn: say::err }
}

//! The loop's own export to the user's collector.

use crate::collector;
use resolve::{Environment, Machine};
use telemetry::{Common, Config, HeadersHelper, Resource, Telemetry};

/// The handle, with the helper that says its headers; an empty one where nothing is configured.
pub fn open(environment: &Environment) -> (Telemetry, Option<HeadersHelper>) {
    let Some(config) = Config::read(&|name| environment.get(name).map(str::to_owned)) else {
        return (Telemetry::off(), None);
    };
    // What is wrong with the model's endpoint is said by the run itself.
    let Ok(client) = resolve::api(environment) else { return (Telemetry::off(), None) };
    let version = env!("CARGO_PKG_VERSION");
    let common = Common {
        user_id: settings::user_id(&resolve::places(environment), &telemetry::random_user_id()),
        session_id: uuid::Uuid::new_v4().to_string(),
        version: version.to_owned(),
        ..Common::default()
    };
    let resource = Resource::here("ralph", version);
    let telemetry = Telemetry::new(config, &resource, &common, &|signal| collector::tls(signal, &client));
    // What the user or the administrator says; a folder's never counts.
    let command = resolve::user_setting("otelHeadersHelper", environment);
    let helper = command.map(|command| collector::helper(command, Machine::new(environment, &client)));
    (telemetry, helper)
}

//! The agent's export to the user's collector: what a session is shown as, and the last export before the exit.

use crate::{collector, say};
use agent::{Options, OutputFormat, SessionPlan};
use arguments::Arguments;
use observer::{ManagedSettings, Observer, ReleasedSettings, SessionFacts};
use resolve::{CONTRACT_VERSION, Environment, Machine};
use settings::Found;
use telemetry::{Common, Config, Exporting, Gates, HeadersHelper, ManagedLock, Resource, Telemetry};
use wire::ExitCode;

/// An export that was asked for.
pub struct Export {
    telemetry: Telemetry,
    helper: Option<HeadersHelper>,
    /// The console exporter prints after the answer, where that is text for people.
    prints: bool,
}

/// Has the session observed, as the service that dashboards know, where the user's variables ask for it. Looks at one variable otherwise.
pub fn open(typed: &Arguments, options: &mut Options, environment: &Environment) -> Option<Export> {
    let lock = ManagedLock::new(&options.settings.managed);
    let mut config = Config::read(&|name| environment.get(name).filter(|_| !lock.drops(name)).map(str::to_owned))?;
    config.raw_bodies = config.raw_bodies.anchored(&options.cwd);
    let incoming = config.incoming;
    let mut common = common(options, environment);
    if config.wants_repository() {
        common.remote = observer::origin(&options.cwd, environment.home.as_deref());
    }
    let managed = managed(&options.settings, config.gates);
    let resource = Resource::here("claude-code", CONTRACT_VERSION);
    let client = &options.access.client;
    let telemetry = Telemetry::new(config, &resource, &common, &|signal| collector::tls(signal, client));
    // A folder, even one that is trusted, has no say in which command runs or what it reveals.
    let command = options.settings.personal["otelHeadersHelper"].as_str();
    let helper = command.map(|command| collector::helper(command.to_owned(), Machine::new(environment, client)));
    let start_type = match options.session.plan {
        SessionPlan::New => "fresh",
        _ if typed.continue_latest => "continue",
        SessionPlan::Resume { .. } | SessionPlan::Fork { .. } => "resume",
    };
    let facts = SessionFacts {
        id: options.session.id.clone(),
        mode: options.permissions.mode,
        start_type,
        incoming,
        propagates: !common.has_custom_base_url || environment.is_on("CLAUDE_CODE_PROPAGATE_TRACEPARENT"),
        managed,
        folder: options.cwd.clone(),
    };
    options.observer = Observer::new(telemetry.clone(), facts);
    Some(Export { telemetry, helper, prints: options.output == OutputFormat::Text })
}

fn managed(settings: &settings::Settings, gates: Gates) -> ManagedSettings {
    let is_released = gates.managed_settings() && !settings.managed_sources.is_empty();
    let released = is_released.then(|| ReleasedSettings {
        canonical: settings::canonical(&settings.managed),
        shown: settings::outline(&settings.managed).to_string(),
    });
    ManagedSettings {
        released,
        sources: settings.managed_sources.iter().map(|source| (*source).to_owned()).collect(),
        behavior: settings.managed["managedSourcesBehavior"].as_str().map(str::to_owned),
    }
}

/// What the login that is used has subscribed to. A cloud's own credentials have no plan.
fn plan(options: &Options) -> Option<String> {
    match &options.access.credentials.chosen.as_ref()?.found {
        Found::OAuthFile(login) if options.asking.model_env.endpoint.is_none() => login.plan.clone(),
        _ => None,
    }
}

fn common(options: &Options, environment: &Environment) -> Common {
    let state = std::fs::read_to_string(options.places.global_file()).unwrap_or_default();
    let state: serde_json::Value = serde_json::from_str(&state).unwrap_or_default();
    let provider = options.asking.model_env.endpoint.as_ref().map_or("firstParty", |endpoint| endpoint.provider_name());
    Common {
        user_id: settings::user_id(&options.places, &telemetry::random_user_id()),
        session_id: options.session.id.clone(),
        version: CONTRACT_VERSION.to_owned(),
        entrypoint: options.session.entrypoint.clone(),
        provider: Some(provider.to_owned()),
        has_custom_base_url: environment.get("ANTHROPIC_BASE_URL").is_some(),
        plan: plan(options),
        ..Common::default()
    }
    .with_account(&state)
}

/// The session with its export: beside its work, and once more at its end. Neither changes how it ends.
pub async fn around(export: Option<Export>, session: impl Future<Output = ExitCode>) -> ExitCode {
    let Some(export) = export else { return session.await };
    let exporting = Exporting::start(export.telemetry, export.helper).await;
    let exit = session.await;
    let said = exporting.finish().await;
    if export.prints && !said.is_empty() {
        say::out(&said);
    }
    exit
}

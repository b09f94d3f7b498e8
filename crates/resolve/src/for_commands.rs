//! Parts of what a session is started with, for commands that start none and for the loop.

use crate::configuration::{minimal, places, places_for, settings, sources};
use crate::confined::{self, Foreign};
use crate::environment::Environment;
use crate::permissions::{self, Judging};
use crate::refusal::Refusal;
use crate::{access, outside, sessions};
use arguments::Arguments;
use options::OutsideSetup;
use runner::ConfinedAgent;
use sandbox::Rules;
use settings::{Places, Settings, Sources};

/// Only what `auth status` and `doctor` need.
pub fn credentials_only(typed: Option<&Arguments>, environment: &Environment) -> Result<settings::Resolution, Refusal> {
    let places = places(environment);
    let nothing = Arguments::default();
    let typed = typed.unwrap_or(&nothing);
    let (bare, safe) = minimal(typed, environment);
    let settings = settings(typed, (&places, environment), sources(typed)?, bare || safe)?.settings;
    Ok(access::credentials(&settings, &places, environment, bare))
}

/// The settings as a run would have them, for commands that only tell.
pub fn loaded_settings(typed: &Arguments, environment: &Environment) -> Result<Settings, Refusal> {
    let (bare, safe) = minimal(typed, environment);
    Ok(settings(typed, (&places(environment), environment), sources(typed)?, bare || safe)?.settings)
}

/// The environment with what the settings add to it, for commands that only tell.
pub fn with_settings(typed: Option<&Arguments>, environment: &Environment) -> Environment {
    let nothing = Arguments::default();
    let typed = typed.unwrap_or(&nothing);
    let mut whole = environment.clone();
    let (bare, safe) = minimal(typed, environment);
    let loaded =
        sources(typed).and_then(|sources| settings(typed, (&places(environment), environment), sources, bare || safe));
    if let Ok(loaded) = loaded {
        whole.overlay(&loaded.settings.env);
    }
    whole
}

/// The profile of the endpoint, or why it cannot be; `None` where the settings cannot be read.
pub fn profile(environment: &Environment) -> Option<Result<model::Profile, Refusal>> {
    let loaded =
        settings(&Arguments::default(), (&places(environment), environment), Sources::default(), false).ok()?;
    Some(access::profile(&loaded.settings, environment, false))
}

/// Only what `explain` needs: how calls are judged, and what should be said about it.
pub fn judging(typed: &Arguments, environment: &Environment) -> Result<Judging, Refusal> {
    let places = places_for(typed, environment)?;
    let (bare, safe) = minimal(typed, environment);
    let loaded = settings(typed, (&places, environment), sources(typed)?, bare || safe)?;
    permissions::judging(typed, loaded, places, environment)
}

/// What a loop's checks may do: what commands may in a workspace, whatever level agents have.
pub fn confined_checks(environment: &Environment, warnings: &mut Vec<String>) -> Result<Option<Rules>, Refusal> {
    let places = places(environment);
    let settings = loop_settings(&places, environment)?;
    let typed = arguments::parse(["--sandbox".to_owned(), "workspace".to_owned()])
        .map_err(|error| Refusal::new(error.to_string()))?;
    let confined = confined::resolve(&typed, &settings, &places, &[], environment, warnings)?;
    Ok(confined.map(|confined| confined.rules))
}

/// The box around a loop's agent that is not ours.
pub fn held(
    foreign: &Foreign,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<ConfinedAgent, Refusal> {
    let places = places(environment);
    let settings = loop_settings(&places, environment)?;
    confined::held(foreign, &settings, &places, environment, warnings)
}

/// Its agents would refuse rules that cannot be read, one after the other; so the loop does, once.
fn loop_settings(places: &Places, environment: &Environment) -> Result<Settings, Refusal> {
    let settings = settings(&Arguments::default(), (places, environment), Sources::default(), false)?.settings;
    permissions::check(&settings)?;
    Ok(settings)
}

/// Why a loop may not do without a sandbox, where it may not.
pub fn sandbox_is_policy(environment: &Environment) -> Result<Option<&'static str>, Refusal> {
    let settings = loop_settings(&places(environment), environment)?;
    Ok(confined::is_policy(&settings).then_some(confined::POLICY))
}

/// A setting of the user's or the administrator's, for a loop.
pub fn user_setting(key: &str, environment: &Environment) -> Option<String> {
    loop_settings(&places(environment), environment).ok()?.text(key).map(str::to_owned)
}

/// What keeps requests from being sent at all, for `doctor`.
pub fn endpoint_problem(environment: &Environment) -> Option<String> {
    access::client(environment).err().map(|refusal| refusal.text)
}

/// The servers that files and flags configure, for commands that connect to them.
pub struct CommandServers {
    pub outside: OutsideSetup,
    pub client: model::ClientConfig,
    pub places: Places,
}

pub fn command_servers(typed: &Arguments, environment: &Environment) -> Result<CommandServers, Refusal> {
    let mut environment = environment.clone();
    let places = places_for(typed, &environment)?;
    let (bare, safe) = minimal(typed, &environment);
    let settings = settings(typed, (&places, &environment), sources(typed)?, bare || safe)?.settings;
    environment.overlay(&settings.env);
    let session = sessions::resolve(typed, &places, &environment)?;
    let nothing = project::Plugins::default();
    let outside = outside::resolve(typed, &settings, &places, &nothing, &environment, (bare || safe, &session))?;
    Ok(CommandServers { outside, client: access::client(&environment)?, places })
}

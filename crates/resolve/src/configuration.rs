//! Where the configuration is, and the settings that are read from there.

use crate::environment::Environment;
use crate::host_managed;
use crate::local_rules;
use crate::refusal::Refusal;
use arguments::Arguments;
use settings::{FlagSettings, Places, Sources};
use std::path::{Path, PathBuf};

/// With `--project-config-root`, the project's configuration is that of another checkout.
pub(crate) fn places_for(typed: &Arguments, environment: &Environment) -> Result<Places, Refusal> {
    let mut places = places(environment);
    if let Some(root) = typed.project_config_root.as_deref().filter(|root| !root.is_empty()) {
        let folder = environment.cwd.join(root).canonicalize().ok().filter(|folder| folder.is_dir());
        let folder = folder
            .ok_or_else(|| Refusal::new(format!("Error: --project-config-root {root} is not a folder that exists.")))?;
        places.project = Some(folder);
    }
    Ok(places)
}

pub fn places(environment: &Environment) -> Places {
    let custom = environment.get("CLAUDE_CONFIG_DIR").map(PathBuf::from);
    let mut places = Places::new(environment.cwd.clone(), environment.home.clone(), custom);
    let cache = environment.get("CLAUDE_CODE_PLUGIN_CACHE_DIR").map(PathBuf::from);
    places.plugin_cache = cache.filter(|folder| folder.is_absolute());
    // Tests cannot write where administrators do.
    match environment.get("RALPH_TEST_MANAGED_DIR").filter(|_| cfg!(debug_assertions)) {
        Some(folder) => Places { managed_dir: folder.into(), ..places },
        None => places,
    }
}

/// Whether this is a bare start, and whether a safe one.
pub(crate) fn minimal(typed: &Arguments, environment: &Environment) -> (bool, bool) {
    let bare = typed.bare || environment.is_on("CLAUDE_CODE_SIMPLE");
    let safe = typed.safe_mode || environment.is_on("CLAUDE_CODE_SAFE_MODE");
    (bare, safe)
}

pub(crate) fn sources(typed: &Arguments) -> Result<Sources, Refusal> {
    match typed.setting_sources.as_deref() {
        _ if typed.restricted => Ok(Sources::NONE),
        Some(list) => Sources::parse(list).map_err(|error| Refusal::new(format!("Error: {error}"))),
        None => Ok(Sources::default()),
    }
}

pub(crate) fn settings(
    typed: &Arguments,
    (places, environment): (&Places, &Environment),
    sources: Sources,
    safe: bool,
) -> Result<settings::Loaded, Refusal> {
    let flag = typed.settings.as_deref().and_then(|value| FlagSettings::parse(value, places));
    let is_untracked =
        |top: &Path, folder: &Path, name: &str| local_rules::is_untracked(environment, top, folder, name);
    let managed = typed.managed_settings.as_deref();
    let mut loaded = settings::load_with_own_rules(places, sources, flag.as_ref(), managed, safe, &is_untracked)
        .map_err(|error| Refusal::new(format!("Error: {error}")))?;
    host_managed::apply(&mut loaded.settings, environment);
    Ok(loaded)
}

//! Plugins that settings name: `extraKnownMarketplaces` says where marketplaces are, `enabledPlugins` which plugins are on.
//! Settings of a folder that is not trusted have been taken out before.
//!
//! Absent: fetching and installing. The caller does both, for what is listed here.

use std::path::{Path, PathBuf};

use serde_json::Value;
use settings::{Places, Settings};

use crate::installed::{installed, known_marketplaces, may_use};
use crate::marketplace::Source;
use crate::plugins::is_plugin_name;

/// A plugin that is switched on and not installed.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    pub name: String,
    pub market: String,
    /// Where its marketplace is, if the settings say so and the user does not have it yet.
    pub source: Option<Source>,
}

impl Declared {
    pub fn id(&self) -> String {
        format!("{}@{}", self.name, self.market)
    }
}

/// The plugins to install before they can be loaded. A marketplace that the administrator does not allow is left out;
/// loading says so.
pub fn declared_plugins(places: &Places, settings: &Settings) -> Vec<Declared> {
    let wanted = settings.merged.get("enabledPlugins").and_then(Value::as_object).into_iter().flatten();
    let mut wanted = wanted.filter(|(_, on)| **on == Value::Bool(true)).map(|(id, _)| id).peekable();
    if wanted.peek().is_none() {
        return Vec::new();
    }
    let here = installed(places);
    let is_here = |id: &str| here.iter().any(|plugin| plugin.id == id && plugin.path.is_dir());
    let missing: Vec<&String> = wanted.filter(|id| !is_here(id)).collect();
    if missing.is_empty() {
        return Vec::new();
    }
    let known = known_marketplaces(places);
    missing.into_iter().filter_map(|id| declared(id, &known, places, settings)).collect()
}

fn declared(
    id: &str,
    known: &[(crate::Marketplace, Source)],
    places: &Places,
    settings: &Settings,
) -> Option<Declared> {
    let (name, market) = id.rsplit_once('@').filter(|(name, market)| is_plugin_name(name) && is_plugin_name(market))?;
    let (name, market) = (name.to_owned(), market.to_owned());
    if let Some((_, source)) = known.iter().find(|(known, _)| known.name == market) {
        return may_use(settings, source).then_some(Declared { name, market, source: None });
    }
    let entry = settings.merged.get("extraKnownMarketplaces")?.get(&market)?;
    let source = Source::written(entry.get("source")?, places.project_dir());
    may_use(settings, &source).then_some(Declared { name, market, source: Some(source) })
}

/// The folder of a plugin in a read-only folder that was filled beforehand, as images of containers bring it.
pub fn seeded_plugin(seed: &Path, plugin: &Declared) -> Option<PathBuf> {
    let folder = seed.join("cache").join(&plugin.market).join(&plugin.name);
    let mut versions: Vec<PathBuf> =
        folder.read_dir().ok()?.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    versions.sort();
    versions.pop()
}

//! Which plugins the user has installed, from which marketplaces: the state under `<config>/plugins`, and the
//! settings that switch them on.
//!
//! Everything a plugin consists of is copied when it is installed: a marketplace that changes afterwards changes
//! nothing that runs. Absent: fetching (the caller brings a folder) and loading (`plugins`).

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::document_error::DocumentError;
use crate::manifest::Manifest;
use crate::marketplace::{Marketplace, Source, marketplace};
use crate::{PluginDir, PluginProblem, ProjectError};
use settings::files::{self, FileLock};
use settings::text::one_line;
use settings::{Places, Scope, Settings};

/// Others hold the lock only while they rewrite one file.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// A plugin that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// `name@marketplace`.
    pub id: String,
    pub version: String,
    pub path: PathBuf,
    /// For whom it was installed; `None` where the state does not say, as for the two times.
    pub scope: Option<String>,
    pub installed_at: Option<String>,
    pub last_updated: Option<String>,
}

fn folder(places: &Places) -> PathBuf {
    places.plugin_cache.clone().unwrap_or_else(|| places.config_dir.join("plugins"))
}

fn markets_file(places: &Places) -> PathBuf {
    folder(places).join("known_marketplaces.json")
}

fn installed_file(places: &Places) -> PathBuf {
    folder(places).join("installed_plugins.json")
}

/// Where a marketplace that had to be fetched is kept.
pub fn market_folder(places: &Places, name: &str) -> PathBuf {
    folder(places).join("marketplaces").join(name)
}

/// A folder for something that is being fetched; gone again unless it was made use of.
pub struct Fetching(tempfile::TempDir);

impl Fetching {
    pub fn begin(places: &Places) -> Result<Self, ProjectError> {
        let parent = folder(places).join("marketplaces");
        let made = std::fs::create_dir_all(&parent)
            .and_then(|()| tempfile::Builder::new().prefix(".fetching-").tempdir_in(&parent));
        made.map(Self).map_err(|source| ProjectError::Write { file: parent, source })
    }

    /// Does not exist yet.
    pub fn path(&self) -> PathBuf {
        self.0.path().join("fetched")
    }

    /// Gives the marketplace that was fetched its place; one of the same name goes.
    pub fn settle(self, places: &Places) -> Result<Marketplace, ProjectError> {
        let fetched = self.path();
        let market = marketplace(&fetched).map_err(|error| document(&fetched, &error))?;
        let place = market_folder(places, &market.name);
        let moved = || {
            if place.exists() {
                std::fs::remove_dir_all(&place)?;
            }
            std::fs::rename(&fetched, &place)
        };
        moved().map_err(|source| ProjectError::Write { file: place.clone(), source })?;
        marketplace(&place).map_err(|error| document(&place, &error))
    }
}

fn document(file: &Path, error: &DocumentError) -> ProjectError {
    ProjectError::Document { file: file.to_owned(), reason: one_line(&error.to_string()) }
}

/// The marketplaces the user knows, each with where it came from. One that cannot be read is left out.
pub fn known_marketplaces(places: &Places) -> Vec<(Marketplace, Source)> {
    let state = files::read_object(&markets_file(places)).unwrap_or_default();
    let one = |(name, entry): (&String, &Value)| {
        let root = PathBuf::from(entry["installLocation"].as_str()?);
        let market = marketplace(&root).ok().filter(|market| market.name == *name)?;
        Some((market, Source::written(&entry["source"], &root)))
    };
    state.iter().filter_map(one).collect()
}

/// Remembers a marketplace whose folder is in place; one of the same name is replaced.
pub fn add_marketplace(places: &Places, market: &Marketplace, source: &Source, now: &str) -> Result<(), ProjectError> {
    change(&markets_file(places), |state| {
        let entry = json!({"source": source.to_value(), "installLocation": market.root, "lastUpdated": now});
        state.insert(market.name.clone(), entry);
    })
}

/// False where there is none of this name. Its plugins stay installed.
pub fn remove_marketplace(places: &Places, name: &str) -> Result<bool, ProjectError> {
    let mut known = false;
    change(&markets_file(places), |state| known = state.shift_remove(name).is_some())?;
    let fetched = market_folder(places, name);
    if known && fetched.is_dir() {
        std::fs::remove_dir_all(&fetched).map_err(|source| ProjectError::Write { file: fetched, source })?;
    }
    Ok(known)
}

/// Whether an administrator's lists let a marketplace be used.
pub fn may_use(settings: &Settings, source: &Source) -> bool {
    let listed = |key: &str| {
        let list = settings.managed.get(key)?.as_array()?;
        Some(list.iter().any(|entry| Source::written(entry, Path::new("/")).is_same(source)))
    };
    listed("blockedMarketplaces") != Some(true) && listed("strictKnownMarketplaces") != Some(false)
}

pub fn installed(places: &Places) -> Vec<Installed> {
    let state = files::read_object(&installed_file(places)).unwrap_or_default();
    let entries = state.get("plugins").and_then(Value::as_object).cloned().unwrap_or_default();
    let one = |(id, entry): (String, Value)| {
        // The reference keeps a list, one entry a scope.
        let entry = entry.as_array().and_then(|list| list.first().cloned()).unwrap_or(entry);
        let path = PathBuf::from(entry["installPath"].as_str()?);
        let text = |key: &str| entry[key].as_str().map(str::to_owned);
        Some(Installed {
            id,
            version: text("version").unwrap_or_else(|| "unknown".to_owned()),
            path,
            scope: text("scope"),
            installed_at: text("installedAt"),
            last_updated: text("lastUpdated"),
        })
    };
    entries.into_iter().filter_map(one).collect()
}

/// Installs a plugin and switches it on in the settings of the scope. Returns what was installed.
pub fn install(
    places: &Places,
    market: &str,
    name: &str,
    from: &Path,
    scope: Scope,
    now: &str,
) -> Result<Installed, ProjectError> {
    let installed = install_declared(places, market, name, from, scope, now)?;
    switch(places, &installed.id, scope, Some(true))?;
    Ok(installed)
}

/// Copies a plugin's folder to its own place and remembers it. The settings that switch it on stay as they are.
pub fn install_declared(
    places: &Places,
    market: &str,
    name: &str,
    from: &Path,
    scope: Scope,
    now: &str,
) -> Result<Installed, ProjectError> {
    let refused =
        |error: DocumentError| ProjectError::Refused { file: from.to_owned(), reason: one_line(&error.to_string()) };
    let manifest = Manifest::read(from, name).map_err(refused)?;
    let version = manifest.version.unwrap_or_else(|| "unknown".to_owned());
    let id = format!("{name}@{market}");
    let place = folder(places).join("cache").join(market).join(name).join(plain(&version));
    crate::copying::replace(from, &place)?;
    let scope = match scope {
        Scope::User => "user",
        Scope::Project => "project",
        Scope::Local => "local",
    };
    change(&installed_file(places), |state| {
        state.insert("version".to_owned(), json!(2));
        let plugins = state.entry("plugins").or_insert_with(|| json!({}));
        if !plugins.is_object() {
            *plugins = json!({});
        }
        plugins[&id] = json!([{
            "scope": scope,
            "installPath": place,
            "version": version,
            "installedAt": now,
            "lastUpdated": now,
        }]);
    })?;
    let (scope, now) = (Some(scope.to_owned()), Some(now.to_owned()));
    Ok(Installed { id, version, path: place, scope, installed_at: now.clone(), last_updated: now })
}

/// A version as the name of a folder.
fn plain(version: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+') { c } else { '-' };
    let name: String = version.chars().take(64).map(safe).collect();
    if name.trim_matches('.').is_empty() { "unknown".to_owned() } else { name }
}

/// Forgets a plugin, its files and every settings entry of the user for it.
pub fn uninstall(places: &Places, plugin: &Installed, scope: Scope) -> Result<(), ProjectError> {
    change(&installed_file(places), |state| {
        if let Some(plugins) = state.get_mut("plugins").and_then(Value::as_object_mut) {
            plugins.shift_remove(&plugin.id);
        }
    })?;
    switch(places, &plugin.id, scope, None)?;
    // What the state file names may be anything; only what we made is removed.
    if plugin.path.starts_with(folder(places).join("cache")) && plugin.path.is_dir() {
        std::fs::remove_dir_all(&plugin.path)
            .map_err(|source| ProjectError::Write { file: plugin.path.clone(), source })?;
    }
    Ok(())
}

/// Switches a plugin on or off in a settings file; `None` says nothing about it there any more.
pub fn switch(places: &Places, id: &str, scope: Scope, on: Option<bool>) -> Result<(), ProjectError> {
    change(&scope.file(places), |settings| {
        let list = settings.entry("enabledPlugins").or_insert_with(|| json!({}));
        let Some(list) = list.as_object_mut() else { return };
        match on {
            Some(on) => drop(list.insert(id.to_owned(), json!(on))),
            None => drop(list.shift_remove(id)),
        }
    })
}

fn change(file: &Path, how: impl FnOnce(&mut Map<String, Value>)) -> Result<(), ProjectError> {
    let _lock = FileLock::acquire(file, LOCK_PATIENCE)?;
    let mut state = files::read_object(file)?;
    let before = state.clone();
    how(&mut state);
    if state != before {
        files::write_object(file, &state)?;
    }
    Ok(())
}

/// The folders of the plugins that the settings switch on, and why others cannot be.
pub fn enabled_plugins(places: &Places, settings: &Settings) -> (Vec<PluginDir>, Vec<PluginProblem>) {
    let Some(wanted) = settings.merged.get("enabledPlugins").and_then(Value::as_object) else {
        return (Vec::new(), Vec::new());
    };
    let wanted: Vec<&String> = wanted.iter().filter(|(_, on)| **on == Value::Bool(true)).map(|(id, _)| id).collect();
    if wanted.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let (here, markets) = (installed(places), known_marketplaces(places));
    let (mut dirs, mut problems) = (Vec::new(), Vec::new());
    for id in wanted {
        let market = id.rsplit_once('@').map_or("", |(_, market)| market);
        let source = markets.iter().find(|(known, _)| known.name == market).map(|(_, source)| source);
        let restricted = settings.managed.get("strictKnownMarketplaces").is_some();
        let refused = source.map_or(restricted, |source| !may_use(settings, source));
        let problem = |kind: &'static str, message: String| PluginProblem {
            plugin: id.clone(),
            kind,
            message,
            path: installed_file(places),
        };
        match here.iter().find(|plugin| plugin.id == *id) {
            _ if refused => {
                problems
                    .push(problem("marketplace-blocked", "the administrator does not allow its marketplace".into()));
            }
            Some(plugin) => {
                let called = id.rsplit_once('@').map(|(name, _)| name.to_owned());
                dirs.push(PluginDir { path: plugin.path.clone(), with_mcp: true, called });
            }
            None => {
                let message = format!("it is switched on but not installed; `plugin install {id}` installs it");
                problems.push(problem("plugin-not-found", message));
            }
        }
    }
    (dirs, problems)
}

#[cfg(test)]
#[path = "installed_tests.rs"]
mod tests;

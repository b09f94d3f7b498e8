//! Reading the settings layers and laying them over each other:
//! managed > flag > local > project > user; scalars override, objects merge, lists join.
//!
//! Absent: reacting to changes. A file swapped after the start changes nothing in a running session.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::files::{self, ReadFailure};
use crate::own_file;
use crate::repository::is_top_of;
use crate::settings::{self, Settings};
use crate::surfaces::{Surface, is_plugin_only};
use crate::text::one_line;
use crate::{Places, SettingsError, SourceKind, Sources, Trust, json, screen, trust_state};

/// The contract's limit for `--settings`; the other files get the same.
pub(crate) const SETTINGS_MAX: u64 = 2 * 1024 * 1024;
/// Names listed in the warning about an untrusted folder before it says "and n more".
const NAMES_SHOWN: usize = 6;
/// Lists that a higher layer replaces instead of extending: order and completeness are their meaning.
const REPLACED_LISTS: [&str; 2] = ["fallbackModel", "availableModels"];

/// What `--settings` was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlagSettings {
    Inline(String),
    File(PathBuf),
}

impl FlagSettings {
    /// `None` for an empty value. Anything that starts like an object is one; the rest names a file.
    pub fn parse(value: &str, places: &Places) -> Option<Self> {
        match value.trim() {
            "" => None,
            json if json.starts_with('{') => Some(Self::Inline(json.to_owned())),
            path => Some(Self::File(places.resolve(path, &places.cwd))),
        }
    }
}

pub struct Loaded {
    pub settings: Settings,
    pub trusted: bool,
    /// One line each, naming the file and what to do.
    pub warnings: Vec<String>,
}

/// Values of settings can be secrets: only what is safe to log shows.
impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loaded")
            .field("settings", &self.settings)
            .field("trusted", &self.trusted)
            .field("warnings", &self.warnings)
            .finish()
    }
}

/// One source's settings before merging.
pub(crate) struct Layer {
    pub(crate) source: SourceKind,
    pub(crate) file: Option<PathBuf>,
    pub(crate) anchor: PathBuf,
    pub(crate) value: Map<String, Value>,
}

impl Layer {
    /// For messages: the file, or the flag it came from.
    pub(crate) fn origin(&self) -> String {
        match &self.file {
            Some(file) => file.display().to_string(),
            None if self.source == SourceKind::Managed => "--managed-settings".to_owned(),
            None => "--settings".to_owned(),
        }
    }
}

/// Whether git does not track a file: the checkout, the folder of the file in it, the name of the file.
pub type IsUntracked<'a> = &'a dyn Fn(&Path, &Path, &str) -> bool;

/// The settings, where nobody can say what git tracks.
pub fn load(
    places: &Places,
    sources: Sources,
    flag: Option<&FlagSettings>,
    managed_flag: Option<&str>,
    safe_mode: bool,
) -> Result<Loaded, SettingsError> {
    load_with_own_rules(places, sources, flag, managed_flag, safe_mode, &|_, _, _| false)
}

/// The settings. In a folder that is not trusted, the allow rules of a `settings.local.json` count that is this user's
/// alone and that git does not track.
pub fn load_with_own_rules(
    places: &Places,
    sources: Sources,
    flag: Option<&FlagSettings>,
    managed_flag: Option<&str>,
    safe_mode: bool,
    is_untracked: IsUntracked<'_>,
) -> Result<Loaded, SettingsError> {
    let mut found = own_and_folder_layers(places, sources)?;
    found.extend(flag.map(|flag| flag_layer(places, flag)).transpose()?);
    found.extend(managed_flag.map(|json| managed_flag_layer(places, json)).transpose()?);
    found.extend(managed_layers(places)?);

    let trust = trust_state(places);
    let trusted = trust.is_trusted();
    let mut warnings = Vec::new();
    // The user's state is no settings: without it the folder is not trusted, and nothing else is lost.
    if let Trust::Unknown { file, reason } = &trust {
        warnings.push(one_line(&format!("{}: skipped, {reason}; repair it or remove it", file.display())));
    }
    warnings.extend(screen_folder(places, &mut found, trusted, is_untracked));
    if safe_mode {
        for layer in found.iter_mut().filter(|layer| layer.source != SourceKind::Managed) {
            screen::safe_mode(&mut layer.value, layer.source.is_folder());
        }
    }
    settle_hooks(&mut found);
    let mut settings = settings::assemble(places, &found, merge_all(&found), &mut warnings)?;
    settings.folder_is_trusted = trusted;
    Ok(Loaded { settings, trusted, warnings })
}

fn own_and_folder_layers(places: &Places, sources: Sources) -> Result<Vec<Layer>, SettingsError> {
    let user = places.user_settings();
    let mut found = Vec::new();
    let mut add = |source, file: PathBuf, anchor: &Path| match read_layer(&file) {
        Ok(Some(value)) => {
            found.push(Layer { source, file: Some(file), anchor: anchor.to_owned(), value });
            Ok(())
        }
        Ok(None) => Ok(()),
        Err(error) => Err(SettingsError::Settings { file, reason: one_line(&error.to_string()) }),
    };
    if sources.user {
        add(SourceKind::User, user.clone(), &places.config_dir)?;
    }
    let project = places.project_settings();
    // In the home folder both names are one file, and then it is the user's.
    if sources.project && !(sources.user && same_file(&project, &user)) {
        add(SourceKind::Project, project, &places.cwd)?;
    }
    if sources.local {
        let mut local = places.local_settings();
        if local.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
            local = places.project_dir().join(".claude/settings.local.json");
        }
        add(SourceKind::Local, local, &places.cwd)?;
    }
    Ok(found)
}

fn same_file(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Why a file gives no layer.
#[derive(Debug, thiserror::Error)]
enum LayerError {
    #[error(transparent)]
    Read(#[from] ReadFailure),
    #[error("{}", not_an_object(.0))]
    NotObject(#[from] serde_json::Error),
}

fn read_layer(file: &Path) -> Result<Option<Map<String, Value>>, LayerError> {
    let Some(text) = files::read_text(file, SETTINGS_MAX)? else {
        return Ok(None);
    };
    if text.trim().is_empty() {
        return Ok(None);
    }
    Ok(Some(json::object(&text)?))
}

/// With the line, where the parser knows it.
fn not_an_object(error: &serde_json::Error) -> String {
    format!("it is not a JSON object ({error})")
}

fn flag_layer(places: &Places, flag: &FlagSettings) -> Result<Layer, SettingsError> {
    let (file, anchor, text) = match flag {
        FlagSettings::Inline(json) if json.len() as u64 > SETTINGS_MAX => {
            return Err(SettingsError::FlagJson("it is over the limit of 2 MiB".to_owned()));
        }
        FlagSettings::Inline(json) => (None, places.cwd.clone(), json.clone()),
        FlagSettings::File(file) => {
            let fail = |reason: String| SettingsError::FlagFile { file: file.clone(), reason };
            let text = match files::read_text(file, SETTINGS_MAX) {
                Ok(Some(text)) => text,
                Ok(None) => return Err(fail("there is no such file".to_owned())),
                Err(ReadFailure::TooLarge(_)) => return Err(fail("it is over the limit of 2 MiB".to_owned())),
                Err(failure) => return Err(fail(failure.to_string())),
            };
            (Some(file.clone()), file.parent().unwrap_or(&places.cwd).to_owned(), text)
        }
    };
    let value = json::object(&text).map_err(|error| match &file {
        Some(file) => SettingsError::FlagFile { file: file.clone(), reason: not_an_object(&error) },
        None => SettingsError::FlagJson(error.to_string()),
    })?;
    Ok(Layer { source: SourceKind::Flag, file, anchor, value })
}

fn managed_flag_layer(places: &Places, given: &str) -> Result<Layer, SettingsError> {
    let mut value = json::object(given).map_err(|error| SettingsError::ManagedFlag(error.to_string()))?;
    screen::only_restrictive(&mut value);
    Ok(Layer { source: SourceKind::Managed, file: None, anchor: places.cwd.clone(), value })
}

/// The main file, then the drop-ins by name: a later one overrides.
fn managed_layers(places: &Places) -> Result<Vec<Layer>, SettingsError> {
    let mut paths = vec![places.managed_dir.join("managed-settings.json")];
    let drop_ins = places.managed_dir.join("managed-settings.d");
    let fail = |error: std::io::Error| SettingsError::Managed { file: drop_ins.clone(), reason: error.to_string() };
    match drop_ins.read_dir() {
        Ok(entries) => {
            let entries: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
            let is_json = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
            let mut extra: Vec<PathBuf> = entries.map_err(fail)?.into_iter().filter(is_json).collect();
            extra.sort();
            paths.append(&mut extra);
        }
        Err(error) if files::is_missing(&error) => {}
        Err(error) => return Err(fail(error)),
    }
    let mut layers = Vec::new();
    for file in paths {
        match read_layer(&file) {
            Ok(Some(value)) => {
                let anchor = places.managed_dir.clone();
                layers.push(Layer { source: SourceKind::Managed, file: Some(file), anchor, value });
            }
            Ok(None) => {}
            Err(error) => return Err(SettingsError::Managed { file, reason: error.to_string() }),
        }
    }
    Ok(layers)
}

/// Takes out what the folder may not say, and tells it in one line.
fn screen_folder(
    places: &Places,
    layers: &mut [Layer],
    trusted: bool,
    is_untracked: IsUntracked<'_>,
) -> Option<String> {
    let (mut files, mut untrusted, mut never) = (Vec::new(), Vec::new(), Vec::new());
    for layer in layers.iter_mut().filter(|layer| layer.source.is_folder()) {
        let own = if trusted { None } else { own_allow_rules(layer, is_untracked) };
        let mut screened = screen::folder(&mut layer.value, trusted);
        if let Some(own) = own {
            screened.untrusted.retain(|name| name != ALLOW_RULES);
            let permissions = layer.value.entry("permissions").or_insert_with(|| Value::Object(Map::new()));
            if let Some(permissions) = permissions.as_object_mut() {
                permissions.insert("allow".to_owned(), own);
            }
        }
        if !screened.untrusted.is_empty() || !screened.never.is_empty() {
            files.push(layer.origin());
        }
        untrusted.extend(screened.untrusted);
        never.extend(screened.never);
    }
    let mut parts = Vec::new();
    if !untrusted.is_empty() {
        let root = places.project_root();
        parts.push(format!(
            "ignored {}, because {} is not trusted (`ralph trust` there accepts them)",
            listed(&untrusted),
            root.display()
        ));
    }
    if !never.is_empty() {
        parts.push(format!("ignored {}, which only your own settings may set", listed(&never)));
    }
    (!parts.is_empty()).then(|| one_line(&format!("{}: {}", files.join(", "), parts.join("; "))))
}

/// As the warning names them.
const ALLOW_RULES: &str = "permissions.allow";
const LOCAL_NAME: &str = "settings.local.json";

/// The allow rules that this user wrote into a file of his own, and nothing else of it.
fn own_allow_rules(layer: &Layer, is_untracked: IsUntracked<'_>) -> Option<Value> {
    let has_rules = |value: &Map<String, Value>| value.get("permissions")?.get("allow").cloned();
    has_rules(&layer.value).filter(|_| layer.source == SourceKind::Local)?;
    let folder = layer.file.as_deref()?.parent().filter(|folder| folder.ends_with(".claude"))?;
    let base = folder.parent()?;
    // Only a checkout that git itself would find: not a folder that looks like a repository in another one.
    let top = base.ancestors().find(|dir| dir.join(".git").symlink_metadata().is_ok())?;
    if !is_top_of(base, top) {
        return None;
    }
    let text = own_file::read(base, ".claude", LOCAL_NAME, SETTINGS_MAX)?;
    let rules = has_rules(&json::object(text.trim_start_matches('\u{FEFF}')).ok()?)?;
    let inside = folder.strip_prefix(top).ok()?;
    is_untracked(top, inside, LOCAL_NAME).then_some(rules)
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(NAMES_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMES_SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Leaves in `hooks` exactly those that should run: an administrator's hooks outlive a `disableAllHooks` of
/// anybody else, and `allowManagedHooksOnly` leaves no others.
fn settle_hooks(layers: &mut [Layer]) {
    let says = |layer: &Layer, key: &str| layer.value.get(key).and_then(Value::as_bool);
    let managed =
        |key: &str| layers.iter().any(|layer| layer.source == SourceKind::Managed && says(layer, key) == Some(true));
    let hooks_of_plugins = |layer: &Layer| {
        layer.source == SourceKind::Managed && is_plugin_only(&Value::Object(layer.value.clone()), Surface::Hooks)
    };
    let all_off = managed("disableAllHooks");
    let others_off = all_off
        || managed("allowManagedHooksOnly")
        || layers.iter().any(hooks_of_plugins)
        || layers.iter().rev().find_map(|layer| says(layer, "disableAllHooks")) == Some(true);
    for layer in layers {
        if all_off || (others_off && layer.source != SourceKind::Managed) {
            layer.value.shift_remove("hooks");
        }
    }
}

pub(crate) fn merge_all<'a>(layers: impl IntoIterator<Item = &'a Layer>) -> Map<String, Value> {
    let mut merged = Map::new();
    for layer in layers {
        for (key, value) in &layer.value {
            if REPLACED_LISTS.contains(&key.as_str()) {
                merged.insert(key.clone(), value.clone());
            } else {
                merge(merged.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
    }
    merged
}

fn merge(below: &mut Value, above: &Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                merge(below.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (Value::Array(below), Value::Array(above)) => {
            for value in above {
                if !below.contains(value) {
                    below.push(value.clone());
                }
            }
        }
        (below, above) => *below = above.clone(),
    }
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;

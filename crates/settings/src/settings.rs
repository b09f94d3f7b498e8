//! The merged settings as typed values, permissions and helpers with their origin.
//!
//! Absent: keys that only matter to one feature. Those stay in `merged` for whoever knows them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::files;
use crate::folder_env::chooses_export;
use crate::layers::{Layer, SETTINGS_MAX, merge_all};
use crate::text::one_line;
use crate::{Places, SettingsError, SourceKind, Sourced};

#[derive(Debug, Clone, Default)]
pub struct Permissions {
    pub allow: Vec<Sourced<String>>,
    pub ask: Vec<Sourced<String>>,
    pub deny: Vec<Sourced<String>>,
    pub default_mode: Option<Sourced<String>>,
    pub additional_directories: Vec<Sourced<PathBuf>>,
    /// Somebody said that the bypass mode must not be used.
    pub disable_bypass: bool,
}

#[derive(Clone, Default)]
pub struct Settings {
    /// Everything, unknown keys too.
    pub merged: Value,
    pub permissions: Permissions,
    /// The hooks that should run, by where they stand, in rising precedence.
    pub hooks: Vec<Sourced<Value>>,
    /// What the administrator alone says: for lists that nobody else may extend.
    pub managed: Value,
    /// Where that comes from, in falling precedence: `file`, and `parent` for the program that started us.
    pub managed_sources: Vec<&'static str>,
    /// What everybody but the folder says: for what a folder that is trusted still may not say.
    pub personal: Value,
    /// To be laid over the environment of the process.
    pub env: Vec<(String, String)>,
    /// Never from the folder.
    pub api_key_helper: Option<Sourced<String>>,
    pub model: Option<String>,
    pub fallback_model: Vec<String>,
    /// `None`: any model. `Some` of nothing: none.
    pub available_models: Option<Vec<String>>,
    pub model_overrides: BTreeMap<String, String>,
    pub output_style: Option<String>,
    pub language: Option<String>,
    pub agent: Option<String>,
    pub always_thinking: Option<bool>,
    pub effort_level: Option<String>,
    /// `"dangerouslySkipPermissions": true`, and nobody disabled the bypass.
    pub skip_permissions: bool,
    pub auto_compact_enabled: Option<bool>,
    pub auto_compact_window: Option<u64>,
    pub claude_md_excludes: Vec<String>,
    /// Memory text that the administrator put into the managed settings.
    pub managed_claude_md: Option<String>,
    /// Never from the folder: the model may read what is there.
    pub auto_memory_directory: Option<PathBuf>,
    /// Whether what the folder wrote may grant.
    pub folder_is_trusted: bool,
}

/// Values can be secrets: names only.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&String> = self.merged.as_object().into_iter().flat_map(Map::keys).collect();
        f.debug_struct("Settings").field("keys", &keys).field("permissions", &self.permissions).finish_non_exhaustive()
    }
}

impl Settings {
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.merged.get(key).and_then(Value::as_bool)
    }

    /// Somebody said that the permission mode `auto` must not be used.
    pub fn auto_mode_is_disabled(&self) -> bool {
        let nested = self.merged.get("permissions").and_then(|permissions| permissions.get("disableAutoMode"));
        [self.merged.get("disableAutoMode"), nested].into_iter().any(crate::surfaces::is_on)
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.merged.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    pub fn number(&self, key: &str) -> Option<u64> {
        self.merged.get(key).and_then(Value::as_u64)
    }
}

/// `layers` in rising precedence.
/// Only those that say something.
fn managed_sources(layers: &[Layer]) -> Vec<&'static str> {
    let managed = layers.iter().filter(|layer| layer.source == SourceKind::Managed && !layer.value.is_empty());
    let mut sources: Vec<_> = managed.rev().map(|layer| layer.file.as_ref().map_or("parent", |_| "file")).collect();
    sources.dedup();
    sources
}

pub(crate) fn assemble(
    places: &Places,
    layers: &[Layer],
    merged: Map<String, Value>,
    warnings: &mut Vec<String>,
) -> Result<Settings, SettingsError> {
    let permissions = permissions(places, layers, warnings)?;
    let managed_claude_md = newest(layers, |layer| {
        layer.value.get("claudeMd").filter(|_| layer.source == SourceKind::Managed)?.as_str().map(str::to_owned)
    });
    let api_key_helper = newest(layers, |layer| {
        let command = layer.value.get("apiKeyHelper")?.as_str()?.trim();
        (!command.is_empty() && !layer.source.is_folder()).then(|| sourced(layer, command.to_owned()))
    });
    let auto_memory_directory = newest(layers, |layer| {
        let written = layer.value.get("autoMemoryDirectory").filter(|_| !layer.source.is_folder())?.as_str()?;
        (!written.trim().is_empty()).then(|| places.resolve(written.trim(), &places.cwd))
    });
    let skip = merged.get("dangerouslySkipPermissions") == Some(&Value::Bool(true));
    let env = environment(layers, warnings);
    let mut settings = Settings {
        merged: Value::Object(merged),
        managed: Value::Object(merge_all(layers.iter().filter(|layer| layer.source == SourceKind::Managed))),
        managed_sources: managed_sources(layers),
        personal: Value::Object(merge_all(layers.iter().filter(|layer| !layer.source.is_folder()))),
        skip_permissions: skip && !permissions.disable_bypass,
        permissions,
        hooks: layers.iter().filter_map(|layer| Some(sourced(layer, layer.value.get("hooks")?.clone()))).collect(),
        env,
        api_key_helper,
        managed_claude_md,
        auto_memory_directory,
        ..Settings::default()
    };
    let text = |key: &str| settings.text(key).map(str::to_owned);
    let (model, output_style, language) = (text("model"), text("outputStyle"), text("language"));
    let (agent, effort_level) = (text("agent"), text("effortLevel"));
    settings.available_models = settings.merged.get("availableModels").map(strings);
    settings.fallback_model = settings.merged.get("fallbackModel").map(strings).unwrap_or_default();
    settings.claude_md_excludes = settings.merged.get("claudeMdExcludes").map(strings).unwrap_or_default();
    settings.model_overrides = overrides(settings.merged.get("modelOverrides"));
    settings.always_thinking = settings.flag("alwaysThinkingEnabled");
    settings.auto_compact_enabled = settings.flag("autoCompactEnabled");
    settings.auto_compact_window = settings.number("autoCompactWindow");
    Ok(Settings { model, output_style, language, agent, effort_level, ..settings })
}

fn newest<T>(layers: &[Layer], pick: impl Fn(&Layer) -> Option<T>) -> Option<T> {
    layers.iter().rev().find_map(pick)
}

fn sourced<T>(layer: &Layer, value: T) -> Sourced<T> {
    Sourced { value, source: layer.source, file: layer.file.clone(), anchor: layer.anchor.clone() }
}

/// A lone text counts as a list of one.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(one) => vec![one.clone()],
        Value::Array(items) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

fn overrides(value: Option<&Value>) -> BTreeMap<String, String> {
    let entries = value.and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn permissions(places: &Places, layers: &[Layer], warnings: &mut Vec<String>) -> Result<Permissions, SettingsError> {
    let mut out = Permissions::default();
    let managed_rules_only = layers.iter().any(|layer| {
        layer.source == SourceKind::Managed
            && layer.value.get("allowManagedPermissionRulesOnly") == Some(&Value::Bool(true))
    });
    for layer in layers.iter().rev() {
        let Some(section) = layer.value.get("permissions") else { continue };
        let section = match section {
            Value::Object(section) => section,
            Value::Null => continue,
            _ => return Err(lost(layer, "permissions", "an object")),
        };
        let may_allow = !managed_rules_only || layer.source == SourceKind::Managed;
        for (key, list) in [("allow", &mut out.allow), ("ask", &mut out.ask), ("deny", &mut out.deny)] {
            let rules = rules(layer, key, section.get(key), warnings)?;
            if key != "allow" || may_allow {
                add_new(list, rules.into_iter().map(|rule| sourced(layer, rule)));
            }
        }
        let directories = rules(layer, "additionalDirectories", section.get("additionalDirectories"), warnings)?;
        let directories = directories.iter().map(|dir| sourced(layer, places.resolve(dir, &places.cwd)));
        add_new(&mut out.additional_directories, directories);
        if out.default_mode.is_none() {
            out.default_mode = default_mode(layer, section.get("defaultMode"), warnings)?;
        }
        out.disable_bypass |= disables_bypass(section.get("disableBypassPermissionsMode"));
    }
    Ok(out)
}

/// The strongest source of a repeated rule is kept: layers come in falling precedence.
fn add_new<T: PartialEq>(list: &mut Vec<Sourced<T>>, more: impl Iterator<Item = Sourced<T>>) {
    for item in more {
        if !list.iter().any(|known| known.value == item.value && known.anchor == item.anchor) {
            list.push(item);
        }
    }
}

/// A list of rules. A lone text still denies or asks. What else is no list of text is left out and told where it would
/// grant; where it would deny or ask, nothing starts.
fn rules(
    layer: &Layer,
    key: &str,
    value: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<Vec<String>, SettingsError> {
    let name = format!("permissions.{key}");
    let restricts = matches!(key, "deny" | "ask");
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => {
            if items.iter().any(|item| !item.is_string()) {
                if restricts {
                    return Err(lost(layer, &name, "a list of text only"));
                }
                malformed(layer, &name, "a list of text only", warnings)?;
            }
            Ok(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        Some(other) if restricts && !other.is_string() => Err(lost(layer, &name, "a list")),
        Some(other) => {
            malformed(layer, &name, "a list", warnings)?;
            Ok(other.as_str().filter(|_| restricts).map(str::to_owned).into_iter().collect())
        }
    }
}

/// A mode that nobody knows means asking, not whatever a weaker layer says.
fn default_mode(
    layer: &Layer,
    value: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Result<Option<Sourced<String>>, SettingsError> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let known = value.as_str().filter(|name| wire::PermissionMode::parse(name).is_some());
    if known.is_none() {
        let expected = format!("one of {}", wire::PermissionMode::NAMES.join(", "));
        malformed(layer, "permissions.defaultMode", &expected, warnings)?;
    }
    Ok(Some(sourced(layer, known.unwrap_or(wire::PermissionMode::Default.as_str()).to_owned())))
}

fn disables_bypass(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(word)) => !matches!(word.as_str(), "" | "enable"),
        Some(_) => true,
    }
}

/// Denials that cannot be understood: nothing starts without them.
fn lost(layer: &Layer, key: &str, expected: &str) -> SettingsError {
    let reason = format!("`{key}` must be {expected}");
    match (&layer.file, layer.source) {
        (Some(file), SourceKind::Managed) => SettingsError::Managed { file: file.clone(), reason },
        (Some(file), _) => {
            let line = line_of(file, key.rsplit('.').next().unwrap_or(key));
            SettingsError::Settings { file: file.clone(), reason: format!("{line}{reason}") }
        }
        (None, SourceKind::Managed) => SettingsError::SettingsFlag { flag: "--managed-settings", reason },
        (None, _) => SettingsError::SettingsFlag { flag: "--settings", reason },
    }
}

/// `line 3: `, where the text stands in the file; empty where it cannot be found.
pub fn line_of(file: &Path, text: &str) -> String {
    let wanted = Value::from(text).to_string();
    let whole = files::read_text(file, SETTINGS_MAX).ok().flatten().unwrap_or_default();
    match whole.lines().position(|line| line.contains(&wanted)) {
        Some(before) => format!("line {}: ", before + 1),
        None => String::new(),
    }
}

/// Policy that cannot be understood stops the start; elsewhere it is one warning.
fn malformed(layer: &Layer, key: &str, expected: &str, warnings: &mut Vec<String>) -> Result<(), SettingsError> {
    let reason = format!("`{key}` must be {expected}");
    if layer.source == SourceKind::Managed {
        return Err(SettingsError::Managed { file: PathBuf::from(layer.origin()), reason });
    }
    warnings.push(one_line(&format!("{}: {reason}; the rest of it is ignored", layer.origin())));
    Ok(())
}

fn environment(layers: &[Layer], warnings: &mut Vec<String>) -> Vec<(String, String)> {
    let mut env: Vec<(String, String)> = Vec::new();
    for layer in layers {
        for (name, value) in layer.value.get("env").and_then(Value::as_object).into_iter().flatten() {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => continue,
            };
            if layer.source.is_folder() && chooses_export(name) {
                continue;
            }
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                warnings.push(one_line(&format!("{}: env.{name} cannot be set; rename it", layer.origin())));
                continue;
            }
            match env.iter_mut().find(|(known, _)| known == name) {
                Some(entry) => entry.1 = value,
                None => env.push((name.clone(), value)),
            }
        }
    }
    env
}

//! Mode, rules and folders: what may be done.

use crate::environment::Environment;
use crate::refusal::{Refusal, one_of};
use crate::restricted;
use arguments::Arguments;
use options::{Permissions, Prompter};
use policy::{Policy, Rule, RuleError, RuleSet, Source};
use settings::{Settings, SourceKind, Sourced};
use std::path::PathBuf;
use wire::PermissionMode;

pub fn resolve(
    typed: &Arguments,
    settings: &Settings,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<Permissions, Refusal> {
    if let Some(other) = typed.permission_prompts.as_deref().filter(|who| !["", "none", "host"].contains(who)) {
        return Err(one_of("permission-prompts", other, "none, host"));
    }
    let mode = mode(typed, settings, warnings)?;
    let cli = Source { name: "cliArg".into(), anchor: environment.cwd.clone() };
    let rules = rules(typed, settings, &cli, kind_of, warnings)?;
    let may_bypass = may_bypass(typed, settings, mode);
    let mut permissions = Permissions { mode, rules, prompter: prompter(typed), may_bypass };
    restricted::apply(typed, &mut permissions, &cli)?;
    Ok(permissions)
}

/// The model keeps its automatic memory in files of its own, which it may read.
pub fn let_read(rules: &mut RuleSet, memory: Option<&project::MemoryOptions>) {
    let index = memory.and_then(|memory| memory.auto.as_ref());
    let Some(folder) = index.and_then(|index| index.parent()).and_then(|folder| folder.canonicalize().ok()) else {
        return;
    };
    let source = Source { name: "automatic memory".into(), anchor: folder.clone() };
    rules.allow.extend(policy::parse_rule(&format!("Read(/{}/**)", folder.display()), &source).ok());
}

fn mode(typed: &Arguments, settings: &Settings, warnings: &mut Vec<String>) -> Result<PermissionMode, Refusal> {
    let forbidden = settings.permissions.disable_bypass;
    let mode = if typed.dangerously_skip_permissions {
        PermissionMode::BypassPermissions
    } else if let Some(name) = typed.permission_mode.as_deref().filter(|name| !name.is_empty()) {
        PermissionMode::parse(name).ok_or_else(|| one_of("permission-mode", name, &PermissionMode::NAMES.join(", ")))?
    } else {
        from_settings(settings, warnings)
    };
    if mode == PermissionMode::Auto && settings.auto_mode_is_disabled() {
        return Err(Refusal::new(
            "Error: the permission mode 'auto' is switched off by the settings (disableAutoMode).",
        ));
    }
    if mode == PermissionMode::BypassPermissions && forbidden {
        return Err(Refusal::new(
            "Error: bypassPermissions is switched off by the administrator (permissions.disableBypassPermissionsMode).",
        ));
    }
    Ok(mode)
}

fn prompter(typed: &Arguments) -> Prompter {
    match typed.permission_prompt_tool.as_deref() {
        _ if typed.permission_prompts.as_deref() == Some("none") => Prompter::Nobody,
        // Only a client that sends messages can answer.
        None | Some("")
            if typed.permission_prompts.as_deref() == Some("host")
                && typed.input_format.as_deref() == Some("stream-json") =>
        {
            Prompter::Client
        }
        None | Some("") => Prompter::Nobody,
        Some("stdio") => Prompter::Client,
        Some(tool) => Prompter::Tool(tool.to_owned()),
    }
}

fn may_bypass(typed: &Arguments, settings: &Settings, mode: PermissionMode) -> bool {
    let asked = typed.allow_dangerously_skip_permissions || mode == PermissionMode::BypassPermissions;
    asked && !settings.permissions.disable_bypass
}

fn from_settings(settings: &Settings, warnings: &mut Vec<String>) -> PermissionMode {
    if settings.skip_permissions {
        return PermissionMode::BypassPermissions;
    }
    let Some(name) = &settings.permissions.default_mode else {
        return PermissionMode::Default;
    };
    PermissionMode::parse(&name.value).unwrap_or_else(|| {
        warnings.push(format!("warning: permissions.defaultMode '{}' is unknown; using default", name.value));
        PermissionMode::Default
    })
}

/// How calls are judged here, for whoever asks before one is made.
pub struct Judging {
    pub policy: Policy,
    pub workspace: tools::Workspace,
    pub warnings: Vec<String>,
    /// Hooks may still refuse or change a call.
    pub has_hooks: bool,
}

/// The same rules as a run would have, each knowing the file it stands in.
pub fn judging(
    typed: &Arguments,
    loaded: settings::Loaded,
    places: settings::Places,
    environment: &Environment,
) -> Result<Judging, Refusal> {
    let (settings, mut warnings) = (loaded.settings, loaded.warnings);
    let mode = mode(typed, &settings, &mut warnings)?;
    let cli = Source { name: "the command line".into(), anchor: environment.cwd.clone() };
    let rules = rules(typed, &settings, &cli, place_of, &mut warnings)?;
    let roots = extra_roots(typed, &settings, environment, &mut warnings);
    let workspace = tools::Workspace::new(places.cwd.clone(), roots, places.home.clone());
    let policy = Policy { mode, rules, roots: workspace.roots().to_vec(), cwd: workspace.cwd(), home: places.home };
    let has_hooks = settings.merged["hooks"]["PreToolUse"].as_array().is_some_and(|hooks| !hooks.is_empty());
    Ok(Judging { policy, workspace, warnings, has_hooks })
}

fn rules(
    typed: &Arguments,
    settings: &Settings,
    cli: &Source,
    name_of: fn(&Sourced<String>) -> String,
    warnings: &mut Vec<String>,
) -> Result<RuleSet, Refusal> {
    let mut rules = RuleSet::default();
    let listed = |given: &[String]| given.iter().flat_map(|list| policy::split_list(list)).collect::<Vec<_>>();
    for text in listed(&typed.allowed_tools) {
        match policy::parse_rule(&text, cli) {
            Ok(rule) => rules.allow.push(rule),
            Err(error) => warnings.push(ignored("--allowedTools", &error)),
        }
    }
    for text in listed(&typed.disallowed_tools) {
        rules.deny.push(policy::parse_rule(&text, cli).map_err(|error| lost("--disallowedTools", &error))?);
    }
    let permissions = &settings.permissions;
    for text in &permissions.allow {
        match parse(text, name_of) {
            Ok(rule) => rules.allow.push(rule),
            Err(error) => warnings.push(ignored(&place_of(text), &error)),
        }
    }
    for (texts, list) in [(&permissions.ask, &mut rules.ask), (&permissions.deny, &mut rules.deny)] {
        for text in texts {
            list.push(parse(text, name_of).map_err(|error| lost(&line_of(text), &error))?);
        }
    }
    warnings.extend(rules.warnings().into_iter().map(|warning| format!("warning: {warning}")));
    Ok(rules)
}

/// Whether every denial and question of the settings can be read.
pub fn check(settings: &Settings) -> Result<(), Refusal> {
    for text in settings.permissions.ask.iter().chain(&settings.permissions.deny) {
        parse(text, place_of).map_err(|error| lost(&line_of(text), &error))?;
    }
    Ok(())
}

fn parse(text: &Sourced<String>, name_of: fn(&Sourced<String>) -> String) -> Result<Rule, RuleError> {
    policy::parse_rule(&text.value, &Source { name: name_of(text), anchor: text.anchor.clone() })
}

/// A rule that cannot be read grants nothing and is said.
fn ignored(place: &str, error: &RuleError) -> String {
    format!("warning: a rule in {place} is ignored: {error}")
}

/// A denial or question that cannot be read would be lost, so nothing starts.
fn lost(place: &str, error: &RuleError) -> Refusal {
    Refusal::new(format!("Error: {place}: {error}; repair the rule or remove it"))
}

/// The file, and the line where the rule stands.
fn line_of(text: &Sourced<String>) -> String {
    let line = text.file.as_ref().map(|file| settings::line_of(file, &text.value)).unwrap_or_default();
    format!("{}: {line}", place_of(text)).trim_end_matches([':', ' ']).to_owned()
}

fn place_of(text: &Sourced<String>) -> String {
    text.file.as_ref().map_or_else(|| format!("{} settings", text.source.as_str()), |file| file.display().to_string())
}

/// As clients of the reference know it.
fn kind_of(text: &Sourced<String>) -> String {
    let kind = match text.source {
        SourceKind::Managed => "policySettings",
        SourceKind::Flag => "flagSettings",
        SourceKind::Local => "localSettings",
        SourceKind::Project => "projectSettings",
        SourceKind::User => "userSettings",
    };
    kind.to_owned()
}

/// Folders beside the working folder. One that cannot be used is said, and the work goes on without it, as in the
/// reference.
pub fn extra_roots(
    typed: &Arguments,
    settings: &Settings,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Vec<PathBuf> {
    let mut roots = Vec::new();
    for folder in typed.add_dir.iter().flat_map(|list| folders(list, environment)) {
        match std::fs::canonicalize(&folder) {
            Ok(real) if real.is_dir() => roots.push(real),
            Ok(_) => warnings.push(format!("warning: --add-dir {} is ignored: it is not a folder", folder.display())),
            Err(error) => warnings.push(format!("warning: --add-dir {} is ignored: {error}", folder.display())),
        }
    }
    let configured = &settings.permissions.additional_directories;
    roots.extend(configured.iter().filter_map(|folder| std::fs::canonicalize(&folder.value).ok()));
    roots.dedup();
    roots
}

/// A comma list, unless a folder of that very name exists.
fn folders(list: &str, environment: &Environment) -> Vec<PathBuf> {
    let whole = environment.cwd.join(list);
    if list.is_empty() {
        return Vec::new();
    }
    if whole.exists() || !list.contains(',') {
        return vec![whole];
    }
    list.split(',').map(str::trim).filter(|part| !part.is_empty()).map(|part| environment.cwd.join(part)).collect()
}

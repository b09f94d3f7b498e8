//! The administrator's settings as they may be told to a collector: their names and their form, without what could be a secret.
//!
//! Switches, numbers and words from a fixed list are shown; every other text is hidden. What is not in the table is left out,
//! because nobody has said what it may hold. Pure.

use serde_json::{Map, Value, json};

/// In place of a text.
const REDACTED: &str = "[REDACTED]";

/// What a setting holds.
enum Shape {
    /// Switches and numbers are shown, texts are not. A list keeps its length; an object is hidden as a whole.
    Plain,
    /// One of these words is shown.
    Word(&'static [&'static str]),
    Hidden,
    /// Permission rules: the tool is shown.
    Rules,
    Fields(&'static [(&'static str, Shape)]),
    /// Names that somebody chose, which are shown, with values of one shape.
    Named(&'static Shape),
    List(&'static Shape),
}

const MODES: Shape =
    Shape::Word(&["default", "acceptEdits", "plan", "auto", "manual", "dontAsk", "delegate", "bypassPermissions"]);
const DISABLE: Shape = Shape::Word(&["disable"]);

const PERMISSIONS: Shape = Shape::Fields(&[
    ("allow", Shape::Rules),
    ("ask", Shape::Rules),
    ("deny", Shape::Rules),
    ("defaultMode", MODES),
    ("additionalDirectories", Shape::Plain),
    ("disableBypassPermissionsMode", DISABLE),
    ("disableAutoMode", DISABLE),
]);

const HANDLER: Shape = Shape::Fields(&[
    ("type", Shape::Word(&["command", "prompt", "agent", "http", "mcp_tool"])),
    ("command", Shape::Hidden),
    ("args", Shape::Plain),
    ("prompt", Shape::Hidden),
    ("url", Shape::Hidden),
    ("headers", Shape::Named(&Shape::Hidden)),
    ("model", Shape::Hidden),
    ("if", Shape::Hidden),
    ("statusMessage", Shape::Hidden),
    ("shell", Shape::Word(&["bash", "powershell"])),
    ("timeout", Shape::Plain),
    ("async", Shape::Plain),
    ("asyncRewake", Shape::Plain),
    ("once", Shape::Plain),
]);
const HOOKS: Shape =
    Shape::Named(&Shape::List(&Shape::Fields(&[("matcher", Shape::Hidden), ("hooks", Shape::List(&HANDLER))])));

const SANDBOX: Shape = Shape::Fields(&[
    ("enabled", Shape::Plain),
    ("failIfUnavailable", Shape::Plain),
    ("autoAllowBashIfSandboxed", Shape::Plain),
    ("allowUnsandboxedCommands", Shape::Plain),
    ("enableWeakerNestedSandbox", Shape::Plain),
    ("excludedCommands", Shape::Plain),
    (
        "filesystem",
        Shape::Fields(&[
            ("allowWrite", Shape::Plain),
            ("denyWrite", Shape::Plain),
            ("allowRead", Shape::Plain),
            ("denyRead", Shape::Plain),
            ("allowManagedReadPathsOnly", Shape::Plain),
        ]),
    ),
    (
        "network",
        Shape::Fields(&[
            ("allowedDomains", Shape::Plain),
            ("deniedDomains", Shape::Plain),
            ("allowManagedDomainsOnly", Shape::Plain),
            ("allowUnixSockets", Shape::Plain),
            ("allowAllUnixSockets", Shape::Plain),
            ("allowLocalBinding", Shape::Plain),
            ("httpProxyPort", Shape::Hidden),
            ("socksProxyPort", Shape::Hidden),
        ]),
    ),
]);

const SETTINGS: &[(&str, Shape)] = &[
    ("agent", Shape::Plain),
    ("allowManagedHooksOnly", Shape::Plain),
    ("allowManagedMcpServersOnly", Shape::Plain),
    ("allowManagedPermissionRulesOnly", Shape::Plain),
    ("allowedHttpHookUrls", Shape::Plain),
    ("allowedMcpServers", Shape::Plain),
    ("allowedProviders", Shape::Plain),
    ("alwaysThinkingEnabled", Shape::Plain),
    ("apiKeyHelper", Shape::Hidden),
    ("attribution", Shape::Fields(&[("commit", Shape::Hidden), ("pr", Shape::Hidden)])),
    ("autoCompactEnabled", Shape::Plain),
    ("autoCompactWindow", Shape::Plain),
    ("autoMemoryDirectory", Shape::Hidden),
    ("autoMemoryEnabled", Shape::Plain),
    ("autoUpdatesChannel", Shape::Word(&["stable", "latest"])),
    ("availableModels", Shape::Plain),
    ("awsAuthRefresh", Shape::Hidden),
    ("awsCredentialExport", Shape::Hidden),
    ("blockedMarketplaces", Shape::Plain),
    ("claudeMd", Shape::Hidden),
    ("claudeMdExcludes", Shape::Plain),
    ("cleanupPeriodDays", Shape::Plain),
    ("companyAnnouncements", Shape::Plain),
    ("dangerouslySkipPermissions", Shape::Plain),
    ("deniedMcpServers", Shape::Plain),
    ("disableAllHooks", Shape::Plain),
    ("disableAutoMode", DISABLE),
    ("disableRemoteControl", Shape::Plain),
    ("disableSideloadFlags", Shape::Plain),
    ("disableWorkflows", Shape::Plain),
    ("disabledMcpjsonServers", Shape::Plain),
    ("effortLevel", Shape::Word(&["low", "medium", "high", "xhigh", "max"])),
    ("enableAllProjectMcpServers", Shape::Plain),
    ("enableArtifact", Shape::Plain),
    ("enabledMcpjsonServers", Shape::Plain),
    ("enabledPlugins", Shape::Named(&Shape::Plain)),
    ("enforceAvailableModels", Shape::Plain),
    ("env", Shape::Named(&Shape::Hidden)),
    ("extraKnownMarketplaces", Shape::Named(&Shape::Hidden)),
    ("fallbackModel", Shape::Plain),
    ("fastMode", Shape::Plain),
    ("fileCheckpointingEnabled", Shape::Plain),
    ("forceLoginMethod", Shape::Word(&["claudeai", "console"])),
    ("forceLoginOrgUUID", Shape::Plain),
    ("forceRemoteSettingsRefresh", Shape::Plain),
    ("gcpAuthRefresh", Shape::Hidden),
    ("hooks", HOOKS),
    ("httpHookAllowedEnvVars", Shape::Plain),
    ("includeCoAuthoredBy", Shape::Plain),
    ("includeGitInstructions", Shape::Plain),
    ("language", Shape::Hidden),
    ("managedSourcesBehavior", Shape::Word(&["first-wins", "merge"])),
    ("model", Shape::Hidden),
    ("modelOverrides", Shape::Named(&Shape::Hidden)),
    ("otelHeadersHelper", Shape::Hidden),
    ("outputStyle", Shape::Hidden),
    ("parentSettingsBehavior", Shape::Word(&["first-wins", "merge"])),
    ("permissions", PERMISSIONS),
    ("plansDirectory", Shape::Hidden),
    ("pluginConfigs", Shape::Named(&Shape::Hidden)),
    ("requiredMaximumVersion", Shape::Hidden),
    ("requiredMinimumVersion", Shape::Hidden),
    ("respectGitignore", Shape::Plain),
    ("sandbox", SANDBOX),
    ("skipDangerousModePermissionPrompt", Shape::Plain),
    ("skipWebFetchPreflight", Shape::Plain),
    ("strictKnownMarketplaces", Shape::Plain),
    ("strictPluginOnlyCustomization", Shape::Plain),
];

/// Tools that a rule may name. Any other name is somebody's own.
const TOOLS: [&str; 39] = [
    "Agent",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "CronCreate",
    "CronDelete",
    "CronList",
    "Edit",
    "EnterPlanMode",
    "EnterWorktree",
    "ExitPlanMode",
    "ExitWorktree",
    "Glob",
    "Grep",
    "KillShell",
    "LS",
    "ListMcpResourcesTool",
    "Monitor",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "Read",
    "ReadMcpResourceTool",
    "ScheduleWakeup",
    "SendMessage",
    "Skill",
    "StructuredOutput",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// The settings without what could be a secret.
pub fn outline(settings: &Value) -> Value {
    shown(settings, &Shape::Fields(SETTINGS))
}

/// The settings in one line that is the same wherever they are the same: sorted by names, without spaces.
pub fn canonical(settings: &Value) -> String {
    sorted(settings).to_string()
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            names.into_iter().map(|name| (name.clone(), sorted(&fields[name]))).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

fn shown(value: &Value, shape: &Shape) -> Value {
    match (value, shape) {
        (Value::Object(fields), Shape::Fields(known)) => known_fields(fields, known),
        (Value::Object(fields), Shape::Named(inner)) => {
            fields.iter().map(|(name, value)| (name.clone(), shown(value, inner))).collect()
        }
        (Value::Array(items), Shape::List(inner)) => items.iter().map(|item| shown(item, inner)).collect(),
        (Value::Array(items), Shape::Rules) => items.iter().map(rule).collect(),
        (Value::Array(items), Shape::Plain) => items.iter().map(|item| shown(item, shape)).collect(),
        (Value::String(word), Shape::Word(words)) if words.contains(&word.as_str()) => value.clone(),
        (Value::Bool(_) | Value::Number(_), Shape::Plain | Shape::Word(_)) | (Value::Null, _) => value.clone(),
        _ => json!(REDACTED),
    }
}

/// In the order in which they are written.
fn known_fields(fields: &Map<String, Value>, known: &[(&str, Shape)]) -> Value {
    let field = |(name, value): (&String, &Value)| {
        let (_, shape) = known.iter().find(|(known, _)| known == name)?;
        Some((name.clone(), shown(value, shape)))
    };
    fields.iter().filter_map(field).collect()
}

fn rule(rule: &Value) -> Value {
    let text = rule.as_str().unwrap_or_default();
    let (tool, has_content) = match text.split_once('(') {
        Some((tool, _)) => (tool, true),
        None => (text, false),
    };
    let is_plain = tool.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'*'));
    let is_known = TOOLS.contains(&tool) || (tool.starts_with("mcp__") && is_plain);
    match (is_known, has_content) {
        (false, _) => json!(REDACTED),
        (true, true) => json!(format!("{tool}({REDACTED})")),
        (true, false) => json!(tool),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_switches_and_numbers_are_shown_and_texts_are_not() {
        for (settings, expected) in [
            (
                json!({"apiKeyHelper": "/bin/key", "env": {"HTTPS_PROXY": "http://p", "N": 1},
                    "permissions": {"deny": ["Read(./.env)", "WebFetch", "mcp__jira__create_issue", "secret(x)", "Write", 7]}}),
                json!({"apiKeyHelper": "[REDACTED]", "env": {"HTTPS_PROXY": "[REDACTED]", "N": "[REDACTED]"},
                    "permissions": {"deny": ["Read([REDACTED])", "WebFetch", "mcp__jira__create_issue", "[REDACTED]",
                        "Write", "[REDACTED]"]}}),
            ),
            (
                json!({"permissions": {"defaultMode": "plan", "additionalDirectories": ["/a", "/b"], "own": "x"}}),
                json!({"permissions": {"defaultMode": "plan", "additionalDirectories": ["[REDACTED]", "[REDACTED]"]}}),
            ),
            (json!({"permissions": {"defaultMode": "my own"}}), json!({"permissions": {"defaultMode": "[REDACTED]"}})),
            (
                json!({"cleanupPeriodDays": 9, "model": "opus", "new": true}),
                json!({"cleanupPeriodDays": 9, "model": "[REDACTED]"}),
            ),
            (
                json!({"sandbox": {"enabled": true, "network": {"httpProxyPort": 8080, "allowedDomains": ["a.b"]}}}),
                json!({"sandbox": {"enabled": true,
                    "network": {"httpProxyPort": "[REDACTED]", "allowedDomains": ["[REDACTED]"]}}}),
            ),
            (
                json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
                    {"type": "command", "command": "x", "timeout": 5, "if": "y", "type2": 1}]}]}}),
                json!({"hooks": {"PreToolUse": [{"matcher": "[REDACTED]", "hooks": [
                    {"type": "command", "command": "[REDACTED]", "timeout": 5, "if": "[REDACTED]"}]}]}}),
            ),
            (json!({"allowedMcpServers": [{"serverName": "x"}]}), json!({"allowedMcpServers": ["[REDACTED]"]})),
            (
                json!({"hooks": "x", "env": [1], "permissions": 7}),
                json!({"hooks": "[REDACTED]", "env": "[REDACTED]", "permissions": "[REDACTED]"}),
            ),
        ] {
            assert_eq!(outline(&settings), expected, "{settings}");
        }
    }

    #[test]
    fn the_same_settings_are_the_same_line() {
        let one = json!({"b": {"d": 1, "c": [{"z": 1, "y": 2}]}, "a": "x y"});
        assert_eq!(canonical(&one), r#"{"a":"x y","b":{"c":[{"y":2,"z":1}],"d":1}}"#);
    }
}

//! What "don't ask again" could mean for a call, as updates that the client may hand back.

use policy::Decision;
use serde_json::{Value, json};
use tools::Workspace;

/// At most a few: each is a button somewhere.
pub fn suggestions(name: &str, input: &Value, decision: &Decision, workspace: &Workspace) -> Vec<Value> {
    let mut updates = Vec::new();
    match name {
        "Bash" => updates.extend(command_prefix(input).map(|prefix| allow("Bash", Some(&format!("{prefix}:*"))))),
        "Edit" | "Write" | "NotebookEdit" => {
            updates.push(json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"}));
        }
        "WebFetch" => updates.extend(host(input).map(|host| allow("WebFetch", Some(&format!("domain:{host}"))))),
        "Skill" => updates.extend(input["skill"].as_str().map(|name| allow("Skill", Some(name)))),
        "AskUserQuestion" | "ExitPlanMode" => {}
        name => updates.push(allow(name, None)),
    }
    let outside = decision
        .blocked_path
        .as_ref()
        .filter(|path| !workspace.contains(path) && matches!(name, "Read" | "Edit" | "Write" | "Glob" | "Grep"));
    if let Some(folder) = outside.and_then(|path| path.parent()) {
        updates.push(json!({"type": "addDirectories", "directories": [folder], "destination": "session"}));
    }
    updates
}

fn allow(tool: &str, content: Option<&str>) -> Value {
    let mut rule = json!({"toolName": tool});
    if let Some(content) = content {
        rule["ruleContent"] = json!(content);
    }
    json!({"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"})
}

/// The first word of a plain command, with its subcommand where it has one: `git status`, `npm run`.
fn command_prefix(input: &Value) -> Option<String> {
    let command = input["command"].as_str()?;
    let script = policy::shell::analyse(command).ok()?;
    let [only] = script.commands.as_slice() else { return None };
    let words: Vec<&str> = only.text.split_whitespace().collect();
    let plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let first = words.first().filter(|word| plain(word))?;
    let second = words.get(1).filter(|word| plain(word) && !word.starts_with('-'));
    let has_subcommands =
        ["git", "cargo", "npm", "pnpm", "yarn", "go", "docker", "kubectl", "gh", "uv", "pip"].contains(first);
    Some(match second {
        Some(second) if has_subcommands => format!("{first} {second}"),
        _ => (*first).to_owned(),
    })
}

fn host(input: &Value) -> Option<String> {
    let rest = input["url"].as_str()?.split_once("://")?.1;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    (!host.is_empty()).then(|| host.to_ascii_lowercase())
}

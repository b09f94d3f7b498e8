//! The decision for any tool: deny rules, ask rules, the mode, then what is allowed.

use serde_json::Value;
use wire::PermissionMode;

use crate::bash;
use crate::call::{Call, Decision, PathFact, Policy, Resolve, Verdict};
use crate::paths;
use crate::pattern;
use crate::rule::{Kind, List, Rule, canonical_tool, is_editor, is_reader, is_shell};

/// Total: every call gets a verdict, and what is not known to be allowed is asked.
pub fn decide(policy: &Policy, call: &Call, fs: &dyn Resolve) -> Decision {
    let decision = judge(policy, call, fs);
    if policy.mode == PermissionMode::DontAsk && decision.verdict == Verdict::Ask {
        let reason = format!("dontAsk mode denies what would be asked. {}", decision.reason);
        return Decision { verdict: Verdict::Deny, reason, run: None, ..decision };
    }
    decision
}

fn judge(policy: &Policy, call: &Call, fs: &dyn Resolve) -> Decision {
    let tool = canonical_tool(call.tool);
    for (list, verdict) in [(List::Deny, Verdict::Deny), (List::Ask, Verdict::Ask)] {
        if let Some(rule) = policy.rules.list(list).iter().find(|rule| restricts(rule, list, tool, call.input)) {
            return Decision::by_rule(verdict, rule);
        }
    }
    if is_shell(tool) {
        return match call.input.get("command").and_then(Value::as_str) {
            Some(command) => bash::decide(policy, tool, command, fs),
            None => unconditional(policy, tool)
                .unwrap_or_else(|| Decision::ask("other", format!("{tool} was called without a command."))),
        };
    }
    if is_reader(tool) || is_editor(tool) {
        return file(policy, tool, call, fs);
    }
    other(policy, tool, call)
}

/// Ask and deny rules that need neither a shell nor a path to be understood.
fn restricts(rule: &Rule, list: List, tool: &str, input: &Value) -> bool {
    if rule.is_bare_for(tool, list) || rule.parameter_hits(tool, input) {
        return true;
    }
    if !rule.names(tool, list) {
        return false;
    }
    match rule.specifier.as_ref().map(|specifier| &specifier.kind) {
        // A bare `*` pattern on files restricts every use, wherever the file is.
        Some(Kind::Path(_)) => rule.specifier.as_ref().is_some_and(|s| matches!(s.text.as_str(), "*" | "**")),
        Some(Kind::Domain(wanted)) => {
            url(input).and_then(pattern::web_host).is_some_and(|host| pattern::domain(wanted, &host))
        }
        Some(Kind::Name(name)) => names(tool, input).iter().any(|text| name.matches(text)),
        _ => false,
    }
}

fn url(input: &Value) -> Option<&str> {
    input.get("url").and_then(Value::as_str)
}

/// What an agent or skill call names, with its arguments where it has some.
fn names(tool: &str, input: &Value) -> Vec<String> {
    let field = |key: &str| input.get(key).and_then(Value::as_str);
    if tool == "Agent" {
        return vec![field("subagent_type").filter(|name| !name.is_empty()).unwrap_or("general-purpose").to_owned()];
    }
    let skill = field("skill").or_else(|| field("command")).unwrap_or_default().trim_start_matches('/');
    match field("args").filter(|args| !args.is_empty()) {
        Some(args) => vec![skill.to_owned(), format!("{skill} {args}")],
        None => vec![skill.to_owned()],
    }
}

/// The mode or a rule that covers every use of the tool.
fn unconditional(policy: &Policy, tool: &str) -> Option<Decision> {
    if policy.mode == PermissionMode::BypassPermissions {
        return Some(Decision::allow("mode", "bypassPermissions allows what no rule forbids."));
    }
    policy.rules.bare(List::Allow, tool).map(|rule| Decision::by_rule(Verdict::Allow, rule))
}

// --- files ----------------------------------------------------------------------------------------

fn file(policy: &Policy, tool: &str, call: &Call, fs: &dyn Resolve) -> Decision {
    let write = is_editor(tool);
    let searched_here = [PathFact { given: policy.cwd.clone(), real: policy.cwd.clone(), write: false }];
    let searches = matches!(tool, "Glob" | "Grep" | "LS") && call.input.get("path").is_none();
    let facts: Vec<PathFact> = if call.paths.is_empty() && searches { &searched_here } else { call.paths }
        .iter()
        .map(|fact| PathFact { write: fact.write || write, ..fact.clone() })
        .collect();
    for (list, verdict) in [(List::Deny, Verdict::Deny), (List::Ask, Verdict::Ask)] {
        for fact in &facts {
            if let Some(rule) = paths::path_rule(policy, list, fact) {
                return Decision::by_rule(verdict, rule).at(&fact.given);
            }
        }
    }
    if let Some(decision) = paths::by_another_name(policy, fs, facts.iter()) {
        return decision;
    }
    if policy.mode == PermissionMode::BypassPermissions {
        return Decision::allow("mode", "bypassPermissions allows what no rule forbids.");
    }
    if facts.is_empty() {
        return Decision::ask("other", format!("{tool} did not say which file it means."));
    }
    if write { edit(policy, tool, &facts) } else { read(policy, tool, &facts) }
}

fn read(policy: &Policy, tool: &str, facts: &[PathFact]) -> Decision {
    let allowed = |fact: &PathFact| paths::path_rule(policy, List::Allow, fact);
    let Some(outside) = facts.iter().find(|fact| !paths::inside(policy, fact)) else {
        return Decision::allow("workspace", "Files of the workspace may be read.");
    };
    if let Some(rule) = policy.rules.bare(List::Allow, tool) {
        return Decision::by_rule(Verdict::Allow, rule);
    }
    if let Some(rule) =
        allowed(outside).filter(|_| facts.iter().all(|fact| paths::inside(policy, fact) || allowed(fact).is_some()))
    {
        return Decision::by_rule(Verdict::Allow, rule);
    }
    let reason = format!("{} is outside the workspace, so reading it is asked first.", outside.given.display());
    Decision::ask("workspace", reason).at(&outside.given)
}

fn edit(policy: &Policy, tool: &str, facts: &[PathFact]) -> Decision {
    let Some(first) = facts.first() else { return Decision::ask("other", "No file was named.") };
    if policy.mode == PermissionMode::Plan {
        let reason = format!("Plan mode writes nothing, so {} stays as it is.", first.given.display());
        return Decision::new(Verdict::Deny, "mode", reason).at(&first.given);
    }
    if let Some(fact) = facts.iter().find(|fact| paths::protected(policy, fact)) {
        let reason = format!("{} is obeyed by other programs, so writing it is asked first.", fact.given.display());
        return Decision::ask("safety", reason).at(&fact.given);
    }
    if let Some(rule) = policy.rules.bare(List::Allow, tool) {
        return Decision::by_rule(Verdict::Allow, rule);
    }
    let rules: Option<Vec<&Rule>> = facts.iter().map(|fact| paths::path_rule(policy, List::Allow, fact)).collect();
    if let Some(rule) = rules.and_then(|rules| rules.first().copied()) {
        return Decision::by_rule(Verdict::Allow, rule);
    }
    let outside = facts.iter().find(|fact| !paths::inside(policy, fact));
    match (policy.mode, outside) {
        (PermissionMode::AcceptEdits, None) => Decision::allow("mode", "acceptEdits allows edits in the workspace."),
        (PermissionMode::AcceptEdits, Some(fact)) => {
            let reason = format!("{} is outside the workspace, so writing it is asked first.", fact.given.display());
            Decision::ask("workspace", reason).at(&fact.given)
        }
        (mode, _) => {
            let reason = format!("{} mode asks before {} is written.", mode.as_str(), first.given.display());
            Decision::ask("mode", reason).at(&first.given)
        }
    }
}

// --- everything else ------------------------------------------------------------------------------

/// Tools that touch nothing but the session itself.
const FREE: [&str; 20] = [
    "TodoWrite",
    "TaskCreate",
    "TaskUpdate",
    "TaskGet",
    "TaskList",
    "Agent",
    "TaskOutput",
    "TaskStop",
    "StructuredOutput",
    "ListMcpResourcesTool",
    "ReadMcpResourceTool",
    "ReadMcpResourceDirTool",
    "EnterPlanMode",
    "ToolSearch",
    "WaitForMcpServers",
    "RefreshMcpTools",
    "EnterWorktree",
    "ExitWorktree",
    "ListAgents",
    "EndConversation",
];

fn other(policy: &Policy, tool: &str, call: &Call) -> Decision {
    if tool == "AskUserQuestion" {
        return Decision::ask("other", "A question for a person needs a person to answer it.");
    }
    if let Some(decision) =
        unconditional(policy, tool).filter(|_| tool != "ExitPlanMode" || policy.mode != PermissionMode::Plan)
    {
        return decision;
    }
    if FREE.contains(&tool) {
        return Decision::allow("other", format!("{tool} changes nothing outside the session."));
    }
    if let Some(rule) = policy.rules.allow.iter().find(|rule| grants(rule, tool, call.input)) {
        return Decision::by_rule(Verdict::Allow, rule);
    }
    match tool {
        "ExitPlanMode" => Decision::ask("mode", "Leaving plan mode is for a person to approve."),
        _ => Decision::ask("other", format!("No rule allows {tool}.")),
    }
}

fn grants(rule: &Rule, tool: &str, input: &Value) -> bool {
    if !rule.names(tool, List::Allow) {
        return false;
    }
    match rule.specifier.as_ref().map(|specifier| &specifier.kind) {
        Some(Kind::Domain(wanted)) => {
            let honest = url(input).filter(|text| !pattern::has_userinfo(text) && !text.contains(['\\', '\0']));
            honest.and_then(pattern::web_host).is_some_and(|host| pattern::domain(wanted, &host))
        }
        Some(Kind::Name(name)) => names(tool, input).iter().any(|text| name.matches(text)),
        _ => false,
    }
}

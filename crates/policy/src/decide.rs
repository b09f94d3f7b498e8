//! The decision for any tool: deny rules, ask rules, the mode, then what is allowed.

use wire::PermissionMode;

use crate::bash;
use crate::call::{Call, Decision, PathTarget, Policy, Resolve, Targets, Verdict};
use crate::names::{self, RuleKind};
use crate::paths;
use crate::pattern;
use crate::pattern::List;
use crate::rule::{Kind, Rule};

/// Total: every call gets a verdict, and what is not known to be allowed is asked.
pub fn decide(policy: &Policy, call: &Call, fs: &dyn Resolve) -> Decision {
    let decision = judge(policy, call, fs);
    if policy.mode == PermissionMode::DontAsk && decision.verdict == Verdict::Ask {
        let reason = format!("dontAsk mode denies what would be asked. {}", decision.reason);
        return Decision { verdict: Verdict::Deny, reason, run: None, ..decision };
    }
    // A question that a rule or a tool asks is for a person; the others are for a service that judges calls.
    let is_for_a_person = decision.reason_type == "rule" || is_question(call);
    if policy.mode == PermissionMode::Auto && decision.verdict == Verdict::Ask && !is_for_a_person {
        let reason = format!(
            "auto mode has no service here that judges what may be unsafe, so it is denied. {}",
            decision.reason
        );
        return Decision { verdict: Verdict::Deny, reason, run: None, ..decision };
    }
    decision
}

fn is_question(call: &Call) -> bool {
    let rules = names::find_for_rules(call.tool).map_or(call.rules, |entry| entry.rules);
    matches!(rules, RuleKind::Question | RuleKind::PlanEnd)
}

fn judge(policy: &Policy, call: &Call, fs: &dyn Resolve) -> Decision {
    let entry = names::find_for_rules(call.tool);
    let (tool, rules) = entry.map_or((call.tool, call.rules), |entry| (entry.name, entry.rules));
    let found = entry.and_then(|entry| call.targets.completed(entry, call.input));
    let call = &Call { targets: found.as_ref().unwrap_or(call.targets), ..*call };
    for (list, verdict) in [(List::Deny, Verdict::Deny), (List::Ask, Verdict::Ask)] {
        if let Some(rule) = policy.rules.list(list).iter().find(|rule| restricts(rule, list, tool, call)) {
            return Decision::by_rule(verdict, rule);
        }
    }
    match rules {
        RuleKind::Command => match &call.targets.command {
            Some(command) => bash::decide(policy, tool, command, fs),
            None => unconditional(policy, tool)
                .unwrap_or_else(|| Decision::ask("other", format!("{tool} was called without a command."))),
        },
        RuleKind::Read | RuleKind::Search | RuleKind::Write => file(policy, tool, rules, call, fs),
        _ => other(policy, tool, rules, call),
    }
}

/// Ask and deny rules that need neither a shell nor a path to be understood.
fn restricts(rule: &Rule, list: List, tool: &str, call: &Call) -> bool {
    if rule.is_bare_for(tool, list) || rule.parameter_hits(tool, call.input) {
        return true;
    }
    if !rule.names(tool, list) {
        return false;
    }
    match rule.specifier.as_ref().map(|specifier| &specifier.kind) {
        // A bare `*` pattern on files restricts every use, wherever the file is.
        Some(Kind::Path(_)) => rule.specifier.as_ref().is_some_and(|s| matches!(s.text.as_str(), "*" | "**")),
        Some(Kind::Domain(wanted)) => {
            call.targets.url.as_deref().and_then(pattern::web_host).is_some_and(|host| pattern::domain(wanted, &host))
        }
        Some(Kind::Name(name)) => call.targets.names.iter().any(|text| name.matches(text)),
        _ => false,
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

fn file(policy: &Policy, tool: &str, rules: RuleKind, call: &Call, fs: &dyn Resolve) -> Decision {
    let write = rules == RuleKind::Write;
    let searched_here = [PathTarget { given: policy.cwd.clone(), real: policy.cwd.clone(), write: false }];
    let paths = &call.targets.paths;
    let searches_here = rules == RuleKind::Search && paths.is_empty() && call.input.get("path").is_none();
    let facts: Vec<PathTarget> = if searches_here { &searched_here } else { paths.as_slice() }
        .iter()
        .map(|fact| PathTarget { write: fact.write || write, ..fact.clone() })
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

fn read(policy: &Policy, tool: &str, facts: &[PathTarget]) -> Decision {
    let allowed = |fact: &PathTarget| paths::path_rule(policy, List::Allow, fact);
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

fn edit(policy: &Policy, tool: &str, facts: &[PathTarget]) -> Decision {
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
        (PermissionMode::AcceptEdits | PermissionMode::Auto, None) => {
            Decision::allow("mode", format!("{} allows edits in the workspace.", policy.mode.as_str()))
        }
        (PermissionMode::AcceptEdits | PermissionMode::Auto, Some(fact)) => {
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

fn other(policy: &Policy, tool: &str, rules: RuleKind, call: &Call) -> Decision {
    if rules == RuleKind::Question {
        return Decision::ask("other", "A question for a person needs a person to answer it.");
    }
    if let Some(decision) =
        unconditional(policy, tool).filter(|_| rules != RuleKind::PlanEnd || policy.mode != PermissionMode::Plan)
    {
        return decision;
    }
    if matches!(rules, RuleKind::Session | RuleKind::Agent) {
        return Decision::allow("other", format!("{tool} changes nothing outside the session."));
    }
    if let Some(rule) = policy.rules.allow.iter().find(|rule| grants(rule, tool, call.targets)) {
        return Decision::by_rule(Verdict::Allow, rule);
    }
    match rules {
        RuleKind::PlanEnd => Decision::ask("mode", "Leaving plan mode is for a person to approve."),
        _ => Decision::ask("other", format!("No rule allows {tool}.")),
    }
}

fn grants(rule: &Rule, tool: &str, targets: &Targets) -> bool {
    if !rule.names(tool, List::Allow) {
        return false;
    }
    match rule.specifier.as_ref().map(|specifier| &specifier.kind) {
        Some(Kind::Domain(wanted)) => {
            let honest =
                targets.url.as_deref().filter(|text| !pattern::has_userinfo(text) && !text.contains(['\\', '\0']));
            honest.and_then(pattern::web_host).is_some_and(|host| pattern::domain(wanted, &host))
        }
        Some(Kind::Name(name)) => targets.names.iter().any(|text| name.matches(text)),
        _ => false,
    }
}

//! A permission question of the agent as options for the client, and the client's choice as the agent's answer.

use serde_json::{Value, json};
use wire::{CanUseTool, ModeUpdate, PermissionAllow, PermissionAnswer, PermissionDeny, PermissionUpdate};

/// One button, and what it means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    pub id: &'static str,
    pub name: String,
    pub kind: &'static str,
    pub meaning: Meaning,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Meaning {
    Allow(Vec<PermissionUpdate>),
    Reject,
    /// The call is refused and the turn ends.
    End,
}

/// In the order in which clients show them.
pub(crate) fn choices(asked: &CanUseTool, may_bypass: bool) -> Vec<Choice> {
    if asked.tool_name == "ExitPlanMode" {
        return leave_plan(may_bypass);
    }
    let mut choices =
        vec![Choice { id: "allow-once", name: "Yes".into(), kind: "allow_once", meaning: Meaning::Allow(Vec::new()) }];
    choices.extend(label(&asked.permission_suggestions).map(|label| Choice {
        id: "allow-with-updates",
        name: format!("Yes, and {label}"),
        kind: "allow_always",
        meaning: Meaning::Allow(asked.permission_suggestions.clone()),
    }));
    choices.push(Choice { id: "reject", name: "No".into(), kind: "reject_once", meaning: Meaning::Reject });
    choices
}

fn leave_plan(may_bypass: bool) -> Vec<Choice> {
    let to = |id, name: &str, kind, mode: &'static str| {
        let update = ModeUpdate { mode: mode.into(), destination: "session".into(), ..ModeUpdate::default() };
        Choice { id, name: name.into(), kind, meaning: Meaning::Allow(vec![PermissionUpdate::SetMode(update)]) }
    };
    let mut choices = vec![
        to("exit-plan-default", "Yes, and ask before each edit", "allow_once", "default"),
        to("exit-plan-accept-edits", "Yes, and accept edits", "allow_always", "acceptEdits"),
    ];
    if may_bypass {
        choices.push(to("exit-plan-bypass", "Yes, and skip all permissions", "allow_always", "bypassPermissions"));
    }
    choices.push(Choice { id: "reject", name: "No, keep planning".into(), kind: "reject_once", meaning: Meaning::End });
    choices
}

/// What the suggestions mean, in words. `None` where one of them has none: nobody can agree to it.
fn label(suggestions: &[PermissionUpdate]) -> Option<String> {
    let labels: Vec<String> = suggestions.iter().map(one_label).collect::<Option<_>>()?;
    (!labels.is_empty()).then(|| labels.join(", and "))
}

fn one_label(update: &PermissionUpdate) -> Option<String> {
    match update {
        PermissionUpdate::SetMode(mode) if mode.mode == "acceptEdits" => {
            Some("allow all edits during this session".into())
        }
        PermissionUpdate::AddRules(rules) if rules.behavior == "allow" && !rules.rules.is_empty() => {
            let names = rules.rules.iter().map(|rule| {
                let content = rule.rule_content.clone().flatten();
                match (rule.tool_name.as_str(), content.as_deref()) {
                    ("Bash", Some(prefix)) => format!("{} commands", prefix.trim_end_matches(":*")),
                    ("WebFetch", Some(domain)) => domain.trim_start_matches("domain:").to_owned(),
                    ("Skill", Some(skill)) => format!("the skill {skill}"),
                    (tool, Some(content)) => format!("{tool}({content})"),
                    (tool, None) => tool.to_owned(),
                }
            });
            Some(format!("don't ask again for {}", names.collect::<Vec<_>>().join(" and ")))
        }
        PermissionUpdate::AddDirectories(folders) if !folders.directories.is_empty() => {
            Some(format!("allow access to {} during this session", folders.directories.join(" and ")))
        }
        _ => None,
    }
}

pub(crate) fn options(choices: &[Choice]) -> Value {
    choices.iter().map(|choice| json!({"optionId": choice.id, "name": choice.name, "kind": choice.kind})).collect()
}

/// What the client chose.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Chosen {
    pub answer: PermissionAnswer,
    /// The turn ends here.
    pub ends_turn: bool,
}

/// `response` is the client's result, `None` where it answered with an error. An option that was not offered is a no.
pub(crate) fn chosen(response: Option<&Value>, choices: &[Choice], input: &Value) -> Chosen {
    let deny = |message: &str, ends: bool| Chosen {
        answer: PermissionAnswer::Deny(PermissionDeny {
            message: message.into(),
            interrupt: ends.then_some(true),
            ..PermissionDeny::default()
        }),
        ends_turn: ends,
    };
    let Some(response) = response else {
        return deny("The client could not ask the user, so this call is not permitted.", false);
    };
    let outcome = &response["outcome"];
    if outcome["outcome"] != "selected" {
        return deny("Tool use aborted", true);
    }
    let choice = outcome["optionId"].as_str().and_then(|id| choices.iter().find(|choice| choice.id == id));
    match choice.map(|choice| &choice.meaning) {
        Some(Meaning::Allow(updates)) => Chosen {
            answer: PermissionAnswer::Allow(PermissionAllow {
                updated_input: Some(input.clone()),
                updated_permissions: (!updates.is_empty()).then(|| updates.clone()),
                ..PermissionAllow::default()
            }),
            ends_turn: false,
        },
        Some(Meaning::Reject) => deny("The user did not permit this call.", false),
        Some(Meaning::End) => deny("The user wants to keep planning.", true),
        None => deny("The client chose an option that was not offered, so this call is not permitted.", false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::FromMap as _;

    fn asked(tool: &str, suggestions: Value) -> CanUseTool {
        let value = json!({"tool_name": tool, "permission_suggestions": suggestions});
        let Value::Object(map) = value else { unreachable!() };
        CanUseTool::from_map(map)
    }

    #[test]
    fn options_say_what_they_do() {
        let rule = |tool: &str, content: Value| json!([{"type": "addRules", "behavior": "allow", "destination": "localSettings", "rules": [{"toolName": tool, "ruleContent": content}]}]);
        for (tool, suggestions, second) in [
            ("Bash", rule("Bash", json!("git status:*")), "Yes, and don't ask again for git status commands"),
            ("WebFetch", rule("WebFetch", json!("domain:a.b")), "Yes, and don't ask again for a.b"),
            ("mcp__x", rule("mcp__x", Value::Null), "Yes, and don't ask again for mcp__x"),
            (
                "Edit",
                json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]),
                "Yes, and allow all edits during this session",
            ),
            ("Edit", json!([{"type": "setMode", "mode": "bypassPermissions"}]), "No"),
            ("Edit", json!([{"type": "newThing"}]), "No"),
            ("Edit", json!([]), "No"),
        ] {
            let choices = choices(&asked(tool, suggestions), false);
            assert_eq!(choices[1].name, second, "{tool}");
            assert_eq!(choices.last().unwrap().kind, "reject_once");
        }
    }

    #[test]
    fn only_what_was_offered_allows() {
        let offered = choices(&asked("Bash", json!([])), false);
        let select = |id: &str| json!({"outcome": {"outcome": "selected", "optionId": id}});
        for (response, allows, ends) in [
            (Some(select("allow-once")), true, false),
            (Some(select("reject")), false, false),
            (Some(select("allow-with-updates")), false, false),
            (Some(json!({"outcome": {"outcome": "cancelled"}})), false, true),
            (Some(json!({})), false, true),
            (None, false, false),
        ] {
            let chosen = chosen(response.as_ref(), &offered, &json!({"a": 1}));
            assert_eq!(matches!(chosen.answer, PermissionAnswer::Allow(_)), allows, "{response:?}");
            assert_eq!(chosen.ends_turn, ends, "{response:?}");
        }
    }

    #[test]
    fn a_plan_is_approved_into_a_mode_and_its_refusal_ends_the_turn() {
        let ids = |may| choices(&asked("ExitPlanMode", json!([])), may).iter().map(|one| one.id).collect::<Vec<_>>();
        assert_eq!(ids(false), ["exit-plan-default", "exit-plan-accept-edits", "reject"]);
        assert!(ids(true).contains(&"exit-plan-bypass"));
        let offered = choices(&asked("ExitPlanMode", json!([])), false);
        let select = |id: &str| json!({"outcome": {"outcome": "selected", "optionId": id}});
        assert!(chosen(Some(&select("reject")), &offered, &Value::Null).ends_turn);
        let PermissionAnswer::Allow(allow) =
            chosen(Some(&select("exit-plan-accept-edits")), &offered, &Value::Null).answer
        else {
            panic!("not allowed")
        };
        let update = serde_json::to_value(&allow.updated_permissions.unwrap()[0]).unwrap();
        assert_eq!(update, json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"}));
    }
}

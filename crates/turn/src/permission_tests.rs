use super::*;
use crate::testing::{Plain, call, config, decision};
use crate::{Effect, Input};

type Row = (&'static str, HookAnswer, Verdict, Option<Value>, Option<&'static str>, &'static str);

#[test]
fn hooks_spare_the_question_of_a_mode_and_not_that_of_a_rule() {
    use HookDecision::{Allow, Ask, Deny};
    for (verdict, reason_type, wish, expected) in [
        (Verdict::Allow, "mode", None, Some(false)),
        (Verdict::Allow, "mode", Some(Ask), Some(true)),
        (Verdict::Allow, "mode", Some(Allow), Some(false)),
        (Verdict::Ask, "mode", None, Some(true)),
        (Verdict::Ask, "mode", Some(Allow), Some(false)),
        (Verdict::Ask, "rule", Some(Allow), Some(true)),
        (Verdict::Deny, "rule", Some(Allow), None),
        (Verdict::Deny, "mode", Some(Deny), None),
    ] {
        assert_eq!(is_asked(&decision(verdict, reason_type), wish), expected, "{verdict:?} {reason_type} {wish:?}");
    }
}

/// One call; what hooks, rules and the client say about it; what it ran with, and the start of its result.
#[test]
fn what_a_call_runs_with_is_what_was_last_set() {
    let by_hook = || HookAnswer { updated_input: Some(json!({"v": "hook"})), ..HookAnswer::default() };
    let blocked = || HookAnswer { blocked: Some("no".into()), ..HookAnswer::default() };
    let denied = || HookAnswer { decision: Some(HookDecision::Deny), ..HookAnswer::default() };
    let allow = json!({"behavior": "allow"});
    let changed = json!({"behavior": "allow", "updatedInput": {"v": "client"}});
    let with_rules =
        json!({"behavior": "allow", "updatedInput": {"v": "client"}, "updatedPermissions": [{"type": "setMode"}]});
    let deny = json!({"behavior": "deny", "message": "not now"});
    let garbled = json!({"behaviour": "allow"});
    let none = HookAnswer::default;
    let rows: [Row; 11] = [
        ("allowed", none(), Verdict::Allow, None, Some("t"), "ran"),
        ("changed by a hook", by_hook(), Verdict::Allow, None, Some("hook"), "ran"),
        ("blocked by a hook", blocked(), Verdict::Allow, None, None, "Bash was not run: a hook refused it (no)"),
        ("denied by a hook", denied(), Verdict::Allow, None, None, "Bash was not run: a hook refused it (no reason"),
        ("denied by a rule", none(), Verdict::Deny, None, None, "Bash was not run: it is not permitted (A reason)"),
        ("the client allows", none(), Verdict::Ask, Some(allow), Some("t"), "ran"),
        ("the client changes", by_hook(), Verdict::Ask, Some(changed), Some("client"), "ran"),
        ("the client adds rules", none(), Verdict::Ask, Some(with_rules), Some("client"), "ran"),
        ("the client denies", none(), Verdict::Ask, Some(deny), None, "not now"),
        ("the client says nonsense", none(), Verdict::Ask, Some(garbled), None, "The user did not permit this call."),
        ("the client is gone", none(), Verdict::Ask, None, None, "Bash was not run: it needs a permission and nobody"),
    ];
    for (name, hook, verdict, answer, ran, result) in rows {
        let mut plain = Plain::new(config(), vec![vec![call("t", "Bash")]]).special(move |effect| match effect {
            Effect::FireHook { ticket, hook: fired } if fired.name() == "PreToolUse" => {
                Some(Input::HookAnswered { ticket: *ticket, answer: Box::new(hook.clone()) })
            }
            Effect::Judge { ticket, .. } => {
                let decision = decision(verdict, "mode");
                Some(Input::Judged { ticket: *ticket, decision, suggestions: Vec::new() })
            }
            Effect::AskPermission { ticket, .. } => {
                let answer = answer.clone().map_or(PermissionAnswer::Nobody, PermissionAnswer::Answer);
                Some(Input::PermissionAnswered { ticket: *ticket, answer })
            }
            _ => None,
        });
        let outcome = plain.ask("go");
        let ran: Vec<Value> = ran.map(|v| json!({"v": v})).into_iter().collect();
        assert_eq!(plain.runs(), ran, "{name}");
        assert!(plain.results()[0].1.starts_with(result), "{name}: {:?}", plain.results());
        assert_eq!(outcome.permission_denials.len(), usize::from(ran.is_empty()), "{name}");
    }
}

#[test]
fn a_shell_line_of_a_skill_takes_the_path_of_every_call() {
    let answers = vec![vec![call("t", "Bash")]];
    let mut config = config();
    config.settings.prompter = Prompter::Nobody;
    for (verdict, expected) in [(Verdict::Allow, true), (Verdict::Deny, false)] {
        let mut is_first = true;
        let mut plain = Plain::new(config.clone(), answers.clone()).special(move |effect| match effect {
            Effect::RunTool { ticket, .. } if std::mem::replace(&mut is_first, false) => Some(Input::InnerCall {
                inner: 7,
                owner: *ticket,
                tool_use_id: "t".into(),
                name: "Bash".into(),
                input: json!({"command": "date"}),
            }),
            Effect::Judge { ticket, input, .. } if input["command"] == "date" => {
                Some(Input::Judged { ticket: *ticket, decision: decision(verdict, "rule"), suggestions: Vec::new() })
            }
            Effect::FireHook { ticket, hook } if hook.name() == "PreToolUse" && verdict == Verdict::Allow => {
                let input = match &**hook {
                    Hook::PreToolUse { input, .. } => input.clone(),
                    _ => Value::Null,
                };
                let updated = (input["command"] == "date").then(|| json!({"command": "date", "safe": true}));
                let answer = HookAnswer { updated_input: updated, ..HookAnswer::default() };
                Some(Input::HookAnswered { ticket: *ticket, answer: Box::new(answer) })
            }
            _ => None,
        });
        plain.feed(crate::testing::prompt("go"));
        plain.feed(Input::Next);
        let answered = plain.effects.iter().find_map(|effect| match effect {
            Effect::AnswerInner { inner: 7, result } => Some(result.is_ok()),
            _ => None,
        });
        assert_eq!(answered, Some(expected));
        let ran_changed = plain.runs().contains(&json!({"command": "date", "safe": true}));
        assert_eq!(ran_changed, expected, "it runs as the hook left it, or not at all");
    }
}

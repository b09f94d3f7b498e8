use super::*;
use crate::testing::{Plain, call, config, prompt, text};
use crate::{CallResult, Gathered, HookAnswer, ModelAnswer, Subagent, SubagentTask, ToolFinish};

fn names(effects: &[Effect]) -> Vec<String> {
    let name = |effect: &Effect| {
        let text = format!("{effect:?}");
        text.split([' ', '(', '{']).next().unwrap_or_default().to_owned()
    };
    effects.iter().map(name).collect()
}

#[test]
fn a_prompt_is_prepared_heard_asked_and_answered_once() {
    let mut plain = Plain::new(config(), vec![]);
    let outcome = plain.ask("hi");
    let expected = [
        "Prepare",
        "FireHook",
        "Gather",
        "EmitInit",
        "SetPromptId",
        "FireHook",
        "BeginCheckpoint",
        "Append",
        "Append",
        "Gather",
        "Gather",
        "AskModel",
        "Emit",
        "Append",
        "FireHook",
        "Append",
        "EndTurn",
    ];
    assert_eq!(names(&plain.effects), expected);
    assert_eq!((outcome.result.as_deref(), outcome.is_error, outcome.num_turns), (Some("done"), Some(false), 1));
    assert!(plain.turn.is_idle() && !plain.turn.has_next());
}

#[test]
fn results_come_in_the_order_of_the_calls_whatever_order_they_end_in() {
    let answers = vec![vec![call("a", "Read"), call("b", "Read"), call("c", "Bash")]];
    let held = std::cell::RefCell::new(None);
    let mut plain = Plain::new(config(), answers).special(|effect| match effect {
        // The first one is slow: it ends when the second has.
        Effect::RunTool { ticket, tool_use_id, .. } if tool_use_id == "a" => {
            held.replace(Some(*ticket));
            Some(Input::Recall(Recall::List))
        }
        Effect::HideSecrets { ticket, result } => {
            let first = held.take().map(|ticket| {
                let finish = ToolFinish::from(CallResult::text("slow", json!("slow")));
                Input::ToolFinished { ticket, finish: Box::new(finish) }
            });
            let _ = (ticket, result);
            first
        }
        _ => None,
    });
    plain.feed(prompt("go"));
    plain.feed(Input::Next);
    let hidden: Vec<_> = plain
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::HideSecrets { ticket, result } => Some((*ticket, result.clone())),
            _ => None,
        })
        .collect();
    // The second call's secrets were never hidden, because the test answered with the first call instead.
    for (ticket, result) in hidden {
        plain.feed(Input::SecretsHidden { ticket, result });
    }
    let expected = [("a", "slow"), ("b", "ran"), ("c", "ran")].map(|(id, text)| (id.to_owned(), text.to_owned()));
    assert_eq!(plain.results(), expected);
}

#[test]
fn an_interrupt_ends_a_turn_wherever_it_is() {
    type Is = fn(&Effect) -> bool;
    let places: [(&str, Is, &str); 6] = [
        ("preparing", |effect| matches!(effect, Effect::Prepare { .. }), "aborted_streaming"),
        ("asking", |effect| matches!(effect, Effect::AskModel { .. }), "aborted_streaming"),
        ("a hook before the call", |effect| is_hook(effect, "PreToolUse"), "aborted_tools"),
        ("judging", |effect| matches!(effect, Effect::Judge { .. }), "aborted_tools"),
        ("running", |effect| matches!(effect, Effect::RunTool { .. }), "aborted_tools"),
        ("a hook after the call", |effect| is_hook(effect, "PostToolUse"), "aborted_tools"),
    ];
    for (name, is_place, reason) in places {
        let answers = vec![vec![call("a", "Bash"), call("b", "Bash")]];
        let mut is_done = false;
        let mut plain = Plain::new(config(), answers).special(move |effect| {
            let is_now = is_place(effect) && !is_done;
            is_done |= is_now;
            is_now.then_some(Input::Interrupt(InterruptCause::Client))
        });
        plain.feed(prompt("go"));
        plain.feed(Input::Next);
        // Work that an interrupt does not stop still answers.
        if name == "preparing" {
            plain.feed(Input::Prepared { ticket: Ticket(1), prepared: Box::default() });
        }
        let outcome = plain.outcome();
        assert_eq!((&*outcome.terminal_reason, outcome.is_error), (reason, Some(true)), "{name}");
        let open = plain.results().len();
        assert_eq!(open, if reason == "aborted_tools" { 2 } else { 0 }, "{name}");
    }
}

fn is_hook(effect: &Effect, name: &str) -> bool {
    matches!(effect, Effect::FireHook { hook, .. } if hook.name() == name)
}

#[test]
fn waiting_prompts_are_listed_and_taken_back() {
    for (which, waiting, taken_back) in [
        (Recall::List, vec!["a", "b"], vec![]),
        (Recall::All, vec![], vec!["a", "b"]),
        (Recall::One("b".into()), vec!["a"], vec!["b"]),
        (Recall::One("c".into()), vec!["a", "b"], vec![]),
    ] {
        let mut turn = Turn::new(config());
        for uuid in [Some("a"), None, Some("b")] {
            let Input::Prompt(mut input) = prompt("x") else { unreachable!() };
            input.uuid = uuid.map(str::to_owned);
            step(&mut turn, Input::Prompt(input), Now::default());
        }
        let effects = step(&mut turn, Input::Recall(which), Now::default());
        let [Effect::Recalled { waiting: left, taken_back: gone }] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(
            (left.clone(), gone.clone()),
            (waiting.into_iter().map(str::to_owned).collect(), taken_back.into_iter().map(str::to_owned).collect())
        );
    }
}

#[test]
fn context_without_a_question_goes_along_with_the_next_prompt() {
    let mut plain = Plain::new(config(), vec![]);
    let Input::Prompt(mut held) = prompt("context") else { unreachable!() };
    held.should_query = Some(false);
    plain.feed(Input::Prompt(held));
    assert!(!plain.turn.has_next());
    plain.ask("question");
    let messages = plain.turn.messages();
    assert_eq!(messages[0]["content"], json!([text("context"), text("question")]));
}

#[test]
fn a_signal_lets_nothing_else_begin() {
    let mut plain = Plain::new(config(), vec![]).special(|effect| {
        matches!(effect, Effect::AskModel { .. }).then_some(Input::Interrupt(InterruptCause::Signal))
    });
    plain.feed(prompt("one"));
    plain.feed(prompt("two"));
    plain.feed(Input::Next);
    assert_eq!(plain.outcome().is_error, Some(true));
    assert!(plain.turn.is_idle() && !plain.turn.has_next());
}

#[test]
fn plan_mode_is_told_when_it_begins_and_when_it_ends() {
    let mut plain = Plain::new(config(), vec![]);
    for (mode, words) in [(PermissionMode::Plan, "Plan mode is on"), (PermissionMode::Default, "Plan mode is off")] {
        plain.feed(Input::Changed(Change::Mode(mode)));
        plain.ask("x");
        let messages = plain.turn.messages();
        let asked = &messages[messages.len() - 2]["content"];
        assert!(crate::text_of(asked).contains(words), "{asked}");
    }
}

#[test]
fn a_stop_hook_sends_the_model_on_as_often_as_it_may() {
    let mut config = config();
    config.limits.stop_blocks = 2;
    let mut plain = Plain::new(config, vec![]).special(|effect| match effect {
        Effect::FireHook { ticket, .. } if is_hook(effect, "Stop") => {
            let answer = HookAnswer { blocked: Some("not yet".into()), ..HookAnswer::default() };
            Some(Input::HookAnswered { ticket: *ticket, answer: Box::new(answer) })
        }
        _ => None,
    });
    let outcome = plain.ask("x");
    assert_eq!((&*outcome.terminal_reason, outcome.num_turns), ("completed", 3));
    assert_eq!(plain.effects.iter().filter(|effect| matches!(effect, Effect::Warn(_))).count(), 1);
}

#[test]
fn a_sub_agent_ends_with_its_answer_and_shows_only_its_calls() {
    let mut config = config();
    config.role = Role::Sub(Box::new(Subagent { agent_id: "a1".into(), depth: 1, ..Subagent::default() }));
    let mut plain = Plain::new(config, vec![vec![text("hm"), call("t", "Bash")]]);
    plain.feed(Input::Task(Box::new(SubagentTask { task: "look".into(), skills: vec!["a skill".into()] })));
    let Some(Effect::EndTask { result }) = plain.effects.last() else { panic!("no end") };
    assert!(result.result.words().starts_with("done\n\n[agent a1: 1 tool calls"), "{:?}", result.result);
    let shown = plain
        .effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Emit { event, .. } if matches!(**event, Event::Assistant(_))));
    assert_eq!(shown.count(), 1);
}

#[test]
fn limits_hold_before_a_question_is_asked() {
    let mut config = config();
    config.limits.max_answers = Some(1);
    let mut plain = Plain::new(config.clone(), vec![vec![call("a", "Bash")]]);
    assert_eq!(plain.ask("x").subtype, "error_max_turns");
    config.limits = Limits { budget_usd: Some(0.0), ..Limits::default() };
    let mut plain = Plain::new(config, vec![]);
    assert_eq!(plain.ask("x").subtype, "error_max_budget_usd");
    assert!(!plain.effects.iter().any(|effect| matches!(effect, Effect::AskModel { .. })));
}

#[test]
fn a_break_leaves_every_call_with_a_result() {
    let answers = vec![vec![call("a", "Bash"), call("b", "Bash")]];
    let mut plain = Plain::new(config(), answers).special(|effect| {
        let message = || "a panic".to_owned();
        matches!(effect, Effect::RunTool { .. }).then(|| Input::Broken { message: message() })
    });
    let outcome = plain.ask("x");
    assert_eq!(outcome.subtype, "error_during_execution");
    assert_eq!(plain.results().len(), 2);
}

#[test]
fn an_answer_that_nobody_waits_for_is_ignored() {
    let mut turn = Turn::new(config());
    for input in [
        Input::Stopped { ticket: Ticket(9) },
        Input::Gathered { ticket: Ticket(9), gathered: Box::new(Gathered::default()) },
        Input::AnswerFinished { ticket: Ticket(9), answer: Box::new(ModelAnswer::default()) },
        Input::Next,
        Input::Interrupt(InterruptCause::Client),
    ] {
        assert!(step(&mut turn, input, Now::default()).is_empty());
    }
}

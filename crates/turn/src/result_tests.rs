use super::*;

#[expect(clippy::unnecessary_box_returns, reason = "every user wants the box")]
fn failure(category: &'static str) -> Box<ModelFailure> {
    Box::new(ModelFailure {
        api_type: None,
        source: FailureSource::Http,
        status: Some(429),
        category,
        message: "slow".into(),
        reset: None,
        api_ms: 0,
        prompt_too_long: false,
        overloaded: false,
    })
}

#[test]
fn every_end_has_its_subtype_and_reason() {
    let mut books = Books { last_text: "text".into(), ..Books::default() };
    let rows = [
        (End::Done, "success", false, "completed"),
        (End::HookStopped("x".into()), "success", false, "hook_stopped"),
        (End::Deferred(json!({})), "success", false, "tool_deferred"),
        (End::BadCommand("x".into()), "success", true, "turn_setup_failed"),
        (End::Api(failure("rate_limit")), "success", true, "api_error"),
        (End::GaveUp(GiveUp::Refused), "success", true, "model_error"),
        (End::GaveUp(GiveUp::Empty), "error_during_execution", true, "model_error"),
        (End::GaveUp(GiveUp::Overflow), "error_during_execution", true, "prompt_too_long"),
        (End::MaxTurns(3), "error_max_turns", true, "max_turns"),
        (End::Budget(1.0), "error_max_budget_usd", true, "budget_exhausted"),
        (End::SchemaRetries(2), "error_max_structured_output_retries", true, "structured_output_retry_exhausted"),
        (End::DeferredGone("X".into()), "error_during_execution", true, "tool_deferred_unavailable"),
        (End::NoPrompter("x".into()), "error_during_execution", true, "turn_setup_failed"),
        (End::Internal("x".into()), "error_during_execution", true, "turn_setup_failed"),
        (End::PromptRefused("x".into()), "success", false, "hook_stopped"),
        (End::Interrupted { streaming: true }, "error_during_execution", true, "aborted_streaming"),
        (End::Interrupted { streaming: false }, "error_during_execution", true, "aborted_tools"),
    ];
    for (end, subtype, is_error, reason) in rows {
        let outcome = outcome(&mut books, &end, Vec::new(), 5);
        assert_eq!(
            (&*outcome.subtype, outcome.is_error, &*outcome.terminal_reason),
            (subtype, Some(is_error), reason),
            "{end:?}"
        );
        assert_eq!(outcome.result.is_some(), subtype == SUCCESS, "{end:?}");
        assert_eq!(outcome.errors.is_some(), subtype != SUCCESS, "{end:?}");
    }
}

#[test]
fn a_limit_says_when_it_ends_and_a_setup_says_only_what_is_wrong() {
    let mut limit = failure("rate_limit");
    limit.reset = Some(crate::Reset { seconds: 1, time_of_day: "3pm".into() });
    assert_eq!(reason(&End::Api(limit)), "You've hit your limit · resets 3pm · API Error: slow");
    let setup = Box::new(ModelFailure { source: FailureSource::Setup, ..*failure("authentication_failed") });
    assert_eq!(reason(&End::Api(setup)), "slow");
}

#[test]
fn a_long_answer_of_a_sub_agent_is_cut_visibly() {
    let books = Books { last_text: "é".repeat(10), ..Books::default() };
    let result = subagent_result(&books, &End::Done, "a1", "task", 3, 0).result;
    assert!(result.words().starts_with("ééé\n[cut here"), "{result:?}");
    let failed = subagent_result(&Books::default(), &End::MaxTurns(1), "a1", "task", 3, 0);
    assert_eq!((failed.status, failed.result.is_error()), (SubagentStatus::Failed, true));
}

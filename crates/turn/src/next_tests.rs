use super::*;

#[test]
fn one_step_for_each_kind_of_answer() {
    let said = AnswerFacts { has_content: true, ..AnswerFacts::default() };
    let rows = [
        ("plain end", AnswerFacts { stop_reason: Some("end_turn"), ..said }, Next::Done),
        ("stop sequence", AnswerFacts { stop_reason: Some("stop_sequence"), ..said }, Next::Done),
        ("unknown reason", AnswerFacts { stop_reason: Some("novel"), ..said }, Next::Done),
        ("tools", AnswerFacts { tool_calls: 2, stop_reason: Some("tool_use"), ..said }, Next::RunTools),
        ("tools though cut", AnswerFacts { tool_calls: 1, incomplete: true, ..said }, Next::RunTools),
        ("tools though refused", AnswerFacts { tool_calls: 1, stop_reason: Some("refusal"), ..said }, Next::RunTools),
        ("cut text", AnswerFacts { incomplete: true, ..said }, Next::Say(Nudge::Cut)),
        ("refusal", AnswerFacts { stop_reason: Some("refusal"), ..said }, Next::GiveUp(GiveUp::Refused)),
        ("pause", AnswerFacts { stop_reason: Some("pause_turn"), ..said }, Next::Resend),
        ("too long", AnswerFacts { stop_reason: Some("max_tokens"), ..said }, Next::Say(Nudge::Long)),
        ("window", AnswerFacts { stop_reason: Some("model_context_window_exceeded"), ..said }, Next::Compact),
        (
            "no schema yet",
            AnswerFacts { stop_reason: Some("end_turn"), schema_pending: true, ..said },
            Next::Say(Nudge::Schema),
        ),
        (
            "nothing said",
            AnswerFacts { stop_reason: Some("end_turn"), ..AnswerFacts::default() },
            Next::Say(Nudge::Empty),
        ),
    ];
    for (name, seen, expected) in rows {
        assert_eq!(after_answer(seen, &mut Nudged::default()), expected, "{name}");
    }
}

#[test]
fn every_repetition_ends() {
    let rows = [
        AnswerFacts { incomplete: true, ..AnswerFacts::default() },
        AnswerFacts { stop_reason: Some("pause_turn"), ..AnswerFacts::default() },
        AnswerFacts { stop_reason: Some("max_tokens"), ..AnswerFacts::default() },
        AnswerFacts { stop_reason: Some("model_context_window_exceeded"), ..AnswerFacts::default() },
        AnswerFacts { schema_pending: true, ..AnswerFacts::default() },
        AnswerFacts::default(),
    ];
    for seen in rows {
        let mut nudged = Nudged::default();
        let steps = (0..100).take_while(|_| !matches!(after_answer(seen, &mut nudged), Next::GiveUp(_))).count();
        assert!(steps <= 20, "{seen:?}");
    }
}

use super::*;

#[test]
fn the_preamble_stands_before_the_first_prompt_only() {
    let mut conversation = Conversation::new(Vec::new(), Some("memory".into()));
    conversation.push_user(json!("one"));
    conversation.push_assistant(vec![json!({"type":"text","text":"A"}), json!({"type":"text","text":" "})]);
    conversation.push_user(json!([{"type":"text","text":"two"}]));
    assert_eq!(
        Value::Array(conversation.messages().to_vec()),
        json!([
            {"role":"user","content":[{"type":"text","text":"memory"},{"type":"text","text":"one"}]},
            {"role":"assistant","content":[{"type":"text","text":"A"}]},
            {"role":"user","content":[{"type":"text","text":"two"}]},
        ])
    );
}

#[test]
fn messages_of_one_role_meet() {
    let mut conversation = Conversation::default();
    conversation.push_user(json!("a"));
    conversation.push_user(json!("b"));
    conversation.push_assistant(vec![json!({"type":"text","text":""})]);
    conversation.push_assistant(vec![json!({"type":"thinking","thinking":"hm"}), json!({"type":"text","text":" "})]);
    assert_eq!(conversation.messages().len(), 1);
    assert_eq!(text_of(&conversation.messages()[0]["content"]), "a\nb");
}

#[test]
fn what_was_typed_is_the_last_text() {
    let blocks = json!([{"type":"text","text":"context"},{"type":"text","text":"/fix"},{"type":"image"}]);
    assert_eq!(last_text(&blocks), "/fix");
    assert_eq!(without_last_text(blocks), [json!({"type":"text","text":"context"}), json!({"type":"image"})]);
    assert_eq!((last_text(&json!("/fix")), without_last_text(json!("/fix")).len()), ("/fix", 0));
    assert_eq!((last_text(&json!([{"type":"image"}])), without_last_text(json!([])).len()), ("", 0));
}

#[test]
fn a_compacted_conversation_keeps_its_preamble() {
    let mut conversation = Conversation::new(vec![json!({"role":"user","content":"x"})], Some("memory".into()));
    assert_eq!(conversation.compact("summary"), None);
    assert_eq!(text_of(&conversation.messages()[0]["content"]), "memory\nsummary");
}

#[test]
fn a_compacted_conversation_keeps_the_prompt_that_waits_for_its_answer() {
    let mut conversation = Conversation::new(vec![json!({"role":"user","content":"x"})], Some("memory".into()));
    conversation.push_assistant(vec![json!({"type":"tool_use","id":"1"})]);
    conversation.push_user(json!([{"type":"tool_result","tool_use_id":"1"}]));
    let mut between_results = conversation.clone();
    assert_eq!(between_results.compact("summary"), None);
    conversation.push_user(json!("what now?"));
    assert!(conversation.compact("summary").is_some());
    assert_eq!(conversation.messages().len(), 1);
    assert_eq!(text_of(&conversation.messages()[0]["content"]), "memory\nsummary\nwhat now?");
}

#[test]
fn results_come_before_reminders_that_were_there_first() {
    let mut conversation = Conversation::new(vec![json!({"role":"user","content":"x"})], None);
    conversation.push_assistant(vec![json!({"type":"tool_use","id":"1"})]);
    conversation.push_user(json!([{"type":"text","text":"a hook says"}]));
    conversation.push_results(vec![json!({"type":"tool_result","tool_use_id":"1"})]);
    let last = &conversation.messages()[2];
    assert_eq!(last["content"][0]["type"], "tool_result");
    assert_eq!(last["content"][1]["text"], "a hook says");
}

#[test]
fn a_prompt_brings_nothing_that_poisons_the_conversation() {
    let content = json!([
        {"type":"text","text":" "}, {"type":"tool_result","tool_use_id":"9"}, {"type":"tool_use","id":"9"}, {"type":"image"}
    ]);
    assert_eq!(usable(content), json!([{"type":"image"}]));
    assert!(is_unusable(&json!([{"type":"tool_result","tool_use_id":"9"}])) && is_unusable(&json!(" ")));
    assert!(!is_unusable(&json!([{"type":"tool_result","tool_use_id":"9"}, {"type":"image"}])));
    assert!(is_blank(&json!(" ")) && !is_blank(&json!([{"type":"image"}])));
}

#[test]
fn the_last_word_about_plan_mode_counts() {
    let said = |texts: &[&str]| -> Vec<Value> {
        let block =
            |text: &&str| json!({"type": "text", "text": format!("<system-reminder>\n{text}\n</system-reminder>")});
        vec![
            json!({"role": "user", "content": "hi"}),
            json!({"role": "user", "content": texts.iter().map(block).collect::<Vec<_>>()}),
            json!({"role": "assistant", "content": [{"type": "text", "text": words::PLAN_MODE}]}),
        ]
    };
    for (texts, expected) in [
        (&[][..], false),
        (&[words::PLAN_MODE], true),
        (&[words::PLAN_MODE, words::PLAN_MODE_OFF], false),
        (&[words::PLAN_MODE_OFF, words::PLAN_MODE], true),
    ] {
        assert_eq!(was_told_of_plan_mode(&said(texts)), expected, "{texts:?}");
    }
}

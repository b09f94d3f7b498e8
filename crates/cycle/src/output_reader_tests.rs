//! Every way an agent can speak.

use super::*;
use crate::{QuestionAbout, TodoState};
use serde_json::json;

fn read_line(lines: &[&str]) -> (Vec<EventKind>, AgentOutput) {
    let mut reader = OutputReader::new(1);
    let mut events: Vec<EventKind> = lines.iter().flat_map(|line| reader.read_line(line)).collect();
    events.extend(reader.end());
    (events, reader.into_output())
}

fn warnings(events: &[EventKind]) -> usize {
    events.iter().filter(|event| matches!(event, EventKind::Warning { .. })).count()
}

const STREAM: &[&str] = &[
    r#"{"type":"system","subtype":"init","session_id":"s1","model":"m"}"#,
    r#"{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"I look."}],"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}},"parent_tool_use_id":null}"#,
    r#"{"type":"assistant","message":{"id":"a","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":7}}}"#,
    r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a b"},{"type":"image"}]}]}}"#,
    r#"{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s2","total_cost_usd":0.5,"usage":{"input_tokens":10,"output_tokens":9}}"#,
];

#[test]
fn a_stream_is_summed_up_as_it_comes() {
    let (events, output) = read_line(STREAM);
    assert_eq!(warnings(&events), 0);
    assert_eq!((output.session.as_deref(), output.final_text(), output.tool_calls), (Some("s2"), "Done.", 1));
    assert_eq!(output.tokens, Tokens { input: 10, output: 9, cache_read: 5, cache_write: 0 });
    assert_eq!(output.context_tokens, 15);
    assert!((output.cost_usd - 0.5).abs() < 1e-9 && !output.cost_doubtful);
    let results = events.iter().filter_map(|event| match event {
        EventKind::ToolResult(result) => Some(result.text.as_str()),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), ["a b\n[image]"]);
}

#[test]
fn seed_001_a_malformed_line_is_skipped_with_a_warning() {
    let mut lines = STREAM.to_vec();
    lines.insert(1, r#"{"type":"assistant","message":{"#);
    lines.insert(3, "not json at all");
    lines.insert(0, "a banner before the first event");
    lines.push("null");
    let (events, output) = read_line(&lines);
    assert_eq!(warnings(&events), 4);
    assert_eq!(output.final_text(), "Done.");
}

#[test]
fn events_of_a_future_version_are_no_problem() {
    let (events, output) = read_line(&[r#"{"type":"hologram","depth":3}"#, STREAM[4]]);
    assert_eq!((warnings(&events), output.final_text()), (0, "Done."));
}

#[test]
fn seed_003_plain_text_and_single_objects_are_answers() {
    for (lines, words) in [
        (vec!["All is well.", "<promise>COMPLETE</promise>"], "All is well.\n<promise>COMPLETE</promise>"),
        (vec![r#"{"result":"Hi","session_id":"s","structured_output":{"summary":"x"}}"#], "Hi"),
        (vec!["{", r#""result": "Hi","#, r#""session_id": "s""#, "}"], "Hi"),
        (vec![r#"[{"type":"system"},{"type":"result","result":"Hi","is_error":false}]"#], "Hi"),
        (vec![r#""a string""#], "a string"),
    ] {
        let (events, output) = read_line(&lines);
        assert_eq!((warnings(&events), output.final_text(), output.answer.is_some()), (0, words, true), "{lines:?}");
    }
    let (_, output) = read_line(&[r#"{"error":"no such model"}"#]);
    assert!(output.answer.is_some_and(|answer| answer.is_error && answer.text == "no such model"));
    assert!(read_line(&["", "  "]).1.answer.is_none(), "silence is no answer");
}

#[test]
fn the_words_of_a_result_are_told_where_nothing_else_was_said() {
    let said = |lines: &[&str]| {
        let text = |event: &EventKind| match event {
            EventKind::AgentText(speech) => Some(speech.text.clone()),
            _ => None,
        };
        read_line(lines).0.iter().filter_map(text).collect::<Vec<_>>()
    };
    let result = r#"{"type":"result","is_error":false,"result":"All done."}"#;
    assert_eq!(said(&[result]), ["All done."]);
    assert_eq!(said(&[STREAM[1], result]), ["I look."]);
    assert!(said(&[r#"{"type":"result","is_error":true,"result":"It broke."}"#]).is_empty(), "the receipt tells it");
}

#[test]
fn messages_are_priced_by_their_model_until_the_agent_names_its_cost() {
    let price: Price = |model, tokens| if model == "dear" { tokens.total() as f64 } else { 0.0 };
    let message = |id: &str, model: &str| {
        let model = if model.is_empty() { json!(null) } else { json!(model) };
        json!({"type": "assistant", "message": {"id": id, "model": model, "content": [], "usage": {"input_tokens": 2}}})
            .to_string()
    };
    let mut reader = OutputReader::priced(1, "dear", price);
    for (line, usd, estimated) in [
        (message("a", ""), 2.0, true),
        (message("a", ""), 2.0, true),
        (message("b", "cheap"), 2.0, true),
        (message("c", "dear"), 4.0, true),
        (r#"{"type":"result","is_error":false,"result":"x","total_cost_usd":3.5}"#.to_owned(), 3.5, false),
        (message("d", "dear"), 5.5, true),
        (r#"{"type":"result","is_error":false,"result":"x","usage":{"input_tokens":10}}"#.to_owned(), 7.5, true),
    ] {
        let events = reader.read_line(&line);
        let Some(EventKind::Usage(usage)) = events.last() else { panic!("{line}: {events:?}") };
        assert_eq!((usage.cost_usd, usage.estimated), (Some(usd), estimated), "{line}");
    }
}

/// A resumed session's result names the costs of the whole session.
#[test]
fn of_a_session_that_goes_on_only_what_is_new_counts() {
    let result = |total: f64| {
        let usage = |usd: f64, tokens: u64| json!({"m": {"costUSD": usd, "outputTokens": tokens}});
        json!({"type": "result", "is_error": false, "result": "x", "total_cost_usd": total,
            "modelUsage": usage(total, 1_000_000), "model_usage_since_last_result": usage(0.5, 5)})
        .to_string()
    };
    let heard = read_line(&[&result(10.5), &result(11.0)]).1;
    assert_eq!((heard.cost_usd, heard.tokens.output, heard.cost_doubtful), (1.0, 10, false));
}

#[test]
fn a_message_that_comes_in_pieces_is_counted_whole() {
    let piece = |event: Value| json!({"type": "stream_event", "event": event, "parent_tool_use_id": null}).to_string();
    let start =
        piece(json!({"type": "message_start", "message": {"id": "a", "model": "m", "usage": {"input_tokens": 9}}}));
    let block = json!({"type": "assistant", "message": {"id": "a", "model": "m", "content": [], "usage": {"input_tokens": 9, "output_tokens": 1}}});
    let end = piece(json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 500}}));
    let (events, output) = read_line(&[&start, &block.to_string(), &end, &block.to_string()]);
    assert_eq!(output.tokens, Tokens { input: 9, output: 500, ..Tokens::default() });
    assert_eq!(output.context_tokens, 9, "what the request held");
    assert!(matches!(events.last(), Some(EventKind::Usage(usage)) if usage.tokens.output == 500));
}

#[test]
fn usage_of_another_form_is_none() {
    for usage in ["[1]", "7", "\"many\"", "{\"input_tokens\":-5}", "{\"input_tokens\":1e30}"] {
        let line = format!(r#"{{"type":"result","is_error":false,"result":"x","usage":{usage}}}"#);
        assert_eq!(read_line(&[&line]).1.tokens, Tokens::default(), "{usage}");
    }
}

#[test]
fn partial_messages_stream_and_sub_agents_do_not_have_the_last_word() {
    let delta =
        r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"I lo"}}}"#;
    let sub = r#"{"type":"assistant","message":{"id":"s","content":[{"type":"text","text":"<promise>"}]},"parent_tool_use_id":"t9"}"#;
    let (events, output) = read_line(&[delta, STREAM[1], sub]);
    assert!(matches!(&events[0], EventKind::AgentText(speech) if speech.partial && speech.text == "I lo"));
    assert_eq!(output.final_text(), "I look.");
}

#[test]
fn questions_count_until_they_are_answered_or_worked_around() {
    let ask =
        json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "q", "name": "AskUserQuestion",
        "input": {"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]}}]}})
        .to_string();
    let result = |error: bool| {
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "q", "is_error": error, "content": "x"}]}})
            .to_string()
    };
    let question = |lines: &[&str]| read_line(lines).1.question;
    let open = question(&[&ask, &result(true)]).expect("nobody answered");
    assert_eq!((open.about, open.text.as_str(), open.options.len()), (QuestionAbout::Choice, "Which?", 2));
    assert_eq!(question(&[&ask, &result(false)]), None);
    assert_eq!(question(&[&ask, &result(true), STREAM[2]]), None, "it went on without");
}

#[test]
fn usage_limits_are_heard_in_each_place() {
    let typed = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1760000000,"rateLimitType":"five_hour"}}"#;
    let allowed = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1760000000}}"#;
    let words = r#"{"type":"result","is_error":true,"result":"You've hit your limit · resets 5pm"}"#;
    let status = r#"{"type":"result","is_error":true,"result":"API Error","api_error_status":429}"#;
    let fine = r#"{"type":"result","is_error":false,"result":"I wrote about the rate limit."}"#;
    let limit = |line: &str| read_line(&[line]).1.limit;
    assert_eq!(limit(typed).and_then(|hit| hit.reset), Some(Reset::At(1_760_000_000_000)));
    assert!(matches!(limit(words).and_then(|hit| hit.reset), Some(Reset::Clock { hour: 17, .. })));
    assert!(limit(status).is_some_and(|hit| hit.reset.is_none()));
    assert_eq!((limit(allowed), limit(fine)), (None, None));
}

#[test]
fn the_agents_own_list_is_a_todo_list() {
    let call = json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t", "name": "TodoWrite",
        "input": {"todos": [{"content": "one", "status": "in_progress"}]}}]}});
    let (events, _) = read_line(&[&call.to_string()]);
    let item = crate::TodoItem { text: "one".into(), state: TodoState::Active };
    assert!(events.contains(&EventKind::Todo { items: vec![item] }));
}

#[test]
fn an_outage_is_heard_in_each_place_and_ends_with_the_next_answer() {
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":3,"max_retries":10,"retry_delay_ms":4000,"error_status":null,"error":"unknown"}"#;
    let limited = retry.replace("null", "429");
    let overloaded =
        r#"{"type":"assistant","error":"overloaded","message":{"content":[{"type":"text","text":"API Error: 529"}]}}"#;
    let status = r#"{"type":"result","is_error":true,"result":"API Error","api_error_status":502}"#;
    let words =
        r#"{"type":"result","is_error":true,"result":"API Error: cannot reach x: refused","api_error_status":null}"#;
    let refused =
        r#"{"type":"result","is_error":true,"result":"API Error: 400 connection error","api_error_status":400}"#;
    let answered = |lines: &[&str]| read_line(lines).1.outage.map(|outage| outage.answered);
    for (lines, expected) in [
        (&[retry][..], Some(false)),
        (&[&limited], None),
        (&[overloaded], Some(true)),
        (&[status], Some(true)),
        (&[words], Some(false)),
        (&[refused], None),
        (&[retry, refused], None),
        (&[retry, STREAM[1]], None),
        (&[retry, r#"{"type":"result","is_error":false,"result":"fine"}"#], None),
    ] {
        assert_eq!(answered(lines), expected, "{lines:?}");
    }
    let (events, _) = read_line(&[retry]);
    let EventKind::ApiRetry(retry) = &events[0] else { panic!("{events:?}") };
    assert_eq!(retry.words(), "the API cannot be reached");
    assert_eq!((retry.attempt, retry.most, retry.delay_ms), (3, 10, 4000));
}

#[test]
fn an_agent_is_busy_while_a_turn_or_agents_of_its_own_run() {
    let init = r#"{"type":"system","subtype":"init","session_id":"s"}"#;
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"x"}"#;
    let set = |kind: &str| {
        let task = format!(r#"{{"task_id":"a","task_type":"{kind}","description":"d"}}"#);
        format!(r#"{{"type":"system","subtype":"background_tasks_changed","tasks":[{task}]}}"#)
    };
    let (agent, shell) = (set("local_agent"), set("local_bash"));
    let none = r#"{"type":"system","subtype":"background_tasks_changed","tasks":[]}"#;
    for (lines, is_busy) in [
        (&[init][..], true),
        (&[init, result], false),
        (&[init, &agent, result], true),
        (&[init, &shell, result], false),
        (&[init, &agent, result, none], false),
        (&[init, &agent, result, none, init], true),
        (&[init, &agent, result, none, init, result], false),
    ] {
        assert_eq!(read_line(lines).1.is_busy(), is_busy, "{lines:?}");
    }
}

use super::*;
use crate::fixture;
use serde_json::json;

fn read(text: &str) -> Recording {
    Recording::read(text.as_bytes(), RecordingContext { title: "a file", ..RecordingContext::default() }).unwrap()
}

fn agent(iteration: u32, line: &Value, at: u64) -> String {
    EventKind::Agent { iteration, line: Verbatim::new(&line.to_string()) }.at(at).to_line()
}

fn transcript() -> Vec<Value> {
    let message = |content: Value| json!({"type": "assistant", "message": {"id": "m", "content": [content]}});
    vec![
        json!({"type": "system", "subtype": "init", "cwd": "/x", "model": "opus", "session_id": "s"}),
        message(json!({"type": "text", "text": "I look."})),
        message(json!({"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "/x/a.rs"}})),
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "fn"}]}}),
        json!({"type": "result", "subtype": "success", "result": "I look.", "total_cost_usd": 0.5, "duration_ms": 900}),
    ]
}

fn names(recording: &Recording) -> Vec<String> {
    let name = |event: &LoopEvent| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned();
    recording.events().iter().map(name).filter(|name| name != "usage").collect()
}

const WHOLE: [&str; 6] =
    ["run_started", "iteration_started", "agent_text", "tool_call", "tool_result", "iteration_ended"];

#[test]
fn our_own_recording_gets_its_digests() {
    let mut lines = vec![fixture::run_started().at(1).to_line(), fixture::started(1).at(2).to_line()];
    lines.extend(transcript().iter().map(|line| agent(1, line, 3)));
    lines.push(fixture::ended(1, 0.5).at(9).to_line());
    let recording = read(&lines.join("\n"));
    assert_eq!(names(&recording), WHOLE);
    assert_eq!(recording.skipped(), 0);
    assert!(recording.events().iter().all(|event| !matches!(event.kind, EventKind::Agent { .. })));
}

#[test]
fn a_raw_transcript_becomes_a_run() {
    let lines: Vec<String> = transcript().iter().map(Value::to_string).collect();
    let recording = read(&lines.join("\n"));
    assert_eq!(names(&recording), WHOLE);
    let EventKind::RunStarted(run) = &recording.events()[0].kind else { panic!("no start") };
    assert_eq!((run.title.as_str(), run.folder.as_str()), ("a file", "/x"));
    let EventKind::IterationEnded { receipt, .. } = &recording.events().last().unwrap().kind else { panic!("no end") };
    assert_eq!((receipt.duration_ms, receipt.tool_calls), (900, 1));
    assert!(recording.events().is_sorted_by_key(|event| event.at));
}

#[test]
fn costs_of_one_process_are_a_sum_and_those_of_two_are_two() {
    for (second, expected) in [("s", 0.25), ("another", 0.75)] {
        let mut lines = transcript();
        lines.extend(transcript());
        lines[5]["session_id"] = second.into();
        lines[9]["total_cost_usd"] = 0.75.into();
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        let recording = read(&text.join("\n"));
        let EventKind::IterationEnded { receipt, .. } = &recording.events().last().unwrap().kind else {
            panic!("no end")
        };
        assert!((receipt.cost_usd - expected).abs() < 1e-9, "{second}: {}", receipt.cost_usd);
    }
}

#[test]
fn pretty_json_between_blank_lines_is_the_same_run() {
    let pretty: Vec<String> = transcript().iter().map(|value| serde_json::to_string_pretty(value).unwrap()).collect();
    let plain: Vec<String> = transcript().iter().map(Value::to_string).collect();
    for separator in ["\n\n", "\n", "\r\n\r\n"] {
        assert_eq!(read(&pretty.join(separator)).events(), read(&plain.join("\n")).events(), "{separator:?}");
    }
}

#[test]
fn turns_after_a_result_are_new_iterations() {
    let lines: Vec<String> = transcript().iter().chain(&transcript()).map(Value::to_string).collect();
    let recording = read(&lines.join("\n"));
    let costs: Vec<f64> = recording
        .events()
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::IterationEnded { receipt, .. } => Some(receipt.cost_usd),
            _ => None,
        })
        .collect();
    assert_eq!(costs, [0.5, 0.0], "a process tells its sum");
}

#[test]
fn what_is_broken_is_skipped() {
    let good = fixture::started(1).at(2).to_line();
    for (text, skipped) in [
        (format!("{good}\n{{\"at\":3,\"type\":\"of_the_future\"}}\n{good}\n"), 1),
        (format!("{{\"at\":3,\n{good}\nnoise\n{good}"), 2),
        (format!("{good}\n{good}\n{{\"at\":9,\"type\":\"agen"), 1),
        (format!("noise\n\n{good}\n{good}"), 1),
    ] {
        let recording = read(&text);
        assert_eq!((recording.events().len(), recording.skipped()), (2, skipped), "{text}");
    }
}

#[test]
fn a_plain_answer_is_heard_at_its_end() {
    let line = EventKind::Agent { iteration: 1, line: Verbatim::new("All done.") }.at(3).to_line();
    let lines = [fixture::started(1).at(2).to_line(), line, fixture::ended(1, 0.0).at(9).to_line()];
    assert_eq!(names(&read(&lines.join("\n"))), ["iteration_started", "agent_text", "iteration_ended"]);
}

#[test]
fn nothing_is_an_error() {
    for text in ["", "\n\n", "hello", "{}", "[1]"] {
        assert!(
            matches!(Recording::read(text.as_bytes(), RecordingContext::default()), Err(ReadError::Empty)),
            "{text:?}"
        );
    }
}

//! `--json` says what the document says, and nothing else.

use crate::world::{PROMISE, folder, looped, told};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The table of `docs/loop.md`: type, and the names in its row.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/loop.md");
    let text = std::fs::read_to_string(file).unwrap();
    let events = text.split_once("## Events").expect("the section").1;
    let quoted = |cell: &str| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let mut table = BTreeMap::new();
    for row in events.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = row.trim_matches('|').splitn(2, '|');
        let (kinds, fields) = (quoted(cells.next().unwrap()), quoted(cells.next().unwrap()));
        for kind in kinds {
            table.insert(kind, fields.iter().cloned().collect());
        }
    }
    table
}

/// Every kind that there is, as the reader of recordings lists them.
fn known() -> BTreeSet<String> {
    let error = cycle::LoopEvent::parse(r#"{"at":0,"type":"?"}"#).unwrap_err().to_string();
    error.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_kind_of_event_is_documented_and_every_documented_kind_is_there() {
    let documented: BTreeSet<String> = documented().into_keys().collect();
    assert!(known().len() > 15, "{:?}", known());
    assert_eq!(documented, known());
}

/// Names of an object, and of the objects under those names that the document lists in the same row.
fn names(event: &Map<String, Value>) -> Vec<String> {
    let mut names: Vec<String> =
        event.keys().filter(|name| !["at", "type"].contains(&name.as_str())).cloned().collect();
    if let Some(Value::Object(receipt)) = event.get("receipt") {
        names.extend(receipt.keys().cloned());
    }
    names
}

#[test]
fn every_field_that_is_printed_is_documented() {
    let world = folder();
    let block = |block: Value| json!({"type": "assistant", "message": {"id": "m", "content": [block], "usage": {"input_tokens": 1}}});
    let lines = [
        json!({"type": "system", "subtype": "init", "model": "m", "session_id": "s"}),
        json!({"type": "system", "subtype": "permission_denied", "tool_name": "Bash", "tool_use_id": "t", "message": "no"}),
        json!({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "retry_delay_ms": 5, "error_status": 529, "error": "overloaded"}),
        json!({"type": "stream_event", "event": {"delta": {"type": "text_delta", "text": "a"}}}),
        block(json!({"type": "thinking", "thinking": "hm"})),
        block(
            json!({"type": "tool_use", "id": "t", "name": "TodoWrite", "input": {"todos": [{"content": "x", "status": "pending"}]}}),
        ),
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}}),
        json!({"type": "control_request", "request_id": "r", "request": {"subtype": "can_use_tool", "tool_name": "X", "input": {}}}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(world.home().join("lines"), text).unwrap();
    let script = format!(
        r#"case "$*" in *haiku*) structured '"so far"'; exit 0;; esac
        hear; work; cat "$HOME/lines"; case $n in
          1) failure 'API Error: 429 Too Many Requests, retry after 0s'; exit 1;;
          2) echo noise; exit 9;;
          3) result "{PROMISE}";;
          5) result "a step";;
          *) result 'Help.\n<blocked>Why?</blocked>';;
        esac"#
    );
    let words = ["--summarise-every", "2", "--check", "false", "--cooldown", "0.01", "--session", "continue"];
    let (outcome, events) = told(looped(&world, &script, &words));
    assert_eq!(outcome.code, Some(3), "{} {:#?}", outcome.stderr, outcome.lines);
    let table = documented();
    let mut seen = BTreeSet::new();
    for event in &events {
        let event = event.as_object().unwrap();
        let kind = event["type"].as_str().unwrap().to_owned();
        let fields = table.get(&kind).unwrap_or_else(|| panic!("{kind} is not documented"));
        assert!(event["at"].is_u64(), "{event:?}");
        for name in names(event) {
            assert!(fields.contains(&name), "{kind}.{name} is not documented");
        }
        seen.insert(kind);
    }
    // The others need a person: they answer, steer, pause and go on; or a loop that is stuck, that watches, that has a
    // reviewer, or whose summary fails; a check that prints for a while; or an agent that wants a terminal.
    let rest: BTreeSet<String> = known().difference(&seen).cloned().collect();
    let expected = [
        "answered",
        "check_output",
        "paused",
        "resumed",
        "review_started",
        "reviewed",
        "steered",
        "strategy_changed",
        "summary_failed",
        "transport",
        "work",
    ]
    .map(str::to_owned);
    assert_eq!(rest, expected.into());
}

//! Seed 004: the loop with a screen, an event log and a todo list.

use crate::common::finish;
use crate::world::{PROMISE, agent, folder, heard, looped, of, outcomes, ralph, told, trust, verdict};
use serde_json::{Value, json};
use testkit::{Terminal, World};

fn bare() -> World {
    crate::common::world(json!([]))
}

#[test]
fn seed_004_init_creates_the_files_and_overwrites_none() {
    let world = bare();
    let init = finish(ralph(&world, &["init"]).close());
    assert_eq!((init.code, &*init.stderr), (Some(0), ""));
    for name in ["prompt.md", "todo.md", "config.toml"] {
        assert!(world.read(&format!(".ralph/{name}")).is_some_and(|text| text.len() > 20), "{name}");
    }
    assert!(world.read(".ralph/prompt.md").is_some_and(|text| text.contains(PROMISE)));
    std::fs::write(world.wd().join(".ralph/todo.md"), "mine").unwrap();
    let again = finish(ralph(&world, &["init"]).close());
    assert!(again.code == Some(0) && again.lines.contains(&"kept .ralph/todo.md".to_owned()), "{:?}", again.lines);
    assert_eq!(world.read(".ralph/todo.md").as_deref(), Some("mine"));
}

#[test]
fn seed_004_missing_files_are_said_clearly_where_nobody_can_be_asked() {
    let world = bare();
    trust(&world);
    std::fs::create_dir(world.wd().join(".ralph")).unwrap();
    std::fs::write(world.wd().join(".ralph/todo.md"), "- [ ] only this").unwrap();
    let outcome = finish(ralph(&world, &[]).close());
    assert_eq!((outcome.code, outcome.lines.len()), (Some(1), 0));
    assert!(outcome.stderr.contains("there is no .ralph/prompt.md") && outcome.stderr.contains("ralph init"));
}

#[test]
fn seed_004_on_a_terminal_init_is_offered_and_one_key_answers() {
    for (key, agreed) in [("y", true), ("Y", true), ("\r", true), ("n", false), ("\u{1b}", false), ("\u{3}", false)] {
        let world = bare();
        trust(&world);
        let terminal = Terminal::start(&ralph(&world, &[]).env("TERM", "xterm"), 100, 30).unwrap();
        terminal.wait_for("Run 'ralph init' now?").unwrap();
        terminal.press(key).unwrap();
        let left = terminal.finish().unwrap();
        assert_eq!(left.code, Some(i32::from(!agreed)), "{key:?}: {}", left.screen.text());
        assert_eq!(world.read(".ralph/prompt.md").is_some(), agreed, "{key:?}");
        assert_eq!(left.screen.shows("made .ralph/prompt.md"), agreed, "{}", left.screen.text());
        assert!(left.cooked, "the terminal is as it was");
    }
}

#[test]
fn seed_004_the_prompt_is_required_and_the_todo_list_is_not() {
    let world = folder();
    std::fs::remove_file(world.wd().join(".ralph/todo.md")).unwrap();
    let (outcome, events) = told(looped(&world, &format!("hear; work; result '{PROMISE}'"), &[]));
    assert_eq!((outcome.code, of(&events, "todo").len()), (Some(0), 0), "{}", outcome.stderr);
    assert!(!heard(&world)[0].contains("Todo list"));
}

#[test]
fn seed_004_so_many_iterations_and_no_more() {
    let world = folder();
    let (outcome, events) = told(looped(&world, "hear; work; result \"step $n\"", &["4"]));
    assert_eq!((outcome.code, outcomes(&events).len(), verdict(&events).0), (Some(2), 4, "limit".into()));
}

#[test]
fn seed_004_complete_ends_it_early_and_the_todo_list_is_followed() {
    let world = folder();
    std::fs::write(world.wd().join(".ralph/todo.md"), "- [ ] one\n- [ ] two\n- [ ] three\n").unwrap();
    let script = format!(
        "hear; work; sed -i '0,/\\[ \\]/s//[x]/' .ralph/todo.md; if grep -q '\\[ \\]' .ralph/todo.md; then result \"step $n\"; else result '{PROMISE}'; fi"
    );
    let (outcome, events) = told(looped(&world, &script, &["9"]));
    assert_eq!((outcome.code, outcomes(&events).len()), (Some(0), 3), "{}", outcome.stderr);
    let open =
        |event: &&Value| event["items"].as_array().unwrap().iter().filter(|item| item["state"] == "open").count();
    assert_eq!(of(&events, "todo").iter().map(open).collect::<Vec<_>>(), [3, 2, 1, 0]);
    assert!(heard(&world)[1].contains("- [x] one\\n- [ ] two"), "the list is read anew: {}", heard(&world)[1]);
}

#[test]
fn seed_004_events_are_logged_word_for_word() {
    let world = folder();
    let odd = r#"{"type": "assistant",  "message": {"content": [{"type":"text","text":"<spaced>"}]} }"#;
    let script = format!("hear; work; echo '{odd}'; echo '{{\"type\":\"assis'; result '{PROMISE}'");
    let (outcome, events) = told(looped(&world, &script, &[]));
    assert_eq!((outcome.code, of(&events, "warning").len()), (Some(0), 1), "an incomplete line is passed by");
    let log = world.read(".ralph/events.log").unwrap();
    assert_eq!(log.lines().next(), Some(odd));
    assert_eq!(log.lines().count(), 3);
}

#[test]
fn seed_004_a_failing_agent_can_end_the_whole_run() {
    let world = folder();
    let (outcome, events) = told(looped(&world, "hear; exit 5", &["--on-failure", "stop"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(1), vec!["exit_code".to_owned()]));
}

/// As another loop logs what its agent says: pretty, with blank lines between, and cut off where it was killed.
fn foreign_log() -> String {
    let text = |text: &str| json!({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}});
    let call = |name: &str, input: Value| json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": name, "name": name, "input": input}]}});
    let piece = json!({"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "I'll"}}});
    let events = [
        json!({"type": "system", "subtype": "init", "cwd": "/home/me/project", "model": "m", "session_id": "s"}),
        piece,
        text("I'll look first."),
        call("Read", json!({"file_path": "/home/me/project/src/a.rs"})),
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "Read", "content": "{ \"brace\": \"in a string }\" }"}]}}),
        call("Bash", json!({"command": "make test"})),
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "Bash", "is_error": true, "content": "2 failed"}]}}),
        text("Two tests fail."),
        json!({"type": "result", "subtype": "success", "is_error": false, "result": "Two tests fail.", "total_cost_usd": 0.5}),
    ];
    let pretty: Vec<String> = events.iter().map(|event| serde_json::to_string_pretty(event).unwrap()).collect();
    format!("{}\n\n{{\n  \"type\": \"assis", pretty.join("\n\n"))
}

#[test]
fn seed_004_replay_plays_the_pretty_logs_of_others() {
    let world = folder();
    std::fs::write(world.wd().join(".ralph/events.log"), foreign_log()).unwrap();
    let expected = [
        "  I'll look first.",
        "  ● Read   src/a.rs",
        "  ● Bash   make test",
        "  ✗ Bash   2 failed",
        "  Two tests fail.",
    ];
    // Without a name, and without a run of ours, it is the log where others keep theirs.
    for words in [&["--replay"][..], &["--replay", ".ralph/events.log"], &["--replay=.ralph/events.log", "--no-tui"]] {
        let outcome = finish(ralph(&world, words).close());
        assert_eq!(outcome.lines, expected, "{words:?} {}", outcome.stderr);
    }
    // Logs that do not say where they were made were made here.
    let here = foreign_log().replace("/home/me/project/src", &world.wd().join("src").display().to_string());
    std::fs::write(world.wd().join("unplaced.log"), here.replace("\"cwd\"", "\"no_cwd\"")).unwrap();
    let outcome = finish(ralph(&world, &["--replay", "unplaced.log"]).close());
    assert_eq!(outcome.lines, expected, "{}", outcome.stderr);
    let (_, events) = told(ralph(&world, &["--replay", "--json"]));
    assert_eq!(of(&events, "agent").len(), 9);
    assert!(of(&events, "agent_text").iter().any(|event| event["partial"] == true));
    assert_eq!(finish(ralph(&world, &["--replay", "none.log"]).close()).code, Some(1));
}

#[test]
fn seed_004_ours_is_played_like_theirs() {
    let world = folder();
    let path = agent(&world, &format!("hear; work; say hello; result '{PROMISE}'")).display().to_string();
    let live = finish(ralph(&world, &["--backend", &path]).close());
    let replayed = finish(ralph(&world, &["--replay"]).close());
    assert_eq!(live.lines, replayed.lines);
    let log = finish(ralph(&world, &["--replay", ".ralph/events.log"]).close());
    assert_eq!(log.lines, ["  hello"]);
}

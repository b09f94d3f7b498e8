//! Output styles: appended to the system prompt of the main conversation, and of nothing else.

use super::{init, project, requests, streaming, system};
use crate::common::{call, finish, say};
use serde_json::{Value, json};

/// Words of our own coding section.
const CODING: &str = "# How to work";

fn with_style(style: &str) -> (String, Value) {
    let world = project(json!([say("ok")]));
    let settings = json!({"outputStyle": style}).to_string();
    let outcome = finish(streaming(&world, "hi").args(["--settings", &settings]));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    (system(&requests(&world)[0]), init(&outcome)["output_style"].clone())
}

#[test]
fn a_style_of_the_project_replaces_the_coding_section_unless_it_keeps_it() {
    let (prompt, told) = with_style("pirate");
    assert!(prompt.contains("Speak like a pirate.") && !prompt.contains(CODING), "{prompt}");
    assert_eq!(told, "pirate");
    let (prompt, _) = with_style("mate");
    assert!(prompt.contains("Speak like a first mate.") && prompt.contains(CODING), "{prompt}");
}

#[test]
fn a_built_in_style_adds_to_the_prompt() {
    let (plain, told) = with_style("default");
    assert!(plain.contains(CODING) && !plain.contains("# How to answer"), "{plain}");
    assert_eq!(told, "default");
    for style in ["Concise", "Explanatory", "Learning", "Proactive"] {
        let (prompt, told) = with_style(style);
        assert!(prompt.contains(CODING) && prompt.contains(&format!("# How to answer: {style}")), "{prompt}");
        assert_eq!(told, style);
    }
}

#[test]
fn a_style_that_nobody_knows_is_told_and_changes_nothing() {
    let (prompt, told) = with_style("local-test-style");
    assert!(prompt.contains(CODING) && !prompt.contains("# How to answer"), "{prompt}");
    assert_eq!(told, "local-test-style");
}

#[test]
fn a_system_prompt_of_the_clients_stays_as_it_is() {
    let world = project(json!([say("ok")]));
    let arguments = ["--settings", r#"{"outputStyle":"pirate"}"#, "--system-prompt", "Only this."];
    finish(streaming(&world, "hi").args(arguments));
    assert_eq!(system(&requests(&world)[0]), "Only this.");
}

#[test]
fn sub_agents_speak_without_it() {
    let task = json!({"description": "review it", "prompt": "review", "subagent_type": "reviewer"});
    let world = project(json!([call("Agent", &task), say("reviewed"), say("done")]));
    let outcome = finish(streaming(&world, "hi").args(["--settings", r#"{"outputStyle":"pirate"}"#]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let prompts: Vec<String> = requests(&world).iter().map(system).collect();
    assert!(prompts[0].contains("pirate") && prompts[2].contains("pirate"));
    assert!(prompts[1].contains("You review changes and nothing else.") && !prompts[1].contains("pirate"));
}

#[test]
fn a_client_is_told_which_styles_there_are() {
    let world = project(json!([]));
    let run = crate::common::claude(&world)
        .args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
        .args(["--plugin-dir", "kit"])
        .send(json!({"type": "control_request", "request_id": "1", "request": {"subtype": "initialize"}}))
        .wait(json!({"type": "control_response"}))
        .close();
    let outcome = finish(run);
    let styles = &outcome.events()[0]["response"]["response"]["available_output_styles"];
    let expected = ["default", "Concise", "Explanatory", "Learning", "Proactive", "mate", "pirate", "kit:loud"];
    assert_eq!(*styles, json!(expected));
}

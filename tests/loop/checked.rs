//! Done means checked.

use crate::common::say;
use crate::world::{PROMISE, folder, looped, of, outcomes, ralph, told, verdict, with_model};
use serde_json::json;

#[test]
fn the_built_in_agent_works_until_the_check_agrees() {
    let write = |text: &str| json!({"content": [{"type": "tool_use", "name": "Bash", "input": {"command": format!("echo {text} > out.txt")}}]});
    let world = with_model(json!([write("wrong"), say(PROMISE), write("right"), say(&format!("Mended.\n{PROMISE}"))]));
    let run = ralph(&world, &["5", "--json", "--backend", "builtin", "--check", "grep right out.txt"]);
    let (outcome, events) = told(run);
    assert_eq!(outcome.code, Some(0), "{} {:#?}", outcome.stderr, outcome.lines);
    assert_eq!(outcomes(&events), ["not_done", "done"]);
    assert_eq!(verdict(&events), ("done".into(), 0));
    let files = &of(&events, "iteration_ended")[0]["receipt"]["changed"]["files"];
    assert_eq!(files[0]["path"], "out.txt");
    let second = world.mock().requests()[2].body.to_string();
    assert!(second.contains("grep right out.txt") && second.contains("failed with exit code 1"), "{second}");
    assert!(!of(&events, "tool_call").is_empty() && !of(&events, "agent").is_empty());
    assert!(outcome.stderr.is_empty(), "{}", outcome.stderr);
}

#[test]
fn a_check_in_the_folder_cannot_be_talked_out_of() {
    let world = folder();
    std::fs::write(world.wd().join(".ralph/check"), "exit 1\n").unwrap();
    let script = format!("hear; work; echo 'exit 0' > .ralph/check; result '{PROMISE}'");
    let (outcome, events) = told(looped(&world, &script, &["2"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(2), vec!["not_done".to_owned(), "not_done".into()]));
    let output = of(&events, "check_finished")[0]["output"].as_str().unwrap().to_owned();
    assert!(output.contains("was changed"), "{output}");
}

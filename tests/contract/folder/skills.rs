//! Skills and commands: their text in the conversation, or an agent that carries them out.

use super::{add, described, project, requests, said, streaming, system};
use crate::common::{bash, call, finish, results, say, tool_results};
use serde_json::json;

#[test]
fn a_command_reaches_the_model_with_its_arguments() {
    let world = project(json!([say("mended")]));
    let outcome = finish(streaming(&world, "/fix 42 quickly"));
    assert_eq!(outcome.result().unwrap()["result"], "mended");
    assert!(said(&requests(&world)[0]).contains("Mend issue 42 with care; all words: 42 quickly."));
}

#[test]
fn a_skill_is_listed_and_loaded_with_the_folder_of_its_files() {
    let world = project(json!([call("Skill", &json!({"skill": "greet", "args": "Ada"})), say("done")]));
    let outcome = finish(streaming(&world, "hi").args(["--allowedTools", "Skill(greet)"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let requests = requests(&world);
    assert!(described(&requests[0], "Skill").contains("- greet: how people are greeted here"));
    let folder = world.wd().join(".claude/skills/greet");
    let expected = format!("Greet with the words in {}/words.txt, addressed to Ada.", folder.display());
    assert!(said(&requests[1]).contains(&expected), "{}", said(&requests[1]));
}

#[test]
fn a_skill_chooses_the_model_for_its_turn_alone() {
    let world = project(json!([say("one"), say("two")]));
    let run = crate::common::claude(&world)
        .args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--model", "sonnet"])
        .prompt("/live")
        .wait(json!({"type": "result"}))
        .prompt("and now?")
        .wait(json!({"type": "result"}));
    let outcome = finish(run.close());
    assert_eq!(results(&outcome).len(), 2);
    let models: Vec<String> = requests(&world).iter().map(|request| request["model"].to_string()).collect();
    assert!(models[0].contains("haiku") && models[1].contains("sonnet"), "{models:?}");
}

#[test]
fn commands_in_skills_run_unless_they_are_switched_off() {
    for (settings, expected) in [
        ("{}", "State: output-of-the-command"),
        (r#"{"disableSkillShellExecution":true}"#, "State: [not run: commands in skills are switched off here]"),
    ] {
        let world = project(json!([say("ok")]));
        let outcome = finish(streaming(&world, "/live").args(["--settings", settings]));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(said(&requests(&world)[0]).contains(expected), "{settings}: {}", said(&requests(&world)[0]));
    }
}

#[test]
fn a_forked_skill_is_carried_out_by_its_agent_and_only_the_answer_comes_back() {
    let world =
        project(json!([call("Skill", &json!({"skill": "dig", "args": "gold"})), say("gold at a.rs:3"), say("done")]));
    let outcome = finish(streaming(&world, "hi").args(["--allowedTools", "Skill(dig)"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let requests = requests(&world);
    assert!(system(&requests[1]).contains("You review changes and nothing else."));
    assert!(
        said(&requests[1]).contains("Dig for gold and report.") && requests[1]["model"].to_string().contains("haiku")
    );
    assert!(!said(&requests[2]).contains("Dig for gold"), "the main conversation stays free of it");
    assert!(tool_results(&outcome)[0].starts_with("gold at a.rs:3"), "{:?}", tool_results(&outcome));
}

#[test]
fn a_forked_skill_that_a_person_calls_is_answered_from_the_agents_answer() {
    let world = project(json!([say("gold at a.rs:3"), say("There is gold at a.rs:3.")]));
    let outcome = finish(streaming(&world, "/dig gold"));
    assert_eq!(outcome.result().unwrap()["result"], "There is gold at a.rs:3.", "{}", outcome.stderr);
    let requests = requests(&world);
    assert!(said(&requests[0]).contains("Dig for gold and report."));
    assert!(said(&requests[1]).contains("gold at a.rs:3"));
}

#[test]
fn what_a_skill_rules_out_is_refused_for_its_turn() {
    let world = project(json!([call("Skill", &json!({"skill": "careful"})), bash("rm -f x"), say("done")]));
    let outcome = finish(streaming(&world, "hi").args(["--dangerously-skip-permissions"]));
    let refused = &tool_results(&outcome)[1];
    assert!(refused.contains("not permitted") && refused.contains("skill careful"), "{refused}");
    let listed = described(&requests(&world)[0], "Skill");
    assert!(listed.contains("- careful: works with care - when something could break"), "{listed}");
}

#[test]
fn a_set_of_skills_loads_the_documents_of_the_library() {
    let world = project(json!([say("ok")]));
    finish(streaming(&world, "/basics"));
    let first = said(&requests(&world)[0]);
    assert!(first.contains("House style: short lines.") && first.contains("Greet with the words in"), "{first}");
}

#[test]
fn an_unknown_command_is_an_error_and_asks_no_model() {
    let world = project(json!([say("never")]));
    let outcome = finish(streaming(&world, "/nonsense now"));
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.result().unwrap().to_string().contains("Unknown command: /nonsense"), "{:?}", outcome.lines);
    assert!(requests(&world).is_empty());
}

#[test]
fn skills_for_some_files_and_of_subfolders_come_with_the_files() {
    let read = |file: &str| call("Read", &json!({"file_path": format!("$WD/{file}")}));
    let world = project(json!([read("db/x.sql"), call("Skill", &json!({"skill": "deploy"})), say("done")]));
    for (name, text) in [
        ("db/x.sql", "select 1\n"),
        (
            ".claude/skills/sql/SKILL.md",
            "---\nname: sql\ndescription: how queries are written\npaths: \"**/*.sql\"\n---\nShort.",
        ),
        (
            "db/.claude/skills/deploy/SKILL.md",
            "---\nname: deploy\ndescription: how the database is deployed\n---\nCarefully.",
        ),
        ("db/.claude/skills/greet/SKILL.md", "---\nname: greet\ndescription: greets here\n---\nHo."),
    ] {
        add(&world, name, text);
    }
    let outcome = finish(streaming(&world, "hi").args(["--allowedTools", "Skill"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let requests = requests(&world);
    let listed = described(&requests[0], "Skill");
    assert!(!listed.contains("- sql") && !listed.contains("- deploy"), "{listed}");
    let told = said(&requests[1]);
    for line in ["- sql: how queries are written", "- deploy: how the database", "- db:greet: greets here"] {
        assert!(told.contains(line), "{line} is missing in {told}");
    }
    assert!(said(&requests[2]).contains("Carefully."));
}

#[test]
fn settings_decide_about_single_skills() {
    let world = project(json!([say("ok")]));
    let overrides = json!({"skillOverrides": {"greet": "off", "dig": "name-only", "careful": "user-invocable-only"}});
    let outcome = finish(streaming(&world, "hi").args(["--settings", &overrides.to_string()]));
    let listed = described(&requests(&world)[0], "Skill");
    assert!(listed.contains("- dig: \n") && !listed.contains("greet") && !listed.contains("careful"), "{listed}");
    assert!(super::init(&outcome)["slash_commands"].to_string().contains("careful"));
}

#[test]
fn a_command_brings_the_files_that_its_text_mentions() {
    let world = project(json!([say("ok")]));
    add(&world, "notes.txt", "Bring an umbrella.\n");
    add(&world, ".claude/commands/see.md", "Look at @notes.txt and go.");
    finish(streaming(&world, "/see"));
    assert!(said(&requests(&world)[0]).contains("Bring an umbrella."));
}

#[test]
fn commands_of_ours_answer_without_the_model() {
    for (prompt, code, expected) in [
        ("/effort high", 0, "The effort is high."),
        ("/effort extreme", 1, "There is no effort"),
        ("/rename A better name", 0, "now called A better name"),
        ("/mcp", 0, "notes: connected, 1 tools"),
        ("/usage", 0, "so far"),
        ("/login", 1, "needs a terminal"),
    ] {
        let world = project(json!([say("never")]));
        let outcome = finish(streaming(&world, prompt));
        assert_eq!(outcome.code, Some(code), "{prompt}: {:?}", outcome.lines);
        assert!(outcome.result().unwrap().to_string().contains(expected), "{prompt}: {:?}", outcome.result());
        assert!(requests(&world).is_empty(), "{prompt}");
    }
    let world = project(json!([say("written")]));
    finish(streaming(&world, "/init in German"));
    assert!(said(&requests(&world)[0]).contains("write CLAUDE.md") && said(&requests(&world)[0]).contains("in German"));
}

#[test]
fn a_wish_for_the_summary_reaches_whoever_writes_it() {
    let world = project(json!([say("one")]));
    let run = crate::common::claude(&world)
        .args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
        .prompt("hi")
        .wait(json!({"type": "result"}))
        .prompt("/compact keep the numbers")
        .wait(json!({"type": "result"}));
    let outcome = finish(run.close());
    let asked: Vec<String> = world.mock().requests().iter().map(|request| request.body.to_string()).collect();
    assert!(asked.iter().any(|body| body.contains("wants of these notes: keep the numbers")), "{asked:?}");
    assert!(super::init(&outcome)["slash_commands"].as_array().unwrap().contains(&json!("compact")));
}

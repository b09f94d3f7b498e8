//! Seed 000: one agent a goal, a structured summary of each step, a summariser for the old ones.

use crate::common::twice;
use crate::world::{PROMISE, called, folder, heard, looped, of, outcomes, told};
use serde_json::{Value, json};

const SCHEMA: &str = r#"{"type":"object","properties":{"summary":{"type":"string"}},"required":["summary"]}"#;

fn prompts(world: &testkit::World) -> Vec<String> {
    let text = |line: &String| {
        let message: Value = serde_json::from_str(line).unwrap();
        message["message"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    heard(world).iter().map(text).collect()
}

#[test]
fn seed_000_1_1_the_command_line_of_a_worker() {
    let world = folder();
    std::fs::write(world.wd().join("goal.md"), "Reach the moon").unwrap();
    let tools = "Read,Write,Edit,Glob,Grep,Bash,Skill,StructuredOutput";
    let words = ["--goal", "goal.md", "--model", "opus", "--tools", tools, "--permissions", "default"];
    let (outcome, _) = told(looped(&world, "hear; work; structured '\"DONE\"'", &words));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let expected = format!(
        "-p --model opus --tools {tools} --json-schema {SCHEMA} --verbose --input-format stream-json --output-format stream-json"
    );
    assert_eq!(called(&world), [expected]);
}

#[test]
fn seed_000_1_2_every_tenth_iteration_is_summarised_by_haiku_with_all_its_thinking() {
    let world = folder();
    let script = r#"hear; work
        case "$*" in
          *haiku*) echo "$MAX_THINKING_TOKENS" > "$HOME/thinking"
             printf '{"type":"result","is_error":false,"result":"x","structured_output":{"summary":"the story so far"},"total_cost_usd":0.5}\n';;
          *) result "step $n";;
        esac"#;
    let (outcome, events) = told(looped(&world, script, &["11"]));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert_eq!(of(&events, "summarised")[0]["through"], 10);
    assert!(heard(&world).last().unwrap().contains("the story so far"));
    let summariser = called(&world).into_iter().find(|args| args.contains("haiku")).unwrap();
    assert!(summariser.contains("--tools Read,Glob,Grep,StructuredOutput") && summariser.contains("--json-schema"));
    assert_eq!(std::fs::read_to_string(world.home().join("thinking")).unwrap(), "16384\n");
    let cost = of(&events, "verdict")[0]["cost_usd"].as_f64().unwrap();
    assert!((cost - 0.61).abs() < 1e-6, "{cost}");
}

#[test]
fn seed_000_3_1_the_environment_of_an_agent() {
    let script = format!("env > \"$HOME/env\"; hear; work; result '{PROMISE}'");
    let env = |words: &[&str], key: Option<&str>| {
        let world = folder();
        let mut run = looped(&world, &script, words).without_env("ANTHROPIC_API_KEY").env("MAX_THINKING_TOKENS", "5");
        if let Some(key) = key {
            run = run.env("CLAUDE_API_KEY", key);
        }
        assert_eq!(told(run).0.code, Some(0));
        let text = std::fs::read_to_string(world.home().join("env")).unwrap();
        let value =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(&format!("{name}=")).map(str::to_owned));
        (value("ANTHROPIC_API_KEY"), value("MAX_THINKING_TOKENS"))
    };
    assert_eq!(env(&[], None), (None, Some("16384".into())));
    assert_eq!(env(&["--auth", "login", "--reasoning", "none"], None), (Some(String::new()), None));
    assert_eq!(
        env(&["--model", "haiku", "--reasoning", "low"], Some("sk-ant-x")),
        (Some("sk-ant-x".into()), Some("4096".into()))
    );
}

#[test]
fn seed_000_3_1_the_thinking_table() {
    for (model, most) in [("haiku", 16_384), ("sonnet", 32_768), ("opus", 16_384)] {
        for (reasoning, share) in [("none", 0), ("low", 1), ("med", 2), ("high", 4)] {
            let world = folder();
            let script =
                format!("echo \"${{MAX_THINKING_TOKENS-unset}}\" > \"$HOME/thinking\"; hear; result '{PROMISE}'");
            let run = looped(&world, &script, &["--model", model, "--reasoning", reasoning]);
            assert_eq!(told(run.env("MAX_THINKING_TOKENS", "5")).0.code, Some(0));
            let thinking = std::fs::read_to_string(world.home().join("thinking")).unwrap();
            let expected = if share == 0 { "unset".to_owned() } else { (most * share / 4).to_string() };
            assert_eq!(thinking.trim(), expected, "{model} {reasoning}");
        }
    }
}

#[test]
fn seed_000_4_1_a_missing_structure_is_corrected_on_the_same_pipe() {
    let world = folder();
    std::fs::write(world.wd().join("goal.md"), "Reach the moon").unwrap();
    let script = r#"hear; work; result 'no structure'
        hear; result 'still none'
        hear; printf '{"type":"result","is_error":false,"result":"x","structured_output":{"summary":"DONE"},"total_cost_usd":0.03}\n'
        cat > /dev/null"#;
    let (outcome, events) = told(looped(&world, script, &["--goal", "goal.md"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["done".to_owned()]), "{:?}", outcome.lines);
    let heard = heard(&world);
    assert!(heard.len() == 3 && heard[1].contains("StructuredOutput"), "{heard:?}");
    let first: Value = serde_json::from_str(&heard[0]).unwrap();
    assert_eq!((&first["type"], &first["message"]["role"]), (&"user".into(), &"user".into()));
    let text = first["message"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Reach the moon") && text.contains("# Build it") && text.contains("- [x] one"), "{text}");
    let args = std::fs::read_to_string(world.home().join("args")).unwrap();
    assert!(args.contains("--json-schema") && args.contains("--input-format stream-json"), "{args}");
}

#[test]
fn seed_000_4_2_text_tools_and_usage_are_read_and_the_rest_is_passed_by() {
    let world = folder();
    let script = format!(
        r#"hear; work
        echo '{{"type":"assistant","message":{{"id":"a","content":[{{"type":"text","text":"look"}},{{"type":"tool_use","id":"t1","name":"Bash","input":{{"command":"ls"}}}}],"usage":{{"input_tokens":40000,"output_tokens":5,"cache_creation_input_tokens":10000,"cache_read_input_tokens":50000}}}}}}'
        echo '{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t1","content":"a b"}}]}},"tool_use_result":{{"content":"a b"}}}}'
        echo '{{"type":"weather","sky":"blue"}}'
        result '{PROMISE}'"#
    );
    let (outcome, events) = told(looped(&world, &script, &[]));
    assert_eq!((outcome.code, of(&events, "warning").len()), (Some(0), 0), "{:?}", outcome.lines);
    assert_eq!(of(&events, "tool_call")[0]["name"], "Bash");
    assert_eq!(
        (&of(&events, "tool_result")[0]["id"], &of(&events, "tool_result")[0]["text"]),
        (&json!("t1"), &json!("a b"))
    );
    let usage = of(&events, "usage")[0];
    assert_eq!(
        (&usage["context_tokens"], &usage["context_window"]),
        (&json!(100_000), &json!(200_000)),
        "half is used"
    );
    assert!(of(&events, "agent").iter().any(|event| event["line"]["sky"] == "blue"), "unknown events are kept");
}

#[test]
fn seed_000_4_3_an_agent_that_fails_is_tried_again_and_an_interrupt_is_130() {
    let world = folder();
    let script = "hear; work; if [ $n = 1 ]; then exit 3; fi; structured '\"DONE\"'";
    let (outcome, events) = told(looped(&world, script, &["--structured"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["exit_code".to_owned(), "done".into()]));
    let run = looped(&world, "hear; say x; sleep 60", &["--structured"]);
    let (outcome, _) = told(twice(run.wait(json!({"type": "agent_text"}))));
    assert_eq!(outcome.code, Some(130));
}

#[test]
fn seed_000_7_1_and_8_1_what_a_prompt_is_made_of() {
    let world = folder();
    std::fs::write(world.wd().join("goal.md"), "Reach the moon").unwrap();
    let script = r#"hear; work
        case "$*" in *haiku*) structured '"the story so far"'; exit 0;; esac
        structured "\"did step $n\"""#;
    let words = ["4", "--goal", "goal.md", "--summarise-every", "2"];
    let (outcome, _) = told(looped(&world, script, &words));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    let prompts = prompts(&world);
    let [first, second, summary, third, fourth] = &prompts[..] else { panic!("{prompts:#?}") };
    assert!(first.contains("Reach the moon") && first.contains("There is no AGENTS.md here. Explore"), "{first}");
    assert!(first.contains("Do not change anything under .ralph/"), "{first}");
    assert!(second.contains("1. did step 1"), "the latest entries: {second}");
    assert!(summary.contains("1. did step 1") && summary.contains("2. did step 2"), "{summary}");
    assert!(third.contains("the story so far") && !third.contains("did step 1"), "old ones are summarised: {third}");
    assert!(fourth.contains("the story so far") && fourth.contains("3. did step 4"), "{fourth}");
    assert!(called(&world).iter().all(|args| !args.contains("--resume") && !args.contains("--session-id")));
    std::fs::write(world.wd().join("AGENTS.md"), "Run make.").unwrap();
    told(looped(&world, script, &["1", "--goal", "goal.md"]));
    let with_agents = heard(&world).last().unwrap().clone();
    assert!(with_agents.contains("Run make.") && !with_agents.contains("There is no AGENTS.md"), "{with_agents}");
}

//! A program that counts from transcripts alone what was spent: its totals are those of our results.

use crate::scripts::clients;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;
use testkit::World;

/// A turn with several blocks, a sub-agent, and another turn of the resumed session.
fn script() -> Value {
    let usage = |input: u64, output: u64| {
        json!({"input_tokens": input, "output_tokens": output,
            "cache_creation_input_tokens": 100, "cache_read_input_tokens": 50})
    };
    let agent = json!({"description": "d", "prompt": "p", "subagent_type": "general-purpose"});
    json!([
        {"usage": usage(10, 300), "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "looking"},
            {"type": "tool_use", "name": "Agent", "input": agent}]},
        {"usage": usage(7, 220), "content": [{"type": "text", "text": "seen"}]},
        {"usage": usage(5, 20), "content": [{"type": "text", "text": "done"}]},
        {"usage": usage(3, 15), "content": [{"type": "text", "text": "more"}]},
    ])
}

#[test]
fn s47_ccusage_counts_what_the_result_says() {
    let clients = clients();
    let program = clients.join("ccusage/node_modules/ccusage/dist/index.js");
    if !program.exists() {
        // Not the macro: the test harness would swallow the line.
        let _ = writeln!(std::io::stderr(), "SKIPPED: ccusage not installed, run tests/clients/install");
        return;
    }
    let world = World::empty(mock::Script::from_value(script()).expect("a script")).expect("a world");
    let claude = |more: &[&str]| {
        let run = world.run(Path::new(env!("CARGO_BIN_EXE_ralph"))).args(["-p", "go", "--output-format", "json"]);
        run.args(["--model", "claude-sonnet-4-5-20250929"]).args(more.iter().copied()).finish().expect("a run")
    };
    assert_eq!(claude(&[]).code, Some(0));
    let result = claude(&["--continue"]).result().expect("a result");
    let node = clients.join("node/node");
    let counted = world
        .run(&node)
        .named(&node.to_string_lossy())
        .args([&*program.to_string_lossy(), "session", "--offline", "--json"])
        .finish()
        .expect("a run");
    let counted: Value = serde_json::from_str(&counted.lines.join("\n")).expect("JSON");
    let (totals, told) = (&counted["totals"], &result["modelUsage"]["claude-sonnet-4-5-20250929"]);
    for (theirs, ours) in [
        ("inputTokens", "inputTokens"),
        ("outputTokens", "outputTokens"),
        ("cacheCreationTokens", "cacheCreationInputTokens"),
        ("cacheReadTokens", "cacheReadInputTokens"),
    ] {
        assert_eq!(totals[theirs], told[ours], "{theirs}: {counted} {result}");
    }
    let (theirs, ours) =
        (totals["totalCost"].as_f64().expect("a cost"), result["total_cost_usd"].as_f64().expect("a cost"));
    assert!((theirs - ours).abs() < 1e-9, "{theirs} {ours}");
}

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

/// The agent rewrites the check and commits that; what counts is the version that the person named.
#[test]
fn a_check_from_a_commit_is_not_the_one_that_the_agent_wrote() {
    let world = folder();
    let root = world.wd().to_owned();
    std::fs::create_dir_all(root.join("ci")).unwrap();
    std::fs::write(root.join("ci/check.sh"), "grep -q right out.txt\n").unwrap();
    let git = |words: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
        let words = identity.iter().chain(words).copied();
        crate::common::finish(world.run(std::path::Path::new("/usr/bin/git")).named("git").args(words))
    };
    git(&["add", "-A"]);
    git(&["commit", "-qm", "the check"]);
    git(&["branch", "trusted"]);
    // The first iteration weakens the check, the second does the work.
    let script = format!(
        "hear; if [ $n = 1 ]; then echo 'exit 0' > ci/check.sh; git -c user.name=a -c user.email=a@localhost commit -qam weak; \
         else echo right > out.txt; fi; result '{PROMISE}'"
    );
    let words = ["3", "--check", "sh ci/check.sh", "--check-from", "trusted"];
    let (outcome, events) = told(looped(&world, &script, &words));
    assert_eq!(outcomes(&events), ["not_done", "done"], "{} {:#?}", outcome.stderr, outcome.lines);
    assert_eq!(outcome.code, Some(0));
    let checks = of(&events, "check_finished");
    assert_eq!((&checks[0]["passed"], &checks[1]["passed"]), (&json!(false), &json!(true)));
    assert_eq!(std::fs::read_to_string(root.join("ci/check.sh")).unwrap(), "exit 0\n", "the file itself is left alone");
    // Without a version there, nothing is checked by chance.
    let words = ["3", "--check", "sh ci/check.sh", "--check-from", "no-such-commit"];
    let (outcome, _) = told(looped(&world, &script, &words));
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("no-such-commit has no ci/check.sh (check_from)"), "{}", outcome.stderr);
}

#[test]
fn what_a_check_prints_is_shown_as_it_comes_and_not_recorded_twice() {
    let world = folder();
    let script = format!("hear; work; result '{PROMISE}'");
    let check = ["1", "--check", "echo first; echo second >&2; sleep 1; printf 'third\nfour'"];
    let (_, events) = told(looped(&world, &script, &[&check[..], &["--live"]].concat()));
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    let at =
        |kind: &str| kinds.iter().position(|known| *known == kind).unwrap_or_else(|| panic!("no {kind}: {kinds:?}"));
    assert!(at("check_started") < at("check_output") && at("check_output") < at("check_finished"));
    let printed = of(&events, "check_output");
    assert!(printed.len() >= 2, "it comes in pieces: {printed:?}");
    let early = printed[0]["text"].as_str().unwrap();
    assert!(early.contains("first\n") && !early.contains("third"), "before the end: {early}");
    let all: String = printed.iter().filter_map(|event| event["text"].as_str()).collect();
    assert!(all.contains("second\n") && all.ends_with("third\nfour"), "{all}");
    let end = of(&events, "check_finished")[0]["output"].as_str().unwrap().to_owned();
    assert!(end.contains("first") && end.contains("four"), "{end}");
    let runs = world.wd().join(".ralph/runs");
    let run = runs.read_dir().unwrap().flatten().next().unwrap().path();
    assert!(!std::fs::read_to_string(run.join("events.ndjson")).unwrap().contains("check_output"));
    let (plain, _) = told(looped(&world, &script, &[&check[..], &["--live", "--json=false", "--no-tui"]].concat()));
    let shown = plain.lines.join("\n");
    assert!(shown.contains("    │ first\n") && shown.contains("    │ four\n  ✓ check: "), "{shown}");
    let (_, events) = told(looped(&world, &script, &check));
    assert!(of(&events, "check_output").is_empty(), "nobody asked for it");
}

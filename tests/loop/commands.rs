//! The commands around a run.

use crate::common::finish;
use crate::world::{PROMISE, agent, folder, looped, ralph, told, trust};
use serde_json::json;
use testkit::World;

fn bare() -> World {
    crate::common::world(json!([]))
}

#[test]
fn seed_004_missing_files_are_said_clearly() {
    let world = bare();
    trust(&world);
    let outcome = finish(ralph(&world, &[]).close());
    assert_eq!((outcome.code, outcome.lines.len()), (Some(1), 0));
    assert!(outcome.stderr.contains("there is no .ralph/prompt.md") && outcome.stderr.contains("ralph init"));
}

#[test]
fn an_untrusted_folder_is_refused_and_init_trusts_it() {
    let world = bare();
    let refused = finish(ralph(&world, &["1"]).close());
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("is not trusted") && refused.stderr.contains("ralph trust"), "{}", refused.stderr);
    let init = finish(ralph(&world, &["init"]).close());
    assert_eq!((init.code, &*init.stderr), (Some(0), ""));
    assert!(world.read(".ralph/prompt.md").is_some_and(|text| text.contains(PROMISE)));
    std::fs::write(world.wd().join(".ralph/todo.md"), "mine").unwrap();
    assert_eq!(finish(ralph(&world, &["init"]).close()).code, Some(0));
    assert_eq!(world.read(".ralph/todo.md").as_deref(), Some("mine"));
    let agent = agent(&world, &format!("hear; result '{PROMISE}'")).display().to_string();
    assert_eq!(finish(ralph(&world, &["1", "--backend", &agent]).close()).code, Some(0));
}

#[test]
fn docs_prompt_is_found_too_and_the_config_counts() {
    let world = bare();
    trust(&world);
    std::fs::create_dir_all(world.wd().join("docs")).unwrap();
    std::fs::create_dir_all(world.wd().join(".ralph")).unwrap();
    std::fs::write(world.wd().join("docs/PROMPT.md"), "From the docs").unwrap();
    let agent = agent(&world, "hear; work; result \"step $n\"").display().to_string();
    std::fs::write(world.wd().join(".ralph/config.toml"), format!("max = 2\nbackend = \"{agent}\"")).unwrap();
    let outcome = finish(ralph(&world, &["--no-tui"]).close());
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.lines[0].contains("From the docs"), "{:?}", outcome.lines);
    assert!(outcome.lines.last().unwrap().starts_with("limit: limit of the run: 2 iterations"), "{:?}", outcome.lines);
    std::fs::write(world.wd().join(".ralph/config.toml"), "mx = 2").unwrap();
    let wrong = finish(ralph(&world, &["1"]).close());
    assert!(wrong.code == Some(1) && wrong.stderr.contains("unknown field `mx`"), "{}", wrong.stderr);
}

#[test]
fn plain_lines_read_well_and_runs_are_listed() {
    let world = folder();
    let path =
        agent(&world, &format!("hear; work; say 'I look.'; result 'All done.\\n{PROMISE}'")).display().to_string();
    let outcome = finish(ralph(&world, &["--backend", &path, "--check", "true"]).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let text = outcome.lines.join("\n");
    for part in
        ["ralph ▸ Build it · run ", "── iteration 1 of 30 ──", "  I look.", "✓ check: true", "1 file +1 −0", "done: "]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (runs, _) = told(ralph(&world, &["runs"]));
    assert!(runs.lines.len() == 1 && runs.lines[0].contains("done") && runs.lines[0].contains("Build it"));
    let (shown, _) = told(ralph(&world, &["show"]));
    assert!(shown.lines.iter().any(|line| line.contains("passed: true")), "{:?}", shown.lines);
}

#[test]
fn seed_004_watch_starts_again_when_there_is_new_work() {
    let world = folder();
    let script = format!("hear; sed -i 's/\\[ \\]/[x]/' .ralph/todo.md; result '{PROMISE}'");
    let todo = world.wd().join(".ralph/todo.md");
    std::fs::write(&todo, "- [ ] one\n").unwrap();
    let adding = std::thread::spawn(move || {
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while std::time::Instant::now() < until && !std::fs::read_to_string(&todo).unwrap().contains("[x]") {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        // Nothing says when the watch has taken its first look; new work has to come after it.
        std::thread::sleep(std::time::Duration::from_secs(2));
        std::fs::write(&todo, "- [x] one\n- [ ] two\n").unwrap();
    });
    let run = looped(&world, &script, &["--watch"])
        .wait(json!({"type": "verdict"}))
        .wait(json!({"type": "warning", "text": "new work: two"}))
        .wait(json!({"type": "verdict", "verdict": "done"}))
        .wait(json!({"type": "warning"}))
        .signal(2);
    let (outcome, events) = told(run);
    adding.join().unwrap();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(crate::world::of(&events, "run_started").len(), 2);
}

//! The commands around a run.

use crate::common::finish;
use crate::world::{PROMISE, agent, folder, looped, of, outcomes, ralph, told, trust};
use serde_json::json;
use testkit::World;

fn bare() -> World {
    crate::common::world(json!([]))
}

#[test]
fn an_untrusted_folder_is_refused_and_init_trusts_it() {
    let world = bare();
    let missing = finish(ralph(&world, &["1"]).close());
    assert_eq!(missing.code, Some(1));
    assert!(
        missing.stderr.contains("no .ralph/prompt.md") && missing.stderr.contains("ralph init"),
        "{}",
        missing.stderr
    );
    assert!(!world.wd().join(".ralph").exists(), "nothing is written by a refusal");
    std::fs::create_dir(world.wd().join(".ralph")).unwrap();
    std::fs::write(world.wd().join(".ralph/prompt.md"), "not ours").unwrap();
    let refused = finish(ralph(&world, &["1"]).close());
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("is not trusted") && refused.stderr.contains("ralph trust"), "{}", refused.stderr);
    std::fs::remove_file(world.wd().join(".ralph/prompt.md")).unwrap();
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
    std::fs::write(world.wd().join(".ralph/config.toml"), format!("max = 1\njson = true\nbackend = \"{agent}\""))
        .unwrap();
    let shown = finish(ralph(&world, &[]).close());
    assert!(shown.lines[0].starts_with("{\"at\":"), "{:?}", shown.lines);
    let shown = finish(ralph(&world, &["--json=false"]).close());
    assert!(shown.lines[0].starts_with("ralph ▸ "), "flags win: {:?}", shown.lines);
    std::fs::write(world.wd().join(".ralph/config.toml"), "max_cots = 2").unwrap();
    let wrong = finish(ralph(&world, &["1"]).close());
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.ends_with("unknown key 'max_cots'. Did you mean 'max_cost'?"), "{}", wrong.stderr);
}

#[test]
fn plain_lines_read_well() {
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
}

#[test]
fn seed_004_watch_starts_again_when_there_is_new_work() {
    let world = folder();
    let script = format!("hear; sed -i 's/\\[ \\]/[x]/' .ralph/todo.md; result '{PROMISE}'");
    let todo = world.wd().join(".ralph/todo.md");
    std::fs::write(&todo, "- [ ] one\n").unwrap();
    let run = looped(&world, &script, &["--watch"])
        .wait(json!({"type": "verdict"}))
        .wait(json!({"type": "warning", "text": "watching for new work; Ctrl-C ends it"}))
        .wait(json!({"type": "run_started"}))
        .wait(json!({"type": "verdict", "verdict": "done"}))
        .wait(json!({"type": "warning", "text": "watching for new work; Ctrl-C ends it"}))
        .signal(2);
    let (outcome, events) = std::thread::scope(|scope| {
        let running = scope.spawn(|| told(run));
        let until = std::time::Instant::now() + std::time::Duration::from_secs(40);
        let pause = || {
            assert!(std::time::Instant::now() < until, "it takes too long");
            std::thread::sleep(std::time::Duration::from_millis(50));
        };
        while !world.read(".ralph/lock").is_some_and(|owner| owner.contains("watching")) {
            pause();
        }
        let (second, _) = told(ralph(&world, &["1"]));
        assert!(second.code == Some(1) && second.stderr.contains("watching for new work"), "{}", second.stderr);
        // More and more work, until some of it is new to the watch.
        let begun = || std::fs::read_dir(world.wd().join(".ralph/runs")).unwrap().flatten().count();
        while begun() < 2 {
            let text = std::fs::read_to_string(&todo).unwrap();
            std::fs::write(&todo, format!("{text}- [ ] number {}\n", text.lines().count())).unwrap();
            pause();
        }
        running.join().unwrap()
    });
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let said: Vec<&str> = of(&events, "warning").iter().filter_map(|event| event["text"].as_str()).collect();
    assert!(said.iter().any(|text| text.starts_with("new work: number ")), "{said:?}");
    assert_eq!(of(&events, "run_started").len(), 2);
}

#[test]
fn a_commit_per_iteration_where_it_is_asked_for() {
    let world = folder();
    let script = format!("hear; work; if [ $n = 2 ]; then result '{PROMISE}'; else result 'first step'; fi");
    let (outcome, events) = told(looped(&world, &script, &["--commit"]));
    assert_eq!((outcome.code, outcomes(&events).len()), (Some(0), 2));
    let log = finish(world.run(std::path::Path::new("/usr/bin/git")).named("git").args(["log", "--format=%s"]));
    assert_eq!(log.lines.len(), 3, "{:?}", log.lines);
    assert_eq!(log.lines[1], "ralph 1: first step");
    std::fs::remove_dir_all(world.wd().join(".git")).unwrap();
    // What was trusted was the repository.
    trust(&world);
    let (_, events) = told(looped(&world, &script, &["1", "--commit"]));
    assert_eq!(of(&events, "warning")[0]["text"], "nothing is committed: this folder is no git repository");
}

/// Without what differs each time: the run's name and how long things took.
fn masked(lines: &[String], run: &str) -> String {
    let time = |words: &str| words.strip_suffix('s').is_some_and(|number| number.trim().parse::<f64>().is_ok());
    let line = |line: &String| {
        let line = line.replace(&format!("{run:<20}"), "RUN");
        let mask = |field: &str| {
            let bare = field.trim_end_matches(')');
            let check =
                bare.rsplit_once('(').filter(|(_, rest)| time(rest)).map(|(before, _)| format!("{before}(TIME)"));
            if time(bare) { format!("TIME{}", &field[bare.len()..]) } else { check.unwrap_or_else(|| field.to_owned()) }
        };
        if line.starts_with("RUN ") {
            return line.split_whitespace().map(mask).collect::<Vec<_>>().join(" ");
        }
        line.split(" · ").map(mask).collect::<Vec<_>>().join(" · ")
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

const SHOWN: &str = "\
RUN done 3 iterations TIME $0.020 Build it: First step.
iteration 1: progress · 1 file +1 −0 · $0.010 · 15 tokens · TIME
  First step.
  work.txt  +1 −0
iteration 2: the agent ended with an error code · 1 file +1 −0 · $0.00 · 0 tokens · TIME
  the agent ended with an error code: exit 3. oops
  work.txt  +1 −0
  ✓ check: true (TIME)
iteration 3: done · 1 file +1 −0 · $0.010 · 15 tokens · TIME
  <promise>COMPLETE</promise>
  work.txt  +1 −0
  passed: true

done: the agent says so, and 1 of 1 checks agree (3 iterations · $0.020 · TIME)";

#[test]
fn runs_are_listed_and_shown_like_this() {
    let world = folder();
    let (none, _) = told(ralph(&world, &["runs"]));
    assert_eq!((none.lines, none.code), (vec!["No runs here yet.".to_owned()], Some(0)));
    let script = format!(
        "hear; work; case $n in 1) result 'First step.';; 2) echo oops >&2; exit 3;; *) result '{PROMISE}';; esac"
    );
    told(looped(&world, &script, &["--check", "true"]));
    let first = std::fs::read_dir(world.wd().join(".ralph/runs")).unwrap().flatten().next().unwrap();
    let first = first.file_name().to_string_lossy().into_owned();
    for words in [&["show"][..], &["show", &first], &["show", &first[..8]]] {
        let (shown, _) = told(ralph(&world, words));
        assert_eq!(masked(&shown.lines, &first), SHOWN, "{words:?} {}", shown.stderr);
    }
    told(looped(&world, "hear; exit 1", &["--on-failure", "stop"]));
    let (listed, _) = told(ralph(&world, &["runs"]));
    let listed = masked(&listed.lines, &first);
    let (newest, oldest) = listed.split_once('\n').unwrap();
    let words: Vec<&str> = newest.split_whitespace().skip(1).collect();
    assert_eq!(
        (&words[..3], &words[4..]),
        (&["failed", "1", "iteration"][..], &["$0.00", "Build", "it"][..]),
        "{listed}"
    );
    assert_eq!(oldest, "RUN done 3 iterations TIME $0.020 Build it: First step.");
    let (unknown, _) = told(ralph(&world, &["show", "1999"]));
    assert_eq!(
        (unknown.code, &*unknown.stderr),
        (Some(1), "error: there is no run 1999 here; 'ralph runs' lists them")
    );
}

#[test]
fn mistakes_are_one_line_and_change_nothing() {
    let world = bare();
    for (words, line) in [
        (&["--max-iteratons", "3"][..], "error: unknown option '--max-iteratons'. Did you mean '--max-iterations'?"),
        (&["-p", "hi"], "error: unknown option '-p'. It is one of the agent: 'ralph agent …'."),
        (&["3", "4"], "error: '3' and '4' are two numbers of iterations; give one."),
        (&["1", "--watch=maybe"], "error: option '--watch' needs true or false, not 'maybe'."),
        (&["init", "--force"], "error: 'ralph init' takes no arguments, and '--force' is one."),
        (&["trust", "elsewhere"], "error: 'ralph trust' takes no arguments, and 'elsewhere' is one."),
        (&["answer", "yes"], "error: there are no runs here yet; start one with 'ralph'"),
        (&["--replay"], "error: there are no runs here yet; start one with 'ralph'"),
        (&["resume"], "error: there are no runs here yet; start one with 'ralph'"),
        (&["runns"], "error: unknown command 'runns'. Did you mean 'runs'? 'ralph help' lists the commands."),
    ] {
        let (outcome, _) = told(ralph(&world, words));
        assert_eq!((outcome.code, &*outcome.stderr), (Some(1), line), "{words:?}");
    }
    for words in [&["init", "--help"][..], &["runs", "-h"], &["answer", "--help"], &["resume", "--help"]] {
        let (outcome, _) = told(ralph(&world, words));
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{words:?}");
        assert!(outcome.lines.iter().any(|line| line.contains("ralph [N]")), "{words:?} {:?}", outcome.lines);
    }
    assert!(!world.wd().join(".ralph").exists());
}

#[test]
fn a_run_at_work_is_listed_with_its_owner_and_one_that_waits_as_asking() {
    let world = folder();
    let script =
        format!("hear; work; if [ $n = 1 ]; then result '<blocked>Which port?</blocked>'; else result '{PROMISE}'; fi");
    let run = looped(&world, &script, &["--on-question", "wait"]);
    let listing = || told(ralph(&world, &["runs"])).0.lines.join("\n");
    let looking = std::thread::scope(|scope| {
        let running = scope.spawn(|| told(run.wait(json!({"type": "verdict"}))));
        let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let mut seen = listing();
        while !seen.contains(" asking ") && std::time::Instant::now() < until {
            seen = listing();
        }
        // It waits for an answer, and what it is given ends it.
        told(ralph(&world, &["answer", "none"]));
        let (outcome, _) = running.join().unwrap();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        seen
    });
    assert!(looking.contains(" asking ") && looking.contains(" (process "), "{looking}");
    assert!(listing().contains(" done "), "{}", listing());
}

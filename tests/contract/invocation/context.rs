//! What stands in the conversation beside the prompt: mentioned files, the folder, the project's memory.

use super::{STREAM, Seen, ask, claude, plain, stream};
use serde_json::{Value, json};
use testkit::World;

fn world_with(files: &[(&str, &str)]) -> World {
    World::new(files.iter().copied(), mock::Script::default()).unwrap()
}

fn lines(count: usize) -> String {
    (1..=count).map(|number| format!("line {number}\n")).collect()
}

#[test]
fn mentioned_files_come_along() {
    let world =
        world_with(&[("notes.txt", "remember the milk\n"), ("with space.txt", "quoted\n"), ("src/lib.rs", "fn f\n")]);
    for (prompt, expected) in [
        ("see @notes.txt", "remember the milk"),
        ("see @notes.txt, please", "remember the milk"),
        ("(@notes.txt)", "remember the milk"),
        ("see @\"with space.txt\" now", "quoted"),
        ("@src/lib.rs", "fn f"),
        ("@./src/../notes.txt", "remember the milk"),
        ("@$WD/notes.txt", "remember the milk"),
    ] {
        let prompt = prompt.replace("$WD", &world.wd().display().to_string());
        let seen = ask(&world, ["-p", &prompt]);
        assert!(seen.is_clean(), "{prompt}: {}", seen.told());
        assert!(seen.messages().contains(expected), "{prompt}: {}", seen.messages());
        assert_eq!(seen.requests.len(), 1);
    }
}

#[test]
fn what_is_no_mention_or_no_file_attaches_nothing() {
    let world = world_with(&[("notes.txt", "remember the milk\n")]);
    for prompt in ["mail me@notes.txt", "@ notes.txt", "@missing.txt", "@decorator def f"] {
        let seen = ask(&world, ["-p", prompt]);
        assert!(seen.is_clean(), "{prompt}: {}", seen.told());
        assert!(!seen.messages().contains("remember"), "{prompt}: {}", seen.messages());
    }
    let off = claude(&world).args(["-p", "see @notes.txt"]).env("CLAUDE_CODE_DISABLE_ATTACHMENTS", "1");
    assert!(!Seen::of(&world, off).messages().contains("remember"));
}

#[test]
fn mentions_in_messages_and_on_stdin_count_too() {
    let world = world_with(&[("notes.txt", "remember the milk\n")]);
    let run = claude(&world).args(["-p"]).step(testkit::Step::SendRaw(b"see @notes.txt".to_vec())).close();
    assert!(Seen::of(&world, run).messages().contains("remember the milk"));
    let args = ["-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose"];
    let seen = Seen::of(&world, claude(&world).args(args).prompt("see @notes.txt").close());
    assert!(seen.messages().contains("remember the milk"), "{}", seen.messages());
}

#[test]
fn a_denied_file_is_not_attached_and_the_model_is_told() {
    let world = world_with(&[("secret/key.txt", "the hidden word\n"), ("open.txt", "the open word\n")]);
    std::fs::write(world.home().join("outside.txt"), "beyond the fence\n").unwrap();
    std::os::unix::fs::symlink(world.wd().join("secret/key.txt"), world.wd().join("link.txt")).unwrap();
    let outside = format!("@{}/outside.txt", world.home().display());
    for prompt in ["@secret/key.txt", "@link.txt", "@./open.txt/../secret/key.txt", &outside] {
        let seen = stream(&world, &["--disallowedTools", "Read(./secret/**)", "--", prompt]);
        let sent = seen.messages();
        assert!(!sent.contains("hidden word") && !sent.contains("beyond"), "{prompt}: {sent}");
    }
    let told = ask(&world, ["-p", "@secret/key.txt @open.txt", "--disallowedTools=Read(./secret/**)"]).messages();
    assert!(told.contains("@secret/key.txt was not attached") && told.contains("the open word"), "{told}");
}

#[test]
fn a_long_file_is_cut_after_2000_lines_and_says_so() {
    let world = world_with(&[("long.txt", &lines(2500)), ("whole.txt", &lines(2000))]);
    let cut = ask(&world, ["-p", "@long.txt"]).messages();
    assert!(cut.contains("line 2000") && !cut.contains("line 2001"));
    assert!(cut.contains("@long.txt has 2500 lines; the first 2000 are above"), "{}", &cut[cut.len() - 200..]);
    let whole = ask(&world, ["-p", "@whole.txt"]).messages();
    assert!(whole.contains("line 2000") && !whole.contains("lines; the first"));
}

#[test]
fn a_folder_is_listed_without_what_is_denied() {
    let world = world_with(&[("src/a.rs", ""), ("src/deep/b.rs", ""), ("src/private.key", "")]);
    let seen = ask(&world, ["-p", "look at @src", "--disallowedTools=Read(./src/private.key)"]);
    assert!(seen.is_clean(), "{}", seen.told());
    let told = seen.messages();
    assert!(told.contains("a.rs") && told.contains("deep/"), "{told}");
    assert!(!told.contains("private.key"), "{told}");
}

#[test]
fn a_mentioned_file_counts_as_read() {
    let edit = serde_json::json!({"file_path": "$WD/a.txt", "old_string": "one", "new_string": "two"});
    let turns = serde_json::json!([crate::common::call("Edit", &edit), crate::common::say("done")]);
    let world = World::new([("a.txt", "one\n")], mock::Script::from_value(turns).unwrap()).unwrap();
    let seen =
        ask(&world, ["-p", "mend @a.txt", "--permission-mode", "acceptEdits", "--model", "claude-sonnet-4-5-20250929"]);
    assert!(seen.is_clean(), "{}", seen.told());
    assert_eq!(world.read("a.txt").as_deref(), Some("two\n"), "{}", seen.told());
}

#[test]
fn the_default_system_prompt_says_where_we_are() {
    let world = plain();
    let system = stream(&world, &[]).system();
    for expected in [world.wd().display().to_string(), "main".into(), "claude-opus-5-5".into()] {
        assert!(system.contains(&expected), "{expected}: {system}");
    }
}

#[test]
fn project_memory_reaches_the_model_unless_it_is_kept_out() {
    let world = world_with(&[("CLAUDE.md", "Always whistle.\n"), ("CLAUDE.local.md", "Only here.\n"), ("sub/x", "")]);
    std::fs::create_dir(world.home().join(".claude")).unwrap();
    std::fs::write(world.home().join(".claude/CLAUDE.md"), "Mine everywhere.\n").unwrap();
    for (words, expected) in [
        (&[][..], [true, true, true]),
        (&["--setting-sources", "user,project,local"], [true, true, true]),
        (&["--setting-sources", "project"], [true, false, false]),
        (&["--setting-sources=user"], [false, false, true]),
        (&["--setting-sources", ""], [false; 3]),
        (&["--setting-sources="], [false; 3]),
        (&["--bare"], [false; 3]),
        (&["--safe-mode"], [false; 3]),
        (&["--system-prompt", "x"], [true, true, true]),
    ] {
        let seen = stream(&world, words);
        assert!(seen.is_clean(), "{words:?}: {}", seen.told());
        let sent = format!("{}\n{}", seen.system(), seen.messages());
        let found = ["Always whistle.", "Only here.", "Mine everywhere."].map(|text| sent.contains(text));
        assert_eq!(found, expected, "{words:?}: {sent}");
    }
    let off = claude(&world).args(STREAM).env("CLAUDE_CODE_DISABLE_CLAUDE_MDS", "1");
    assert!(!Seen::of(&world, off).messages().contains("whistle"));
}

#[test]
fn memory_imports_never_leave_the_project() {
    let world = world_with(&[
        ("CLAUDE.md", "See @docs/more.md and @../home/.ssh/id_rsa\n"),
        ("docs/more.md", "More to know.\n"),
    ]);
    std::fs::create_dir(world.home().join(".ssh")).unwrap();
    std::fs::write(world.home().join(".ssh/id_rsa"), "a private key\n").unwrap();
    let sent = stream(&world, &[]).messages();
    assert!(sent.contains("More to know.") && !sent.contains("a private key"), "{sent}");
}

#[test]
fn an_added_folder_is_named_and_may_be_read() {
    let read = serde_json::json!([
        crate::common::call("Read", &serde_json::json!({"file_path": "$HOME/more/a.txt"})),
        crate::common::say("done"),
    ]);
    for (words, may) in [
        (&["--add-dir", "$HOME/more"][..], true),
        (&["--add-dir=$HOME/more"], true),
        (&["--add-dir", "../home/more"], true),
        (&["--add-dir", "$HOME/other", "$HOME/more"], true),
        (&["--add-dir=$HOME/other", "--add-dir=$HOME/more"], true),
        (&["--add-dir", "$HOME/other,$HOME/more"], true),
        (&["--add-dir", "$HOME/other"], false),
        (&[], false),
    ] {
        let world = World::empty(mock::Script::from_value(read.clone()).unwrap()).unwrap();
        for folder in ["more", "other"] {
            std::fs::create_dir(world.home().join(folder)).unwrap();
        }
        std::fs::write(world.home().join("more/a.txt"), "over here\n").unwrap();
        let home = world.home().display().to_string();
        let words: Vec<String> = words.iter().map(|word| word.replace("$HOME", &home)).collect();
        let seen = stream(&world, &words.iter().map(String::as_str).collect::<Vec<_>>());
        let denials = seen.outcome.result().unwrap()["permission_denials"].as_array().unwrap().len();
        assert_eq!(denials == 0, may, "{words:?}: {}", seen.told());
        assert_eq!(seen.system().contains(&format!("{home}/more")), may, "{words:?}");
    }
}

#[test]
fn what_the_api_should_remember_and_for_how_long_is_the_callers_choice() {
    let world = plain();
    let five = json!({"type": "ephemeral"});
    let hour = json!({"type": "ephemeral", "ttl": "1h"});
    for (variables, expected) in [
        (&[][..], &five),
        (&["ENABLE_PROMPT_CACHING_1H"], &hour),
        (&["ENABLE_PROMPT_CACHING_1H", "FORCE_PROMPT_CACHING_5M"], &five),
        (&["DISABLE_PROMPT_CACHING"], &Value::Null),
        (&["DISABLE_PROMPT_CACHING_OPUS"], &Value::Null),
        (&["DISABLE_PROMPT_CACHING_HAIKU"], &five),
    ] {
        let run = claude(&world).args(STREAM);
        let seen = Seen::of(&world, variables.iter().fold(run, |run, name| run.env(name, "1")));
        let last = seen.body()["tools"].as_array().unwrap().last().unwrap()["cache_control"].clone();
        assert_eq!(last, *expected, "{variables:?}");
    }
}

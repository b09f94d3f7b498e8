//! Directory checks by string prefix; deny rules that a link walks around; files that a read hangs on.

use crate::kit::{Rules, all_at_once, bash, call, commands, finish, judge_in, say, script, stream};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::World;

const FILES: [(&str, &str); 4] = [
    ("a.txt", "plain\n"),
    ("secret/key", "hush-hush\n"),
    ("src/lib.rs", "fn x() {}\n"),
    ("deep/secret/key", "hush-hush\n"),
];
const DENY: Rules = Rules { allow: &["Read", "Edit", "Bash(cat:*)"], deny: &["Read(./secret/**)"], mode: "" };

fn reads(paths: &[String]) -> Vec<(&'static str, Value)> {
    paths.iter().map(|path| ("Read", json!({"file_path": path}))).collect()
}

/// Every one of these calls is denied, and what it was after did not come out.
fn all_denied(world: &World, rules: &Rules, calls: &[(&str, Value)]) {
    let judged = judge_in(world, rules, calls.len());
    let passed: Vec<_> =
        calls.iter().zip(&judged.denied).zip(&judged.told).filter(|((_, denied), _)| !**denied).collect();
    assert!(passed.is_empty(), "not denied: {passed:#?}");
    let shown = judged.outcome.lines.join("\n");
    assert!(!shown.contains("hush-hush"), "the secret came out");
}

/// A world whose script knows where it is: `$WD`, `$HOME`.
fn world(calls: &[(&str, Value)]) -> World {
    World::new(FILES, all_at_once(calls)).unwrap()
}

#[test]
fn p13_every_spelling_of_a_path_gets_the_verdict_of_the_real_one() {
    let spellings = [
        "secret/key",
        "./secret/key",
        "$WD/secret/key",
        "$WD/./secret/key",
        "secret//key",
        "$WD//secret///key",
        "src/../secret/key",
        "$WD/../wd/secret/key",
        "/../$WD/secret/key",
        "//$WD/secret/key",
        "nowhere/../secret/key",
        "secret/./key",
        "secret/../secret/key",
        "SECRET/key",
        "Secret/Key",
        "secret./key",
        "secret /key",
        "secret/key.",
        "secret/key ",
        "\u{17f}ecret/key",
        "se\u{200c}cret/key",
        "deep/secret/key",
        "/proc/self/cwd/secret/key",
        "/proc/self/root/$WD/secret/key",
        "/proc/thread-self/cwd/secret/key",
    ];
    let paths: Vec<String> = spellings.iter().map(|path| (*path).to_owned()).collect();
    let calls = reads(&paths);
    all_denied(&world(&calls), &DENY, &calls);
    let bypass = Rules { mode: "bypassPermissions", ..DENY };
    all_denied(&world(&calls), &bypass, &calls);
}

#[test]
fn p13_a_neighbour_is_not_inside() {
    let paths =
        ["$WD-evil/f", "$WD/../wd-evil/f", "$WD/src/../../wd-evil/f", "../wd-evil/f", "$WD/..", "/etc/passwd", "~/x"];
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    let mut calls = reads(&paths);
    for path in &paths {
        calls.push(("Write", json!({"file_path": path, "content": "x"})));
        calls.push(("Glob", json!({"pattern": "*", "path": path})));
        calls.push(("Grep", json!({"pattern": "hush", "path": path})));
        calls.push(("Bash", json!({"command": format!("cat {path}")})));
    }
    let world = world(&calls);
    let neighbour = world.wd().with_file_name("wd-evil");
    std::fs::create_dir(&neighbour).unwrap();
    std::fs::write(neighbour.join("f"), "hush-hush").unwrap();
    std::fs::write(world.home().join("x"), "hush-hush").unwrap();
    all_denied(&world, &Rules { mode: "acceptEdits", ..Rules::default() }, &calls);
    assert_eq!(std::fs::read_to_string(neighbour.join("f")).unwrap(), "hush-hush");
}

#[test]
fn p14_links_to_a_denied_file_are_denied() {
    let paths: Vec<String> = ["link", "chain", "door/key", "absolute", "up/wd/secret/key", "twin", "src/side"]
        .iter()
        .map(|path| (*path).to_owned())
        .collect();
    let mut calls = reads(&paths);
    calls.extend(paths.iter().map(|path| ("Bash", json!({"command": format!("cat {path}")}))));
    calls
        .extend(paths.iter().map(|path| ("Edit", json!({"file_path": path, "old_string": "hush", "new_string": "x"}))));
    calls.extend(commands(&["cat li*", "cat < door/key", "cd door && cat key", "cat */key", "cat twi?"]));
    let world = world(&calls);
    let wd = world.wd();
    symlink("secret/key", wd.join("link")).unwrap();
    symlink("link", wd.join("chain")).unwrap();
    symlink("secret", wd.join("door")).unwrap();
    symlink(wd.join("secret/key"), wd.join("absolute")).unwrap();
    symlink("..", wd.join("up")).unwrap();
    symlink("../door/key", wd.join("src/side")).unwrap();
    std::fs::hard_link(wd.join("secret/key"), wd.join("twin")).unwrap();
    all_denied(&world, &DENY, &calls);
    assert_eq!(std::fs::read_to_string(wd.join("secret/key")).unwrap(), "hush-hush\n");
}

#[test]
fn p14_files_by_descriptor_or_process_are_never_waved_through() {
    let paths: Vec<String> = [
        "/dev/fd/0",
        "/dev/fd/3",
        "/dev/stdin",
        "/proc/self/fd/0",
        "/proc/self/environ",
        "/proc/1/environ",
        "/dev/tty",
    ]
    .iter()
    .map(|path| (*path).to_owned())
    .collect();
    let mut calls = reads(&paths);
    calls.extend(paths.iter().map(|path| ("Bash", json!({"command": format!("cat {path}")}))));
    all_denied(&world(&calls), &Rules::default(), &calls);
}

/// A thread swaps a plain file for a link to the secret and back while the model reads it.
#[test]
fn p14_a_link_swapped_in_between_check_and_open_leads_nowhere() {
    let paths = vec!["flip/key".to_owned(); 60];
    let calls = reads(&paths);
    let world = world(&calls);
    let (wd, stop) = (world.wd().to_owned(), Arc::new(AtomicBool::new(false)));
    std::fs::create_dir(wd.join("honest")).unwrap();
    std::fs::write(wd.join("honest/key"), "plain").unwrap();
    std::fs::rename(wd.join("honest"), wd.join("flip")).unwrap();
    let stopped = Arc::clone(&stop);
    let swapper = std::thread::spawn(move || {
        let link = wd.join("link");
        while !stopped.load(Ordering::Relaxed) {
            let _ = symlink("secret", &link);
            let _ = std::fs::rename(wd.join("flip"), wd.join("aside"));
            let _ = std::fs::rename(&link, wd.join("flip"));
            std::thread::sleep(Duration::from_micros(50));
            let _ = std::fs::rename(wd.join("flip"), &link);
            let _ = std::fs::rename(wd.join("aside"), wd.join("flip"));
        }
    });
    let judged = judge_in(&world, &DENY, calls.len());
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(!judged.outcome.lines.join("\n").contains("hush-hush"), "the secret came out");
}

#[test]
fn p15_a_write_through_a_link_that_a_command_has_just_made_is_denied() {
    let write = |path: &str| call("Write", &json!({"file_path": path, "content": "planted"}));
    let turns = json!([
        bash("ln -s $HOME out && ln -s $HOME/.bashrc rc && ln -s .git/hooks hooks"),
        write("out/planted"),
        write("$WD/out/.profile"),
        write("rc"),
        write("hooks/pre-commit"),
        call("Edit", &json!({"file_path": "rc", "old_string": "old", "new_string": "planted"})),
        bash("echo planted > out/planted"),
        bash("cp a.txt out/"),
        bash("echo planted >> rc"),
        say("done"),
    ]);
    let world = World::new(FILES, script(turns)).unwrap();
    std::fs::write(world.home().join(".bashrc"), "old").unwrap();
    let outcome =
        finish(stream(&world).args(["--permission-mode", "acceptEdits", "--allowedTools", "Bash(ln:*)"]).close());
    let result = outcome.result().unwrap();
    assert_eq!(result["permission_denials"].as_array().map(Vec::len), Some(8), "{result:#}");
    assert_eq!(std::fs::read_to_string(world.home().join(".bashrc")).unwrap(), "old");
    assert!(!world.home().join("planted").exists() && !world.home().join("a.txt").exists());
    assert!(!world.wd().join(".git/hooks/pre-commit").exists());
}

#[test]
fn p16_searches_neither_list_nor_print_what_is_denied() {
    let calls: Vec<(&str, Value)> = vec![
        ("Glob", json!({"pattern": "**/*"})),
        ("Glob", json!({"pattern": "secret/*"})),
        ("Glob", json!({"pattern": "**/key*", "path": "secret"})),
        ("Glob", json!({"pattern": "$WD/secret/*"})),
        ("Grep", json!({"pattern": "hush", "output_mode": "content"})),
        ("Grep", json!({"pattern": "hush", "path": "secret", "output_mode": "content"})),
        ("Grep", json!({"pattern": "hush", "path": "secret/key", "output_mode": "content"})),
        ("Grep", json!({"pattern": "hush", "glob": "**/key", "output_mode": "content"})),
        ("Grep", json!({"pattern": "hush", "path": "twin", "output_mode": "content"})),
        ("Grep", json!({"pattern": "hush", "output_mode": "files_with_matches"})),
        ("Grep", json!({"pattern": "hush", "output_mode": "count"})),
        ("Grep", json!({"pattern": "hush", "path": "door", "output_mode": "content"})),
    ];
    let world = world(&calls);
    symlink("secret", world.wd().join("door")).unwrap();
    std::fs::hard_link(world.wd().join("secret/key"), world.wd().join("twin")).unwrap();
    let judged = judge_in(&world, &DENY, calls.len());
    for (call, told) in calls.iter().zip(&judged.told) {
        assert!(
            !told.contains("hush-hush") && !told.contains("secret/key") && !told.contains("twin:"),
            "{call:?}: {told}"
        );
    }
    assert!(judged.told[0].contains("a.txt"), "searches find nothing at all: {:?}", judged.told[0]);
}

#[test]
fn p16_mentions_and_imports_bring_in_no_denied_and_no_foreign_file() {
    let memory = "# Notes\n@secret/key\n@./secret/key\n@~/.ssh/id_rsa\n@../home/.ssh/id_rsa\n@../../.ssh/id_rsa\n@$HOME/.ssh/id_rsa\n@/etc/hostname\n@door/key\n@keys\n@twin\nthe end\n";
    let files = [("CLAUDE.md", memory), ("secret/key", "hush-hush\n"), ("src/CLAUDE.md", "@../secret/key\n")];
    let world = World::new(files, script(json!([say("ok")]))).unwrap();
    std::fs::create_dir(world.home().join(".ssh")).unwrap();
    std::fs::write(world.home().join(".ssh/id_rsa"), "hush-hush home\n").unwrap();
    symlink("secret", world.wd().join("door")).unwrap();
    symlink(world.home().join(".ssh/id_rsa"), world.wd().join("keys")).unwrap();
    symlink(world.home().join(".ssh"), world.wd().join("ssh")).unwrap();
    std::fs::hard_link(world.wd().join("secret/key"), world.wd().join("twin")).unwrap();
    let prompt = "see @secret/key @./secret/key @\"secret/key\" @~/.ssh/id_rsa @../home/.ssh/id_rsa @door/key @keys @ssh/id_rsa @secret @twin";
    let settings = json!({"permissions": {"deny": ["Read(./secret/**)"]}}).to_string();
    let run = world.run(&crate::kit::binary()).args(["-p", prompt, "--settings", &settings]).close();
    let outcome = finish(run);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let asked = world.mock().requests()[0].body.to_string();
    assert!(asked.contains("the end"), "the memory was not read at all");
    assert!(!asked.contains("hush-hush"), "{asked}");
}

#[test]
fn p18_special_and_enormous_files_are_a_bounded_error() {
    let paths: Vec<String> =
        ["fifo", "socket", "/dev/zero", "/dev/random", "sparse", "line", "src", "loop", "gone", "none/x", "fifo/x"]
            .iter()
            .map(|path| (*path).to_owned())
            .collect();
    let mut calls = reads(&paths);
    calls.extend(
        ["fifo", "socket", "/dev/zero", "src"].map(|path| ("Write", json!({"file_path": path, "content": "x"}))),
    );
    calls.extend(
        ["fifo", "sparse", "src", "loop"]
            .map(|path| ("Edit", json!({"file_path": path, "old_string": "a", "new_string": "b"}))),
    );
    calls.extend(
        ["fifo", "socket", "/dev/zero", "sparse", "line", "loop"]
            .map(|path| ("Grep", json!({"pattern": "a+$", "path": path}))),
    );
    calls.push(("Grep", json!({"pattern": "needle"})));
    calls.push(("Glob", json!({"pattern": "**/*"})));
    let world = world(&calls);
    special_files(world.wd());
    let rules = Rules { mode: "bypassPermissions", ..Rules::default() };
    let judged = judge_in(&world, &rules, calls.len());
    assert!(judged.outcome.elapsed < Duration::from_secs(40), "{:?}", judged.outcome.elapsed);
    for (call, told) in calls.iter().zip(&judged.told) {
        assert!(!told.is_empty() && told.len() < 300_000, "{call:?} was told {} bytes", told.len());
    }
    assert_eq!(std::fs::metadata(world.wd().join("sparse")).unwrap().len(), 100 << 30);
}

fn special_files(wd: &Path) {
    make_fifo(&wd.join("fifo"));
    // Bound and forgotten: the name stays.
    std::os::unix::net::UnixListener::bind(wd.join("socket")).unwrap();
    std::fs::File::create(wd.join("sparse")).unwrap().set_len(100 << 30).unwrap();
    std::fs::write(wd.join("line"), vec![b'a'; 64 << 20]).unwrap();
    symlink("loop", wd.join("loop")).unwrap();
}

fn make_fifo(path: &Path) {
    let made = testkit::Run::new(Path::new("/usr/bin/mkfifo"), path.parent().unwrap())
        .named("mkfifo")
        .args([path.display().to_string()])
        .finish()
        .unwrap();
    assert_eq!(made.code, Some(0), "{}", made.stderr);
}

#[test]
fn p18_mentions_of_special_files_do_not_hang() {
    let world = World::new(FILES, script(json!([say("ok")]))).unwrap();
    special_files(world.wd());
    let prompt = "see @fifo @socket @sparse @loop @/dev/zero @line";
    let run = world.run(&crate::kit::binary()).args(["-p", prompt, "--dangerously-skip-permissions"]);
    let outcome = finish(run.deadline(Duration::from_secs(30)).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

#[test]
fn p_judging_is_the_same_wherever_the_folder_is_entered_from() {
    let calls = reads(&["secret/key".to_owned(), "$WD/secret/key".to_owned()]);
    let mut calls = calls;
    calls.push(("Grep", json!({"pattern": "hush", "output_mode": "content"})));
    let world = world(&calls);
    let door = world.wd().with_file_name("door");
    symlink(world.wd(), &door).unwrap();
    let settings = json!({"permissions": {"deny": ["Read(./secret/**)"]}}).to_string();
    let run = world.run(Path::new("/bin/sh")).env("RALPH", &crate::kit::binary().to_string_lossy()).args([
        "-c",
        &format!(
            "cd {} && exec \"$RALPH\" agent -p go --verbose --output-format stream-json --settings '{settings}'",
            door.display()
        ),
    ]);
    let outcome = finish(run.close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(!outcome.lines.join("\n").contains("hush-hush"));
    assert_eq!(outcome.result().unwrap()["permission_denials"].as_array().map(Vec::len), Some(2));
}

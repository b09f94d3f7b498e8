//! Help, completions and the manual, as a person or a shell calls them.

use super::{plain, run};

/// The commands that `ralph help` lists.
fn commands() -> Vec<String> {
    let help = run(&plain(), &["help"]);
    let lines = help.lines.iter().filter_map(|line| line.strip_prefix("  ralph "));
    let names = lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
    names.filter(|name| name.chars().all(char::is_alphabetic)).collect()
}

#[test]
fn every_command_explains_itself_with_an_example() {
    let world = plain();
    let commands = commands();
    assert!(commands.len() > 20 && commands.contains(&"goal".to_owned()), "{commands:?}");
    for name in commands {
        let help = run(&world, &["help", &name]);
        assert_eq!((help.code, &*help.stderr), (Some(0), ""), "{name}");
        let examples = help.lines.iter().position(|line| line == "Examples:");
        assert!(examples.is_some_and(|at| help.lines[at + 1].starts_with("  ")), "{name}: {:?}", help.lines);
        for flag in ["--help", "-h"] {
            assert_eq!(run(&world, &[&name, flag]).lines, help.lines, "{name} {flag}");
        }
    }
    let unknown = run(&world, &["help", "gaol"]);
    assert_eq!(
        (unknown.code, &*unknown.stderr),
        (Some(1), "error: unknown command 'gaol'. Did you mean 'goal'? 'ralph help' lists the commands.")
    );
    assert_eq!(world.wd().read_dir().unwrap().count(), 1, "help does nothing");
}

#[test]
fn help_lists_the_options_of_a_run() {
    let world = plain();
    let all = run(&world, &["help"]).lines;
    let of_a_run = run(&world, &["1", "--help"]).lines;
    for line in of_a_run.iter().filter(|line| line.starts_with("  --")) {
        assert!(all.contains(line), "{line}");
    }
}

#[test]
fn shells_accept_the_completions() {
    let world = plain();
    for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let script = run(&world, &["completions", shell]);
        assert_eq!(script.code, Some(0), "{shell}");
        let file = world.wd().join(shell);
        std::fs::write(&file, script.lines.join("\n")).unwrap();
        let Some(program) = ["/bin", "/usr/bin", "/usr/local/bin"]
            .iter()
            .map(|folder| std::path::Path::new(folder).join(shell))
            .find(|program| program.exists())
        else {
            assert_ne!(shell, "bash", "bash is installed where tests run");
            continue;
        };
        let outcome = super::finish(world.run(&program).args([check, shell]));
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{shell}");
    }
    let script = "source ./bash; COMP_WORDS=(ralph goal a); COMP_CWORD=2; _ralph; echo ${COMPREPLY[@]}";
    let completed = super::finish(world.run(std::path::Path::new("/bin/bash")).args(["-c", script]));
    assert_eq!(completed.lines, ["add attach answer"], "{}", completed.stderr);
    let wrong = run(&world, &["completions", "tcsh"]);
    assert_eq!((wrong.code, &*wrong.stderr), (Some(1), "usage: ralph completions bash|zsh|fish"));
}

#[test]
fn the_manual_has_every_command() {
    let page = run(&plain(), &["man"]).lines;
    assert!(page[0].starts_with(".TH RALPH 1"), "{}", page[0]);
    for name in commands() {
        assert!(page.iter().any(|line| line.starts_with(&format!(".SS ralph {name}"))), "{name}");
    }
}

use super::*;
use crate::{FLAGS, Standing};

#[test]
fn every_command_has_help_with_an_example() {
    for command in COMMANDS {
        let help = crate::help::command(command);
        assert!(help.contains(command.summary), "{}", command.name);
        assert!(!command.examples.is_empty(), "{} has no example", command.name);
        for (example, _) in command.examples {
            assert!(example.contains(&format!("ralph {}", command.name)), "{example}");
            assert!(help.contains(example), "{}: {help}", command.name);
        }
    }
}

#[test]
fn every_command_and_flag_is_completed_and_in_the_manual() {
    let manual = crate::manual::roff_page().replace("\\-", "-");
    let scripts = ["bash", "zsh", "fish"].map(|shell| script(shell).unwrap());
    for command in COMMANDS {
        assert!(scripts.iter().all(|script| script.contains(command.name)), "{}", command.name);
        assert!(manual.contains(&format!(".SS ralph {}", command.name)), "{}", command.name);
    }
    let of_the_loop = flags_of(&loop_flags::option_lines());
    let of_the_agent =
        FLAGS.iter().filter(|flag| flag.standing == Standing::Works).map(|flag| format!("--{}", flag.name));
    for flag in of_the_loop.into_iter().chain(of_the_agent) {
        assert!(scripts[0].contains(&flag) && scripts[1].contains(&flag) && manual.contains(&flag), "{flag}");
        assert!(scripts[2].contains(&fish_flag(&flag)), "{flag}");
    }
    assert_eq!(script("tcsh"), None);
}

#[test]
fn option_lines_are_read() {
    let read = |line: &str| flags(line).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(read("-s, --scope SCOPE"), ["-s", "--scope"]);
    assert_eq!(read("-d, --debug[=value]"), ["-d", "--debug"]);
    assert_eq!(read("--json"), ["--json"]);
}

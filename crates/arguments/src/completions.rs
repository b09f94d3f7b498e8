//! `ralph completions SHELL`: scripts made from the tables of commands and flags.

use crate::loop_flags;
use crate::table::{COMMANDS, Command};

/// The flags in an option line such as `-s, --scope SCOPE` or `--debug[=value]`.
pub(crate) fn flags(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split([' ', ',', '[', ']', '=', '|']);
    words.filter(|word| word.starts_with('-') && word.len() > 1 && *word != "--")
}

pub(crate) fn flags_of(lines: &[(String, &'static str)]) -> Vec<String> {
    lines.iter().flat_map(|(line, _)| flags(line)).map(str::to_owned).collect()
}

/// What may follow a command's name.
fn words_of(command: &Command) -> Vec<String> {
    let names = COMMANDS.iter().map(|command| command.name.to_owned());
    let words: Vec<String> = match command.name {
        "help" => names.collect(),
        _ => command.words.iter().map(|word| (*word).to_owned()).collect(),
    };
    words.into_iter().chain(flags_of(&command.option_lines())).chain(["--help".to_owned()]).collect()
}

/// The script for a shell; `None` for a shell that is not known.
pub fn script(shell: &str) -> Option<String> {
    match shell {
        "bash" => Some(bash()),
        "zsh" => Some(zsh()),
        "fish" => Some(fish()),
        _ => None,
    }
}

fn first_words() -> Vec<String> {
    let names = COMMANDS.iter().map(|command| command.name.to_owned());
    names.chain(flags_of(&loop_flags::option_lines())).collect()
}

fn bash() -> String {
    let mut text = String::from(
        "# Completion of ralph for bash.\n_ralph() {\n    local current=\"${COMP_WORDS[COMP_CWORD]}\" words\n    \
         case \"${COMP_WORDS[1]}\" in\n",
    );
    for command in COMMANDS {
        let names: Vec<&str> = std::iter::once(command.name).chain(command.aliases.iter().copied()).collect();
        text.push_str(&format!("        {}) words='{}' ;;\n", names.join("|"), words_of(command).join(" ")));
    }
    text.push_str(&format!("        *) words='{}' ;;\n    esac\n", first_words().join(" ")));
    text.push_str(&format!("    if [ \"$COMP_CWORD\" -eq 1 ]; then words='{}'; fi\n", first_words().join(" ")));
    text.push_str("    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\ncomplete -o default -F _ralph ralph\n");
    text
}

fn zsh() -> String {
    let mut text =
        String::from("#compdef ralph\n# Completion of ralph for zsh.\n_ralph() {\n    local -a words_here\n");
    text.push_str("    if (( CURRENT == 2 )); then\n        words_here=(\n");
    for command in COMMANDS {
        let summary = command.summary.replace('\'', "'\\''").replace(':', "\\:");
        text.push_str(&format!("            '{}:{summary}'\n", command.name));
    }
    text.push_str("        )\n        _describe command words_here\n");
    text.push_str(&format!(
        "        compadd -- {}\n    else\n        case \"$words[2]\" in\n",
        flags_of(&loop_flags::option_lines()).join(" ")
    ));
    for command in COMMANDS {
        text.push_str(&format!("            {}) compadd -- {} ;;\n", command.name, words_of(command).join(" ")));
    }
    text.push_str(&format!("            *) compadd -- {} ;;\n", flags_of(&loop_flags::option_lines()).join(" ")));
    text.push_str("        esac\n        _files\n    fi\n}\ncompdef _ralph ralph\n");
    text
}

fn fish() -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
    let mut text = String::from("# Completion of ralph for fish.\n");
    for command in COMMANDS {
        text.push_str(&format!(
            "complete -c ralph -n __fish_use_subcommand -a {} -d {}\n",
            command.name,
            quoted(command.summary)
        ));
        let under = format!("-n '__fish_seen_subcommand_from {}'", command.name);
        for word in command.words {
            text.push_str(&format!("complete -c ralph {under} -a {word}\n"));
        }
        for (line, help) in command.option_lines() {
            for flag in flags(&line) {
                text.push_str(&format!("complete -c ralph {under} {} -d {}\n", fish_flag(flag), quoted(help)));
            }
        }
    }
    for (line, help) in loop_flags::option_lines() {
        for flag in flags(&line) {
            text.push_str(&format!(
                "complete -c ralph -n __fish_use_subcommand {} -d {}\n",
                fish_flag(flag),
                quoted(help)
            ));
        }
    }
    text
}

fn fish_flag(flag: &str) -> String {
    match flag.strip_prefix("--") {
        Some(long) => format!("-l {long}"),
        None => format!("-s {}", flag.trim_start_matches('-')),
    }
}

#[cfg(test)]
#[path = "completions_tests.rs"]
mod tests;

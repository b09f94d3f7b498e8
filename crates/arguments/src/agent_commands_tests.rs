use super::*;

fn judged(line: &str) -> FirstWord {
    let words: Vec<String> =
        line.split(' ').filter(|word| !word.is_empty()).map(|word| word.replace('_', " ")).collect();
    first_word(&words)
}

#[test]
fn the_first_plain_word_decides() {
    let at = |at| FirstWord::Command { at };
    let near = |word: &str, near| FirstWord::Misspelled { word: word.to_owned(), near };
    for (line, expected) in [
        ("agents", at(0)),
        ("agents --json", at(0)),
        ("rm abc", at(0)),
        ("stop the server and mend it", at(0)),
        ("setup-token", at(0)),
        ("--verbose daemon status", at(1)),
        ("--model opus kill 7", at(2)),
        ("auth", at(0)),
        ("auth status --json", at(0)),
        ("--settings {} auth status", at(2)),
        ("mcp add files npx -p x", at(0)),
        ("mcp add --help", at(0)),
        ("mcp why_not", FirstWord::Other),
        ("doctor", at(0)),
        ("doctor --help", at(0)),
        ("doctor says no", FirstWord::Other),
        ("update", at(0)),
        ("update_the docs", FirstWord::Other),
        // A prompt is a prompt.
        ("-p agents", FirstWord::Other),
        ("agents -p", FirstWord::Other),
        ("--print stop", FirstWord::Other),
        ("-- stop", FirstWord::Other),
        ("stop_the_server", FirstWord::Other),
        ("--input-format stream-json stop", FirstWord::Other),
        ("hello agents", FirstWord::Other),
        ("a_long_prompt_with_many_words_in_it agents", FirstWord::Other),
        // The value of a flag is no command.
        ("--model agents", FirstWord::Other),
        ("--allowedTools Bash stop", FirstWord::Other),
        ("--resume agents", FirstWord::Other),
        // Slips of the hand.
        ("mpc list", near("mpc", "mcp")),
        ("plugn install x@y", near("plugn", "plugin")),
        ("docter", near("docter", "doctor")),
        ("step", FirstWord::Other),
        ("mpc is broken", FirstWord::Other),
        ("fix", FirstWord::Other),
    ] {
        assert_eq!(judged(line), expected, "{line}");
    }
}

#[test]
fn every_command_that_is_missing_says_what_to_use() {
    for name in ["attach", "daemon", "gateway", "import", "kill", "logs", "remote-control", "respawn", "rm"] {
        let command = AgentCommand::find(name).expect(name);
        let line = command.refusal(name).expect(name);
        assert!(line.starts_with(&format!("Error: '{name}' is not part of this agent. ")), "{line}");
    }
    assert!(AgentCommand::names().all(|name| name.len() <= LONGEST));
}

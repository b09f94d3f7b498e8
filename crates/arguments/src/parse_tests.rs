use super::*;

fn typed(words: &[&str]) -> Arguments {
    parse(words.iter().map(|word| (*word).to_owned())).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

fn error(words: &[&str]) -> String {
    parse(words.iter().map(|word| (*word).to_owned())).expect_err("a usage error").to_string()
}

#[test]
fn every_flag_is_spelled_once() {
    let mut names: Vec<&str> = Flag::all_names().collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn a_value_may_be_inline_or_the_next_word_and_may_be_empty() {
    for flag in crate::FLAGS.iter().filter(|flag| matches!(flag.arity, Arity::One | Arity::Many | Arity::Repeat)) {
        for value in ["x", "", "a b", "{\"a\":1}", "-1"] {
            let two = typed(&[&format!("--{}", flag.name), value]);
            let one = typed(&[&format!("--{}={value}", flag.name)]);
            let is_kept = format!("{two:?}").contains(&format!("{value:?}"));
            assert!(is_kept || flag.standing != crate::Standing::Works, "--{} {value}: {two:?}", flag.name);
            assert_eq!(one, two, "--{}={value}", flag.name);
        }
    }
}

#[test]
fn lists_end_at_the_next_flag_and_add_up() {
    let typed =
        typed(&["--allowedTools", "A", "Bash(git add *)", "-p", "x", "--allowed-tools=B,C", "--tools", "", "-c"]);
    assert_eq!(typed.allowed_tools, ["A", "Bash(git add *)", "B,C"]);
    assert_eq!(typed.tools, [""]);
    assert_eq!(typed.positionals, ["x"]);
    assert!(typed.continue_latest);
}

#[test]
fn resume_takes_a_value_only_where_one_stands() {
    assert_eq!(typed(&["--resume", "--session-id", "u"]).resume.value.as_deref(), None);
    assert!(typed(&["--resume", "--session-id", "u"]).resume.is_given);
    assert_eq!(typed(&["-r", "id", "q"]).resume.value.as_deref(), Some("id"));
    assert_eq!(typed(&["--resume=id"]).resume.value.as_deref(), Some("id"));
    assert_eq!(typed(&["-p", "x", "--resume"]).resume.value.as_deref(), None);
}

#[test]
fn prompts_stand_anywhere_and_print_may_be_said_twice() {
    for words in [
        &["-p", "x"][..],
        &["--print", "-p", "x", "--verbose"],
        &["x", "-p"],
        &["-p", "--", "x"],
        &["-p", "", "x", ""],
        &["--print=true", "x"],
    ] {
        let typed = typed(words);
        assert_eq!(typed.positionals, ["x"], "{words:?}");
        assert!(typed.print, "{words:?}");
    }
    assert_eq!(typed(&["-p", "@a", "@b"]).positionals, ["@a", "@b"]);
    assert_eq!(typed(&["-p", "-"]).positionals, ["-"]);
    assert_eq!(typed(&["-p", "--", "--model", "x"]).positionals, ["--model", "x"]);
    assert_eq!(typed(&["--debug", "x"]).positionals, ["x"]);
}

#[test]
fn the_last_value_wins() {
    assert_eq!(typed(&["--model", "a", "--model=b"]).model.as_deref(), Some("b"));
    assert_eq!(typed(&["--add-dir", "a", "--add-dir=b"]).add_dir, ["a", "b"]);
}

#[test]
fn errors_are_one_line_and_name_the_nearest() {
    assert_eq!(error(&["-p", "x", "--nope"]), "error: unknown option '--nope'");
    assert_eq!(error(&["--modle", "x"]), "error: unknown option '--modle' (did you mean '--model'?)");
    assert_eq!(error(&["--modle=x"]), "error: unknown option '--modle' (did you mean '--model'?)");
    assert_eq!(error(&["-Z"]), "error: unknown option '-Z'");
    assert_eq!(error(&["--model"]), "error: option '--model' needs a value");
    assert_eq!(error(&["--model", "--settings=x"]), "error: option '--model' needs a value before '--settings=x'");
    assert_eq!(error(&["--verbose=maybe"]), "error: option '--verbose' takes no value");
    assert_eq!(
        error(&["-p", "--- a heading"]),
        "error: unknown option '--- a heading' (a prompt that begins with '-' goes after '--')"
    );
}

#[test]
fn the_widest_known_command_line_parses() {
    let words = "--thinking=adaptive --thinking-display=summarized --effort=high --max-turns=3 --max-budget-usd=0.5 --task-budget=1000 \
        --model=sonnet --agent=a --betas=b --json-schema={} --debug-file=f --permission-prompts=none --allowedTools=Read,Bash(ls:*),Skill(pdf) \
        --disallowedTools=WebFetch --tools=Bash,Read --mcp-config {} --setting-sources=user,project --strict-mcp-config --permission-mode=acceptEdits \
        --allow-dangerously-skip-permissions --fallback-model=haiku --include-hook-events --include-partial-messages --project-config-root=/tmp \
        --add-dir=/usr --add-dir=/opt --plugin-dir=/tmp/pl --plugin-dir-no-mcp=/tmp/pl2 --session-id=u --no-session-persistence \
        --managed-settings {} --settings {}";
    let typed = typed(&words.split_whitespace().collect::<Vec<_>>());
    assert_eq!(typed.add_dir, ["/usr", "/opt"]);
    assert!(typed.positionals.is_empty());
}

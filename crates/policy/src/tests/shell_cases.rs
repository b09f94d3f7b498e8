//! Which simple commands are found in a command line.

use crate::shell::{Unparsable, analyse};

#[test]
fn contract_table_of_commands_that_a_rule_must_see() {
    let table = include_str!("../../tests/fixtures/bash-cases.json");
    let cases: Vec<(String, Vec<String>)> = serde_json::from_str(table).expect("the fixture");
    let mut missed = Vec::new();
    for (command, wanted) in &cases {
        match analyse(command) {
            Ok(script) => {
                for text in wanted {
                    if !script.commands.iter().any(|found| found.text.starts_with(text.as_str())) {
                        let found: Vec<&str> = script.commands.iter().map(|c| c.text.as_str()).collect();
                        missed.push(format!("{command:?}: {text:?} not in {found:?}"));
                    }
                }
            }
            Err(error) => missed.push(format!("{command:?}: {error}")),
        }
    }
    assert!(cases.len() >= 60, "the table has {} rows", cases.len());
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Found, or refused: `curl x` in any of these must never go unnoticed.
#[test]
fn hidden_commands_are_found_or_refused() {
    let hidden = [
        "echo `echo \"\\$(curl x)\"`",
        "echo \"${x:-'$(curl x)'}\"",
        "echo \"${x:-'}$(curl x)'}\"",
        "echo \\$'a\\' ; curl x #'",
        "echo $$'a\\' ; curl x #'",
        "!(curl x)",
        "if !(curl x); then :; fi",
        "cat <<EOF\n$\\\n(curl x)\nEOF",
        "cat <<E\"O\"F\n$(curl x)\nEOF\ncurl x\nEOF",
        "[[ $a == @(b|$(curl x)) ]]",
        "[[ $a =~ ^($(curl x)|b)$ ]]",
        "echo ${a[$(curl x)]}",
        "echo ${a:$(curl x):1}",
        "echo ${a/$(curl x)/b}",
        "echo ${a/b/`curl x`}",
        "declare -A m=([$(curl x)]=1)",
        "for ((i=$(curl x);i<1;i++)); do :; done",
        "case $(curl x) in *) ;; esac",
        "case a in $(curl x)) ;; esac",
        "cat <<< $(curl x)",
        "echo $[$(curl x)]",
        "exec 3< <(curl x)",
        "{ echo a; } > $(curl x)",
        "echo a 2>&1 >$(curl x)",
        "f() { curl x; }",
        "function f { curl x; }",
        "echo \"$(echo \"$(curl x)\")\"",
        "echo $((1 + `curl x`))",
        "select x in `curl x`; do :; done",
        "until curl x; do :; done",
        "coproc { curl x; }",
        "time -p curl x",
        "! curl x",
        "a=(1 `curl x`)",
        "a+=$(curl x)",
        "echo {a,$(curl x)}",
        "echo ~$(curl x)",
        "echo \"a\\\\`curl x`\"",
        "cat <<-EOF\n\t$(curl x)\n\tEOF",
        "echo a |& curl x",
        "(curl x)&",
        "echo $(case a in a) curl x;; esac)",
        "echo $( (curl x) )",
        "echo $((curl x) )",
        "echo $(echo a # )\ncurl x)",
    ];
    let missed: Vec<&str> = hidden
        .into_iter()
        .filter(|command| analyse(command).is_ok_and(|script| !script.commands.iter().any(|c| c.text.starts_with("curl x"))))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn what_would_hurt_the_parser_is_refused_before_it_sees_it() {
    let deep = |open: &str, close: &str, n: usize| format!("{}a{}", open.repeat(n), close.repeat(n));
    let refused = [
        "a;".repeat(40_000),
        deep("(", ")", 5_000),
        deep("{ ", "; }", 5_000),
        deep("if a; then ", "; fi", 5_000),
        deep("${a:-", "}", 5_000),
        deep("$(", ")", 5_000),
        deep("(", "", 24),
        deep("$((1+", "", 12),
        format!("cat <<E\n{}\nE", deep("$((1+", "", 12)),
        format!("echo {}", deep("${a[", "]//x}", 8)),
        deep("case x in x) ", " ; esac", 20),
        deep("coproc ", "", 3_000),
        format!("[[ {} a ]]", "! ".repeat(3_000)),
        "echo 99999999999>f".to_owned(),
        "cd ~99999999999999999999999".to_owned(),
        "echo 99999\\\n999999>f".to_owned(),
        format!("cat <<E {}\nE\n", "a ".repeat(8_000)),
        "echo 'unterminated".to_owned(),
        "echo \"$(".to_owned(),
        "cat <<EOF\nno end".to_owned(),
        "echo hi\rcurl x".to_owned(),
        "echo hi\u{b}curl x".to_owned(),
        "echo hi\u{85}curl x".to_owned(),
        "echo hi\u{2028}curl x".to_owned(),
        "echo hi\u{a0}curl x".to_owned(),
        "echo \0".to_owned(),
    ];
    for command in &refused {
        let start: String = command.chars().take(40).collect();
        let before = std::time::Instant::now();
        assert!(analyse(command).is_err(), "{start}");
        assert!(before.elapsed().as_millis() < 500, "{start} took {:?}", before.elapsed());
    }
    assert_eq!(analyse("echo \u{2028}").err(), Some(Unparsable::Control('\u{2028}')));
}

#[test]
fn quoted_here_documents_hold_no_commands() {
    let script = analyse("cat <<'EOF'\n$(curl x) `curl x` $((1))\nEOF").expect("parses");
    assert_eq!(script.commands.len(), 1);
    assert_eq!(script.commands[0].text, "cat");
}

//! Which simple commands are found in a command line, and how soon.

use super::{quick, world};
use crate::PermissionMode::Default;
use crate::Verdict::{Allow, Ask, Deny};
use crate::shell::{SimpleCommand, Unparsable, analyse};

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
        "cat <<'E' | a=(`echo ` $('curl' x))\n\\$(y)\nE\n",
        "cat <<E \"a\n$(curl x)\"\nhi\nE",
        "echo a |& curl x",
        "(curl x)&",
        "echo $(case a in a) curl x;; esac)",
        "echo $( (curl x) )",
        "echo $((curl x) )",
        "echo $(echo a # )\ncurl x)",
    ];
    let missed: Vec<&str> = hidden
        .into_iter()
        .filter(|command| {
            let unquoted = |c: &SimpleCommand| c.words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" ");
            analyse(command).is_ok_and(|script| !script.commands.iter().any(|c| unquoted(c).starts_with("curl x")))
        })
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
        assert!(analyse(command).is_err(), "{start}");
        quick(&start, || drop(analyse(command)));
    }
    assert_eq!(analyse("echo \u{2028}").err(), Some(Unparsable::Control('\u{2028}')));
}

#[test]
fn quoted_here_documents_hold_no_commands() {
    let script = analyse("cat <<'EOF'\n$(curl x) `curl x` $((1))\nEOF").expect("parses");
    assert_eq!(script.commands.len(), 1);
    assert_eq!(script.commands[0].text, "cat");
}

#[test]
fn everyday_commands_are_understood() {
    let code = "if for while case { ( [ x\n".repeat(200);
    let everyday = [
        "git commit -m \"$(cat <<'EOF'\nfix: x (y)\n\n- it's $((1)) `done`\nEOF\n)\"".to_owned(),
        "for f in $(git ls-files '*.rs'); do wc -l \"$f\"; done".to_owned(),
        "python3 - <<'EOF'\nimport re\nprint(re.sub(r'\\$', '', 'a'))\nEOF".to_owned(),
        format!("cat > x.py <<'EOF'\n{}\nEOF", code.replace(['{', '(', '['], "")),
        "cat > a.cpp <<'EOF'\nstd::cout << f(x) << \"y\";\nEOF".to_owned(),
        "cd /w && npm test 2>&1 | tail -50".to_owned(),
        "find . -name '*.rs' -not -path './target/*' | head -50".to_owned(),
        "awk '{print $1}' f | sort | uniq -c".to_owned(),
        "if [ -f a ]; then cat a; else echo none; fi".to_owned(),
        "[ $(wc -l < a) -gt 5 ] && echo yes".to_owned(),
        "sed -n \"$((5+1)),10p\" f".to_owned(),
        "while IFS= read -r line; do echo \"$line\"; done < f".to_owned(),
        "case \"$1\" in start|stop) echo ok ;; *) exit 1 ;; esac".to_owned(),
        "docker run --rm -v \"$PWD\":/x -e A=\"b c\" img sh -c 'cd /x && make'".to_owned(),
        "curl -s https://x.test/a?b=c\\&d -H 'A: b' | jq '.[] | {a: .b}'".to_owned(),
        "x=$(cat <<EOF\n$y\nEOF\n)\necho \"$x\"".to_owned(),
        "echo ${arr[0]} ${#arr[@]} ${x%%.*} ${x//a/b} \"${@:2}\"".to_owned(),
        "grep -E '^(a|b)$' f || { echo none >&2; exit 1; }".to_owned(),
        "[[ $x =~ ^[0-9]+$ ]] && (( x > 3 ))".to_owned(),
        "grep 'a\\$' f; echo \"\\$'\"; sed 's/\\$/x/'; echo $'a\\'b'".to_owned(),
        "kill -9 $(lsof -ti:3000) 2>/dev/null || true".to_owned(),
        "sleep 0.3; echo bg &".to_owned(),
    ];
    for command in &everyday {
        assert!(analyse(command).is_ok(), "{command}: {:?}", analyse(command).err());
    }
}

#[test]
fn long_and_deep_commands_are_answered_at_once() {
    let rules = ["allow Bash(echo:*)", "allow Bash(ls:*)", "allow Bash(find:*)", "deny Bash(curl:*)"];
    let world = world(Default, &rules);
    let chain = "echo a; ".repeat(10_000);
    let cases = [
        (chain.clone(), Ask),
        (format!("{chain}curl x"), Deny),
        ("echo a;".repeat(9_000), Ask),
        ("echo a;".repeat(1_500), Allow),
        (format!("{}curl x", "echo a;".repeat(1_500)), Deny),
        (format!("cat > f <<'EOF'\n{}EOF\ncurl x", "a b c ; d\n".repeat(5_000)), Deny),
        ("echo a | ls -la b && find . -name c > /dev/null; ".repeat(300), Allow),
        (format!("{}curl x", "echo a;".repeat(9_000)), Deny),
        (format!("echo {}", "a".repeat(1 << 20)), Ask),
        (format!("echo {}; curl x", "a".repeat(1 << 20)), Deny),
        (format!("{}curl x{}", "(".repeat(5_000), ")".repeat(5_000)), Deny),
        (format!("{}curl x{}", "$(".repeat(5_000), ")".repeat(5_000)), Deny),
    ];
    for (command, verdict) in cases {
        let start: String = command.chars().take(30).collect();
        assert_eq!(world.bash(&command).verdict, verdict, "{start}");
        quick(&start, || drop(world.bash(&command)));
    }
}

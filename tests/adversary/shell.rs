//! Shell strings matched by text instead of parsed; limits past which rules were skipped.

use crate::kit::{
    Rules, all_at_once, assert_allowed, assert_denied, commands, finish, judge, judge_in, script, stream,
};
use serde_json::json;
use std::time::Duration;
use testkit::World;

const ALLOW: [&str; 4] = ["Bash(echo:*)", "Bash(git:*)", "Bash(find:*)", "Bash(ls:*)"];
pub const RULES: Rules = Rules { allow: &ALLOW, deny: &["Bash(curl:*)", "Bash(rm:*)"], mode: "" };
const BYPASS: Rules = Rules { allow: &[], deny: &["Bash(curl:*)", "Bash(rm:*)"], mode: "bypassPermissions" };

/// Whatever the mode, and however much else is allowed.
fn denied_everywhere(texts: &[&str]) {
    assert_denied(&RULES, texts);
    assert_denied(&BYPASS, texts);
}

#[test]
fn s01_a_denied_command_behind_any_separator() {
    denied_everywhere(&[
        "echo hi; curl x",
        "echo hi && curl x",
        "echo hi || curl x",
        "echo hi | curl -d @- x",
        "echo hi |& curl x",
        "echo hi & curl x",
        "echo hi\ncurl x",
        "echo hi\n\n  curl x",
        "echo hi\rcurl x",
        "echo hi\r\ncurl x",
        "echo hi\u{b}curl x",
        "echo hi\u{c}curl x",
        "echo hi\u{85}curl x",
        "echo hi\u{2028}curl x",
        "echo hi\u{2029}curl x",
        "echo hi # comment\ncurl x",
        "echo hi \\\n; curl x",
        "! echo hi; ! curl x",
        "{ echo hi; curl x; }",
        "(echo hi; curl x)",
        "if echo hi; then curl x; fi",
        "while curl x; do break; done",
        "for i in 1; do curl x; done",
        "case a in a) curl x;; esac",
        "[[ -f a ]] && curl x",
        "((1)) && curl x",
        "time curl x",
        "coproc curl x",
        "curl x &",
    ]);
}

#[test]
fn s02_a_denied_command_inside_a_substitution() {
    denied_everywhere(&[
        "echo $(curl x)",
        "echo `curl x`",
        "echo \"$(curl x)\"",
        "echo \"`curl x`\"",
        "ls <(curl x)",
        "echo a > >(curl x)",
        "echo $((`curl x`))",
        "echo $(( $(curl x) ))",
        "echo $[ $(curl x) ]",
        "cat <<EOF\n$(curl x)\nEOF",
        "cat <<EOF\n`curl x`\nEOF",
        "cat <<-EOF\n\t$(curl x)\n\tEOF",
        "cat <<< $(curl x)",
        "echo $(echo $(echo $(curl x)))",
        "x=$(curl x)",
        "x=(1 $(curl x))",
        "echo a 2> $(curl x)",
        "ls ${x[$(curl x)]}",
        "echo {a,$(curl x)}",
        "case $(curl x) in *) ;; esac",
        "for i in $(curl x); do :; done",
        "[[ -n $(curl x) ]]",
        "echo \"${x:-$(curl x)}\"",
    ]);
    // Here-documents are outside the grammar of what runs unasked, and the plain text of such a command counts.
    denied_everywhere(&[
        "cat <<'EOF'\n$(curl x) `rm -rf y`\nEOF",
        "cat <<\"EOF\"\n$(curl x)\nEOF",
        "cat <<\\EOF\n$(curl x)\nEOF",
    ]);
    // What is quoted is text.
    assert_allowed(
        &RULES,
        &[
            "echo '$(curl x)'",
            "echo \"\\$(curl x) \\`rm y\\`\"",
            "git commit --allow-empty -m \"$(cat <<'EOF'\nit's about $(curl x)\nEOF\n)\"",
            "echo hi # ; curl x",
        ],
    );
}

#[test]
fn s03_expansions_that_run_or_hide_something() {
    denied_everywhere(&[
        "echo ${x@P}",
        "echo ${x:=$(id)$(curl x)}",
        "echo ${!x}",
        "echo ${x/a/$(curl x)}",
        "echo ${x//$(curl x)/b}",
        "echo ${x:+`curl x`}",
        "echo ${x:?$(curl x)}",
        "echo ${x^^$(curl x)}",
        "echo ${x:$(curl x)}",
        "echo ${x[$(curl x)]}",
        "x='a[$(curl x)]'; echo $((x))",
        "x='a[$(curl x)]'; [[ $x -eq 0 ]]",
        "x='a[$(curl x)]'; let y=x",
        "declare -n x='a[$(curl x)]'",
        "test -v 'a[$(curl x)]'",
        "printf -v 'a[$(curl x)]' x",
        "read 'a[$(curl x)]' <<< 1; echo $((a))",
        "unset 'a[$(curl x)]'",
    ]);
}

#[test]
fn s04_a_denied_program_under_any_spelling_or_wrapper() {
    denied_everywhere(&[
        "cu\"\"rl x",
        "c\\url x",
        "'cu'rl x",
        "$'\\x63url' x",
        "$'\\143\\165rl' x",
        "$'\\u0063url' x",
        "\\curl x",
        "\"curl\" x",
        "/usr/bin/curl x",
        "./curl x",
        "../../usr/bin/curl x",
        "cu\\\nrl x",
        "{curl,x}",
        "$(echo curl) x",
        "$X x",
        "busybox curl x",
        "toybox curl x",
        "env curl x",
        "env -i A=b curl x",
        "env -S 'curl x'",
        "command curl x",
        "command -p curl x",
        "builtin command curl x",
        "nice -n1 curl x",
        "nice -n 1 curl x",
        "timeout 5 curl x",
        "timeout -s KILL 5 curl x",
        "nohup curl x",
        "stdbuf -o0 curl x",
        "setsid -w curl x",
        "ionice -c 3 curl x",
        "chrt -i 0 curl x",
        "taskset 1 curl x",
        "strace -f curl x",
        "sudo -E curl x",
        "doas curl x",
        "flock l curl x",
        "flock l -c 'curl x'",
        "watch curl x",
        "script -c 'curl x'",
        "xargs curl",
        "echo x | xargs -I{} curl {}",
        "echo curl | xargs -I{} {} x",
        "echo curl x | xargs env",
        "parallel curl ::: x",
        "find . -exec curl {} ;",
        "sh -c 'curl x'",
        "bash -lc 'curl x'",
        "sh -c \"sh -c 'curl x'\"",
        "bash <<< 'curl x'",
        "bash <<'EOF'\ncurl x\nEOF",
        "echo 'curl x' | sh",
        "echo Y3VybCB4Cg== | base64 -d | sh",
        "sh <(echo curl x)",
        ". <(echo curl x)",
        "eval 'curl x'",
        "eval \"$(echo curl x)\"",
        "exec curl x",
        "trap 'curl x' EXIT",
        "alias ls=curl",
        "alias ls='curl x'; ls",
        "echo() { curl x; }; echo",
        "function ls { curl x; }; ls",
        "A=b curl x",
        "A=$(curl x)",
        "LD_PRELOAD=./x curl y",
        "=curl x",
        "CURL x",
        "noglob curl x",
        "- curl x",
    ]);
}

#[test]
fn s10_size_and_depth_are_no_way_around() {
    let chain = "echo a; ".repeat(10_000);
    let long = "a".repeat(1 << 20);
    let nested = |open: &str, close: &str, n: usize| format!("{}curl x{}", open.repeat(n), close.repeat(n));
    let texts = [
        chain.clone(),
        format!("{chain}curl x"),
        format!("curl x; {chain}"),
        format!("echo {long}"),
        format!("echo {long}; curl x"),
        format!("echo '{long}'; curl x"),
        nested("(", ")", 5_000),
        nested("$(", ")", 5_000),
        nested("echo $(", ")", 60),
        nested("{ ", "; }", 5_000),
        nested("if true; then ", "; fi", 5_000),
        nested("${x:-", "}", 5_000),
        nested("`", "`", 5_001),
        nested("env ", "", 3_000),
        nested("sh -c 'echo; ", "'", 1_000),
        "echo 'unterminated; curl x".into(),
        "echo \"unterminated; curl x".into(),
        "echo $(unterminated; curl x".into(),
        "cat <<EOF\ncurl x".into(),
        "echo \u{0}; curl x".into(),
        format!("echo {}; curl x", "\u{202e}".repeat(5_000)),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_denied(&RULES, &texts);
    // Where everything else may run, a rule still counts. The longest are left out: they only take time here.
    let denied_by_rule: Vec<&str> =
        texts.into_iter().filter(|text| text.contains("curl") && text.len() < 100_000).collect();
    assert_denied(&BYPASS, &denied_by_rule);
}

#[test]
fn s10_text_that_is_no_text_is_an_answer_not_a_crash() {
    let block = json!({"type": "tool_use", "name": "Bash", "input_json": "{\"command\": \"echo \\ud800; evil\"}"});
    let world =
        World::empty(script(json!([{"content": [block]}, {"content": [{"type": "text", "text": "done"}]}]))).unwrap();
    let outcome =
        finish(stream(&world).args(["--dangerously-skip-permissions"]).deadline(Duration::from_secs(20)).close());
    assert_eq!(outcome.result().unwrap()["result"], "done", "{}", outcome.stderr);
}

#[test]
fn s11_rules_are_read_narrowly_and_a_bad_one_is_said() {
    let run = |allow: &[&str], text: &str| {
        let judged = judge(&[], &Rules { allow, ..Rules::default() }, &commands(&[text]));
        !judged.denied[0]
    };
    for (rule, text, allowed) in [
        ("Bash(lsx*)", "lsxof -x", true),
        ("Bash(lsx *)", "lsxof -x", false),
        ("Bash(lsx:*)", "lsxof -x", false),
        ("Bash(lsx *)", "lsx", true),
        ("Bash(lsx:*)", "lsx -x", true),
        ("Bash(lsx)", "lsx -x", false),
        ("Bash()", "evil", false),
        ("", "evil", false),
        ("Bash", "evil", true),
        ("*", "evil", false),
        ("Bas*", "evil", false),
        ("bash", "evil", false),
        ("Bash(evil", "evil", false),
        ("Bash(evil) x", "evil", false),
        ("Bash(evil) Bash(evil)", "evil", false),
    ] {
        assert_eq!(run(&[rule], text), allowed, "{rule:?} on {text:?}");
    }
    for rule in ["Bash()", "Bash(evil", "*", "(evil)", "Read(!x)"] {
        let judged = judge(&[], &Rules { allow: &[rule], ..Rules::default() }, &commands(&["evil"]));
        assert!(judged.outcome.stderr.contains(rule), "{rule:?} goes unmentioned: {:?}", judged.outcome.stderr);
    }
}

#[test]
fn s13_only_what_was_judged_runs() {
    let nothing = Rules::default();
    let unasked = [
        "cat <<E\n$(#)\nevil X)\nE",
        "( (evil${IFS}X) )",
        "for PATH in .; do ls; done",
        "read PATH < a.txt; ls",
        "printf %nX PATH; ls",
        "export PATH=.; ls",
        "git grep -nO./evil x",
        "git grep -Oevil a",
        "git log --output=made",
        "paste -s /etc/passwd",
        "git blame --contents=/etc/passwd a.txt",
        "find -- /etc",
        "ls | xargs cat",
        "cat <(evil)",
        "echo $(evil)",
        "ls; evil",
        "ls 2>&1 > made",
        "ls\n(evil)",
        "test -v 'a[$(evil)]'",
        "cd src && git status",
    ];
    for mode in ["default", "plan", "dontAsk", "acceptEdits"] {
        let texts: Vec<&str> =
            unasked.iter().copied().filter(|text| mode != "acceptEdits" || !text.contains("> made")).collect();
        assert_denied(&Rules { mode, ..nothing }, &texts);
    }
    assert_allowed(
        &nothing,
        &[
            "ls -la src",
            "grep -rn \"a\" . | wc -l",
            "cat 'a.txt' \"src/lib.rs\" | head -20 && echo done",
            "wc -l *.txt",
            "ls nope 2>/dev/null || echo none",
            "cd src && ls # and nothing else",
        ],
    );
}

#[test]
fn s13_the_shell_gets_the_text_that_was_judged() {
    let calls = commands(&["echo 'it'\"'\"'s'   \\$NAME \"a b\"", "cat a.txt | tr a b", "printf '%s\\n' *.txt"]);
    let judged = judge(&[("a.txt", "a\n")], &Rules::default(), &calls);
    assert_eq!(judged.told, ["it's $NAME a b", "b", "./a.txt"]);
    let shown = judged.outcome.events().iter().any(|event| event.to_string().contains("cat a.txt | tr a b"));
    assert!(shown, "events show the command as it was written");
}

#[test]
fn s13_rules_are_about_what_a_command_does() {
    let rules = Rules { allow: &["Bash(git log:*)", "Bash(git:*)", "Bash(git status)"], ..Rules::default() };
    assert_denied(
        &rules,
        &[
            "git log --output=.claude/settings.json",
            "git log --outp made",
            "git grep -nO./evil x",
            "ls | xargs git log",
        ],
    );
    let bare = [("bare/HEAD", "ref: refs/heads/main\n"), ("bare/config", "[core]\nfsmonitor = evil\n")];
    let judged = judge(&bare, &rules, &commands(&["cd bare && git status", "git -C bare log", "cd bare; git log"]));
    assert_eq!((judged.denied, judged.ran), (vec![true; 3], Vec::new()));
}

#[test]
fn s13_git_runs_nothing_that_a_repository_brings() {
    let files = |config: &'static str| {
        [(".git/HEAD", "ref: refs/heads/main\n"), (".git/config", config), (".git/objects/x", ""), (".git/refs/x", "")]
    };
    let reading = ["git status", "git diff", "git log"];
    for evil in ["[diff]\nexternal = evil\n", "[filter \"x\"]\nclean = evil\n", "[include]\npath = evil\n"] {
        let judged = judge(&files(evil), &Rules::default(), &commands(&reading));
        assert_eq!((judged.denied, judged.ran), (vec![true; 3], Vec::new()), "{evil}");
    }
    let judged = judge(&files("[core]\nbare = false\n"), &Rules::default(), &commands(&reading));
    assert_eq!(judged.denied, vec![false; 3]);
}

/// Git looks into repositories inside this one, and obeys their configuration, unless it is told not to.
#[test]
fn s13_git_looks_into_no_repository_inside_this_one() {
    assert_denied(
        &Rules::default(),
        &["git status --ignore-submodules=none", "git diff --ignore-submodules=none", "git describe --dirty"],
    );
    let judged = judge(&[], &Rules::default(), &commands(&["git diff --stat"]));
    assert_eq!(judged.denied, [false]);
}

#[test]
fn s13_deny_rules_see_through_wrappers_variables_and_pipes() {
    denied_everywhere(&[
        "uv run curl x",
        "mise exec -- curl x",
        "nu -c 'curl x'",
        "socat EXEC:'curl x' -",
        "frobnicate --run 'curl x'",
        "cat <<E\n$(#)\ncurl x)\nE",
        "( (curl${IFS}x) )",
        "x=curl; $x y",
    ]);
    let files = Rules { allow: &[], deny: &["Read(./secret/**)"], mode: "bypassPermissions" };
    assert_denied(
        &files,
        &[
            "f=secret/key; cat $f",
            "for f in secret/*; do cat $f; done",
            "cat s*/k*",
            "echo secret/key | xargs cat",
            "a=sec; b=ret/key; cat $a$b",
            "find . -name key | xargs cat",
        ],
    );
    assert_allowed(
        &files,
        &["for i in 1 2; do echo $i; done", "x=$(date); echo \"$x\"", "cat a.txt", "ls src | wc -l"],
    );
}

#[test]
fn s13_no_detour_to_a_protected_file() {
    let rules = Rules { mode: "acceptEdits", ..Rules::default() };
    let files =
        [(".mcp", "{}"), ("made/settings.json", "{}"), ("tmpl/.mcp.json", "{}"), ("loop/check", "x"), ("a.txt", "a")];
    let texts = [
        "sed -i.json s/a/b/ .mcp",
        "cp tmpl/.mcp.json .",
        "cp tmpl/.m* .",
        "mv made .claude",
        "mv made/ .Claude/",
        "cp -r tmpl other",
        "mv loop .ralph",
        "cp a.txt .ralph/config.toml",
        "cp -b --suffix=.json a.txt .mcp",
    ];
    let judged = judge(&files, &rules, &commands(&texts));
    let passed: Vec<_> = texts.iter().zip(&judged.denied).filter(|(_, denied)| !**denied).collect();
    assert!(passed.is_empty(), "{passed:?}");
    let write = |path: &str| ("Write", json!({"file_path": path, "content": "x"}));
    let judged = judge(&files, &rules, &[write(".ralph/config.toml"), write(".ralph/check"), write(".ralph/todo.md")]);
    assert_eq!(judged.denied, [true, true, false]);
}

/// Ways to put a command into another one, in each of which it still runs.
const WRAPS: [(&str, &str); 22] = [
    ("echo a; ", ""),
    ("", " && echo a"),
    ("echo $( ", " )"),
    ("( ", " )"),
    ("{ ", "; }"),
    ("if true; then ", "; fi"),
    ("! ", ""),
    ("time ", ""),
    ("ls <( ", " )"),
    ("x=$( ", " )"),
    ("for i in 1; do ", "; done"),
    ("f() { ", "; }; f"),
    ("echo \"$( ", " )\""),
    ("", " > /dev/null 2>&1"),
    ("", " | cat"),
    ("cat <<EOF\n$( ", " )\nEOF\n"),
    ("[[ -n $( ", " ) ]]"),
    ("case a in a) ", ";; esac"),
    ("while ", "; do break; done"),
    ("ls # x\n", ""),
    ("echo $(( $( ", " ) ))"),
    ("{ :; }; ", ""),
];

#[test]
fn s12_no_wrapping_makes_a_denied_command_allowed() {
    let mut texts = Vec::new();
    for (n, (before, after)) in WRAPS.into_iter().enumerate() {
        // A third of all pairs; the property tests of `policy` go deeper.
        for (outer_before, outer_after) in WRAPS.into_iter().skip(n % 3).step_by(3) {
            texts.push(format!("{outer_before}{before}curl x{after}{outer_after}"));
        }
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let calls = commands(&texts);
    let world = World::empty(all_at_once(&calls)).unwrap();
    let judged = judge_in(&world, &BYPASS, calls.len());
    let passed: Vec<&&str> =
        texts.iter().zip(&judged.denied).filter(|(_, denied)| !**denied).map(|(text, _)| text).collect();
    assert!(passed.is_empty(), "{passed:#?}");
    assert_eq!(judged.ran, [] as [String; 0]);
}

//! What is judged is what runs: the small grammar, the text it is written as, and what that text cannot hide.

use proptest::prelude::*;

use super::{Links, check, world};
use crate::PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan};
use crate::Verdict::{Allow, Ask, Deny};
use crate::grammar::{Disarm, parse};

fn rendered(text: &str) -> Option<String> {
    parse(text).ok().map(|tree| tree.render(|_| Disarm::No))
}

#[test]
fn one_way_of_writing() {
    for (text, written) in [
        ("ls -la src", "ls -la src"),
        ("  ls   -la\t'a b' ", "ls -la 'a b'"),
        ("ls \"it's\"", "ls 'it'\\''s'"),
        ("ls a\\ b \\$X \\\n c", "ls 'a b' '$X' c"),
        ("a;b\nc # d; e\n\n", "a\nb\nc"),
        ("a && b || c | d", "a && b || c | d"),
        ("a &&\n b |\n c", "a && b | c"),
        ("! grep -q 'x$' f", "! grep -q 'x$' f"),
        ("time make", "time make"),
        ("grep \"foo$\" f", "grep 'foo$' f"),
        ("grep \"a$|b\" f", "grep 'a$|b' f"),
        ("ls *.rs src/[a-c]?", "ls *.rs src/[a-c]?"),
        ("ls '*.rs'", "ls '*.rs'"),
        ("ls 2>&1 >/dev/null", "ls 2>&1 1> /dev/null"),
        ("ls &> f", "ls 1> f 2>&1"),
        ("cat <a >>b 2> 'c d'", "cat < a 1>> b 2> 'c d'"),
        (">f echo a", "echo a 1> f"),
        ("echo >&2 a", "echo a 1>&2"),
        ("cd src && ls", "cd ./src && ls"),
        ("cd /x; cd ..; cd -- a", "cd /x\ncd ..\ncd -- ./a"),
        ("CI=1 npm test", "CI=1 npm test"),
        ("git show HEAD~1 HEAD^ stash@{0} --format=%h", "git show 'HEAD~1' 'HEAD^' 'stash@{0}' --format=%h"),
        ("find . \\( -name a \\) -exec ls {} \\;", "find . '(' -name a ')' -exec ls '{}' ';'"),
        ("echo '' \"\" \\'", "echo '' '' ''\\'''"),
        ("[ -f a ] && echo y", "[ -f a ] && echo y"),
        ("", ""),
    ] {
        assert_eq!(rendered(text).as_deref(), Some(written), "{text:?}");
    }
}

#[test]
fn a_text_in_a_quoted_document_is_one_literal_word() {
    let text = "git commit -m \"$(cat <<'EOF'\nit's `x`\n\n$(y)\nEOF\n)\"";
    assert_eq!(rendered(text).as_deref(), Some("git commit -m 'it'\\''s `x`\n\n$(y)'"));
    for text in [
        "git commit -m \"$(cat <<EOF\nx\nEOF\n)\"",
        "git commit -m \"$(cat <<'EOF'\nx\nEOF\ncurl x)\"",
        "git commit -m \"$(cat <<'EOF'\nx\nEOF)\"",
        "git commit -m \"$(cat <<'E F'\nx\nE F\n)\"",
        "git commit -m \"$(cat <<'EOF' f\nx\nEOF\n)\"",
        "git commit -m $(cat <<'EOF'\nx\nEOF\n)",
    ] {
        assert_eq!(rendered(text), None, "{text:?}");
    }
}

#[test]
fn the_decision_carries_the_text_to_run() {
    for (mode, rules, command, run) in [
        (Default, &[][..], "ls  -la 'src'", Some("command ls -la src")),
        (Plan, &[], "ls|wc -l", Some("command ls | command wc -l")),
        (DontAsk, &[], "echo hi", Some("echo hi")),
        (Default, &["allow Bash(npm:*)"], "npm  test", Some("npm test")),
        (AcceptEdits, &[], "touch \"a b\"", Some("command touch 'a b'")),
        (
            Default,
            &[],
            "git status",
            Some(
                "command git -c safe.bareRepository=explicit -c core.fsmonitor=false -c core.hooksPath=/dev/null status --ignore-submodules=all",
            ),
        ),
        (Default, &["allow Bash(git add:*)"], "git add a", Some("git -c safe.bareRepository=explicit add a")),
        (Default, &[], "wc -l *.rs", Some("command wc -l ./*.rs")),
        (BypassPermissions, &[], "ls  a", None),
        (BypassPermissions, &["deny Bash(curl:*)"], "ls  a", Some("ls a")),
        (Default, &["allow Bash"], "id  x", None),
        (Default, &["allow Bash", "deny Read(.env)"], "id  x", Some("id x")),
    ] {
        let decision = world(mode, rules).bash(command);
        assert_eq!((decision.verdict, decision.run.as_deref()), (Allow, run), "{mode:?} {rules:?} {command:?}");
    }
    for decision in [world(Default, &[]).bash("id"), world(DontAsk, &[]).bash("id"), world(Default, &[]).bash("ls $X")]
    {
        assert_eq!(decision.run, None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is written is read back as the same, so nothing in it means more than it did.
    #[test]
    fn what_is_written_reads_back(text in "[a-c0-2 \"'$(){}\\[\\]<>&|;`\\\\#=*~!?:/@^,.+\n\t-]{0,24}") {
        if let Some(once) = rendered(&text) {
            prop_assert_eq!(rendered(&once), Some(once.clone()), "{:?}", text);
        }
    }
}

#[test]
fn parsers_that_disagree_hide_nothing_from_a_rule() {
    let commands = [
        "cat <<E\n$(#)\ncurl x)\nE",
        "cat <<E\n`#`\n`curl x`\nE",
        "( (curl${IFS}x) )",
        "((curl$IFS x))",
        "( (curl x) )",
        "cat <<E\n$(#)\ncu\"\"rl x)\nE",
    ];
    check(Deny, &commands, &world(Default, &["deny Bash(curl:*)", "allow Bash"]));
    check(Deny, &commands, &world(BypassPermissions, &["deny Bash(curl:*)"]));
    let unclear = ["cat <<E\n$(#)\nx=cu;${x}rl y)\nE", "( (a=cu;${a}rl${IFS}x) )", "echo $((1)); ((a=1))"];
    check(Ask, &unclear, &world(BypassPermissions, &["deny Bash(curl:*)"]));
    let usable = [
        "for i in 1 2 3; do make \"$i\"; done",
        "x=$(date +%s); echo \"$x\"",
        "cat > f <<'EOF'\nhello (world)\nEOF",
        "if [ -f Makefile ]; then make; fi",
        "cd src && (make; ls) > out 2>&1 &",
        "python3 - <<'EOF'\nprint(f(1))\nEOF",
    ];
    check(Allow, &usable, &world(BypassPermissions, &["deny Bash(curl:*)", "deny Read(.env)"]));
}

#[test]
fn a_denied_program_is_seen_through_wrappers() {
    let rules = ["deny Bash(curl:*)"];
    let evaluated = [
        "test -v 'a[$(curl x)]'",
        "[ -v 'a[$(curl x)]' ]",
        "printf -v 'a[$(curl x)]' y",
        "unset 'a[$(curl x)]'",
        "wait -p 'a[`curl x`]'",
        "builtin unset 'a[$(curl x)]'",
    ];
    check(Deny, &evaluated, &world(BypassPermissions, &rules));
    let commands = [
        "uv run curl x",
        "uvx curl x",
        "uv run --with a curl x",
        "mise exec -- curl x",
        "mise x node@20 -- curl x",
        "nu -c 'curl x'",
        "socat EXEC:'curl x' -",
        "socat - SYSTEM:\"curl x\"",
        "poetry run curl x",
        "pipx run curl",
        "npm exec curl x",
        "npm exec -c 'curl x'",
        "pnpm dlx curl",
        "bunx curl x",
        "direnv exec . curl x",
        "nix run nixpkgs#curl -- x",
        "nix-shell -p curl --run 'curl x'",
        "conda run -n a curl x",
        "bundle exec curl x",
        "rustup run stable curl x",
        "doppler run -- curl x",
        "frobnicate --run curl x",
        "frobnicate 'a; curl x'",
        "frobnicate --hook='curl x'",
        "frobnicate --hook=/usr/bin/curl",
    ];
    for mode in [Default, BypassPermissions] {
        for command in commands {
            let decision = world(mode, &rules).bash(command);
            assert_ne!(decision.verdict, Allow, "{mode:?} {command}");
        }
    }
    check(Deny, &commands[..8], &world(BypassPermissions, &rules));
    let usable =
        ["npm test", "make curly", "uv run pytest", "cargo test", "frobnicate --hook=x", "git commit -m 'curl x'"];
    check(Allow, &usable, &world(BypassPermissions, &rules));
}

#[test]
fn a_denied_file_is_seen_through_variables_patterns_and_xargs() {
    let mut world = world(BypassPermissions, &["deny Read(./secret/**)"]);
    world.fs = Links::new(&[]).with_files(&[("/w/secret/key", 1), ("/w/a.txt", 2)]);
    let denied = [
        "f=secret/key; cat $f",
        "for f in secret/key; do cat \"$f\"; done",
        "d=secret; cat $d/key",
        "cat s*t/key",
        "cat secre?/k*",
        "echo secret/key | xargs cat",
        "printf 'secret/key' | xargs -n1 head",
        "ls secret | xargs -I{} cat secret/{}",
        "paste -s secret/key",
        "git blame --contents=secret/key a.txt",
        "sort --files0-from=secret/key",
        "wc --files0-from secret/key",
        "date -f secret/key",
    ];
    check(Deny, &denied, &world);
    let asked =
        ["cat $f", "a=se; cat ${a}cret/key", "find . -type f | xargs cat", "cat $(ls)", "git ls-files | xargs head"];
    check(Ask, &asked, &world);
    check(Allow, &["cat a.txt", "x=1; make $x", "echo \"$HOME\"", "ls | wc -l"], &world);
}

#[test]
fn a_rule_for_reading_is_none_for_writing() {
    let rules = ["allow Bash(git log:*)", "allow Bash(git diff:*)", "allow Bash(git grep:*)", "allow Bash(git show *)"];
    let no = [
        "git log --output=.claude/settings.json",
        "git log --output=x",
        "git log --output x",
        "git log --outp=x",
        "git diff --output=x",
        "git diff --ext-diff",
        "git show --textconv HEAD",
        "git grep -O./evil.sh x",
        "git grep -nO./evil.sh x",
        "git grep --open-files-in-pager=./evil.sh x",
        "git grep --open=./evil.sh x",
        "ls | xargs git log",
        "git log $X",
    ];
    let others = ["allow Bash(sort:*)", "allow Bash(curl:*)", "allow Bash(tar:*)"];
    let written = ["sort -o .mcp.json a", "sort -o.mcp.json a", "curl -o .claude/settings.json x", "tar -C .git -xf a"];
    check(Ask, &written, &world(Default, &others));
    check(Allow, &["sort -o out a", "curl -o out x"], &world(Default, &others));
    check(Allow, &["ln -s /x/.bashrc rc && ln -s .git/hooks hooks"], &world(Default, &["allow Bash(ln:*)"]));
    check(Ask, &["ln -s a .git/hooks/x", "ln a .mcp.json"], &world(Default, &["allow Bash(ln:*)"]));
    check(Ask, &no, &world(Default, &rules));
    check(Ask, &no, &world(Default, &["allow Bash(git:*)"]));
    check(Allow, &["git log --author=x --stat", "git diff --word-diff", "git grep -n x"], &world(Default, &rules));
}

#[test]
fn git_runs_only_in_the_repository_of_the_workspace() {
    let mut world = world(Default, &["allow Bash(git:*)", "allow Bash(tar:*)", "allow Bash(cd:*)"]);
    world.fs = Links::new(&[]).with_files(&[("/w/bare/HEAD", 1), ("/w/sub/.git/config", 2), ("/w/src/a.rs", 3)]);
    let no = [
        "cd bare && git status",
        "cd sub && git log",
        "cd sub/deep && git add .",
        "git -C bare status",
        "git -C sub log",
        "git --git-dir=bare log",
        "tar xf e.tar && cd src && git status",
        "tar xf e.tar; cd new; git commit -m x",
        "timeout 5 env git -C sub status",
        "cd bare; git status",
    ];
    check(Ask, &no, &world);
    let mut files = super::world(Default, &["allow Bash(git:*)"]);
    files.fs = Links::new(&[]).with_files(&[("/w/HEAD", 1), ("/w/config", 2)]);
    check(Ask, &["git status", "git add .", "git -C . log"], &files);
    check(Allow, &["cd src && git add .", "git status", "git add . && git commit -m x", "git -C src log"], &world);
}

#[test]
fn a_name_that_a_pattern_stands_for_is_no_option() {
    let mut world = world(Default, &["allow Bash(frob:*)"]);
    world.fs = Links::new(&[]).with_files(&[("/w/-rf", 1), ("/w/a", 2)]);
    check(Ask, &["frob *", "frob ?rf", "sort *"], &world);
    check(Allow, &["frob a*", "wc -l *", "cat ./*"], &world);
    let edits = super::world(AcceptEdits, &["allow Bash(frob:*)"]);
    check(Ask, &["touch x && frob *", "frob a | frob *"], &edits);
}

#[test]
fn no_detour_makes_a_protected_file() {
    let mut world = world(AcceptEdits, &[]);
    world.fs = Links::new(&[]).with_files(&[
        ("/w/.mcp", 1),
        ("/w/tmpl/.mcp.json", 2),
        ("/w/tmpl/.claude/settings.json", 3),
        ("/w/made/settings.json", 4),
        ("/w/conf/git/config", 5),
        ("/w/loop/config.toml", 6),
        ("/w/.ralph/check", 7),
        ("/w/.ralph/todo.md", 8),
        ("/w/plain/a.txt", 9),
    ]);
    let no = [
        "sed -i.json s/a/b/ .mcp",
        "sed -i.json -e s/a/b/ .mcp",
        "sed --in-place=.json s/a/b/ .mcp",
        "sed -i'.JSON' s/a/b/ .mcp",
        "mv .mcp .mcp.json",
        "cp .mcp .MCP.json",
        "cp tmpl/.mcp.json .",
        "cp tmpl/.m* .",
        "cp tmpl/.mcp.json ./",
        "cp tmpl/.mcp.json /w",
        "mv made .claude",
        "mv made/ .claude/",
        "mv made .CLAUDE",
        "cp -r made .claude",
        "mv tmpl other",
        "cp -r tmpl other",
        "mv conf .config",
        "mv loop .ralph2 && mv .ralph2 .ralph",
        "mv loop .ralph",
        "mkdir -p c/git && touch c/git/config && mv c .config",
        "cp -r loop .ralph",
        "mv .ralph old",
        "rm -r .ralph",
        "rm .ralph/check",
        "cp plain/a.txt .ralph/check",
        "echo x > .ralph/config.toml",
        "echo x >> .ralph/check",
        "cp -b --suffix=.json plain/a.txt .mcp",
        "cp --backup=simple -S .json plain/a.txt .mcp",
        "mv -S .json -b plain/a.txt .mcp",
        "ln -s plain .claude",
        "install plain/a.txt .mcp.json",
        "touch .Mcp.Json",
        "mkdir .claude",
        "cd tmpl && cp .mcp.json ..",
    ];
    check(Ask, &no, &world);
    let yes = [
        "mv plain other",
        "cp -r plain other",
        "sed -i.bak s/a/b/ plain/a.txt",
        "echo x > .ralph/todo.md",
        "touch .ralph/notes.md",
    ];
    check(Allow, &yes, &world);
    for tool in ["Write", "Edit"] {
        for path in [".ralph/config.toml", ".ralph/check", ".Ralph/Check", "sub/.ralph/config.toml"] {
            assert_eq!(world.file(tool, path).verdict, Ask, "{tool} {path}");
        }
        assert_eq!(world.file(tool, ".ralph/todo.md").verdict, Allow);
    }
}

/// What a user's own shell defines must not change what such commands mean, so the caller has to tell them apart.
#[test]
fn commands_that_no_rule_allowed_start_plain_programs_only() {
    for (command, rules, is_plain) in [
        ("ls -l", &[][..], true),
        ("git status | head", &[], true),
        ("echo x && grep -r a .", &[], true),
        ("npm test", &["allow Bash(npm test:*)"], false),
        ("ls && npm test", &["allow Bash(npm test:*)"], false),
    ] {
        let decision = world(Default, rules).bash(command);
        assert_eq!(decision.verdict, Allow, "{command}");
        let text = decision.run.unwrap();
        assert_eq!(crate::runs_plain_programs(&text), is_plain, "{text}");
    }
    for (text, is_plain) in [("ls", false), ("command ls; ls", false), ("f() { :; }", false), ("x=1 ls", false)] {
        assert_eq!(crate::runs_plain_programs(text), is_plain, "{text}");
    }
}

#[test]
fn words_that_a_judgement_depends_on_are_known() {
    for name in
        ["ls", "git", "grep", "cat", "find", "sed", "cp", "touch", "cd", "command", "eval", "timeout", "env", "["]
    {
        assert!(crate::is_judged_name(name), "{name}");
    }
    for name in ["nvm", "conda", "myf", "ll", "gst"] {
        assert!(!crate::is_judged_name(name), "{name}");
    }
}

//! Verdicts on shell commands.

use super::{Links, check, world};
use crate::PermissionMode::{AcceptEdits, BypassPermissions, Default, DontAsk, Plan};
use crate::Verdict::{Allow, Ask, Deny};

/// The rules of the adversary's shell section.
const RULES: [&str; 6] = [
    "allow Bash(echo:*)",
    "allow Bash(git:*)",
    "allow Bash(find:*)",
    "allow Bash(ls:*)",
    "deny Bash(curl:*)",
    "deny Bash(rm:*)",
];

#[test]
fn denied_wherever_it_stands_in_a_chain() {
    let commands = [
        "curl x",
        "curl",
        "echo hi; curl x",
        "echo hi && curl x",
        "echo hi || curl x",
        "echo hi | curl -d @- x",
        "echo hi |& curl x",
        "echo hi & curl x",
        "echo hi\ncurl x",
        "echo hi\rcurl x",
        "echo hi\u{b}curl x",
        "echo hi\u{85}curl x",
        "echo hi\u{2028}curl x",
        "echo $(curl x)",
        "echo `curl x`",
        "echo \"`curl x`\"",
        "cat <(curl x)",
        "echo > >(curl x)",
        "echo $((`curl x`))",
        "cat <<EOF\n$(curl x)\nEOF",
        "echo ${x:=$(curl x)}",
        "echo ${x/a/$(curl x)}",
        "cu\"\"rl x",
        "c\\url x",
        "'cu'rl x",
        "$'\\x63url' x",
        "$'\\143url' x",
        "\\curl x",
        "\"curl\" x",
        "/usr/bin/curl x",
        "./curl x",
        "busybox curl x",
        "env curl x",
        "env -i curl x",
        "env A=b curl x",
        "command curl x",
        "builtin command curl x",
        "nice -n1 curl x",
        "nice -n 1 curl x",
        "timeout 5 curl x",
        "timeout -k 1 5 curl x",
        "time curl x",
        "nohup curl x &",
        "stdbuf -oL curl x",
        "xargs curl",
        "xargs -n 1 -I{} curl {}",
        "sudo -u root curl x",
        "setsid curl x",
        "exec curl x",
        "eval curl x",
        "eval 'curl x'",
        "eval \"cu\"\"rl x\"",
        "sh -c 'curl x'",
        "bash -lc 'echo a; curl x'",
        "bash -c \"bash -c 'curl x'\"",
        "trap 'curl x' EXIT",
        "alias ls=curl",
        "alias ls='curl x'",
        "env -S 'curl x'",
        "watch 'curl x'",
        "find . -exec curl {} ;",
        "find . -exec curl {} \\;",
        "find . -execdir curl {} +",
        "echo() { curl x; }; echo",
        "A=b curl x",
        "LD_PRELOAD=/x curl y",
        "(curl x)",
        "{ curl x; }",
        "if true; then curl x; fi",
        "for i in 1; do curl x; done",
        "while curl x; do :; done",
        "case a in a) curl x;; esac",
        "coproc curl x",
        "! curl x",
        "CURL x",
        "=curl x",
        "select x in a; do curl x; done",
        "curl\\\n x",
        "cu\\\nrl x",
        "\"cu\\\nrl\" x",
        "rm -rf /",
        "echo 'unterminated; curl x",
    ];
    check(Deny, &commands, &world(Default, &RULES));
    let mut all = RULES.to_vec();
    all.push("allow Bash");
    check(Deny, &commands, &world(Default, &all));
    check(Deny, &commands, &world(BypassPermissions, &RULES));
}

#[test]
fn a_git_subcommand_is_denied_behind_its_global_options() {
    let commands =
        ["git push", "git -C . push -f", "git -c a=b push", "git --no-pager push origin", "git --git-dir=x push"];
    check(Deny, &commands, &world(BypassPermissions, &["deny Bash(git push:*)"]));
}

#[test]
fn what_cannot_be_seen_through_is_asked() {
    let commands = [
        "$X x",
        "${X} x",
        "$(echo cu)rl x",
        "{echo,a} b",
        "e*o x",
        "eval \"$X\"",
        "source x.sh",
        ". x.sh",
        "sh x.sh",
        "echo \"$X\" | sh",
        "bash",
        "exec 3<>f",
        "alias x=y",
        "echo() { :; }; echo hi",
        "echo ${x@P}",
        "echo ${!x}",
        "x='a[$(id)]'; echo $((x))",
        "x=$(cat f); echo $((x))",
        "[[ 'a[$(id)]' -eq 0 ]]",
        "test -v 'a[$(id)]'",
        "PATH=/x ls",
        "PATH=/x; ls",
        "path=/x; ls",
        "GIT_PAGER=x git log",
        "GIT_SSH_COMMAND=x git fetch",
        "LD_PRELOAD=x echo a",
        "printf -v PATH x",
        "export PATH=x",
        "git -c core.pager='x' log",
        "git -c alias.x='!id' x",
        "git --exec-path=/x status",
        "git --config-env=core.pager=X log",
        "find . -exec id {} +",
        "find . -delete",
        "find . -fprintf f x",
        "find . -ok id {} ;",
        "find . $X",
        "find . {-delete,-x}",
        "watch ls",
        "setsid ls",
        "flock f ls",
        "ionice ls",
        "\\ls",
        "\"ls\"",
        "/bin/ls",
        "./ls",
        "python3 -c 'print(1)'",
        "echo x > f",
        "echo x >> f",
        "echo x >| f",
        "echo x >! f",
        "echo x &> f",
        "echo x <> f",
        "echo x 1>f",
        "echo x >& f",
        "echo x > $F",
        "echo x > ~/.bashrc",
        "echo x > .claude/settings.json",
        "cd .claude && echo x > settings.json",
        "pushd /etc",
        "cat < /dev/tcp/h/80",
        "echo a @(b)",
        "echo *(e:'id':)",
        "echo hi \u{a0}",
        "",
    ];
    let world = world(Default, &RULES);
    // An empty command does nothing: there is nothing to ask about.
    check(Ask, &commands[..commands.len() - 1], &world);
    check(Allow, &commands[commands.len() - 1..], &world);
}

#[test]
fn rules_allow_only_what_they_cover() {
    let world = world(
        Default,
        &[
            "allow Bash(npm run:*)",
            "allow Bash(make)",
            "allow Bash(cargo*)",
            "allow Bash(git commit *)",
            "allow Bash(a && b)",
        ],
    );
    let yes = [
        "npm run",
        "npm run test -- --x",
        "make",
        "cargo-fmt x",
        "cargo test",
        "git commit -m \"a b\"",
        "git commit -m \"$(cat <<'EOF'\nit's `fine`\nEOF\n)\"",
        "npm run a && npm run b",
        "npm run a | head -5",
        "cd src && npm run a",
        "timeout 60 npm run a",
        "time npm run a",
        "nice npm run a",
        "nice -n 5 npm run a",
        "nohup npm run a",
        "stdbuf -oL npm run a",
        "command npm run a",
        "env npm run a",
        "env CI=1 npm run a",
        "CI=1 npm run a",
        "NODE_ENV=test FORCE_COLOR=0 npm run a",
        "npm run a 2>&1",
        "npm run a > /dev/null 2>&1",
        "a && b",
    ];
    check(Allow, &yes, &world);
    let no = [
        "npm runx",
        "npm  install",
        "make x",
        "npm run a; id",
        "npm run $(id)",
        "npm run a > out",
        "xargs -n1 npm run",
        "env -i npm run a",
        "NODE_OPTIONS=--require=x npm run a",
        "npm_config_x=y PATH=. npm run a",
        "'npm run' a",
        "\"npm\" run a",
        "b && a",
        "timeout $X npm run a",
        "sudo npm run a",
        // Outside the small grammar.
        "(npm run a)",
        "for i in 1 2; do npm run $i; done",
        "npm run a &",
        // What comes in on standard input would be its options.
        "ls | xargs npm run",
    ];
    check(Ask, &no, &world);
}

#[test]
fn wildcards_and_word_boundaries() {
    for (rule, yes, no) in [
        ("Bash(lsx*)", &["lsx", "lsxof", "lsx -a"][..], &["lx x", "id lsx"][..]),
        ("Bash(lsx *)", &["lsx", "lsx -a"], &["lsxof"]),
        ("Bash(lsx:*)", &["lsx", "lsx -a"], &["lsxof"]),
        ("Bash(git * main)", &["git push main", "git a b main"], &["git push", "git push main x"]),
        ("Bash(* --version)", &["node --version", "x y --version"], &["node -v", "sh -c id --version", "$X --version"]),
        ("Bash(x)", &["x"], &["x y", "xy"]),
    ] {
        let rule = format!("allow {rule}");
        check(Allow, yes, &world(Default, &[&rule]));
        check(Ask, no, &world(Default, &[&rule]));
    }
}

#[test]
fn accept_edits_covers_edits_inside() {
    let world = world(AcceptEdits, &[]);
    let yes = [
        "mkdir d1",
        "mkdir -p a/b/c",
        "touch x.txt",
        "rm a.txt",
        "rm -rf target",
        "rmdir d",
        "mv a b",
        "cp -r a b",
        "cp a /added/b",
        "sed -i 's/a/b/' f",
        "sed -i.bak -e 's/a/b/g' f",
        "echo x > f",
        "cat a >> b",
        "cd src && touch x",
        "mkdir d && touch d/f && ls d",
        "touch a > b",
        "rm -f *.o",
    ];
    check(Allow, &yes, &world);
    let no = [
        "python3 -c 'print(1)'",
        "touch ../x",
        "touch /tmp/x",
        "touch ~/x",
        "touch $X",
        "rm -rf /",
        "rm -rf .",
        "rm -rf ..",
        "rm -rf /w",
        "rm -rf ~",
        "rm -rf \"$X\"/*",
        "rm .git/config",
        "mv a .git/hooks/pre-commit",
        "cp a .git/hooks/",
        "cp a etc",
        "cp a sub/out",
        "cp /etc/passwd a",
        "mv a ../b",
        "mkdir etc/x",
        "cd .. && touch x",
        "cd $X && touch x",
        "echo x > ../f",
        "echo x > .git/config",
        "echo x > .GIT/config",
        "echo x > .envrc",
        "echo x > .vscode/settings.json",
        "echo x > .mcp.json",
        "touch .bashrc",
        "sed -i '1e id' f",
        "sed -i/tmp/x s/a/b/ f",
        "sed -i s/a/b/ /etc/x",
        "ln -s /etc x",
        "chmod +x f",
        "PATH=. touch x",
        "\\touch x",
        "./touch x",
        "cp -t /etc a",
        "cp --target-directory=/etc a",
    ];
    check(Ask, &no, &world);
}

#[test]
fn bypass_allows_all_but_the_irreversible() {
    let world = world(BypassPermissions, &[]);
    let yes = [
        "echo x > made.txt",
        "curl x | sh",
        "rm -rf target",
        "rm -rf *",
        "rm -rf /tmp/x/y",
        "rm -rf \"$TMPDIR\"",
        "eval \"$X\"",
        "echo 'unterminated",
        "echo x > .git/config",
        "f() { :; }; f",
    ];
    check(Allow, &yes, &world);
    let no = [
        "rm -rf /",
        "rm -rf /*",
        "rm -rf /usr",
        "rm -rf /tmp",
        "rm -rf ~",
        "rm -rf ~/",
        "rm -rf ~/*",
        "rm -rf $HOME",
        "rm -rf /home/u",
        "rm -rf /home",
        "rm -rf .",
        "rm -rf ./",
        "rm -rf ..",
        "rm -rf ../*",
        "rm -rf /w",
        "rm -rf \"$X\"/*",
        "rm -rf $X/*",
        "rm -rf ${X}/",
        "cd / && rm -rf *",
        "cd /; rm -rf usr",
        "sudo rm -rf /",
        "env rm -rf /",
        "/bin/rm -rf /",
        "\\rm -rf /",
        "echo a && rm -rf /",
        "rmdir /usr",
        "rm -rf -- /",
        "rm -rf etc/..",
    ];
    check(Ask, &no, &world);
    check(Ask, &no, &super::world(Default, &["allow Bash"]));
}

#[test]
fn a_rule_for_the_whole_tool() {
    let world = world(Default, &["allow Bash"]);
    check(Allow, &["id", "curl x | sh", "echo x > f", "eval $X", "echo 'unterminated", "cat /etc/passwd"], &world);
    check(Ask, &["echo x > .git/config", "cp a .claude/settings.json", "rm -rf /"], &world);
    let restricted = super::world(Default, &["allow Bash(*)", "deny Bash(curl:*)"]);
    check(Allow, &["id", "echo x > f"], &restricted);
    check(Ask, &["$X y", "echo 'unterminated", "eval \"$X\" $Y; $Z"], &restricted);
    let plan = super::world(Plan, &["allow Bash"]);
    check(Ask, &["id", "touch x"], &plan);
}

#[test]
fn ask_rules_hold_in_every_mode() {
    for mode in [Default, AcceptEdits, BypassPermissions, Plan] {
        check(Ask, &["git push", "ls && git push -f"], &world(mode, &["ask Bash(git push:*)", "allow Bash"]));
    }
    check(Deny, &["git push"], &world(DontAsk, &["ask Bash(git push:*)", "allow Bash"]));
}

#[test]
fn path_rules_hold_inside_commands() {
    let rules = [
        "deny Read(./secret/**)",
        "deny Edit(*.lock)",
        "allow Bash(cat:*)",
        "allow Bash(tee:*)",
        "allow Bash(echo:*)",
        "allow Bash(cp:*)",
    ];
    let denied = [
        "cat secret/x",
        "cat ./secret/x",
        "cat secret//x",
        "cat src/../secret/x",
        "cat Secret/x",
        "cat leak/x",
        "cat sub/secret/x",
        "cd secret && cat x",
        "head -5 secret/x",
        "grep a secret/x",
        "cat < secret/x",
        "cat secret/*",
        "sed -n 1p secret/x",
        "cp secret/x y",
        "echo x > secret/y",
        "echo x > Cargo.lock",
        "tee Cargo.lock",
        "touch Cargo.lock",
        "git show HEAD:secret/x",
        "echo $(cat secret/x)",
        "cat /w/secret/x",
        "cat secret./x",
    ];
    check(Deny, &denied, &world(Default, &rules));
    check(Deny, &denied, &world(BypassPermissions, &rules));
    check(Ask, &["cat $X", "cat *", "grep -r x .", "rg x", "cat sec*/x"], &world(Default, &rules));
    check(Allow, &["cat a", "cat Cargo.lock", "ls src", "cp a /tmp/b"], &world(Default, &rules));
}

#[test]
fn edit_rules_allow_redirections() {
    let world = world(Default, &["allow Edit(out/**)", "allow Bash(gen:*)"]);
    check(Allow, &["echo x > out/f", "gen > out/f", "cd out && echo x > f"], &world);
    check(Ask, &["echo x > f", "gen > f", "gen > out/../f", "gen > sub/out/f"], &world);
}

#[test]
fn the_path_that_a_command_would_write_is_named() {
    let world = world(Default, &[]);
    assert_eq!(world.bash("touch x.txt").blocked_path, Some("/w/x.txt".into()));
    assert_eq!(world.bash("cd src && touch x.txt").blocked_path, Some("/w/src/x.txt".into()));
    assert_eq!(world.bash("python3 x").blocked_path, None);
    assert_eq!(world.bash("echo a > b").blocked_path, Some("/w/b".into()));
    assert_eq!(world.bash("cat /etc/passwd").blocked_path, Some("/etc/passwd".into()));
}

#[test]
fn the_captured_allow_rule_conversation() {
    let world = world(Default, &["allow Bash(touch:*)", "allow Write"]);
    check(Allow, &["touch x.txt"], &world);
    check(Ask, &["touch y.txt && rm a.txt", "touch $(rm a.txt)"], &world);
}

#[test]
fn a_link_that_leads_out_is_not_inside() {
    let mut world = world(AcceptEdits, &[]);
    world.fs = Links::new(&[("/w/l", "/outside"), ("/w/d/f", "/etc/passwd")]);
    check(Ask, &["touch l/x", "cat l/x", "cd l && ls", "cp f d", "echo x > d/f", "cd l && cat ../w/a"], &world);
}

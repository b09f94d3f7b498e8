//! Programs that run although they are no word where a command begins.

use super::{check, world};
use crate::PermissionMode::{AcceptEdits, BypassPermissions, Default};
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
fn a_denied_program_is_found_in_the_options_of_another() {
    let commands = [
        "git rebase -x 'curl x' HEAD~1",
        "git rebase -ix 'curl x' HEAD~1",
        "git rebase --exec='curl x' HEAD~1",
        "git rebase --exe 'curl x' HEAD~1",
        "git bisect run curl x",
        "git submodule foreach 'curl x'",
        "git submodule --quiet foreach --recursive 'curl x'",
        "git difftool -x curl",
        "git clone -u 'curl x' a b",
        "git clone --upload-pack='curl x' a",
        "git fetch --upload-pack 'curl x' a",
        "git push --receive-pack='curl x' a",
        "git -c core.pager='curl x' log",
        "git -c alias.a='!curl x' a",
        "git config alias.a '!curl x'",
        "git config core.fsmonitor 'curl x'",
        "git clone 'ext::curl x' a",
        "git filter-branch --tree-filter 'curl x'",
        "git grep -Ocurl x",
        "awk 'BEGIN{system(\"curl x\")}'",
        "gawk 'BEGIN{\"curl x\" | getline}'",
        "python3 -c 'import os; os.system(\"curl x\")'",
        "perl -e 'exec \"curl x\"'",
        "ruby -e '`curl x`'",
        "node -e 'require(\"child_process\").execSync(\"curl x\")'",
        "php -r 'system(\"curl x\");'",
        "vim -c '!curl x' f",
        "vim '+!curl x' f",
        "man -P curl ls",
        "man --pager='curl x' ls",
        "rg --pre curl x",
        "sort --compress-program=curl a",
        "sort --compress-prog=curl a",
        "tar --checkpoint-action=exec='curl x' -cf a b",
        "tar -I 'curl x' -cf a b",
        "rsync -e 'curl x' a b:c",
        "ssh -o ProxyCommand='curl x' h",
        "less '+!curl x' f",
        "sed '1e curl x' f",
        "docker exec c sh -c 'curl x'",
        "tmux new-session -d 'curl x'",
        "/lib64/ld-linux-x86-64.so.2 /usr/bin/curl x",
        "unshare -r curl x",
        "fakeroot curl x",
        "systemd-run --user curl x",
        "npx curl x",
        "runuser -u nobody curl x",
        "setarch x86_64 curl x",
        "faketime now curl x",
    ];
    check(Deny, &commands, &world(Default, &RULES));
    check(Deny, &commands, &world(BypassPermissions, &RULES));
}

#[test]
fn code_that_is_read_from_elsewhere_is_asked_where_rules_restrict_commands() {
    let commands = [
        "echo 'cu''rl x' | sh",
        "echo x | bash -s",
        "base64 -d f | bash",
        "bash < f",
        "bash <(echo x)",
        "bash /dev/stdin < f",
        ". /dev/stdin < f",
        "source <(echo x)",
        "eval \"$X\"",
        "eval $(echo x)",
        "bash -c \"$X\"",
        "trap \"$X\" EXIT",
        "env $X",
        "command \"$X\" y",
        "timeout 5 $X",
        "echo x | xargs env",
        "echo x | xargs -n1 nice",
        "echo x | xargs -I{} {} y",
        "ls | parallel",
        "find . -exec \"$X\" {} ;",
        "git rebase $X",
        "git rebase {-x,id} HEAD",
        "git fetch $X",
    ];
    check(Ask, &commands, &world(Default, &RULES));
    let bypassed: Vec<&str> = commands.into_iter().filter(|command| !command.starts_with("git")).collect();
    check(Ask, &bypassed, &world(BypassPermissions, &RULES));
    // Where nothing is restricted there is nothing to get around.
    check(Allow, &commands, &world(BypassPermissions, &[]));
}

#[test]
fn mentioning_a_denied_program_is_not_running_it() {
    let commands = [
        "echo 'curl x; rm -rf y'",
        "echo curl",
        "git commit -m 'curl x; rm -rf y'",
        "git log --grep='curl x'",
        "git log -S 'rm -rf'",
        "git -C src status",
        "git -c user.name=a commit -m x",
        "git rebase main",
        "git fetch origin",
        "grep -rn 'curl x' src",
        "rg 'rm -rf'",
        "find . -name 'curl*'",
        "ls # curl x",
    ];
    check(Allow, &commands, &world(Default, &RULES));
}

#[test]
fn a_wildcard_does_not_reach_into_other_programs() {
    let rules = ["allow Bash(* --version)", "allow Bash(git:*)"];
    let no = [
        "fakeroot id --version",
        "sudo id --version",
        "python3 -c 'x' --version",
        "perl -e 'x' --version",
        "git --git-dir=evil status",
        "git --work-tree=/x checkout .",
        "git -C /elsewhere status",
        "git -C ../x log",
        "git -C $X log",
        "git -C etc log",
        "git config core.pager x",
        "git init --template=x",
        "git difftool",
    ];
    check(Ask, &no, &world(Default, &rules));
    check(Allow, &["node --version", "python3 --version", "git config --get user.name"], &world(Default, &rules));
}

#[test]
fn variables_that_programs_obey_are_not_given_along() {
    let rules = ["allow Bash(npm run:*)", "allow Bash(make)"];
    let no = [
        "npm_config_script_shell=./x npm run a",
        "env npm_config_registry=x npm run a",
        "https_proxy=x npm run a",
        "MAKEFLAGS=--eval=x make",
        "SHELL=x make",
        "BASH_ENV=x make",
        "NODE_OPTIONS=x npm run a",
        "name=x npm run a",
        "CI=$(id) npm run a",
        "LANG=/x npm run a",
    ];
    check(Ask, &no, &world(Default, &rules));
    check(Allow, &["CI=1 npm run a", "TZ=UTC npm run a", "LC_ALL=C ls"], &world(Default, &rules));
}

#[test]
fn a_target_that_is_given_as_a_flag_is_not_overlooked() {
    let world = world(AcceptEdits, &[]);
    let no = [
        "cp -t.git config",
        "cp -rt.git a",
        "mv -t .vscode a",
        "cp --target=.git a",
        "cp -rL a b",
        "cp -Hr a b",
        "mv -T a b",
    ];
    check(Ask, &no, &world);
    check(Allow, &["cp -r a b", "cp -a a b", "cp -p a b", "mv -f a b"], &world);
}

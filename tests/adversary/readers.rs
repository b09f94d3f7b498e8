//! "Read-only" lists that hold commands which write or execute, and writes that no path rule sees.

use crate::kit::{Rules, assert_allowed, assert_denied};
use crate::shell::RULES;

#[test]
fn s06_commands_that_only_look_like_readers() {
    let world = Rules::default();
    assert_denied(
        &world,
        &[
            "find . -exec evil {} ;",
            "find . -execdir evil {} +",
            "find . -ok evil {} ;",
            "find . -okdir evil {} ;",
            "find . -delete",
            "find . -fprintf made x",
            "find . -fprint made",
            "find . -fls made",
            "find . -files0-from x",
            "git -c core.pager=evil log",
            "git -c core.fsmonitor=evil status",
            "git --exec-path=. status",
            "git -C secret status",
            "git --git-dir=secret status",
            "git --config-env=core.pager=X log",
            "GIT_PAGER=evil git log",
            "GIT_EXTERNAL_DIFF=evil git diff",
            "GIT_DIR=secret git status",
            "git diff --output=made",
            "git diff --ext-diff",
            "git log --textconv",
            "git grep -Oevil a",
            "git show --format=%G?",
            "git rebase -x evil",
            "git bisect run evil",
            "git submodule foreach evil",
            "rg --pre evil a",
            "rg --pre=evil a",
            "rg --hostname-bin evil a",
            "RIPGREP_CONFIG_PATH=x rg a",
            "sort -o made a.txt",
            "sort -omade a.txt",
            "sort --outpu=made a.txt",
            "sort --compress-program=evil a.txt",
            "sort -S1 --compress-prog=evil a.txt",
            "sed -i s/a/b/ a.txt",
            "sed -n -i p a.txt",
            "sed 'w made' a.txt",
            "sed '1e evil' a.txt",
            "sed 's/a/evil/e' a.txt",
            "sed 's/a/b/w made' a.txt",
            "sed --in-place=x s/a/b/ a.txt",
            "awk 'BEGIN{system(\"evil\")}'",
            "awk 'BEGIN{print > \"made\"}'",
            "man -P evil ls",
            "man --pager=evil ls",
            "tar --checkpoint-action=exec=evil -cf /dev/null a.txt",
            "tar --to-command=evil -xf x",
            "ls | xargs evil",
            "less '+!evil' a.txt",
            "LESSOPEN='|evil' less a.txt",
            "more '+!evil' a.txt",
            "tree -o made",
            "uniq a.txt made",
            "xxd -r a.txt made",
            "date -s 2020-01-01",
            "file -C -m a.txt",
            "jq -n --rawfile x /etc/passwd '$x'",
            "printf -v PATH .",
            "tee made",
            "dd of=made",
            "env evil",
            "ls > made",
            "cat a.txt >> made",
            "history -s x",
            "hash -p ./evil ls",
            "enable -f ./x y",
            "bind -x '\"a\": evil'",
            "complete -C evil ls",
            "PROMPT_COMMAND=evil; ls",
            "ls() { evil; }; ls",
            "set -o noclobber; . ./a.txt",
        ],
    );
}

#[test]
fn s06_nothing_of_it_is_covered_by_a_rule_for_the_program() {
    assert_denied(
        &RULES,
        &[
            "find . -exec evil {} ;",
            "find . -delete",
            "find . -fprintf made x",
            "find . {-delete,-x}",
            "git -c core.pager=evil log",
            "git --exec-path=. status",
            "git --git-dir=secret status",
            "git -C /tmp status",
            "GIT_SSH_COMMAND=evil git fetch",
            "git rebase -x evil HEAD",
            "git rebase --exec=evil HEAD",
            "git bisect run evil",
            "git submodule foreach evil",
            "git difftool -y -x evil",
            "git config alias.x '!evil'",
            "git config core.hooksPath .",
            "git clone --upload-pack=evil . made",
            "git clone -c core.fsmonitor=evil . made",
            "git fetch --upload-pack=evil .",
            "git push --receive-pack=evil .",
            "git ls-remote 'ext::evil'",
            "git archive --remote=. --exec=evil HEAD",
            "git init --template=secret made",
            "git filter-branch --tree-filter evil",
        ],
    );
    assert_allowed(
        &RULES,
        &[
            "git status",
            "git add a.txt",
            "git -C src log -1",
            "git commit --allow-empty -m 'rm -rf and curl x'",
            "git log --grep 'curl x'",
            "find . -name '*.rs' -newer a.txt",
            "ls -la src",
        ],
    );
}

#[test]
fn s07_path_rules_hold_for_redirections() {
    let rules = Rules {
        allow: &["Bash(echo:*)", "Bash(tee:*)", "Bash(dd:*)", "Bash(cp:*)", "Bash(cat:*)", "Edit(./**)"],
        deny: &["Edit(./secret/**)", "Edit(*.lock)"],
        mode: "",
    };
    assert_denied(
        &rules,
        &[
            "echo x > ~/.bashrc",
            "echo x >> ~/.bashrc",
            "echo x >| ~/.profile",
            "echo x >! ~/.zshrc",
            "echo x &> ~/.bashrc",
            "echo x &>> ~/.bashrc",
            "echo x >& ~/.bashrc",
            "echo x <> ~/.bashrc",
            "echo x 1>~/.bashrc",
            "echo x 3> ~/.bashrc 1>&3",
            "echo x > \"$HOME/.bashrc\"",
            "echo x > .claude/settings.json",
            "echo x > .claude/settings.local.json",
            "echo x > ./.mcp.json",
            "echo x > .git/hooks/pre-commit",
            "echo x > .git/config",
            "echo x > .GIT/config",
            "echo x > .vscode/tasks.json",
            "echo x > .envrc",
            "echo x > secret/new",
            "echo x > ./secret//new",
            "echo x > src/../secret/new",
            "echo x > Cargo.lock",
            "echo x > CARGO.LOCK",
            "echo x | tee secret/new",
            "echo x | tee -a .git/config",
            "echo x | tee a.txt .mcp.json",
            "echo x | dd of=secret/new",
            "dd if=a.txt of=.git/config",
            "cp a.txt secret/new",
            "cp a.txt .git/hooks/post-checkout",
            "cat a.txt > Cargo.lock",
            "{ echo x; } > secret/new",
            "(echo x) > secret/new",
            "for i in 1; do echo x; done > secret/new",
            "echo x > $F",
            "echo x > \"$(echo secret/new)\"",
            "exec > secret/new",
        ],
    );
    assert_allowed(
        &rules,
        &["echo x > a.txt", "echo x >> src/new.txt", "echo x 2>&1", "ls 2> /dev/null", "cat < a.txt"],
    );
}

#[test]
fn s08_the_folder_a_command_runs_in_is_followed() {
    let rules = Rules {
        allow: &["Bash(echo:*)", "Bash(cat:*)", "Bash(cd:*)", "Bash(pushd:*)", "Edit(./**)"],
        deny: &["Read(./secret/**)"],
        mode: "",
    };
    assert_denied(
        &rules,
        &[
            "cd .claude && echo x > settings.json",
            "cd .git; echo x > config",
            "cd .git/hooks && echo x > pre-commit",
            "(cd .git && echo x > config)",
            "{ cd .git; echo x > config; }",
            "cd src && cd ../.git && echo x > config",
            "cd $PWD/.git && echo x > config",
            "cd \"$(echo .git)\" && echo x > config",
            "pushd .git && echo x > config",
            "pushd .git; popd; pushd .git; echo x > config",
            "cd secret && cat key",
            "cd secret; cat < key",
            "cd src/../secret && cat key",
            "CDPATH=secret; cd x; cat key",
            "if cd secret; then cat key; fi",
            "cd secret || true; cat key",
            "for d in secret; do cd $d; cat key; done",
            "cd / && rm -rf x",
            "cd ~ && echo x > .bashrc",
            "cd - && echo x > config",
            "command cd .git && echo x > config",
            "eval 'cd .git'; echo x > config",
        ],
    );
    let bypass = Rules { mode: "bypassPermissions", ..Rules::default() };
    assert_denied(
        &bypass,
        &["cd / && rm -rf *", "cd /; rm -rf usr", "(cd / && rm -rf etc)", "cd ..; rm -rf *", "cd ~ && rm -rf ./*"],
    );
}

//! The options of the reading sub-commands, after `git help <name>`. `rev-parse --show-superproject-working-tree` is absent:
//! it looks at the repository around this one.

use super::{Operands, Subcommand};

use Operands::{Any, Listed, Name, Pattern};

/// Before the sub-command.
pub(in crate::programs) const GLOBALS: &str = "--no-pager -P --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs \
     --no-replace-objects";

const DIFF: &str = "-p -u --patch -s --no-patch -U= --unified= --raw --patch-with-raw --patch-with-stat --minimal \
    --patience --histogram --anchored= --diff-algorithm= --stat[=] --stat-width= --stat-name-width= --stat-count= \
    --compact-summary --numstat --shortstat --summary -X[=] --dirstat[=] --cumulative -z --name-only --name-status \
    --color[=] --no-color --color-moved[=] --no-color-moved --color-moved-ws= --no-color-moved-ws --word-diff[=] \
    --word-diff-regex= --color-words[=] --no-renames --rename-empty --no-rename-empty --check --ws-error-highlight= \
    --full-index --binary --abbrev[=] --no-abbrev -B[=] --break-rewrites[=] -M[=] --find-renames[=] -C[=] \
    --find-copies[=] --find-copies-harder -D --irreversible-delete -l= --diff-filter= -S= -G= --pickaxe-all \
    --pickaxe-regex --skip-to= --rotate-to= -R --relative[=] --no-relative -a --text --ignore-cr-at-eol \
    --ignore-space-at-eol -b --ignore-space-change -w --ignore-all-space --ignore-blank-lines -I= \
    --ignore-matching-lines= --inter-hunk-context= -W --function-context --exit-code --quiet --no-ext-diff \
    --no-textconv --src-prefix= --dst-prefix= --no-prefix --default-prefix --line-prefix= \
    --ita-invisible-in-index --ita-visible-in-index --indent-heuristic --no-indent-heuristic";

const LOG: &str = "--oneline --graph --no-graph --decorate[=] --no-decorate --decorate-refs= --decorate-refs-exclude= \
    --clear-decorations --source --use-mailmap --mailmap --no-mailmap --all --branches[=] --tags[=] --remotes[=] \
    --glob= --exclude= --exclude-hidden= -n= --max-count= --skip= --since= --after= --since-as-filter= --until= \
    --before= --author= --committer= --grep= --grep-reflog= --all-match --invert-grep -i --regexp-ignore-case -E \
    --extended-regexp -F --fixed-strings -P --perl-regexp --basic-regexp --merges --no-merges --min-parents= \
    --max-parents= --no-min-parents --no-max-parents --first-parent --exclude-first-parent-only --not --reverse \
    --date-order --author-date-order --topo-order --follow --full-diff --log-size -L= --pretty[=]:format \
    --format=:format --abbrev-commit --no-abbrev-commit --encoding= --expand-tabs[=] --no-expand-tabs --notes[=] \
    --no-notes --relative-date --date= --parents --children --left-right --left-only --right-only --cherry \
    --cherry-mark --cherry-pick --boundary --simplify-by-decoration --full-history --dense --sparse --simplify-merges \
    --show-pulls --ancestry-path[=] -g --walk-reflogs --reflog --no-walk[=] --do-walk --ignore-missing \
    --show-linear-break[=] --cc -c --combined-all-paths -t -r --root";

const REFS: &str = "--contains[=]:list --no-contains[=]:list --merged[=]:list --no-merged[=]:list --points-at=:list \
    --sort= --format=:format --color[=] --no-color --ignore-case --omit-empty";

const fn command(words: &'static [&'static str], operands: Operands, options: &'static [&'static str]) -> Subcommand {
    Subcommand { words, options, operands }
}

pub(in crate::programs) const SUBCOMMANDS: [Subcommand; 36] = [
    command(
        &["status"],
        Any,
        &["-s --short -b --branch --show-stash --porcelain[=] --long -v --verbose -u[=] --untracked-files[=] \
           --ignored[=] -z --column[=] --no-column --ahead-behind --no-ahead-behind --renames \
           --no-renames --find-renames[=]"],
    ),
    command(&["log"], Any, &[LOG, DIFF]),
    command(&["show"], Any, &[LOG, DIFF]),
    command(&["whatchanged"], Any, &[LOG, DIFF]),
    command(
        &["shortlog"],
        Any,
        &["-n --numbered -s --summary -e --email -c --committer --group= -w[=] --all --branches[=] \
           --tags[=] --remotes[=] --max-count= --skip= --since= --after= --until= --before= --author= --grep= \
           --merges --no-merges --first-parent --not --reverse"],
    ),
    command(
        &["rev-list"],
        Any,
        &["--count --objects --objects-edge --unpacked --disk-usage[=] --header --timestamp --quiet", LOG],
    ),
    command(&["diff"], Any, &["--cached --staged --merge-base -1 --base -2 --ours -3 --theirs -0", DIFF]),
    command(
        &["diff-tree"],
        Any,
        &["-r -t --root --no-commit-id -v --pretty[=]:format --merge-base --always --cc -c", DIFF],
    ),
    command(&["diff-index"], Any, &["--cached --merge-base", DIFF]),
    command(&["diff-files"], Any, &["-q -0 -1 -2 -3 --base --ours --theirs", DIFF]),
    command(&["blame"], Any, &[BLAME]),
    command(&["annotate"], Any, &[BLAME]),
    command(
        &["ls-files"],
        Any,
        &["-z -t -v -f -c --cached -d --deleted -o --others -i --ignored -s --stage -k --killed -m --modified -u \
           --unmerged --directory --no-empty-directory --eol --full-name --error-unmatch --exclude-standard -x= \
           --exclude= --abbrev[=] --deduplicate --format= --resolve-undo --sparse"],
    ),
    command(
        &["ls-tree"],
        Any,
        &[
            "-d -r -t -l --long -z --name-only --name-status --object-only --full-name --full-tree --abbrev[=] --format=",
        ],
    ),
    command(&["cat-file"], Any, &["-t -s -e -p"]),
    command(&["merge-base"], Any, &["-a --all --octopus --independent --is-ancestor --fork-point"]),
    command(&["name-rev"], Any, &["--name-only --tags --refs= --exclude= --all --always --undefined --no-undefined"]),
    command(&["for-each-ref"], Any, &["--count= --exclude=", REFS]),
    command(
        &["show-ref"],
        Any,
        &["--head --heads --tags -d --dereference -s --hash[=] --verify --exists --abbrev[=] -q --quiet"],
    ),
    command(
        &["describe"],
        Any,
        &["--all --tags --contains --abbrev= --candidates= --exact-match --debug --long --match= --exclude= --always \
           --first-parent"],
    ),
    command(&["count-objects"], Operands::None, &["-v --verbose -H --human-readable"]),
    command(&["check-ignore"], Any, &["-v --verbose -n --non-matching -q --quiet --no-index -z"]),
    command(
        &["rev-parse"],
        Any,
        &["--abbrev-ref[=] --short[=] --show-toplevel --show-prefix --show-cdup --git-dir --absolute-git-dir \
           --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository \
           --verify -q --quiet --symbolic --symbolic-full-name --revs-only --no-revs --flags --no-flags --all \
           --branches[=] --tags[=] --remotes[=] --git-path= --default= --since= \
           --until= --show-object-format[=] --path-format= --not --local-env-vars"],
    ),
    command(
        &["branch"],
        Listed,
        &[
            "-a --all -r --remotes -v --verbose -l:list --list:list --show-current --column[=] --no-column --abbrev[=] \
           --no-abbrev -i",
            REFS,
        ],
    ),
    command(&["tag"], Listed, &["-l:list --list:list -n[=] --column[=] --no-column -i", REFS]),
    command(&["remote"], Operands::None, &["-v --verbose"]),
    command(&["remote", "get-url"], Name, &["--push --all"]),
    command(&["stash", "list"], Any, &[LOG, DIFF]),
    command(&["stash", "show"], Any, &["--include-untracked --only-untracked --no-include-untracked", DIFF]),
    command(&["reflog"], Any, &[LOG, DIFF]),
    command(&["reflog", "show"], Any, &[LOG, DIFF]),
    command(&["worktree", "list"], Operands::None, &["--porcelain -v --verbose -z --expire="]),
    command(&["config", "--get"], Name, &[""]),
    command(&["config", "--get-all"], Name, &[""]),
    command(&["var"], Name, &[""]),
    command(
        &["grep"],
        Pattern,
        &["-n --line-number --column -i --ignore-case -w --word-regexp -v --invert-match -h -H --full-name -l \
           --files-with-matches --name-only -L --files-without-match -c --count -q --quiet -E --extended-regexp -F \
           --fixed-strings -G --basic-regexp -P --perl-regexp -z --null -o --only-matching -p --show-function -W \
           --function-context -e=:pattern -f=:read,pattern -A= --after-context= -B= --before-context= -C= --context= \
           -m= --max-count= --max-depth= -a --text -I --color[=] --no-color --break --heading --cached --untracked \
           --exclude-standard --no-exclude-standard --all-match --and --or --not -r --recursive --no-recursive \
           --no-textconv --threads="],
    ),
];

const BLAME: &str = "-l -t -f -n -s -e -w -c -b -p -M[=] -C[=] -L= --root --show-stats --porcelain --line-porcelain \
    --incremental --show-name --show-number --show-email --date= --abbrev[=] --score-debug --color-lines \
    --color-by-age --minimal --first-parent --ignore-rev= --ignore-revs-file=:read --reverse --encoding= --since= \
    --progress --no-progress";

//! The effects of known programs on files, from their arguments alone.
//!
//! Every program has a table of the options that it may be given, each with its arity and its meaning. An option
//! that is not in the table, an abbreviation of one, a program that is not listed: [`effects`] answers `None`, and
//! the command asks. The tables follow the manuals of GNU coreutils, grep, findutils, diffutils, sed, util-linux,
//! ripgrep, jq and git; `tests/programs.rs` runs every listed form under `strace`.
//!
//! Deliberately absent: programs that run others (`awk`, `xargs`, pagers, interpreters), the wrappers around a
//! command, `cd`, and any look at the disk. The caller resolves the paths and judges them.
//!
//! What the caller must see to:
//! - The program's name is the one that the shell looks up in `PATH`: not quoted, no alias, no function, and no
//!   variable that the program obeys was changed by the same command.
//! - A path in `reads` or `writes` may be a link, or a pattern that stands for links: what counts is where it leads.
//! - `tree` holds for every path in `reads` and `writes`: a folder there stands for all that is below it, also for
//!   what will be below it (`mv made .claude`). With `follows`, links below it are opened too.
//! - `git`: the configuration of the repository names programs that git runs by itself. The caller makes sure that
//!   the repository is the project's own and that none of these is obeyed: `core.fsmonitor`, `diff.external`,
//!   `diff.*.command`, `diff.*.textconv`, `filter.*.clean` and `.process`, `gpg.program` (by `log.showSignature`,
//!   `format.pretty` or `pretty.*`), `core.pager` (only on a terminal), the hook `post-index-change` (an index
//!   refresh by `status` or `diff`), lazy fetches of a partial clone
//!   (`extensions.partialClone`, `remote.*.uploadpack`), and the same in submodules, which `status` and `diff`
//!   enter. `core.worktree`, `include.path` and alternates lead to files outside.

mod effects;
mod find;
mod forms;
mod git;
mod options;
pub(crate) mod sed;
mod special;
mod tables;
mod text_tables;
mod writers;

pub use effects::{Arg, Effects};
pub use forms::{Form, forms};

/// `None`: not provably harmless, so it asks.
pub fn effects(program: &str, args: &[Arg]) -> Option<Effects> {
    if args.iter().any(|arg| arg.text.contains('\0')) {
        return None;
    }
    match program {
        "find" => find::effects(args),
        "sed" => sed::effects(args),
        "git" => git::effects(args),
        "cp" | "mv" => writers::effects(program, args),
        "echo" | "printf" | "test" | "[" | "command" => special::effects(program, args),
        _ => tables::find(program)?.effects(args),
    }
}

/// Whether anything is known of a program of this name.
pub(crate) fn is_known(program: &str) -> bool {
    let special = ["find", "sed", "git", "cp", "mv", "echo", "printf", "test", "[", "command"];
    special.contains(&program) || tables::find(program).is_some()
}

/// The same arguments with `./` before every pattern that stands for files and may expand to something that starts
/// with `-`. The caller judges and runs these, since [`effects`] refuses such a pattern.
pub fn anchored(program: &str, args: &[Arg]) -> Vec<Arg> {
    let unanchored = |arg: &Arg| arg.glob && arg.text.starts_with(['*', '?', '[']);
    let candidate: Vec<Arg> = args
        .iter()
        .map(|arg| if unanchored(arg) { Arg { text: format!("./{}", arg.text), glob: true } } else { arg.clone() })
        .collect();
    // An option of `sort` names a file to write; a pattern among its operands stays a question.
    if program == "sort" || !args.iter().any(unanchored) {
        return args.to_vec();
    }
    let names_files = |effects: &Effects| {
        let named = |arg: &Arg| effects.reads.contains(arg) || effects.writes.contains(arg);
        candidate.iter().zip(args).all(|(new, old)| new == old || named(new))
    };
    if effects(program, &candidate).as_ref().is_some_and(names_files) { candidate } else { args.to_vec() }
}

#[cfg(test)]
mod programs_tests;

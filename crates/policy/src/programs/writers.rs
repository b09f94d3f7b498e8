//! `cp` and `mv`: the files that they read, and every name that they may write.

use super::effects::{Arg, Effects};
use super::options::{Parsed, Style, parse};
use super::tables::ABOUT;

/// Absent: `-t` (the last operand is no target then), `-L` and `-H` (links are followed), `-l` and `-s` (the copy
/// is another name of the source), backups (more names), `--parents` (more folders).
pub(super) const CP: &str = "-a:tree --archive:tree -d -f --force -i --interactive -n --no-clobber -P \
    --no-dereference -p --preserve[=] --no-preserve= -r:tree -R:tree --recursive:tree --reflink[=] \
    --remove-destination --sparse= --strip-trailing-slashes -T --no-target-directory -u --update -v --verbose -x \
    --one-file-system";
pub(super) const MV: &str =
    "-f --force -i --interactive -n --no-clobber --strip-trailing-slashes -u --update -v --verbose";

pub(super) fn effects(program: &str, args: &[Arg]) -> Option<Effects> {
    let moves = program == "mv";
    let parsed = parse(&[if moves { MV } else { CP }, ABOUT], Style::default(), args)?;
    // A folder that is moved takes everything in it to the new name.
    let tree = moves || parsed.tree;
    let Some((target, sources)) = parsed.operands.split_last() else {
        return (parsed.has("--help") || parsed.has("--version")).then(Effects::default);
    };
    if target.glob || (tree && lands_in_the_target_itself(&parsed)) {
        return None;
    }
    // A link in the folder that a copy goes to leads the copy elsewhere.
    let mut effects = Effects { tree, follows: !moves && tree, ..Effects::default() };
    effects.writes.push((*target).clone());
    for source in sources {
        effects.writes.push(landing(source, target)?);
        if moves { &mut effects.writes } else { &mut effects.reads }.push((*source).clone());
    }
    Some(effects)
}

/// Then the names in the source, which are not known here, become names in the target.
fn lands_in_the_target_itself(parsed: &Parsed) -> bool {
    parsed.has("-T") || parsed.has("--no-target-directory")
}

/// The name in the target, if the target is a folder.
fn landing(source: &Arg, target: &Arg) -> Option<Arg> {
    let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if matches!(name, "" | "." | "..") {
        return None;
    }
    Some(Arg { text: format!("{}/{name}", target.text), glob: source.glob })
}

//! `find`: starting points, then an expression of listed tests and actions.
//!
//! Absent: everything that runs, removes or writes (`-exec`, `-ok`, `-delete`, `-fprint`, `-fls`), `-files0-from`,
//! and `-D`, `-O`.

use super::effects::{Arg, Effects};

/// Tests and actions with their number of values. `:read` looks at the file that the value names.
pub(super) const EXPRESSION: &str = "-name= -iname= -path= -ipath= -wholename= -iwholename= -regex= -iregex= \
    -regextype= -lname= -ilname= -type= -xtype= -size= -empty -newer=:read -anewer=:read -cnewer=:read \
    -mtime= -mmin= -atime= -amin= -ctime= -cmin= -used= -perm= -user= -group= -uid= -gid= -nouser -nogroup -links= \
    -inum= -readable -writable -executable -maxdepth= -mindepth= -depth -mount -xdev -daystart -noleaf \
    -ignore_readdir_race -noignore_readdir_race -warn -nowarn -follow:follows -true -false -not -a -and -o -or -prune \
    -print -print0 -printf= -ls -quit -newermt= -newerat= -newerct=";

pub(super) fn effects(args: &[Arg]) -> Option<Effects> {
    let mut effects = Effects { tree: true, ..Effects::default() };
    let mut rest = args.iter().peekable();
    while let Some(option) = rest.next_if(|arg| matches!(arg.text.as_str(), "-H" | "-L" | "-P" | "--") && !arg.glob) {
        effects.follows |= option.text == "-L" || option.text == "-H";
        if option.text == "--" {
            break;
        }
    }
    while let Some(path) = rest.next_if(|arg| !arg.text.starts_with(['-', '(', ')', '!', ','])) {
        if path.may_become_option() {
            return None;
        }
        effects.reads.push(path.clone());
    }
    effects.cwd = effects.reads.is_empty();
    while let Some(arg) = rest.next() {
        let text = arg.text.as_str();
        if arg.glob {
            return None;
        }
        if matches!(text, "(" | ")" | "!" | ",") {
            continue;
        }
        let entry =
            EXPRESSION.split_whitespace().find(|entry| entry.split([':', '=']).next().is_some_and(|name| name == text));
        let (entry, meaning) = entry?.split_once(':').unwrap_or((entry?, ""));
        effects.follows |= meaning == "follows";
        if entry.ends_with('=') {
            let value = rest.next()?;
            // A zone in a date names a file.
            if (value.glob && !is_never_a_test(value)) || (entry.starts_with("-newer") && value.text.contains("TZ")) {
                return None;
            }
            if meaning == "read" {
                effects.reads.push(value.clone());
            }
        }
    }
    Some(effects)
}

/// Whether no name that the pattern stands for is a test or an action: none of these holds a dot.
/// More than one name is an error of `find`, which then does nothing.
fn is_never_a_test(pattern: &Arg) -> bool {
    let end = pattern.text.rsplit(['*', '?', '[', ']']).next().unwrap_or_default();
    end.contains('.') || pattern.literal_start().starts_with(|c: char| !"-(),!".contains(c))
}

//! The files that writing programs change, from their arguments alone.

use crate::shell::{Certainty, Word};

use super::files::{Footprint, Use, is_flag, path_in_flag};

pub(super) fn footprint(name: &str, args: &[Word]) -> Option<Footprint> {
    let edits = matches!(name, "mkdir" | "touch" | "rm" | "rmdir" | "mv" | "cp");
    let known = matches!(name, "tee" | "ln" | "install" | "truncate" | "shred" | "unlink" | "chmod" | "chown" | "dd");
    if !edits && !known {
        return None;
    }
    let skip = usize::from(matches!(name, "chmod" | "chown"));
    let mut uses: Vec<Use> = Vec::new();
    let operands: Vec<&Word> = args.iter().filter(|word| !is_flag(word)).collect();
    let reads_all_but_last = matches!(name, "cp" | "ln" | "install") && operands.len() > 1;
    for (i, word) in operands.iter().enumerate().skip(skip) {
        let word = match word.text.split_once('=') {
            Some((_, path)) if name == "dd" => &Word { raw: path.to_owned(), text: path.to_owned(), ..(*word).clone() },
            _ => *word,
        };
        let source = reads_all_but_last && i + 1 < operands.len();
        uses.push(if source { Use::read(word) } else { Use::write(word) });
    }
    if matches!(name, "cp" | "mv") {
        uses.extend(landing(&operands));
    }
    for flag in args.iter().filter(|word| is_flag(word)) {
        uses.extend(path_in_flag(flag).into_iter().map(|hidden| Use::write(&hidden.word)));
    }
    let trees = args.iter().any(copies_trees);
    Some(Footprint {
        uses,
        edits: edits && !args.iter().any(|flag| turns_aside(name, flag)),
        recursive: name == "cp" && trees,
        whole: matches!(name, "mv" | "ln") || (trees && matches!(name, "cp" | "rm" | "chmod" | "chown")),
        follows: name == "cp" && trees,
        ..Footprint::default()
    })
}

/// Flags after which the last operand is not where the files go, links are followed on the way, or backups are made.
fn turns_aside(name: &str, flag: &Word) -> bool {
    let text = flag.text.as_str();
    let Some(long) = text.strip_prefix("--") else {
        return matches!(name, "cp" | "mv") && is_flag(flag) && text.contains(['t', 'L', 'H', 'b', 'S']);
    };
    let long = long.split('=').next().unwrap_or(long);
    matches!(name, "cp" | "mv")
        && !long.is_empty()
        && ["target-directory", "dereference", "backup", "suffix"].iter().any(|known| known.starts_with(long))
}

fn copies_trees(flag: &Word) -> bool {
    let text = flag.text.as_str();
    text.starts_with("--rec") || text.starts_with("--arch") || (text.starts_with('-') && text.contains(['r', 'R', 'a']))
}

/// Copying into a directory writes a file of the same name in it, which may be a link elsewhere.
fn landing(operands: &[&Word]) -> Vec<Use> {
    let Some((target, sources)) = operands.split_last() else { return Vec::new() };
    let join = |source: &&Word| {
        let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let text = format!("{}/{name}", target.text);
        let certainty = if source.certainty == Certainty::Exact { target.certainty } else { source.certainty };
        Use::write(&Word { raw: text.clone(), text, certainty })
    };
    sources.iter().map(join).collect()
}

//! Git's diff, taken apart for colours. Whatever cannot be read is context.

/// Files, lines of a file, and lines of all together that a report shows. A person reads no more; git has the rest.
const FILES_MAX: usize = 100;
const LINES_MAX: usize = 600;
const ALL_LINES_MAX: usize = 6000;
const COLUMNS_MAX: usize = 500;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffFile {
    pub path: String,
    pub added: usize,
    pub removed: usize,
    pub lines: Vec<DiffLine>,
    /// Lines that are not shown.
    pub more: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffLine {
    Added(String),
    Removed(String),
    Hunk(String),
    Context(String),
}

/// The files of a diff, and how many there are beyond those that are shown.
pub fn parse(text: &str) -> (Vec<DiffFile>, usize) {
    let mut files: Vec<DiffFile> = Vec::new();
    let (mut more_files, mut shown, mut in_hunk, mut skips) = (0, 0, false, false);
    for line in text.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            in_hunk = false;
            skips = files.len() >= FILES_MAX;
            if skips {
                more_files += 1;
            } else {
                files.push(DiffFile { path: path_of(names), ..DiffFile::default() });
            }
            continue;
        }
        let Some(file) = files.last_mut().filter(|_| !skips) else { continue };
        let piece = match line.chars().next() {
            Some('@') => {
                in_hunk = true;
                DiffLine::Hunk(cut(line))
            }
            Some('+') if in_hunk => {
                file.added += 1;
                DiffLine::Added(cut(&line[1..]))
            }
            Some('-') if in_hunk => {
                file.removed += 1;
                DiffLine::Removed(cut(&line[1..]))
            }
            _ if in_hunk => DiffLine::Context(cut(line.strip_prefix(' ').unwrap_or(line))),
            // Modes, hashes, names once more.
            _ if !line.starts_with("Binary") => continue,
            _ => DiffLine::Context(cut(line)),
        };
        if file.lines.len() < LINES_MAX && shown < ALL_LINES_MAX {
            file.lines.push(piece);
            shown += 1;
        } else {
            file.more += 1;
        }
    }
    (files, more_files)
}

fn cut(line: &str) -> String {
    cycle::bounded(line, COLUMNS_MAX)
}

/// `a/NAME b/NAME`; both are the same without renames.
fn path_of(names: &str) -> String {
    let half = names.len() / 2;
    let one = names.get(..half).and_then(|first| first.strip_prefix("a/"));
    let other = names.get(half + 1..).and_then(|second| second.strip_prefix("b/"));
    match (one, other) {
        (Some(one), Some(other)) if one == other => one.to_owned(),
        _ => cycle::bounded(names, COLUMNS_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "diff --git a/src/a b.rs b/src/a b.rs\nindex 1..2 100644\n--- a/src/a b.rs\n+++ b/src/a b.rs\n\
        @@ -1,2 +1,2 @@ fn main\n one\n-two\n+three\n+++x\ndiff --git a/bin b/bin\nnew file mode 100644\nBinary files differ\n";

    #[test]
    fn a_diff_is_taken_apart() {
        let (files, more) = parse(TEXT);
        assert_eq!((files.len(), more), (2, 0));
        assert_eq!((files[0].path.as_str(), files[0].added, files[0].removed), ("src/a b.rs", 2, 1));
        let expected = [
            DiffLine::Hunk("@@ -1,2 +1,2 @@ fn main".into()),
            DiffLine::Context("one".into()),
            DiffLine::Removed("two".into()),
            DiffLine::Added("three".into()),
            DiffLine::Added("++x".into()),
        ];
        assert_eq!(files[0].lines, expected);
        assert_eq!(files[1].lines, [DiffLine::Context("Binary files differ".into())]);
    }

    #[test]
    fn a_huge_diff_is_cut_and_says_so() {
        let file = format!("diff --git a/x b/x\n@@ @@\n{}", "+y\n".repeat(LINES_MAX + 9));
        let (files, more) = parse(&file.repeat(FILES_MAX + 5));
        assert_eq!((files.len(), more), (FILES_MAX, 5));
        assert!(files.iter().map(|file| file.lines.len()).sum::<usize>() <= ALL_LINES_MAX);
        assert_eq!(files[0].lines.len() + files[0].more, LINES_MAX + 10);
        assert_eq!(parse("no diff at all\n+x\n"), (Vec::new(), 0));
    }
}

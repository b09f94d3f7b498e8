//! What a shell command was, as far as its words tell: its program, its kind, commits and pull requests. Pure.
//!
//! For counting only. What may run is decided by `policy`, with a grammar.

/// Options of `git` before its command that take a word of their own.
const GIT_WITH_VALUE: [&str; 4] = ["-c", "-C", "--git-dir", "--work-tree"];
/// A commit's name has at least this many digits in git's own line.
const COMMIT_DIGITS: usize = 7;

/// In place of a branch in git's own line.
const DETACHED: &str = "detached HEAD";

/// A program that is in no class.
const OTHER: &str = "other";

const CLASSES: [(&str, &[&str]); 9] = [
    ("vcs", &["git", "gh", "hg", "jj", "svn"]),
    ("fs_mutation", &["cp", "ln", "mkdir", "mv", "rm", "rmdir", "touch", "chmod", "chown", "tee", "truncate"]),
    ("fs_read", &["cat", "head", "tail", "ls", "find", "stat", "wc", "file", "du", "df", "tree"]),
    ("search", &["grep", "rg", "ag", "fd", "ack"]),
    ("shell_builtin", &["cd", "echo", "export", "printf", "pwd", "read", "set", "source", "test", "true", "type", "["]),
    ("package_manager", &["npm", "npx", "pnpm", "yarn", "pip", "pip3", "uv", "cargo", "brew", "apt", "apt-get", "bun"]),
    ("build", &["make", "cmake", "ninja", "gradle", "mvn", "bazel", "just"]),
    ("runtime", &["bash", "sh", "python", "python3", "node", "ruby", "perl", "java", "go", "deno"]),
    ("network", &["curl", "wget", "ssh", "scp", "rsync", "ping"]),
];

/// The program's name, without its folder and the variables before it.
pub(crate) fn program(command: &str) -> &str {
    words(command).next().map_or("", |word| word.rsplit('/').next().unwrap_or(word))
}

/// The kind of the program, and its name if many people have it: the name of somebody's own script is theirs.
pub(crate) fn class(command: &str) -> (&'static str, &'static str) {
    let program = program(command);
    let found = CLASSES.iter().find_map(|(class, programs)| {
        let known = programs.iter().find(|known| **known == program)?;
        Some((*class, *known))
    });
    found.unwrap_or((OTHER, OTHER))
}

/// Whether one of its parts makes a commit.
pub(crate) fn commits(command: &str) -> bool {
    parts(command).any(|part| {
        let mut words = words(part).skip_while(|word| *word != "git").skip(1);
        while let Some(word) = words.next() {
            match word {
                "commit" => return !words.any(|word| word == "--dry-run"),
                word if GIT_WITH_VALUE.contains(&word) => drop(words.next()),
                word if word.starts_with('-') => {}
                _ => return false,
            }
        }
        false
    })
}

pub(crate) fn opens_pull_request(command: &str) -> bool {
    const WAYS: [&[&str]; 2] = [&["gh", "pr", "create"], &["glab", "mr", "create"]];
    parts(command).any(|part| {
        let words: Vec<&str> = words(part).take(3).collect();
        WAYS.contains(&words.as_slice())
    })
}

/// The commit in git's line `[main 1a2b3c4] subject`, and its branch unless it is on none.
pub(crate) fn commit_of(output: &str) -> Option<(&str, Option<&str>)> {
    output.lines().find_map(|line| {
        let (inside, _) = line.strip_prefix('[')?.split_once(']')?;
        let (branch, id) = inside.rsplit_once(' ')?;
        let is_id = id.len() >= COMMIT_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let branch = Some(branch.trim_end_matches(" (root-commit)")).filter(|branch| *branch != DETACHED);
        is_id.then_some((id, branch))
    })
}

/// The commands of a line. Quotes are not looked at: a separator inside of one only makes a part that nobody knows.
fn parts(command: &str) -> impl Iterator<Item = &str> {
    command.split(['\n', ';', '|', '&']).map(str::trim).filter(|part| !part.is_empty())
}

/// Without variables that are set before the program.
fn words(part: &str) -> impl Iterator<Item = &str> {
    let is_variable = |word: &&str| word.split_once('=').is_some_and(|(name, _)| is_name(name));
    part.split_whitespace().skip_while(is_variable)
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_a_name_and_a_class() {
        for (command, name, expected) in [
            ("echo hi", "echo", ("shell_builtin", "echo")),
            ("A=1 B=2 /usr/bin/git status", "git", ("vcs", "git")),
            ("rm -rf x", "rm", ("fs_mutation", "rm")),
            ("./mine", "mine", ("other", "other")),
            ("", "", ("other", "other")),
        ] {
            assert_eq!((program(command), class(command)), (name, expected), "{command}");
        }
    }

    #[test]
    fn commits_are_found_among_other_commands() {
        for command in ["git commit -m x", "git add -A && git -C a -c user.name=x commit -qm y", "cd x; git commit"] {
            assert!(commits(command), "{command}");
        }
        for command in ["git log --grep commit", "echo git", "git commit --dry-run", "git", "commit", "git show commit"]
        {
            assert!(!commits(command), "{command}");
        }
    }

    #[test]
    fn pull_requests_are_found_among_other_commands() {
        assert!(opens_pull_request("git push && gh pr create --fill"));
        assert!(!opens_pull_request("gh pr list") && !opens_pull_request("echo gh pr create"));
    }

    #[test]
    fn the_commit_is_the_one_that_git_names() {
        assert_eq!(commit_of("x\n[main 1a2b3c4] subject\n 1 file"), Some(("1a2b3c4", Some("main"))));
        assert_eq!(commit_of("[main (root-commit) 1a2b3c4f] s"), Some(("1a2b3c4f", Some("main"))));
        assert_eq!(commit_of("[detached HEAD 1a2b3c4] s"), Some(("1a2b3c4", None)));
        assert_eq!(commit_of("[INFO nothing] x\n[a b]"), None);
    }
}

//! What the text of a command says about its result. Pure, and only for presentation and comfort:
//! whether a command may run is judged by `policy`, with a real parser.
//!
//! What this reading does not understand is `None`, and treated as the less comfortable case.

/// Commands that say nothing when all is well.
const SILENT: [&str; 16] = [
    "mkdir", "rmdir", "touch", "rm", "mv", "cp", "cd", "chmod", "chown", "chgrp", "ln", "export", "unset", "wait",
    "truncate", "mkfifo",
];

/// The same for `git` and its first word.
const SILENT_GIT: [&str; 2] = ["add", "config"];

/// Does a command that prints nothing deserve no wonder?
pub(crate) fn is_silent(command: &str) -> bool {
    let Some(parts) = simple_commands(command) else { return false };
    !parts.is_empty()
        && parts.iter().all(|words| match names(words) {
            ("git", second) => SILENT_GIT.contains(&second),
            (first, _) => SILENT.contains(&first),
        })
}

/// What exit code 1 means for commands that use it for an answer instead of a failure. The code of a
/// list or pipeline is that of its last command.
pub(crate) fn answer_of_exit_one(command: &str) -> Option<&'static str> {
    let parts = simple_commands(command)?;
    match names(parts.last()?) {
        ("grep" | "egrep" | "fgrep" | "rg", _) | ("git", "grep") => Some("Nothing matched"),
        ("find", _) => Some("Some folders could not be read"),
        ("diff", _) | ("git", "diff") => Some("The inputs differ"),
        ("test" | "[", _) => Some("The condition is false"),
        _ => None,
    }
}

/// May a command that outlives its timeout go on in the background? Not one that only waits, not git
/// (it would hold the index lock), and not one that we cannot read.
pub(crate) fn may_outlive_timeout(command: &str) -> bool {
    let says_git =
        command.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').any(|word| word == "git");
    let Some(parts) = simple_commands(command) else { return false };
    !says_git && parts.first().is_some_and(|words| names(words).0 != "sleep")
}

/// The program's name and its first word, past assignments and the folder the program is in.
fn names(words: &[String]) -> (&str, &str) {
    let mut words = words.iter().map(String::as_str).skip_while(|word| is_assignment(word));
    let program = words.next().unwrap_or_default();
    (program.rsplit('/').next().unwrap_or(program), words.next().unwrap_or_default())
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.starts_with(|c: char| c.is_ascii_digit())
            && !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// The words of each simple command of a list or pipeline, quotes removed, redirections left out.
/// `None` for what is more than that: unclosed quotes, subshells, here-documents.
fn simple_commands(command: &str) -> Option<Vec<Vec<String>>> {
    let mut reader = Reader { rest: command, commands: Vec::new(), words: Vec::new(), word: None };
    reader.read()?;
    Some(reader.commands)
}

struct Reader<'a> {
    rest: &'a str,
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    /// Begun, maybe still empty (`""` is a word).
    word: Option<String>,
}

impl Reader<'_> {
    fn read(&mut self) -> Option<()> {
        while let Some(c) = self.next() {
            match c {
                ' ' | '\t' => self.end_word(),
                '\n' | ';' => self.end_command(),
                '|' => {
                    self.skip_any(&['|', '&']);
                    self.end_command();
                }
                '&' if self.rest.starts_with('>') => self.redirection()?,
                '&' => {
                    self.skip_any(&['&']);
                    self.end_command();
                }
                '>' | '<' => self.redirection()?,
                '#' if self.word.is_none() => self.comment(),
                '(' | ')' => return None,
                '\\' => self.escaped()?,
                '\'' => self.single_quoted()?,
                '"' => self.double_quoted()?,
                '`' => self.substitution_by_backtick()?,
                '$' if self.rest.starts_with('(') => self.substitution()?,
                c => self.push(c),
            }
        }
        self.end_command();
        Some(())
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn skip_any(&mut self, which: &[char]) {
        self.rest = self.rest.trim_start_matches(which);
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }

    fn comment(&mut self) {
        self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
    }

    fn escaped(&mut self) -> Option<()> {
        match self.next()? {
            '\n' => {}
            c => self.push(c),
        }
        Some(())
    }

    fn single_quoted(&mut self) -> Option<()> {
        let (quoted, rest) = self.rest.split_once('\'')?;
        self.word.get_or_insert_default().push_str(quoted);
        self.rest = rest;
        Some(())
    }

    fn double_quoted(&mut self) -> Option<()> {
        self.word.get_or_insert_default();
        loop {
            match self.next()? {
                '"' => return Some(()),
                '\\' => self.escaped()?,
                '`' => self.substitution_by_backtick()?,
                '$' if self.rest.starts_with('(') => self.substitution()?,
                c => self.push(c),
            }
        }
    }

    /// Its result is not known, so it stands as a `$` in the word.
    fn substitution_by_backtick(&mut self) -> Option<()> {
        let (_, rest) = self.rest.split_once('`')?;
        self.rest = rest;
        self.push('$');
        Some(())
    }

    /// `$(…)`, up to the parenthesis that closes it. Quotes inside may hide one; then the rest does
    /// not add up and is `None`, or a name comes out that is in no list.
    fn substitution(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.next()? {
                '(' => depth += 1,
                ')' if depth == 1 => break,
                ')' => depth -= 1,
                _ => {}
            }
        }
        self.push('$');
        Some(())
    }

    /// Leaves out `2>file`, `>> file`, `2>&1`; a here-document is more than we read.
    fn redirection(&mut self) -> Option<()> {
        if self.rest.starts_with('<') && !self.rest.starts_with("<<") {
            return None;
        }
        if self.word.as_deref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        self.skip_any(&['>', '<', '|', '&']);
        if self.rest.starts_with('(') {
            return None;
        }
        self.skip_any(&[' ', '\t']);
        let kept = std::mem::take(&mut self.words);
        self.file_name()?;
        self.words = kept;
        Some(())
    }

    fn file_name(&mut self) -> Option<()> {
        while let Some(c) = self.rest.chars().next() {
            match c {
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '<' | '>' => break,
                '(' | ')' => return None,
                _ => {}
            }
            self.next();
            match c {
                '\\' => self.escaped()?,
                '\'' => self.single_quoted()?,
                '"' => self.double_quoted()?,
                '`' => self.substitution_by_backtick()?,
                '$' if self.rest.starts_with('(') => self.substitution()?,
                _ => {}
            }
        }
        self.word = None;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(command: &str) -> Option<String> {
        Some(simple_commands(command)?.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join(" / "))
    }

    #[test]
    fn lists_and_pipelines_come_apart() {
        for (command, parts) in [
            ("a b", Some("a b")),
            ("a; b && c || d | e & f\ng", Some("a / b / c / d / e / f / g")),
            ("a |& b", Some("a / b")),
            ("echo 'x; y' \"p | q\" r\\;s", Some("echo x; y p | q r;s")),
            ("echo $(a $(b; c)) && d", Some("echo $ / d")),
            ("a >out 2>&1 && b 2> 'x y' c", Some("a / b c")),
            ("a &>/dev/null; b <in", Some("a / b")),
            ("cat <<< \"$x\" | wc", Some("cat / wc")),
            ("a # b; c\nd", Some("a / d")),
            ("a \\\n b", Some("a b")),
            ("", Some("")),
            ("cat <<EOF\nx\nEOF", None),
            ("(a; b)", None),
            ("f() { a; }", None),
            ("a < <(b)", None),
            ("a 'b", None),
            ("a \"b", None),
            ("a $(b", None),
            ("a `b", None),
        ] {
            assert_eq!(shown(command).as_deref(), parts, "{command}");
        }
    }

    #[test]
    fn silent_by_nature() {
        for command in
            ["mkdir d1", "touch x.txt", "/bin/rm -f a && mv b c", "cd src", "export A=1", "git add .", "X=1 cp a b"]
        {
            assert!(is_silent(command), "{command}");
        }
        for command in
            ["true", "", "cd src && pwd", "git status", "echo", "rm x; ls", "touch $(rm a.txt", "sleep 0.3; echo bg"]
        {
            assert!(!is_silent(command), "{command}");
        }
    }

    #[test]
    fn exit_one_is_an_answer_only_from_the_last_command() {
        for command in [
            "grep x f",
            "cat f | grep x",
            "ls; rg x",
            "/usr/bin/diff a b",
            "test -e x",
            "[ -e x ]",
            "git diff --quiet",
            "git grep x",
            "find / -name x 2>/dev/null",
            "LC_ALL=C egrep x f",
        ] {
            assert!(answer_of_exit_one(command).is_some(), "{command}");
        }
        for command in ["grep x f | head", "grep x f; make", "make", "git push", "", "grep 'x", "mygrep x"] {
            assert_eq!(answer_of_exit_one(command), None, "{command}");
        }
    }

    #[test]
    fn sleepers_git_and_riddles_do_not_outlive_their_timeout() {
        for command in ["npm run dev", "make; sleep 5", "cargo test", "digit"] {
            assert!(may_outlive_timeout(command), "{command}");
        }
        for command in
            ["sleep 100", "sleep 5; make", "git fetch", "make && git push", "/usr/bin/git log", "a 'b", "(a)", ""]
        {
            assert!(!may_outlive_timeout(command), "{command}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_its_end(command in "[a-z '\"`$()|&;<>#\\\\\n0-9é]{0,80}") {
            let _ = simple_commands(&command);
        }
    }
}

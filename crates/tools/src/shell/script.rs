//! The text a shell is given: the command, and around it what keeps the working folder between calls.
//!
//! Understood by bash, zsh and POSIX sh. No start-up files are read; the user's functions and aliases come from a file of
//! ours, where they may be used at all.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// The kernel takes at most 128 KiB in one argument; longer commands go through a file. The rest is
/// room for what we put around them.
pub(crate) const LONGEST_ARGUMENT: usize = 100 * 1024;

pub(crate) struct Script<'a> {
    pub(crate) what: What<'a>,
    /// Set when the folder the command ends in is to be told.
    pub(crate) cwd_file: Option<&'a Path>,
    pub(crate) env_file: Option<&'a Path>,
    /// Functions and aliases of the user's.
    pub(crate) names_file: Option<&'a Path>,
    pub(crate) prefix: Option<&'a str>,
}

pub(crate) enum What<'a> {
    Text(&'a str),
    File(&'a Path),
}

impl Script<'_> {
    /// One line before the command, so that the shell's messages count its lines right. The trap also
    /// runs when the command says `exit`, and leaves the exit code alone.
    pub(crate) fn text(&self) -> OsString {
        let mut text = Vec::new();
        if let Some(file) = self.cwd_file {
            let tell = [b"command pwd -P >| ", quoted(file.as_os_str()).as_slice()].concat();
            text.extend([b"trap ", quoted(OsStr::from_bytes(&tell)).as_slice(), b" EXIT; "].concat());
        }
        if let Some(file) = self.env_file {
            text.extend([b". ", quoted(file.as_os_str()).as_slice(), b"; "].concat());
        }
        if let Some(file) = self.names_file {
            text.extend([b". ", quoted(file.as_os_str()).as_slice(), b" 2>/dev/null; "].concat());
        }
        match self.what {
            // Aliases are expanded when a line is read, so the command is read after they are known.
            What::Text(command) if self.names_file.is_some() => {
                text.extend([b"eval ", quoted(OsStr::new(command)).as_slice()].concat());
            }
            What::Text(command) => text.extend(command.as_bytes()),
            What::File(file) => text.extend([b". ", quoted(file.as_os_str()).as_slice()].concat()),
        }
        match self.prefix {
            Some(prefix) => {
                let whole = quoted(OsStr::from_bytes(&text));
                OsString::from_vec([prefix.as_bytes(), b" ", whole.as_slice()].concat())
            }
            None => OsString::from_vec(text),
        }
    }
}

fn quoted(text: &OsStr) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for &byte in text.as_bytes() {
        if byte == b'\'' {
            quoted.extend(br"'\''");
        } else {
            quoted.push(byte);
        }
    }
    quoted.push(b'\'');
    quoted
}

/// The user's own choice, else the first of bash, zsh and sh on the search path.
pub fn find_shell(chosen: Option<&Path>, search_path: &OsStr) -> PathBuf {
    let folders: Vec<PathBuf> = std::env::split_paths(search_path).collect();
    let on_path = ["bash", "zsh", "sh"].iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let chosen = chosen.filter(|path| path.is_absolute()).map(Path::to_path_buf);
    chosen.into_iter().chain(on_path).find(|path| path.is_file()).unwrap_or_else(|| "/bin/sh".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_survives_quotes() {
        assert_eq!(quoted(OsStr::new("it's")), br"'it'\''s'");
    }

    #[test]
    fn everything_stands_on_the_commands_first_line() {
        let script = Script {
            what: What::Text("a\nb"),
            cwd_file: Some(Path::new("/s/x")),
            env_file: Some(Path::new("/e")),
            names_file: None,
            prefix: None,
        };
        let expected = r"trap 'command pwd -P >| '\''/s/x'\''' EXIT; . '/e'; a".to_owned() + "\nb";
        assert_eq!(script.text(), OsString::from(expected));
        let wrapped = Script {
            what: What::Text("a 'b'"),
            cwd_file: None,
            env_file: None,
            names_file: None,
            prefix: Some("log --all"),
        };
        assert_eq!(wrapped.text(), OsString::from(r"log --all 'a '\''b'\'''"));
        let named = Script { names_file: Some(Path::new("/n")), prefix: None, ..wrapped };
        assert_eq!(named.text(), OsString::from(r". '/n' 2>/dev/null; eval 'a '\''b'\'''"));
    }

    #[test]
    fn a_shell_is_found_even_on_a_bare_machine() {
        assert_eq!(find_shell(None, OsStr::new("/nowhere")), Path::new("/bin/sh"));
        assert_eq!(find_shell(Some(Path::new("/bin/sh")), OsStr::new("/usr/bin:/bin")), Path::new("/bin/sh"));
        let relative = find_shell(Some(Path::new("sh")), OsStr::new("/usr/bin:/bin"));
        assert!(relative.is_absolute(), "{}", relative.display());
    }
}

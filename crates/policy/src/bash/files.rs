//! The effects of well-known programs on files, from their arguments alone.
//!
//! A program not listed here has no footprint: nothing is known about it, so nothing is allowed by it.
//! Deliberately absent: pagers, interpreters, `awk`, `tee` and whatever else can run or write at will.

use crate::paths::Access;
use crate::shell::{Certainty, Word};

use super::{git, writers};
use crate::programs::sed;

#[derive(Debug, Clone)]
pub(super) struct Use {
    pub(super) word: Word,
    pub(super) access: Access,
}

impl Use {
    pub(super) fn read(word: &Word) -> Self {
        Self { word: word.clone(), access: Access::Read }
    }

    pub(super) fn write(word: &Word) -> Self {
        Self { word: word.clone(), access: Access::Write }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Footprint {
    pub(super) uses: Vec<Use>,
    /// Its operands are text, not files.
    pub(super) text: bool,
    /// One of the edits that `acceptEdits` covers.
    pub(super) edits: bool,
    /// Prints the contents of whole directories, so single files in them cannot be checked.
    pub(super) recursive: bool,
    /// Takes whole directories to another name, away from the rules about the old one.
    pub(super) whole: bool,
    /// Opens what links below its paths lead to.
    pub(super) follows: bool,
}

/// How a reading program takes its arguments.
struct Reader {
    names: &'static [&'static str],
    /// Operands before the files: a pattern, a program.
    skip: usize,
    /// Flags whose value, as the next word, is no file.
    valued: &'static [&'static str],
    /// Operands are text, not files.
    text: bool,
}

const fn files(names: &'static [&'static str], valued: &'static [&'static str]) -> Reader {
    Reader { names, skip: 0, valued, text: false }
}

const fn text(names: &'static [&'static str]) -> Reader {
    Reader { names, skip: 0, valued: &[], text: true }
}

const READERS: [Reader; 18] = [
    text(&[
        "echo", "pwd", "true", "false", ":", "exit", "sleep", "seq", "basename", "dirname", "which", "expr", "test",
        "[",
    ]),
    text(&["uname", "nproc", "arch", "uptime", "tr", "break", "continue", "return", "wait", "type"]),
    text(&["printf"]),
    files(&["date"], &["-d", "--date"]),
    files(
        &["ls", "cat", "wc", "readlink", "realpath", "nl", "tac", "rev", "fold", "fmt", "comm", "cmp", "strings"],
        &[],
    ),
    files(&["head", "tail"], &["-n", "-c", "--lines", "--bytes", "-s", "--pid"]),
    files(&["stat"], &["-c", "-f", "--format", "--printf", "-t"]),
    files(&["du", "df"], &["-d", "--max-depth", "-t", "--threshold"]),
    files(&["cut", "paste", "join", "column"], &["-d", "-f", "-c", "-b", "-s", "-t", "-o", "-1", "-2", "--delimiter"]),
    files(&["od", "hexdump", "base64", "cksum", "expand", "unexpand"], &["-N", "-j", "-n", "-s", "-w", "-t", "-A"]),
    files(&["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum"], &[]),
    files(&["uniq"], &["-f", "-s", "-w"]),
    files(&["diff"], &["-U", "-C", "-x", "-I", "-W", "--exclude", "--label", "-L"]),
    files(&["file"], &["-F", "-P"]),
    files(&["tree"], &["-L", "-I", "-P"]),
    files(&["sort"], &["-k", "-t", "-S"]),
    Reader {
        skip: 1,
        ..files(
            &["grep", "egrep", "fgrep"],
            &["-A", "-B", "-C", "-m", "-e", "--regexp", "--include", "--exclude", "--max-count", "-d", "-D"],
        )
    },
    Reader { skip: 1, ..files(&["jq"], &["--arg", "--argjson", "--indent"]) },
];

const SEARCH: Reader = Reader {
    skip: 1,
    ..files(
        &["rg"],
        &[
            "-g", "-t", "-T", "-A", "-B", "-C", "-m", "-e", "-d", "-j", "-M", "-E", "--glob", "--type", "--regexp",
            "--sort",
        ],
    )
};

const FIND_REFUSED: [&str; 10] =
    ["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from"];

/// `None`: not a program whose files are known.
pub(super) fn footprint(words: &[Word]) -> Option<Footprint> {
    let (name, args) = words.split_first()?;
    match name.raw.as_str() {
        "find" => Some(find(args)),
        "sed" => Some(sed_footprint(args)),
        "rg" => Some(search(args)),
        "git" => git::footprint(args),
        "cd" => Some(Footprint { uses: directory(args), ..Footprint::default() }),
        "command" if args.first().is_some_and(|flag| matches!(flag.raw.as_str(), "-v" | "-V")) => {
            Some(Footprint { text: true, ..Footprint::default() })
        }
        name => match READERS.iter().find(|reader| reader.names.contains(&name)) {
            Some(reader) => Some(read(reader, args)),
            None => writers::footprint(name, args),
        },
    }
}

/// `find -exec` and its kin run or remove things; no rule with a wildcard covers them.
pub(super) fn find_acts(args: &[Word]) -> bool {
    args.iter().any(|word| match word.certainty {
        Certainty::Exact => FIND_REFUSED.contains(&word.text.as_str()),
        Certainty::Glob => FIND_REFUSED.iter().any(|flag| crate::pattern::path_segments(&[&word.text], &[flag])),
        Certainty::Home => false,
        Certainty::Unknown => true,
    })
}

pub(super) fn is_flag(word: &Word) -> bool {
    word.text.starts_with('-') && word.text.len() > 1
}

/// Operands and the paths hidden in flags.
fn read(reader: &Reader, args: &[Word]) -> Footprint {
    let mut operands: Vec<&Word> = Vec::new();
    let mut uses = Vec::new();
    let mut skip = reader.skip;
    let mut flags = true;
    let mut at = 0;
    while let Some(word) = args.get(at) {
        at += 1;
        if flags && word.text == "--" {
            flags = false;
        } else if flags && is_flag(word) {
            if brings_pattern(&word.text) {
                skip = 0;
            }
            if reader.valued.contains(&word.text.as_str()) {
                at += if matches!(word.text.as_str(), "--arg" | "--argjson") { 2 } else { 1 };
            }
            uses.extend(path_in_flag(word));
        } else {
            operands.push(word);
            // After its format `printf` takes no more flags.
            flags &= !reader.names.contains(&"printf");
        }
    }
    let named: Vec<&Word> = operands.into_iter().skip(skip).filter(|word| word.raw != "-").collect();
    let searches = reader.names.iter().any(|name| matches!(*name, "grep" | "rg"));
    if searches && named.is_empty() {
        uses.push(Use::read(&here()));
    }
    let named = named.into_iter();
    if reader.text {
        // `echo /etc/*` lists a directory.
        uses.extend(named.filter(|word| word.certainty == Certainty::Glob && word.text.contains('/')).map(Use::read));
    } else {
        uses.extend(named.map(Use::read));
    }
    let recursive = reader.names.contains(&"grep") || reader.names.contains(&"diff");
    let recursive = recursive
        && args.iter().any(|word| {
            let text = word.text.as_str();
            text.starts_with("--rec")
                || text.starts_with("--dereference-rec")
                || text == "-d"
                || (is_flag(word) && !text.starts_with("--") && text.contains(['r', 'R']))
        });
    let follows = recursive && follows_links(reader, args);
    Footprint { uses, text: reader.text, recursive, follows, ..Footprint::default() }
}

fn here() -> Word {
    Word { raw: ".".to_owned(), text: ".".to_owned(), certainty: Certainty::Exact }
}

/// Whether a flag may bring what is searched for, so that the first operand is a file already: `-e x`, `-ex`,
/// `-nfpatterns`, `--regexp=x`, `--reg x`, and `rg --files`, which needs none.
fn brings_pattern(flag: &str) -> bool {
    match flag.strip_prefix("--") {
        Some(long) => {
            let name = long.split('=').next().unwrap_or(long);
            !name.is_empty() && ["regexp", "file", "files"].iter().any(|known| known.starts_with(name))
        }
        None => flag.contains(['e', 'f']),
    }
}

/// Of a reader that goes through directories.
fn follows_links(reader: &Reader, args: &[Word]) -> bool {
    let short =
        |letter: char| move |word: &Word| !word.text.starts_with("--") && is_flag(word) && word.text.contains(letter);
    let long = |start: &'static str| move |word: &Word| word.text.starts_with(start);
    match reader.names.first() {
        Some(&"grep") => args.iter().any(|word| short('R')(word) || long("--der")(word)),
        Some(&"diff") => !args.iter().any(long("--no-deref")),
        _ => args.iter().any(|word| short('L')(word) || long("--fo")(word)),
    }
}

/// `--file=/etc/passwd`, `-f/etc/passwd`, `-I../x`.
pub(super) fn path_in_flag(flag: &Word) -> Vec<Use> {
    let text = flag.text.as_str();
    let value = match text.split_once('=') {
        Some((_, value)) => value,
        None => text.get(2..).unwrap_or_default(),
    };
    let path =
        |text: &str| Use::read(&Word { raw: text.to_owned(), text: text.to_owned(), certainty: Certainty::Exact });
    let mut out = Vec::new();
    if value.contains('/') || value.contains("..") || value.starts_with('~') {
        let value = value.trim_start_matches("~/");
        out.push(path(value));
        out.extend(value.find('/').map(|at| path(&value[at..])));
    }
    if text.contains("=~") || flag.certainty != Certainty::Exact {
        out.push(Use::read(&Word::unknown(&flag.raw)));
    }
    out
}

fn search(args: &[Word]) -> Footprint {
    let mut footprint = read(&SEARCH, args);
    footprint.recursive = true;
    footprint.follows = follows_links(&SEARCH, args);
    footprint
}

pub(super) fn directory(args: &[Word]) -> Vec<Use> {
    let home = Word { raw: "~".to_owned(), text: String::new(), certainty: Certainty::Home };
    let named: Vec<Use> = args.iter().filter(|word| !matches!(word.raw.as_str(), "--" | "-L")).map(Use::read).collect();
    if named.is_empty() { vec![Use::read(&home)] } else { named }
}

fn find(args: &[Word]) -> Footprint {
    let expression = args
        .iter()
        .position(|word| {
            (is_flag(word) && !matches!(word.text.as_str(), "-L" | "-H" | "-P"))
                || matches!(word.text.as_str(), "(" | "!")
        })
        .unwrap_or(args.len());
    let uses = args[..expression].iter().filter(|word| !is_flag(word)).map(Use::read).collect();
    Footprint { uses, ..Footprint::default() }
}

fn sed_footprint(args: &[Word]) -> Footprint {
    let (mut scripts, mut operands, mut in_place, mut harmless) = (Vec::new(), Vec::new(), false, true);
    let mut suffixes: Vec<&str> = Vec::new();
    let mut at = 0;
    while let Some(word) = args.get(at) {
        at += 1;
        match word.text.as_str() {
            "-n" | "-E" | "-r" | "-s" | "-u" | "-z" | "-ne" | "-nE" | "-En" | "--quiet" | "--regexp-extended"
            | "--" => {
                if word.text == "-ne" {
                    scripts.extend(args.get(at));
                    at += 1;
                }
            }
            "-e" | "--expression" => {
                scripts.extend(args.get(at));
                at += 1;
            }
            "-i" | "--in-place" => in_place = true,
            flag if is_flag(word) => {
                // A backup suffix is fine as long as it cannot name another directory.
                let suffix = flag.strip_prefix("-i").or_else(|| flag.strip_prefix("--in-place="));
                harmless &= suffix.is_some_and(|suffix| suffix.starts_with('.') && !suffix.contains(['/', '*']));
                in_place |= suffix.is_some();
                suffixes.extend(suffix);
            }
            _ => operands.push(word),
        }
    }
    if scripts.is_empty() && !operands.is_empty() {
        scripts.push(operands.remove(0));
    }
    harmless &= scripts.iter().all(|script| script.exact().is_some_and(sed::harmless));
    harmless &= operands.iter().all(|word| matches!(word.certainty, Certainty::Exact | Certainty::Home));
    let mut uses: Vec<Use> =
        operands.iter().map(|word| if in_place { Use::write(word) } else { Use::read(word) }).collect();
    // The backup is a file of its own.
    for suffix in &suffixes {
        uses.extend(operands.iter().map(|word| {
            let text = format!("{}{suffix}", word.text);
            Use::write(&Word { raw: text.clone(), text, certainty: word.certainty })
        }));
    }
    Footprint { uses, edits: harmless, ..Footprint::default() }
}

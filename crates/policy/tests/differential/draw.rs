//! Commands: drawn from a grammar, from the option tables and from known attacks, then mutated.

use crate::dice::Dice;
use ralph_policy::programs::{Form, forms};

/// Long commands are slow and find little that short ones do not.
const LENGTH_MAX: usize = 600;

/// What must not happen, in ways that the canaries notice.
const PAYLOADS: [&str; 22] = [
    "evil",
    "./evil.sh",
    "touch made",
    "touch${IFS}made",
    "curl x",
    "cat leak",
    "cat door/secret.txt",
    "cat ../outside/secret.txt",
    "cat ~/.ssh/id",
    "cat secret/key",
    "rm a.txt",
    "./evil/ls",
    "echo x > made",
    "echo x>made",
    "git grep -nO./evil.sh a",
    "sort -o made a.txt",
    "sed -i.json s/a/b/ .mcp",
    "head -1 docs/out/secret.txt",
    "grep -r canary .",
    "find . -exec ./evil.sh {} ;",
    "cp leak new",
    "diff docs src",
];

/// Commands that are allowed in most modes: what an attack hides among.
const HARMLESS: [&str; 30] = [
    "ls",
    "cat a.txt",
    "echo a",
    "pwd",
    "git status",
    "git log -1",
    "head -1 a.txt",
    "true",
    "grep a a.txt",
    "find src",
    "wc -l b.txt",
    "echo 'a b'",
    "echo \"a b\"",
    "cat src/*.rs",
    "test -f a.txt",
    "[ -n a ]",
    "printf '%s\\n' a",
    "date +%s",
    "sed -n 1p a.txt",
    "sort a.txt",
    "ls *.txt",
    "cd src",
    "diff a.txt b.txt",
    "git diff",
    "touch new",
    "mkdir d",
    "rm b.txt",
    "cp a.txt new",
    "mv b.txt sub",
    "sed -i s/a/b/ a.txt",
];

/// Ways to put a command into another one.
const WRAPS: [(&str, &str); 44] = [
    ("echo a; ", ""),
    ("", " && echo a"),
    ("false || ", ""),
    ("echo a | ", ""),
    ("", " | cat"),
    ("", " &"),
    ("! ", ""),
    ("echo $( ", " )"),
    ("echo \"$( ", " )\""),
    ("echo `", "`"),
    ("( ", " )"),
    ("( (", ") )"),
    ("((", "))"),
    ("{ ", "; }"),
    ("if true; then ", "; fi"),
    ("for i in 1; do ", "; done"),
    ("for PATH in evil; do ", "; done"),
    ("while ", "; do break; done"),
    ("until ", "; do break; done"),
    ("case a in a) ", ";; esac"),
    ("f() { ", "; }; f"),
    ("time ", ""),
    ("ls <( ", " )"),
    ("x=$( ", " )"),
    ("cat <<E\n$( ", " )\nE\n"),
    ("cat <<'E'\n", "\nE\n"),
    ("cat <<E\n$(#)\n", ")\nE\n"),
    ("cat <<-E\n\t", "\n\tE\n"),
    ("cat <<< \"", "\""),
    ("echo $(( ", " ))"),
    ("echo ${x:-", "}"),
    ("echo \"${x:-$( ", " )}\""),
    ("[[ -n $( ", " ) ]]"),
    ("ls # x\n", ""),
    ("# '\n", "\n#'"),
    ("ls \\\n", ""),
    ("eval '", "'"),
    ("command ", ""),
    ("env ", ""),
    ("timeout 1 ", ""),
    ("xargs ", " < list.txt"),
    ("nice ", ""),
    ("coproc ", ""),
    ("bash -c '", "'"),
];

const PIECES: [&str; 84] = [
    "'",
    "\"",
    "\\",
    "`",
    "$",
    "$(",
    ")",
    "(",
    "((",
    "))",
    "{",
    "}",
    "[",
    "]",
    "[[",
    "]]",
    ";",
    ";;",
    "&",
    "&&",
    "|",
    "||",
    "|&",
    "\n",
    "\r",
    "\t",
    " ",
    "  ",
    "\u{a0}",
    "\u{2028}",
    "\u{b}",
    "\u{c}",
    "\u{0}",
    "\u{7f}",
    "\u{1b}",
    "\u{200b}",
    "\u{feff}",
    "é",
    "#",
    " #",
    "<",
    ">",
    ">>",
    "<<",
    "<<E\n",
    "\nE\n",
    "<<<",
    "<>",
    ">|",
    "2>&1",
    ">&",
    "&>",
    "> /dev/null",
    "< a.txt",
    "<(",
    ">(",
    "*",
    "?",
    "!",
    "~",
    "=",
    "${IFS}",
    "$IFS",
    "$'\\n'",
    "$\"",
    "${x}",
    "$x",
    "\\\n",
    "-",
    "--",
    " -- ",
    "%",
    "^",
    ",",
    "{a,b}",
    "@",
    "+",
    "PATH=evil ",
    "IFS=/ ",
    "x=1 ",
    "export ",
    "set -f; ",
    "$((",
    "../",
];

/// Options that run, write or read something, for whatever program they are put to.
const OPTIONS: [&str; 40] = [
    "-o made",
    "-omade",
    "--output=made",
    "--outp=made",
    "-O./evil.sh",
    "-nO./evil.sh",
    "--open-files-in-pager=./evil.sh",
    "--ext-diff",
    "--textconv",
    "--contents=leak",
    "-f leak",
    "-fleak",
    "--file=leak",
    "--fil=leak",
    "-s leak",
    "-T leak",
    "--files0-from=leak",
    "--exclude-from=leak",
    "--from-file=leak",
    "--ignore-revs-file=leak",
    "-r",
    "-R",
    "-L",
    "-i",
    "-i.json",
    "--in-place=.json",
    "-e p",
    "-e 'w made'",
    "-t sub",
    "--compress-program=./evil.sh",
    "--show-signature",
    "--format=%G?",
    "--no-index",
    "-C sub",
    "-c core.pager=./evil.sh",
    "--pre=./evil.sh",
    "-v PATH",
    "-exec ./evil.sh ;",
    "-delete",
    "-fprint made",
];

const FILES: [&str; 24] = [
    "a.txt",
    "b.txt",
    "src",
    "src/lib.rs",
    ".",
    "sub",
    "leak",
    "door",
    "door/secret.txt",
    "docs",
    "docs/out",
    "../outside/secret.txt",
    "~/.ssh/id",
    "secret/key",
    "secret",
    "*",
    "*.txt",
    "s*/k*",
    "d*/secret.txt",
    "l*k",
    "new",
    "list.txt",
    "-",
    ".mcp",
];

const FOLLOWS: [&str; 5] = ["-f", "-F", "--follow", "--follow=1", "--retry"];

const SEEDS: &str = include_str!("seeds.txt");

/// Known attacks: a line of the seeds is a command, with `\n` for a line break.
pub fn attacks() -> Vec<String> {
    let lines = SEEDS.lines().filter(|line| !line.is_empty() && !line.starts_with("//"));
    let signs = [("\\\\", "\u{1}"), ("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r"), ("\u{1}", "\\")];
    lines.map(|line| signs.iter().fold(line.to_owned(), |text, (from, to)| text.replace(from, to))).collect()
}

/// Known attacks and every listed form.
pub fn corpus() -> Vec<String> {
    let seeds = attacks().into_iter();
    // A file that is followed costs the whole time that a command may take.
    let ends = |form: &Form| form.program != "tail" || !form.args.iter().any(|arg| FOLLOWS.contains(&arg.as_str()));
    let listed = forms().into_iter().filter(ends).map(|form| format!("{} {}", form.program, form.args.join(" ")));
    let plain = HARMLESS.iter().chain(&PAYLOADS).map(|text| (*text).to_owned());
    seeds.chain(listed).chain(plain).collect()
}

pub fn command(dice: &mut Dice, corpus: &[String]) -> String {
    let mut text = match dice.below(10) {
        0..3 => dice.pick(corpus).clone(),
        3..6 => options(dice, corpus),
        _ => grammar(dice, 3),
    };
    // Most mutations are refused; what is nearly allowed is found with none or one.
    for _ in 0..dice.below(6).saturating_sub(2) {
        mutate(dice, &mut text, corpus);
    }
    if text.len() > LENGTH_MAX {
        text = text.chars().take(LENGTH_MAX / 4).collect();
    }
    text
}

/// A listed form with more options and other files.
fn options(dice: &mut Dice, corpus: &[String]) -> String {
    let mut words: Vec<String> = dice.pick(corpus).split(' ').map(str::to_owned).collect();
    for _ in 0..=dice.below(3) {
        let at = 1 + dice.below(words.len());
        let word = match dice.below(5) {
            0 | 1 => (*dice.pick(&OPTIONS)).to_owned(),
            2 | 3 => (*dice.pick(&FILES)).to_owned(),
            _ => dice.pick(corpus).split(' ').nth(1).unwrap_or("--").to_owned(),
        };
        words.insert(at.min(words.len()), word);
    }
    if dice.chance(20) {
        // Two short options in one word.
        let at = dice.below(words.len());
        if words[at].starts_with('-') && words[at].len() > 1 {
            let letter = dice.pick(&OPTIONS).trim_start_matches('-').to_owned();
            words[at].push_str(&letter);
        }
    }
    words.join(" ")
}

fn grammar(dice: &mut Dice, depth: usize) -> String {
    match dice.below(if depth == 0 { 3 } else { 9 }) {
        0 => (*dice.pick(&PAYLOADS)).to_owned(),
        1 => (*dice.pick(&HARMLESS)).to_owned(),
        2 => {
            let base = *dice.pick(&HARMLESS);
            format!("{base} {}", dice.pick(&FILES))
        }
        3..6 => {
            let (before, after) = *dice.pick(&WRAPS);
            format!("{before}{}{after}", grammar(dice, depth - 1))
        }
        6 => {
            let sign = *dice.pick(&[";", "&&", "||", "|", "\n", "&", " ; ", " | ", "\n\n"]);
            format!("{}{sign}{}", grammar(dice, depth - 1), grammar(dice, depth - 1))
        }
        7 => {
            let sign = *dice.pick(&[">", ">>", "<", "2>", "&>", ">|", "<>", "2>&1 >", ">&"]);
            format!("{} {sign} {}", grammar(dice, depth - 1), dice.pick(&FILES))
        }
        _ => quoted(dice, depth),
    }
}

/// A command whose words are written in other ways.
fn quoted(dice: &mut Dice, depth: usize) -> String {
    let text = grammar(dice, depth - 1);
    let write = |dice: &mut Dice, word: &str| match dice.below(8) {
        0 => format!("'{word}'"),
        1 => format!("\"{word}\""),
        2 => format!("$'{word}'"),
        3 => word.chars().map(|c| format!("\\{c}")).collect(),
        4 => format!("\"\"{word}''"),
        5 => format!("{{{word},}}"),
        _ => word.to_owned(),
    };
    text.split(' ').map(|word| write(dice, word)).collect::<Vec<_>>().join(" ")
}

fn mutate(dice: &mut Dice, text: &mut String, corpus: &[String]) {
    let boundary = |dice: &mut Dice, text: &str| {
        let mut at = dice.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let start = boundary(dice, text);
    let mut end = (start + dice.below(8)).min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    match dice.below(8) {
        0 => text.replace_range(start..end, ""),
        1..4 => text.insert_str(start, PIECES[dice.below(PIECES.len())]),
        4 => text.replace_range(start..end, PIECES[dice.below(PIECES.len())]),
        5 => {
            let other = dice.pick(corpus);
            let from = boundary(dice, other);
            text.insert_str(start, &other[from..]);
        }
        6 => {
            let piece = text[start..end].to_owned();
            text.insert_str(start, &piece);
        }
        _ => text.insert_str(start, PAYLOADS[dice.below(PAYLOADS.len())]),
    }
}

//! Tables of command lines: what they touch, and which ones are refused.

use super::{Arg, Effects, anchored, effects, forms};

/// A word with a star or a question mark stands for a pattern of the shell, unless it has `'` around it.
fn args(line: &str) -> (String, Vec<Arg>) {
    let mut words: Vec<Arg> = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let quoted = rest.strip_prefix('\'');
        let (word, after) = match quoted {
            Some(inner) => inner.split_once('\'').expect("a closing quote"),
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(Arg { text: word.to_owned(), glob: quoted.is_none() && word.contains(['*', '?']) });
        rest = after.trim_start();
    }
    let program = words.remove(0).text;
    (program, words)
}

fn judge(line: &str) -> Option<Effects> {
    let (program, args) = args(line);
    effects(&program, &args)
}

fn texts(args: &[Arg]) -> Vec<&str> {
    args.iter().map(|arg| arg.text.as_str()).collect()
}

#[test]
fn files_are_found_wherever_they_stand() {
    for (line, reads) in [
        ("cat a b", &["a", "b"][..]),
        ("cat -n a -- -b", &["a", "-b"]),
        ("head -n 5 a", &["a"]),
        ("head -n5 a -c 3 b", &["a", "b"]),
        ("head -5 a", &["a"]),
        ("tail --lines=5 a", &["a"]),
        ("paste -s f", &["f"]),
        ("paste -d, -s f g", &["f", "g"]),
        ("grep x a", &["a"]),
        ("grep -e x a", &["a"]),
        ("grep -nex a", &["a"]),
        ("grep -nf list a", &["list", "a"]),
        ("grep --file=list a", &["list", "a"]),
        ("grep -rn --include=*.rs foo src", &["src"]),
        ("sort -k2 -t: a", &["a"]),
        ("diff --from-file=x a b", &["x", "a", "b"]),
        ("find -- d -name x", &["d"]),
        ("find d e -newer n", &["d", "e", "n"]),
        ("find -L d", &["d"]),
        ("jq -r .a f.json", &["f.json"]),
        ("jq --arg a b .x f", &["f"]),
        ("sed -n 1,5p a", &["a"]),
        ("sed -ne p a", &["a"]),
        ("sed -e p -e d a b", &["a", "b"]),
        ("date -r f +%s", &["f"]),
        ("git show HEAD:x/y", &["HEAD:x/y", "x/y"]),
        ("git diff a -- b", &["a", "b"]),
        ("git blame --ignore-revs-file=r a", &["r", "a"]),
        ("git grep -n x src", &["src"]),
        ("git grep -nf list src", &["list", "src"]),
        ("echo src/* b", &["src/*"]),
        ("rg --files src", &["src"]),
        ("rg -f pats src", &["pats", "src"]),
        ("xxd -l 16 a", &["a"]),
        ("realpath --relative-to=d a", &["d", "a"]),
    ] {
        let found = judge(line).unwrap_or_else(|| panic!("refused: {line}"));
        assert_eq!(texts(&found.reads), reads, "{line}");
        assert_eq!(found.writes, [], "{line}");
    }
}

#[test]
fn folders_links_and_the_working_folder_are_told() {
    for (line, tree, follows, cwd) in [
        ("ls", false, false, true),
        ("ls -R a", true, false, false),
        ("ls -lR", true, false, true),
        ("ls -LR a", true, true, false),
        ("grep -r x", true, false, true),
        ("grep -R x a", true, true, false),
        ("grep -d recurse x a", true, false, false),
        ("grep x", false, false, false),
        ("rg x", true, false, true),
        ("rg -L x a", true, true, false),
        ("du -sh", true, false, true),
        ("find", true, false, true),
        ("find . -follow", true, true, false),
        ("diff a b", true, true, false),
        ("diff -r --no-dereference a b", true, false, false),
        ("git grep x", true, false, true),
        ("cp -r a b", true, true, false),
        ("mv a b", true, false, false),
        ("rm -rf a", true, false, false),
    ] {
        let found = judge(line).unwrap_or_else(|| panic!("refused: {line}"));
        assert_eq!((found.tree, found.follows, found.cwd), (tree, follows, cwd), "{line}");
    }
    assert!(judge("git status").is_some_and(|effects| effects.git));
}

#[test]
fn writers_name_everything_they_may_write() {
    for (line, writes) in [
        ("mkdir -p a/b", &["a/b"][..]),
        ("touch -r x a", &["a"]),
        ("rm -f a b", &["a", "b"]),
        ("cp a b", &["b", "b/a"]),
        ("cp x/a y/b d", &["d", "d/a", "d/b"]),
        ("mv a b", &["b", "b/a", "a"]),
        ("sed -i s/a/b/ f", &["f"]),
        ("sed -i.json s/a/b/ .mcp", &[".mcp", ".mcp.json"]),
        ("sed -ni.bak p f", &["f", "f.bak"]),
        ("sed --in-place=x p f", &["f", "fx"]),
        ("sed -ie p f", &["f", "fe"]),
    ] {
        let found = judge(line).unwrap_or_else(|| panic!("refused: {line}"));
        assert_eq!(texts(&found.writes), writes, "{line}");
    }
}

#[test]
fn what_is_not_listed_is_refused() {
    let lines = include_str!("refused.txt");
    let accepted: Vec<&str> =
        lines.lines().filter(|line| !line.is_empty() && !line.starts_with('#') && judge(line).is_some()).collect();
    assert!(lines.lines().count() > 100 && accepted.is_empty(), "{accepted:#?}");
}

#[test]
fn a_pattern_never_becomes_an_option() {
    for line in
        ["cat *", "grep x *.rs", "rm *", "find *", "find . -name *", "git diff *", "uniq a*", "cp a b*", "printf *"]
    {
        assert_eq!(judge(line), None, "{line}");
    }
    for line in ["cat src/*", "cat -- *", "find . -name *.rs -type f", "ls a*", "echo *", "git log -- *.rs"] {
        assert!(judge(line).is_some(), "{line}");
    }
    for (line, wanted) in [
        ("grep x *.rs", "x ./*.rs"),
        ("rm -f *.o", "-f ./*.o"),
        ("cat ?", "./?"),
        ("find . -name *", ". -name *"),
        ("sort *", "*"),
        ("uniq *", "*"),
        ("cat src/*", "src/*"),
    ] {
        let (program, args) = args(line);
        assert_eq!(texts(&anchored(&program, &args)).join(" "), wanted, "{line}");
    }
}

#[test]
fn every_listed_form_is_accepted() {
    let refused: Vec<String> = forms()
        .iter()
        .filter(|form| {
            let args: Vec<Arg> = form.args.iter().map(Arg::new).collect();
            effects(form.program, &args).is_none()
        })
        .map(|form| format!("{} {}", form.program, form.args.join(" ")))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
}

//! Every listed form of every program under `strace`: it opens, makes, runs and reaches nothing but what was declared.
//!
//! One bash runs all forms of a program under one `strace`; a failed opening of `/.form-N` marks where a form begins.
//! Which libraries, locales and files of the system a program opens by itself is measured with plain runs.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world must fail loudly")]
#![expect(clippy::disallowed_methods, reason = "this test runs the programs that the tables are about")]
#![cfg(target_os = "linux")]

use ralph_policy::programs::{Arg, Effects, Form, effects, forms};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TRACED: &str = "trace=open,openat,openat2,creat,execve,execveat,connect,unlink,unlinkat,rename,renameat,renameat2,\
    mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,truncate,chmod,fchmodat,chown,fchownat,utimensat,mknod,mknodat";

/// Plain runs whose openings are those of any program of its kind: users, groups, zones, name services.
const PLAIN: [&str; 11] = [
    "nproc",
    "nproc --all",
    "git grep a",
    "ls -l .",
    "date",
    "cat a.txt",
    "grep -P a a.txt",
    "git --version",
    "file --version",
    "touch old",
    "git log -1 --format=%cd",
];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Read(PathBuf),
    Write(PathBuf),
    Exec(PathBuf),
    Reach(String),
}

struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn scratch() -> Scratch {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("programs-{}", std::process::id()));
    fs::create_dir_all(folder.join("sub")).unwrap();
    let folder = folder.canonicalize().unwrap();
    for (name, text) in
        [("a.txt", "a\n"), ("b.txt", "b\n"), ("list.txt", "a\n"), ("data.json", "{}\n"), ("sub/x", "x\n")]
    {
        fs::write(folder.join(name), text).unwrap();
    }
    let git = |args: &[&str]| {
        let done = Command::new("git").args(args).current_dir(&folder).env("HOME", &folder).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "-q", "--template="]);
    git(&["add", "."]);
    git(&["-c", "user.name=a", "-c", "user.email=a@example.invalid", "commit", "-q", "-m", "a"]);
    git(&["config", "remote.origin.url", "nowhere"]);
    git(&["config", "user.name", "a"]);
    git(&["config", "user.email", "a@example.invalid"]);
    Scratch(folder)
}

fn can_trace() -> bool {
    let traced = Command::new("strace").args(["-f", "-qq", "-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    traced.is_ok_and(|status| status.success())
}

/// The events and the error output of each command line.
fn trace(folder: &Path, lines: &[String]) -> Vec<(BTreeSet<Event>, String)> {
    let log = folder.with_extension("trace");
    let script: String = lines
        .iter()
        .enumerate()
        .map(|(n, line)| {
            format!("rm -rf new old old1 old.bak\necho a > old\n( : < /.form-{n}; {line} )\n: < /.end-{n}\n")
        })
        .collect();
    let file = folder.with_extension("sh");
    fs::write(&file, script).unwrap();
    let out = Command::new("strace")
        .args(["-f", "-qq", "-y", "-s", "4096", "--seccomp-bpf", "-e", TRACED, "-e", "signal=none", "-o"])
        .arg(&log)
        .arg("/bin/bash")
        .arg(&file)
        .current_dir(folder)
        .env_clear()
        .envs([("PATH", "/usr/local/bin:/usr/bin:/bin"), ("LC_ALL", "C.UTF-8")])
        .env("HOME", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
    let _ = (fs::remove_file(&log), fs::remove_file(&file));
    let mut found = vec![(BTreeSet::new(), String::new()); lines.len()];
    let mut form = None;
    for line in text.lines() {
        if let Some(n) = mark(line, "/.form-") {
            form = Some(n);
        } else if line.contains("\"/.end-") {
            form = None;
        } else if let (Some(n), Some(event)) = (form, event(folder, line)) {
            found[n].0.insert(event);
        }
    }
    for line in String::from_utf8_lossy(&out.stderr).lines() {
        if let Some(n) = mark(line, "/.form-") {
            form = Some(n);
        } else if let Some(n) = form.filter(|_| !line.contains("/.end-")) {
            found[n].1.push_str(&format!("{line}\n"));
        }
    }
    found
}

fn mark(line: &str, sign: &str) -> Option<usize> {
    let digits: String = line.split_once(sign)?.1.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// What one line of the trace says, if the call had an effect.
fn event(folder: &Path, line: &str) -> Option<Event> {
    let (call, result) = line.rsplit_once(" = ")?;
    if result.starts_with('-') || result.starts_with('?') {
        return None;
    }
    let call = call.split_once(' ')?.1.trim_start();
    let (name, args) = call.split_once('(')?;
    let quoted = |n: usize| args.split('"').nth(2 * n + 1).map(str::to_owned);
    let at = args.split_once('<').filter(|_| args.starts_with(|c: char| c == 'A' || c.is_ascii_digit()));
    let base = at.and_then(|(_, rest)| rest.split_once('>')).map_or(folder.to_path_buf(), |(path, _)| path.into());
    let path = ralph_policy::normalise(&base.join(quoted(0).unwrap_or_default()));
    match name {
        "execve" | "execveat" => Some(Event::Exec(path)),
        "connect" => Some(Event::Reach(args.to_owned())),
        "open" | "openat" | "openat2"
            if !["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|f| args.contains(f)) =>
        {
            Some(Event::Read(path))
        }
        _ => Some(Event::Write(path)),
    }
}

/// Whether what was declared covers this event.
fn is_declared(folder: &Path, effects: &Effects, form: &Form, event: &Event) -> bool {
    let below = |args: &[Arg], path: &Path| {
        args.iter().any(|arg| {
            let named = ralph_policy::normalise(&folder.join(&arg.text));
            path == named || (effects.tree && path.starts_with(&named))
        })
    };
    match event {
        Event::Exec(path) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let shell = matches!(form.program, "egrep" | "fgrep" | "which")
                && matches!(&*name, "grep" | "sh" | "dash" | "which");
            name == form.program || shell || (form.program == "tail" && name == "timeout")
        }
        Event::Reach(_) => false,
        Event::Read(path) => {
            let here = path == folder || (effects.tree && path.starts_with(folder));
            let git = effects.git && path.starts_with(folder);
            // Removing a tree opens its folders.
            below(&effects.reads, path) || below(&effects.writes, path) || (effects.cwd && here) || git
        }
        Event::Write(path) => {
            let temporary = path.parent() == Some(folder)
                && path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("sed"));
            let index = path.starts_with(folder.join(".git")) && path.to_string_lossy().contains("index");
            below(&effects.writes, path)
                || path == Path::new("/dev/null")
                || (form.program == "sed" && temporary && !effects.writes.is_empty())
                || (effects.git && index)
        }
    }
}

fn is_installed(program: &str) -> bool {
    const BUILTINS: [&str; 16] = [
        "echo", "printf", "test", "[", "command", "type", "exit", "return", "break", "continue", "wait", ":", "pwd",
        "true", "false", "cd",
    ];
    BUILTINS.contains(&program)
        || ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|dir| Path::new(dir).join(program).exists())
}

fn quoted(form: &Form) -> String {
    let words: Vec<String> = form.args.iter().map(|word| format!("'{word}'")).collect();
    // It would follow the file for ever.
    let before = if form.program == "tail" { "timeout 0.1 " } else { "" };
    format!("{before}{} {}", form.program, words.join(" "))
}

#[test]
fn every_listed_form_does_what_is_declared_and_nothing_else() {
    if !can_trace() {
        println!("NOT TRIED: strace is missing or may not trace here, so no listed form was traced.");
        return;
    }
    let scratch = scratch();
    let folder = scratch.0.as_path();
    let mut by_program: BTreeMap<&str, Vec<Form>> = BTreeMap::new();
    for form in forms() {
        by_program.entry(form.program).or_default().push(form);
    }
    let plain = trace(folder, &PLAIN.map(str::to_owned));
    let shared: BTreeSet<Event> =
        plain.into_iter().flat_map(|(events, _)| events).filter(|e| is_of_system(folder, e)).collect();
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (program, forms) in by_program {
        if !is_installed(program) {
            println!("NOT TRIED: {program} is not installed, so its {} forms were not traced.", forms.len());
            continue;
        }
        let about = [format!("{program} --version"), format!("{program} --help"), quoted(&forms[0])];
        let own = trace(folder, &about).into_iter().flat_map(|(events, _)| events).filter(|e| is_of_system(folder, e));
        let baseline: BTreeSet<Event> = shared.iter().cloned().chain(own).collect();
        let lines: Vec<String> = forms.iter().map(quoted).collect();
        for (form, (events, errors)) in forms.iter().zip(trace(folder, &lines)) {
            tried += 1;
            let args: Vec<Arg> = form.args.iter().map(Arg::new).collect();
            let effects = effects(form.program, &args).unwrap();
            let extra: Vec<&Event> = events
                .iter()
                .filter(|event| !baseline.contains(event) && !is_declared(folder, &effects, form, event))
                .collect();
            if !extra.is_empty() {
                wrong.push(format!("{}: {extra:?}", quoted(form)));
            }
            if ["nrecognized option", "invalid option --", "nknown option", "unknown switch", "unknown predicate"]
                .iter()
                .any(|e| errors.contains(e))
            {
                wrong.push(format!("{}: {errors}", quoted(form)));
            }
        }
    }
    println!("{tried} forms traced");
    assert!(wrong.is_empty(), "{} of {tried}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Libraries, locales, zones and the like, which a plain run opens: nothing of the scratch folder, nothing written.
fn is_of_system(folder: &Path, event: &Event) -> bool {
    match event {
        // `find` opens the folder that it must come back to.
        Event::Read(path) => !path.starts_with(folder) || path == folder,
        Event::Reach(_) => true,
        Event::Exec(_) | Event::Write(_) => false,
    }
}

//! The checks that make "done" mean done. Run in order, all of them, so that the next prompt hears of
//! every failure at once.

use crate::git::Git;
use crate::helper::capture_in;
use crate::start_error::StartError;
use crate::{Folder, Job, Settings};
use cycle::CheckFinished;
use process::Env;
use sandbox::{Rules, Sandbox};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Read of a check's output.
const OUTPUT_MAX: usize = 4 * 1024 * 1024;
/// Kept of it: the end, where compilers and test runners say what failed.
const KEPT: usize = 8 * 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Check {
    /// As people wrote it.
    pub command: String,
    script: String,
    /// Scripts of the folder that it runs, as they were when the run began.
    guarded: Vec<(PathBuf, u64)>,
}

/// Programs whose first argument that is no option is a script.
const INTERPRETERS: [&str; 13] =
    ["sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "node", "ruby", "perl", "php", "source"];

/// The scripts in a command that lie in the folder: its programs, and the scripts of its interpreters. Pure but for
/// looking whether they are there.
fn scripts(root: &Path, command: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in command.split(['\n', ';', '|', '&', '(', ')']) {
        let mut words = part.split_ascii_whitespace().map(|word| word.trim_matches(['"', '\'']));
        let mut words = words.by_ref().skip_while(|word| word.contains('=') && !word.starts_with('/'));
        let Some(program) = words.next() else { continue };
        let interprets = INTERPRETERS.contains(&program.rsplit('/').next().unwrap_or(program)) || program == ".";
        let script = if interprets { words.find(|word| !word.starts_with('-')) } else { Some(program) };
        let is_there =
            |word: &&str| word.contains(['/', '.']) && root.join(word).is_file() && root.join(word).starts_with(root);
        found.extend(script.filter(is_there).map(str::to_owned));
    }
    found
}

/// With the scripts of a commit in their places, where one is named: those the agent cannot change.
pub(crate) async fn fixed(
    checks: Vec<Check>,
    job: &Job,
    run: &str,
    git: Option<&Git>,
) -> Result<Vec<Check>, StartError> {
    let Some(commit) = &job.settings.check_from else { return Ok(checks) };
    let git = git.ok_or(StartError::NoRepository)?;
    let root = job.folder.root();
    let mut fixed = Vec::new();
    for (at, mut check) in checks.into_iter().enumerate() {
        for (count, script) in scripts(root, &check.script).into_iter().enumerate() {
            let inner = Path::new(script.trim_start_matches("./"));
            let text = git.file_at(commit, inner).await;
            let missing = || StartError::NoScript { commit: commit.clone(), script: script.clone() };
            let text = text.ok_or_else(missing)?;
            let name = inner.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let copy = job.folder.run(run).join(format!("check-{at}-{count}-{name}"));
            write_script(&copy, &text).map_err(|source| StartError::Write { file: copy.clone(), source })?;
            check.script = check.script.replacen(&script, &quoted(&copy), 1);
            check.guarded.retain(|(path, _)| *path != root.join(&script));
            check.guarded.extend(print(&copy).map(|print| (copy, print)));
        }
        fixed.push(check);
    }
    Ok(fixed)
}

fn write_script(file: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    crate::files::replace(file, text.as_bytes())?;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o700))
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

pub(crate) fn list(folder: &Folder, settings: &Settings) -> Vec<Check> {
    let root = folder.root();
    let guarded = |command: &String| {
        let scripts = scripts(root, command).into_iter().map(|script| root.join(script));
        scripts.filter_map(|file| print(&file).map(|print| (file, print))).collect()
    };
    let given = settings.check.iter();
    let given =
        given.map(|command| Check { command: command.clone(), script: command.clone(), guarded: guarded(command) });
    let file = folder.check();
    let own = print(&file).map(|print| Check {
        command: ".ralph/check".into(),
        script: "if [ -x .ralph/check ]; then exec .ralph/check; else exec sh .ralph/check; fi".into(),
        guarded: vec![(file, print)],
    });
    given.chain(own).collect()
}

fn print(file: &Path) -> Option<u64> {
    let bytes = std::fs::read(file).ok()?;
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    Some(hasher.finish())
}

/// In the sandbox where there is one: a check executes what the agent wrote. `tell` gets what it prints, as it comes.
pub(crate) async fn run(
    check: Check,
    iteration: u32,
    folder: PathBuf,
    mut env: Env,
    deadline: Duration,
    rules: Option<Rules>,
    tell: Option<mpsc::Sender<Vec<u8>>>,
) -> CheckFinished {
    let started = Instant::now();
    let finished = |passed, exit_code, output: String| CheckFinished {
        iteration,
        command: check.command.clone(),
        passed,
        exit_code,
        output,
        duration_ms: started.elapsed().as_millis() as u64,
    };
    // A check that the agent could rewrite would check nothing.
    if let Some((file, _)) = check.guarded.iter().find(|(file, before)| print(file) != Some(*before)) {
        let name = file.strip_prefix(&folder).unwrap_or(file).display();
        let why = format!(
            "this check was changed while the loop ran, so it does not count: {name}. Put it back, start the loop anew, or \
             name a commit whose version counts (--check-from)"
        );
        return finished(false, 1, why);
    }
    // Made for this check alone: between checks nothing of it is in the workspace.
    let sandbox = match rules.map(Sandbox::new).transpose() {
        Ok(sandbox) => sandbox,
        Err(error) => return finished(false, 126, error.to_string()),
    };
    if let Some(sandbox) = &sandbox {
        process::scrub::credentials(&mut env);
        env.extend(sandbox.proxy_env());
    }
    let script = ["-c", &check.script];
    match capture_in(sandbox.as_ref(), "/bin/sh".as_ref(), &script, &folder, env, deadline, OUTPUT_MAX, tell.as_ref())
        .await
    {
        Ok(done) => {
            let mut output = String::from_utf8_lossy(&done.stdout).into_owned();
            output.push_str(&String::from_utf8_lossy(&done.stderr));
            let mut output = output[output.ceil_char_boundary(output.len().saturating_sub(KEPT))..].to_owned();
            if done.timed_out {
                output.push_str(&format!("\nstopped after {} s: no end was in sight", deadline.as_secs()));
            }
            finished(done.exit.success() && !done.timed_out, done.exit.shell_code(), output)
        }
        Err(error) => finished(false, 127, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env() -> Env {
        vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]
    }

    fn go(folder: &Path, check: &Check, deadline: Duration) -> CheckFinished {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(check.clone(), 1, folder.to_owned(), env(), deadline, None, None))
    }

    #[test]
    fn scripts_of_the_folder_are_known_by_how_they_are_run() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["check.sh", "tool.py", "Cargo.toml"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        for (command, expected) in [
            ("./check.sh", vec!["./check.sh"]),
            ("CI=1 ./check.sh --all && cargo test", vec!["./check.sh"]),
            ("sh -e check.sh; python3 tool.py x", vec!["check.sh", "tool.py"]),
            ("cargo test --manifest-path Cargo.toml", vec![]),
            ("python3 -m pytest tool", vec![]),
            ("make check", vec![]),
            ("./missing.sh", vec![]),
        ] {
            assert_eq!(scripts(dir.path(), command), expected, "{command}");
        }
    }

    #[test]
    fn a_script_that_was_changed_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        std::fs::write(dir.path().join("check.sh"), "exit 1\n").unwrap();
        let settings = Settings { check: vec!["sh ./check.sh".into()], ..Settings::default() };
        let check = &list(&folder, &settings)[0];
        std::fs::write(dir.path().join("check.sh"), "exit 0\n").unwrap();
        let done = go(dir.path(), check, Duration::from_secs(30));
        assert!(!done.passed && done.output.contains("check.sh") && done.output.contains("--check-from"), "{done:?}");
    }

    #[test]
    fn a_check_passes_only_by_its_exit_code_and_in_time() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        for (command, passed, code, words) in [
            ("echo fine", true, 0, "fine"),
            ("echo bad >&2; exit 4", false, 4, "bad"),
            ("no-such-program-here", false, 127, "not found"),
            ("sleep 60", false, 143, "no end was in sight"),
        ] {
            let settings = Settings { check: vec![command.into()], ..Settings::default() };
            let check = &list(&folder, &settings)[0];
            let wait = if command.starts_with("sleep") { Duration::from_millis(200) } else { Duration::from_secs(30) };
            let done = go(dir.path(), check, wait);
            assert_eq!((done.passed, done.exit_code), (passed, code), "{command}: {}", done.output);
            assert!(done.output.contains(words), "{command}: {}", done.output);
        }
    }

    #[test]
    fn the_folders_own_check_runs_and_may_not_be_changed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        std::fs::create_dir(folder.ralph()).unwrap();
        assert_eq!(list(&folder, &Settings::default()), []);
        std::fs::write(folder.check(), "exit 3\n").unwrap();
        let check = list(&folder, &Settings::default()).remove(0);
        assert_eq!(go(dir.path(), &check, Duration::from_secs(30)).exit_code, 3);
        std::fs::write(folder.check(), "exit 0\n").unwrap();
        let done = go(dir.path(), &check, Duration::from_secs(30));
        assert!(!done.passed && done.output.contains("was changed"));
    }
}

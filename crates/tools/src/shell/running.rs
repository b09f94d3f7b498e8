//! One command on its way: started, watched, and brought to an end.

use super::Shell;
use super::output::{FLOOD, OutputFile};
use super::script::{LONGEST_ARGUMENT, Script, What};
use process::{Child, Exit, Output, SpawnError, Spec, Stdin};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempPath;
use tokio::time::{interval, sleep};

/// Between asking a command to end and killing it.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// How often the size of the output is looked at. A fast disk takes a few hundred MB in that time.
const LOOK_AT_SIZE: Duration = Duration::from_millis(250);

/// Longer than any path the kernel takes.
const LONGEST_PATH: u64 = 8 * 1024;

#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("cannot create a file for the command's output in {} or {}: {cause}; make room or fix the permissions", .wanted.display(), .fallback.display())]
    Output { wanted: PathBuf, fallback: PathBuf, cause: io::Error },
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

pub(crate) enum End {
    Exited(Exit),
    /// Still running.
    TimedOut,
    /// Ended by us, because it wrote more than [`FLOOD`].
    Flooded(Exit),
}

/// Dropping it kills the command and removes its files.
pub(crate) struct Command {
    child: Child,
    pub(crate) output: OutputFile,
    cwd_note: Option<TempPath>,
    /// Held while the shell may still read them.
    _scripts: [Option<TempPath>; 2],
}

impl Command {
    /// `names` are functions and aliases for the command.
    pub(crate) fn start(
        shell: &Shell,
        cwd: &Path,
        command: &str,
        names: Option<&str>,
        tell_cwd: bool,
    ) -> Result<Self, StartError> {
        let no_file =
            |cause| StartError::Output { wanted: shell.spill_dir.clone(), fallback: shell.fallback_dir.clone(), cause };
        let output = OutputFile::create(&shell.spill_dir, &shell.fallback_dir).map_err(no_file)?;
        let cwd_note = tell_cwd.then(|| TempPath::try_from_path(output.beside("cwd"))).transpose().map_err(no_file)?;
        let file = (command.len() > LONGEST_ARGUMENT).then(|| write_script(&output, "sh", command)).transpose();
        let file = file.map_err(no_file)?;
        let names = names.map(|names| write_script(&output, "names", names)).transpose().map_err(no_file)?;
        let script = Script {
            what: file.as_deref().map_or(What::Text(command), What::File),
            cwd_file: cwd_note.as_deref(),
            env_file: shell.env_file.as_deref().filter(|path| path.is_file()),
            names_file: names.as_deref(),
            prefix: shell.prefix.as_deref(),
        };
        let spec = Spec {
            program: shell.program.clone().into_os_string(),
            args: vec!["-c".into(), script.text()],
            cwd: cwd.to_path_buf(),
            env: environment(&shell.env, cwd),
            stdin: Stdin::Null,
            output: Output::Merged(output.writer().map_err(no_file)?),
            arg0: None,
        };
        let child = match &shell.sandbox {
            Some(sandbox) => {
                let also = files_of_ours(&output, cwd_note.as_deref()).map_err(no_file)?;
                Child::spawn_inside(spec, sandbox, &also)?
            }
            None => Child::spawn(spec)?,
        };
        Ok(Self { child, output, cwd_note, _scripts: [file, names] })
    }

    /// Cancelling leaves the command running; it can be waited for again.
    pub(crate) async fn finish_within(&mut self, limit: Option<Duration>) -> End {
        let mut deadline = std::pin::pin!(async {
            match limit {
                Some(limit) => sleep(limit).await,
                None => std::future::pending().await,
            }
        });
        let mut look = interval(LOOK_AT_SIZE);
        loop {
            tokio::select! {
                biased;
                exit = self.child.wait() => return End::Exited(exit),
                () = &mut deadline => return End::TimedOut,
                _ = look.tick() => {}
            }
            if self.output.size() > FLOOD {
                return End::Flooded(self.child.stop(Duration::ZERO).await);
            }
        }
    }

    pub(crate) async fn stop(&mut self) -> Exit {
        self.child.stop(STOP_GRACE).await
    }

    /// The folder the command ended in, if it came so far as to tell.
    pub(crate) fn ended_in(&self) -> Option<PathBuf> {
        let mut told = Vec::new();
        let file = std::fs::File::open(self.cwd_note.as_deref()?).ok()?;
        file.take(LONGEST_PATH).read_to_end(&mut told).ok()?;
        let told = told.strip_suffix(b"\n")?.to_vec();
        Some(PathBuf::from(OsString::from_vec(told))).filter(|path| path.is_absolute())
    }
}

/// What a command in a sandbox writes outside of it: its output, should it open that again by name, and
/// the note on its working folder. A sandbox can only let files be written that are there.
fn files_of_ours(output: &OutputFile, cwd_note: Option<&Path>) -> io::Result<Vec<PathBuf>> {
    let mut files = vec![output.path().to_path_buf()];
    if let Some(note) = cwd_note {
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(note)?;
        files.push(note.to_path_buf());
    }
    Ok(files)
}

fn write_script(output: &OutputFile, ending: &str, command: &str) -> io::Result<TempPath> {
    let path = output.beside(ending);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    let path = TempPath::try_from_path(path)?;
    file.write_all(command.as_bytes())?;
    Ok(path)
}

/// The folder we start the shell in, also for programs that ask the environment instead of the kernel.
fn environment(given: &process::Env, cwd: &Path) -> process::Env {
    let kept = given.iter().filter(|(name, _)| name != "PWD" && name != "OLDPWD").cloned();
    kept.chain([("PWD".into(), cwd.into())]).collect()
}

//! A process beside the test: it prints when it is ready, and ends when the test stops it.
#![expect(clippy::disallowed_methods, reason = "tests start the binary under test")]

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

/// Killed when dropped.
pub struct Service {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// Its first line.
    pub greeting: String,
}

impl Service {
    /// Starts `binary` in `cwd` with no environment but `env`, and waits for its first line.
    pub fn start(binary: &Path, cwd: &Path, args: &[&str], env: &[(&str, &str)]) -> std::io::Result<Self> {
        crate::reset_ignored_signals();
        let mut child = Command::new(binary)
            .args(args)
            .current_dir(cwd)
            .env_clear()
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().ok_or_else(|| std::io::Error::other("it has no stdout"))?;
        let mut stdout = BufReader::new(stdout);
        let mut greeting = String::new();
        stdout.read_line(&mut greeting)?;
        Ok(Self { child, stdout, greeting: greeting.trim_end().to_owned() })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it with a signal; returns how it ended and what it printed since its first line.
    pub fn end(mut self, signal: Signal) -> std::io::Result<(ExitStatus, String)> {
        kill_process(Pid::from_child(&self.child), signal)?;
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest)?;
        Ok((self.child.wait()?, rest))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

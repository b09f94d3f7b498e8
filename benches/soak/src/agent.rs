//! One agent that is talked to line by line.
#![expect(clippy::disallowed_methods, reason = "a program of its own, which starts what it measures")]

use crate::SoakError;
use crate::model::Model;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const ARGS: [&str; 7] = [
    "-p",
    "--verbose",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--dangerously-skip-permissions",
];

/// Killed when dropped.
pub struct Agent {
    number: usize,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Agent {
    /// Starts it in `folder`, which is its home too.
    pub fn start(binary: &Path, folder: &Path, model: &Model, number: usize, more: &[&str]) -> Result<Self, SoakError> {
        let started = Command::new(binary)
            .arg0("claude")
            .args(ARGS)
            .args(more)
            .current_dir(folder)
            .env_clear()
            .env("HOME", folder)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("ANTHROPIC_API_KEY", "sk-ant-soak-000000")
            .env("IS_SANDBOX", "1")
            .env("ANTHROPIC_BASE_URL", model.url())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut child = started.map_err(|source| SoakError::Start { binary: binary.into(), source })?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let Some(stdout) = stdout else {
            return Err(SoakError::Left { number, last: "it has no stdout".into() });
        };
        Ok(Self { number, child, stdin, stdout: BufReader::new(stdout) })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn prompt(&mut self, text: &str) -> Result<(), SoakError> {
        let line = json!({"type": "user", "message": {"role": "user", "content": text}});
        let Some(stdin) = &mut self.stdin else { return Ok(()) };
        stdin.write_all(format!("{line}\n").as_bytes()).map_err(SoakError::io("talking to an agent"))
    }

    /// Reads up to the result of the turn.
    pub fn result(&mut self) -> Result<String, SoakError> {
        let mut last = String::new();
        loop {
            let mut line = String::new();
            let length = self.stdout.read_line(&mut line).map_err(SoakError::io("listening to an agent"))?;
            if length == 0 {
                return Err(SoakError::Left { number: self.number, last });
            }
            if line.starts_with("{\"type\":\"result\"") {
                return Ok(line);
            }
            last = line;
        }
    }

    /// Says goodbye and waits; true where it left well.
    pub fn leave(mut self) -> bool {
        self.stdin = None;
        self.child.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It has usually left by now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn went_well(result: &str) -> bool {
    serde_json::from_str::<Value>(result).is_ok_and(|result| result["is_error"] == false)
}

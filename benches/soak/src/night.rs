//! A night of the loop in minutes: many iterations with outages, usage limits and crashes, and the machine is
//! restarted in between (every process is killed). It has to end done and checked, with flat memory.
//!
//! The loop runs as a rehearsal, so its waits last two seconds at most. The agent is a script, so that the loop is
//! what is measured.
#![expect(clippy::disallowed_methods, reason = "a program of its own, which starts what it measures")]

use crate::{Sample, SoakError, memory};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often the machine is restarted.
const RESTARTS: usize = 3;
/// Between two looks at the work and the memory.
const LOOK: Duration = Duration::from_millis(100);
/// One iteration takes a fraction of a second, a wait two; more than this is a loop that hangs.
const PER_ITERATION: Duration = Duration::from_secs(10);
/// How processes of this soak are recognised.
const MARK: &str = "RALPH_SOAK_NIGHT";

/// By the number of its call the agent fails: the API is down, limits it, or the agent dies. Otherwise it works.
const AGENT: &str = r#"#!/bin/sh
case "$*" in *haiku*) printf '{"type":"result","is_error":false,"result":"x","structured_output":{"summary":"so far"},"total_cost_usd":0.001}\n'; exit 0;; esac
read -r line
c=$(cat "$HOME/calls" 2>/dev/null || echo 0); c=$((c + 1)); echo $c > "$HOME/calls"
failure() { printf '{"type":"result","subtype":"error_during_execution","is_error":true,"result":"%s","session_id":"s1","total_cost_usd":0.001}\n' "$1"; exit 1; }
[ $((c % 97)) = 13 ] && failure 'API Error: cannot reach api.test: Connection refused (os error 111)'
[ $((c % 97)) = 14 ] && failure 'API Error: 529 overloaded_error: Overloaded'
[ $((c % 89)) = 17 ] && failure 'API Error: 429 Too Many Requests, retry after 1s'
[ $((c % 71)) = 23 ] && kill -9 $$
echo "$c" >> work.txt
text="step $c"; [ "$(wc -l < work.txt)" -ge "$WANTED" ] && text='<promise>COMPLETE</promise>'
printf '{"type":"assistant","message":{"id":"m%s","content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":10,"output_tokens":5}},"session_id":"s1"}\n' "$c" "$text"
printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","session_id":"s1","total_cost_usd":0.01,"usage":{"input_tokens":10,"output_tokens":5}}\n' "$text"
"#;

/// What a night was like.
#[derive(Debug)]
pub struct Night {
    pub iterations: usize,
    pub restarts: usize,
    /// Iterations that were put off: outages and limits.
    pub put_off: usize,
    pub crashes: usize,
    pub exit_code: Option<i32>,
    /// The last verdict, with whether a check agreed.
    pub verdict: String,
    pub checked: bool,
    /// Memory of the loop by iterations, over all its lives.
    pub samples: Vec<Sample>,
    pub took: Duration,
}

impl Night {
    /// MiB that the last life of the loop needed more at its end than after a quarter of it.
    pub fn growth(&self) -> f64 {
        let resumed = self.samples.windows(2).rposition(|pair| pair[1].mib < pair[0].mib * 0.8).map_or(0, |at| at + 1);
        let life = &self.samples[resumed..];
        match (life.get(life.len() / 4), life.last()) {
            (Some(early), Some(last)) => last.mib - early.mib,
            _ => 0.0,
        }
    }
}

/// Runs the loop until `wanted` steps are done.
pub fn night(binary: &Path, wanted: usize) -> Result<Night, SoakError> {
    let place = tempfile::tempdir().map_err(SoakError::io("making a folder"))?;
    let bed = Bed::make(binary, place.path(), wanted)?;
    let began = Instant::now();
    let mut samples = Vec::new();
    let mut restarts = 0;
    let exit_code = loop {
        let mut child = bed.start(restarts > 0)?;
        let kill_at = (restarts < RESTARTS).then(|| wanted * (restarts + 1) / (RESTARTS + 1));
        let ended = bed.watch(&mut child, kill_at, began, &mut samples)?;
        if let Some(status) = ended {
            break status.code();
        }
        bed.kill_all(&mut child);
        restarts += 1;
    };
    let events = bed.events();
    let of = |kind: &'static str| events.iter().filter(move |event| event["type"] == kind);
    let outcome = |word: &'static str| {
        of("iteration_ended").filter(move |event| {
            let outcome = &event["receipt"]["outcome"];
            outcome["kind"] == word || outcome["failure"] == word
        })
    };
    let verdict = of("verdict").next_back().cloned().unwrap_or_default();
    Ok(Night {
        iterations: verdict["iterations"].as_u64().unwrap_or(0) as usize,
        restarts,
        put_off: outcome("deferred").count(),
        crashes: outcome("signal").count(),
        exit_code,
        checked: verdict["unchecked"] != true,
        verdict: verdict["verdict"].as_str().unwrap_or("none").to_owned(),
        samples,
        took: began.elapsed(),
    })
}

/// Where the loop runs.
struct Bed {
    binary: PathBuf,
    home: PathBuf,
    folder: PathBuf,
    agent: PathBuf,
    wanted: usize,
}

impl Bed {
    fn make(binary: &Path, place: &Path, wanted: usize) -> Result<Self, SoakError> {
        let io = SoakError::io;
        let place = place.canonicalize().map_err(io("finding a folder"))?;
        let (home, folder) = (place.join("home"), place.join("work"));
        let agent = home.join("agent.sh");
        std::fs::create_dir_all(folder.join(".ralph")).map_err(io("making a folder"))?;
        std::fs::create_dir_all(&home).map_err(io("making a folder"))?;
        let trusted = json!({"projects": {folder.display().to_string(): {"hasTrustDialogAccepted": true}}});
        for (file, text) in [
            (home.join(".claude.json"), trusted.to_string()),
            (folder.join(".ralph/prompt.md"), "# Work through the night\n".to_owned()),
            (folder.join("script.json"), "[]".to_owned()),
            (agent.clone(), AGENT.to_owned()),
        ] {
            std::fs::write(file, text).map_err(io("writing a file"))?;
        }
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&agent, executable).map_err(io("making a program"))?;
        let git = Command::new("git").args(["init", "-q"]).current_dir(&folder).status();
        git.map_err(io("making a repository"))?;
        Ok(Self { binary: binary.to_owned(), home, folder, agent, wanted })
    }

    fn start(&self, again: bool) -> Result<Child, SoakError> {
        let mut command = Command::new(&self.binary);
        command.arg0("ralph").args(again.then_some("resume")).args(["--rehearse", "script.json", "--json"]);
        command.arg("--backend").arg(&self.agent);
        command.args(["--max", &(self.wanted * 2).to_string(), "--failure-pause", "0", "--sandbox", "off"]);
        command.args(["--check", &format!("test $(wc -l < work.txt) -ge {}", self.wanted)]);
        command.current_dir(&self.folder).env_clear().env("HOME", &self.home).env("WANTED", self.wanted.to_string());
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env(MARK, &self.home);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map_err(|source| SoakError::Start { binary: self.binary.clone(), source })
    }

    /// Looks at the work and the memory until the loop ends, or has done enough to be killed.
    fn watch(
        &self,
        child: &mut Child,
        kill_at: Option<usize>,
        began: Instant,
        samples: &mut Vec<Sample>,
    ) -> Result<Option<ExitStatus>, SoakError> {
        let deadline = began + PER_ITERATION * u32::try_from(self.wanted).unwrap_or(u32::MAX);
        loop {
            if let Some(status) = child.try_wait().map_err(SoakError::io("waiting for the loop"))? {
                return Ok(Some(status));
            }
            let work = std::fs::read_to_string(self.folder.join("work.txt")).unwrap_or_default();
            let done = work.lines().count();
            let mib = memory::resident(child.id());
            if mib > 0.0 && samples.last().is_none_or(|last| last.at < done) {
                samples.push(Sample { at: done, mib });
            }
            if kill_at.is_some_and(|at| done >= at) {
                return Ok(None);
            }
            if Instant::now() > deadline {
                let _ = child.kill();
                return Err(SoakError::Failed { turn: done, line: "the loop hangs".into() });
            }
            std::thread::sleep(LOOK);
        }
    }

    /// As a machine does that loses its power: nothing that belongs to this night goes on.
    fn kill_all(&self, child: &mut Child) {
        // It may be gone already.
        let _ = child.kill();
        let _ = child.wait();
        let mark = format!("{MARK}={}", self.home.display()).into_bytes();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let ours = environment.split(|byte| *byte == 0).any(|variable| variable == mark);
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if let Some(pid) = pid.filter(|_| ours).and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }

    fn events(&self) -> Vec<Value> {
        let runs = std::fs::read_dir(self.folder.join(".ralph/runs")).into_iter().flatten().flatten();
        let files = runs.map(|run| run.path().join("events.ndjson"));
        let text: String = files.filter_map(|file| std::fs::read_to_string(file).ok()).collect();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

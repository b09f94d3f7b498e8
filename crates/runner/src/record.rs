//! The run on disk: `events.ndjson` is the truth, the logs are for people. A recording that fails never
//! changes a run: it is said once, and the run goes on.

use crate::Folder;
use crate::files::{append, existing, fresh, private_dir};
use crate::plain::{Plain, with_time};
use cycle::{EventKind, LoopEvent};
use jiff::tz::TimeZone;
use process::Env;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// Iterations whose log is a file of its own in `.ralph/`.
const RECENT: u32 = 50;
/// The logs of older iterations, one behind the other.
const PACKED: &str = "iterations.log";

#[derive(Debug)]
pub(crate) struct Recorder {
    folder: Folder,
    id: String,
    stamp: String,
    events: File,
    /// Lines of `events.ndjson`: the number of the last one.
    seq: u64,
    /// The agents' lines alone, as other loops write them.
    raw: Option<File>,
    run_log: Option<File>,
    iteration_log: Option<File>,
    plain: Plain,
    /// The logs have times in it.
    zone: TimeZone,
    broken: bool,
    /// Values of the environment that no file shows.
    secrets: Vec<String>,
}

impl Recorder {
    /// `stamp` names the logs; `id` the run. Credentials in `env` are hidden in all that is written: agents and checks
    /// print what they are given, and the logs lie in the workspace.
    pub(crate) fn open(folder: &Folder, id: &str, stamp: &str, env: &Env, zone: &TimeZone) -> io::Result<Self> {
        private_dir(&folder.run(id))?;
        let goes_on = folder.events(id).exists();
        let events = open_events(&folder.events(id))?;
        let seq = if goes_on { count_lines(&folder.events(id))? } else { 0 };
        let ralph = folder.ralph();
        let raw = ralph.join("events.log");
        Ok(Self {
            folder: folder.clone(),
            id: id.to_owned(),
            stamp: stamp.to_owned(),
            events,
            seq,
            // The log of one run, however often it goes on.
            raw: if goes_on { append(&raw) } else { fresh(&raw) }.ok(),
            run_log: append(&ralph.join(format!("run_{stamp}.log"))).ok(),
            iteration_log: None,
            plain: Plain::default(),
            zone: zone.clone(),
            broken: false,
            secrets: secrets(env),
        })
    }

    /// Writes an event. What was `derived` from an agent's line goes into the logs only. Says why, the first
    /// time that it cannot be written.
    pub(crate) fn event(&mut self, event: &LoopEvent, derived: bool) -> Option<String> {
        if let EventKind::IterationStarted(start) = &event.kind {
            self.iteration_log = append(&self.iteration_path(start.iteration)).ok();
            if let Some(old) = start.iteration.checked_sub(RECENT) {
                self.pack(old);
            }
        }
        self.logs(event);
        if derived {
            return None;
        }
        // One write: a crash leaves whole lines and at most one torn tail.
        let written = self.events.write_all(format!("{}\n", self.hide(event.to_line())).as_bytes());
        let kept = written.and_then(|()| if is_milestone(event) { self.events.sync_data() } else { Ok(()) });
        if kept.is_ok() {
            self.seq += 1;
        }
        match kept {
            Err(error) if !std::mem::replace(&mut self.broken, true) => {
                Some(format!("this run is no longer recorded: {error}"))
            }
            _ => None,
        }
    }

    /// The number of the last line.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// Whether everything was written so far.
    pub(crate) fn is_whole(&self) -> bool {
        !self.broken
    }

    fn hide(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| {
            if text.contains(secret.as_str()) { text.replace(secret.as_str(), "[secret]") } else { text }
        })
    }

    fn iteration_path(&self, iteration: u32) -> PathBuf {
        self.folder.ralph().join(format!("iter_{}_{iteration}.log", self.stamp))
    }

    /// Puts the log of an older iteration behind those before it, into one file in the run's folder.
    fn pack(&self, iteration: u32) {
        let file = self.iteration_path(iteration);
        let packed = self.folder.run(&self.id).join(PACKED);
        let moved = existing(&file).and_then(|mut log| {
            let mut packed = append(&packed)?;
            io::copy(&mut log, &mut packed).map(drop)
        });
        if moved.is_ok() {
            // A log that stays is only a file more.
            let _ = std::fs::remove_file(file);
        }
    }

    fn logs(&mut self, event: &LoopEvent) {
        if let EventKind::Agent { line, .. } = &event.kind {
            let line = self.hide(line.get().to_owned());
            if let Some(raw) = &mut self.raw {
                let _ = raw.write_all(format!("{line}\n").as_bytes());
            }
        }
        let lines = self.plain.lines(event);
        if lines.is_empty() {
            return;
        }
        let lines: Vec<String> = lines.iter().map(|line| with_time(line, event.at, &self.zone)).collect();
        let text = self.hide(format!("{}\n", lines.join("\n")));
        for log in [&mut self.run_log, &mut self.iteration_log].into_iter().flatten() {
            let _ = log.write_all(text.as_bytes());
        }
    }
}

/// Shorter values are no real credentials, and would be found in ordinary text.
const SECRET_MIN: usize = 8;

/// The longest first, so that a part of one never spoils the whole.
fn secrets(env: &Env) -> Vec<String> {
    let named = env.iter().filter(|(name, _)| process::scrub::is_credential(&name.to_string_lossy()));
    let mut secrets: Vec<String> = named.filter_map(|(_, value)| value.to_str().map(str::to_owned)).collect();
    secrets.retain(|secret| secret.len() >= SECRET_MIN);
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

fn open_events(path: &Path) -> io::Result<File> {
    let mut events = append(path)?;
    end_torn_line(path, &mut events)?;
    Ok(events)
}

fn count_lines(path: &Path) -> io::Result<u64> {
    let mut file = io::BufReader::new(existing(path)?);
    let mut lines = 0;
    loop {
        let bytes = io::BufRead::fill_buf(&mut file)?;
        if bytes.is_empty() {
            return Ok(lines);
        }
        lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        let length = bytes.len();
        io::BufRead::consume(&mut file, length);
    }
}

/// Puts one event at the end of a recording that nobody is writing.
pub(crate) fn add(folder: &Folder, id: &str, event: &LoopEvent) -> io::Result<()> {
    let mut events = open_events(&folder.events(id))?;
    events.write_all(format!("{}\n", event.to_line()).as_bytes())?;
    events.sync_data()
}

/// What a reboot must not take back.
fn is_milestone(event: &LoopEvent) -> bool {
    matches!(event.kind, EventKind::IterationEnded { .. } | EventKind::Verdict(_) | EventKind::RunStarted(_))
}

/// A torn last line gets its end, so that the next event starts on a line of its own.
fn end_torn_line(path: &Path, events: &mut File) -> io::Result<()> {
    let mut file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(());
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    if last == *b"\n" { Ok(()) } else { events.write_all(b"\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cycle::Verbatim;

    fn env() -> Env {
        let named = [("GITHUB_TOKEN", "ghp_0123456789"), ("LANG", "C.UTF-8-and-more"), ("A_KEY", "short")];
        named.map(|(name, value)| (name.into(), value.into())).to_vec()
    }

    #[test]
    fn credentials_of_the_environment_are_in_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        let mut recorder = Recorder::open(&folder, "r", "s", &env(), &TimeZone::UTC).unwrap();
        let said = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"ghp_0123456789 C.UTF-8-and-more short"}]}}"#;
        recorder.event(&EventKind::Agent { iteration: 1, line: Verbatim::new(said) }.at(1), false);
        let failed = EventKind::Warning { iteration: None, text: "the agent said ghp_0123456789".into() };
        recorder.event(&failed.at(2), false);
        let files = [folder.events("r"), folder.ralph().join("events.log"), folder.ralph().join("run_s.log")];
        let texts = files.map(|file| std::fs::read_to_string(file).unwrap());
        assert!(texts.iter().all(|text| !text.contains("ghp_")), "{texts:?}");
        assert!(texts[0].contains("[secret] C.UTF-8-and-more short") && texts[2].contains("[secret]"), "{texts:?}");
    }

    #[test]
    fn what_was_derived_is_not_recorded_and_a_torn_tail_is_mended() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        let paused = EventKind::Paused.at(1);
        {
            let mut recorder = Recorder::open(&folder, "r", "s", &env(), &TimeZone::UTC).unwrap();
            recorder.event(&paused, false);
            recorder.event(&EventKind::Resumed.at(2), true);
            recorder.event(&EventKind::Agent { iteration: 1, line: Verbatim::new("{\"a\": 1}") }.at(3), false);
        }
        let path = folder.events("r");
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 2);
        assert_eq!(std::fs::read_to_string(folder.ralph().join("events.log")).unwrap(), "{\"a\": 1}\n");
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"at\":4,\"ty").unwrap();
        Recorder::open(&folder, "r", "s", &env(), &TimeZone::UTC).unwrap().event(&paused, false);
        assert_eq!(std::fs::read_to_string(folder.ralph().join("events.log")).unwrap(), "{\"a\": 1}\n");
        Recorder::open(&folder, "another", "s", &env(), &TimeZone::UTC).unwrap();
        assert_eq!(std::fs::read_to_string(folder.ralph().join("events.log")).unwrap(), "");
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().last(), Some(paused.to_line().as_str()), "{text}");
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn logs_of_older_iterations_are_packed_into_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        let mut recorder = Recorder::open(&folder, "r", "s", &env(), &TimeZone::UTC).unwrap();
        for iteration in 1..=RECENT + 3 {
            let start = cycle::IterationStarted {
                iteration,
                attempt: 1,
                model: "m".into(),
                session: None,
                strategy: None,
                prompt_chars: 1,
            };
            recorder.event(&EventKind::IterationStarted(start).at(1), false);
        }
        let names = std::fs::read_dir(folder.ralph()).unwrap().flatten();
        let logs = names.filter(|name| name.file_name().to_string_lossy().starts_with("iter_")).count();
        assert_eq!(logs, RECENT as usize);
        let packed = std::fs::read_to_string(folder.run("r").join(PACKED)).unwrap();
        assert!(packed.contains("iteration 1 ") && packed.contains("iteration 3 ") && !packed.contains("iteration 4 "));
        assert!(folder.ralph().join(format!("iter_s_{}.log", RECENT + 3)).exists());
    }

    #[test]
    fn adversary_34_a_planted_link_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        std::fs::create_dir_all(folder.run("r")).unwrap();
        let victim = dir.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, folder.events("r")).unwrap();
        assert!(Recorder::open(&folder, "r", "s", &env(), &TimeZone::UTC).is_err());
        assert_eq!(std::fs::read_to_string(victim).unwrap(), "precious");
    }
}

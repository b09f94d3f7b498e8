//! One process, watched closely: when each line of its output came, and what it used. For benchmarks.

use crate::launch::feed_later;
use crate::spec::{Exit, SpawnError, Spec, Stdin};
use std::io::BufRead as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct Timed {
    pub exit: Exit,
    pub wall: Duration,
    /// User and system time of the process and its reaped children.
    pub cpu: Duration,
    /// Read while it still ran: what the kernel tells afterwards includes the parent's memory at the fork.
    pub peak_rss_kib: u64,
    /// Each line of stdout with the time it was read, from the start.
    pub lines: Vec<(Duration, String)>,
}

/// Runs to the end, blocking. Standard input is empty, or bytes where files in memory exist; standard error goes nowhere.
/// Memory is looked at whenever a line has `landmark` in it.
#[expect(clippy::disallowed_methods, reason = "this crate is the one that starts processes")]
pub fn timed(spec: &Spec, landmark: &str) -> Result<Timed, SpawnError> {
    let started = Instant::now();
    let mut command = Command::new(&spec.program);
    if let Some(name) = &spec.arg0 {
        command.arg0(name);
    }
    let refused = |cause| SpawnError::new(spec.program.clone(), spec.cwd.clone(), cause);
    command.stdin(Stdio::null());
    if let Stdin::Bytes(bytes) = &spec.stdin
        && feed_later(&mut command, bytes).map_err(refused)?
    {
        return Err(refused(std::io::ErrorKind::Unsupported.into()));
    }
    let child = command
        .args(&spec.args)
        .current_dir(&spec.cwd)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.map_err(refused)?;
    let mut lines = Vec::new();
    let mut peak_rss_kib = 0;
    if let Some(stdout) = child.stdout.take() {
        for line in std::io::BufReader::new(stdout).lines().map_while(Result::ok) {
            let at = started.elapsed();
            if line.contains(landmark) {
                peak_rss_kib = peak(child.id()).unwrap_or(peak_rss_kib);
            }
            lines.push((at, line));
        }
    }
    let (exit, cpu) = wait(child.id());
    Ok(Timed { exit, wall: started.elapsed(), cpu, peak_rss_kib, lines })
}

/// The most memory it has had so far, in KiB.
fn peak(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").trim().parse().ok()
}

#[expect(unsafe_code, reason = "only wait4 tells what one child used")]
fn wait(pid: u32) -> (Exit, Duration) {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value of that plain C struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals, and the pid is of a child that nobody else waits for.
    unsafe { libc::wait4(libc::pid_t::try_from(pid).unwrap_or(-1), &raw mut status, 0, &raw mut usage) };
    let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    let signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
    let time = |at: libc::timeval| Duration::from_micros(at.tv_sec as u64 * 1_000_000 + at.tv_usec as u64);
    (Exit { code, signal }, time(usage.ru_utime) + time(usage.ru_stime))
}

//! A program in a terminal of its own: keys go in, a screen comes out.
//!
//! The screen is what a terminal with synchronised updates shows: a wait never sees half a picture.
//! Deliberately absent: answers to a program's questions about the terminal. Most pipes give none either.

use crate::Run;
use crate::run::watch;
use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::termios::{LocalModes, tcgetattr};
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Of what a program wrote; a test that needs more tests something else.
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// What a program wrote last still has to be read after its end.
const LINGER: Duration = Duration::from_secs(5);
/// The mode of synchronised updates.
const SYNCHRONISED: [u16; 1] = [2026];

#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    #[error("the terminal cannot be used: {0}")]
    Io(#[from] std::io::Error),
    #[error("no terminal could be made: {0}")]
    Open(#[from] pty_process::Error),
    #[error("the screen never showed what was awaited; it shows:\n{0}")]
    NotShown(String),
    #[error("the program did not end; the screen shows:\n{0}")]
    NotEnded(String),
}

/// What is to be seen.
#[derive(Debug, Clone, Default)]
pub struct Screen {
    pub rows: Vec<String>,
    /// The screen that programs borrow, not the one with the shell's lines.
    pub alternate: bool,
    pub cursor_hidden: bool,
}

impl Screen {
    pub fn text(&self) -> String {
        self.rows.join("\n")
    }

    pub fn shows(&self, part: &str) -> bool {
        self.rows.iter().any(|row| row.contains(part))
    }

    /// The last row: where hints and typed lines are.
    pub fn footer(&self) -> &str {
        self.rows.last().map_or("", String::as_str)
    }
}

/// What a program left behind.
#[derive(Debug, Clone)]
pub struct Left {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub screen: Screen,
    /// Typed lines are echoed and edited again, as a shell expects it.
    pub cooked: bool,
    /// Everything that was written.
    pub bytes: Vec<u8>,
    /// When each synchronised update began.
    pub updates: Vec<Instant>,
    /// Titles set, clipboards written, bells rung.
    pub obeyed: usize,
}

/// A running program and its terminal. Dropping it ends the program.
pub struct Terminal {
    pty: Arc<Pty>,
    pid: Pid,
    shared: Arc<Shared>,
    ended: Receiver<ExitStatus>,
    deadline: Instant,
}

struct Shared {
    picture: Mutex<Picture>,
    changed: Condvar,
}

struct Picture {
    parser: vt100::Parser<Noticed>,
    bytes: Vec<u8>,
    closed: bool,
    /// Nobody takes the program's bytes.
    frozen: bool,
}

/// What a terminal does besides showing text.
#[derive(Default)]
struct Noticed {
    updating: bool,
    updates: Vec<Instant>,
    obeyed: usize,
}

impl vt100::Callbacks for Noticed {
    fn unhandled_csi(
        &mut self,
        _: &mut vt100::Screen,
        first: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        last: char,
    ) {
        if first == Some(b'?') && params.contains(&&SYNCHRONISED[..]) {
            self.updating = last == 'h';
            if self.updating {
                self.updates.push(Instant::now());
            }
        }
    }

    fn audible_bell(&mut self, _: &mut vt100::Screen) {
        self.obeyed += 1;
    }

    fn set_window_title(&mut self, _: &mut vt100::Screen, _: &[u8]) {
        self.obeyed += 1;
    }

    fn copy_to_clipboard(&mut self, _: &mut vt100::Screen, _: &[u8], _: &[u8]) {
        self.obeyed += 1;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Picture> {
        self.picture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, picture: MutexGuard<'a, Picture>, left: Duration) -> MutexGuard<'a, Picture> {
        self.changed.wait_timeout(picture, left).unwrap_or_else(PoisonError::into_inner).0
    }

    fn read(&self, mut pty: &Pty) {
        let mut bytes = vec![0; 64 * 1024];
        loop {
            let mut picture = self.lock();
            while picture.frozen {
                picture = self.wait(picture, LINGER);
            }
            drop(picture);
            // A terminal that nobody has open any more cannot be read.
            let Ok(count @ 1..) = pty.read(&mut bytes) else { break };
            let mut picture = self.lock();
            picture.parser.process(&bytes[..count]);
            if picture.bytes.len() + count <= BYTES_MAX {
                picture.bytes.extend_from_slice(&bytes[..count]);
            }
            drop(picture);
            self.changed.notify_all();
        }
        self.lock().closed = true;
        self.changed.notify_all();
    }
}

impl Picture {
    fn screen(&self) -> Screen {
        let screen = self.parser.screen();
        let rows = screen.rows(0, screen.size().1.get()).map(|row| row.trim_end().to_owned()).collect();
        Screen { rows, alternate: screen.alternate_screen(), cursor_hidden: screen.hide_cursor() }
    }
}

impl Terminal {
    /// Starts the program of `run` in a terminal of `columns` by `rows`. Steps of the run are not played.
    pub fn start(run: &Run, columns: u16, rows: u16) -> Result<Self, TerminalError> {
        let (pty, pts) = open()?;
        pty.resize(Size::new(rows, columns))?;
        let mut command = run.command();
        if command.get_envs().all(|(name, _)| name != "TERM") {
            command.env("TERM", "xterm-256color");
        }
        let child = Command::from(command).spawn(pts)?;
        let pid =
            i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(|| std::io::Error::other("no id"))?;
        let parser = vt100::Parser::new_with_callbacks(size(rows), size(columns), 0, Noticed::default());
        let picture = Picture { parser, bytes: Vec::new(), closed: false, frozen: false };
        let shared = Arc::new(Shared { picture: Mutex::new(picture), changed: Condvar::new() });
        let pty = Arc::new(pty);
        let (reading, filled) = (Arc::clone(&pty), Arc::clone(&shared));
        std::thread::spawn(move || filled.read(&reading));
        Ok(Self { pty, pid, shared, ended: watch(child), deadline: Instant::now() + run.time() })
    }

    /// Types these bytes.
    pub fn press(&self, keys: &str) -> Result<(), TerminalError> {
        Ok((&*self.pty).write_all(keys.as_bytes())?)
    }

    pub fn resize(&self, columns: u16, rows: u16) -> Result<(), TerminalError> {
        self.shared.lock().parser.set_size(size(rows), size(columns));
        Ok(self.pty.resize(Size::new(rows, columns))?)
    }

    pub fn signal(&self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            // It may have ended by itself.
            let _ = kill_process(self.pid, signal);
        }
    }

    /// From now on nobody takes what the program writes, as after Ctrl-S.
    pub fn freeze(&self) {
        self.shared.lock().frozen = true;
    }

    pub fn thaw(&self) {
        self.shared.lock().frozen = false;
        self.shared.changed.notify_all();
    }

    /// Until a whole picture is shown that `wanted` accepts.
    pub fn wait(&self, wanted: impl Fn(&Screen) -> bool) -> Result<Screen, TerminalError> {
        let mut picture = self.shared.lock();
        loop {
            let screen = picture.screen();
            if !picture.parser.callbacks().updating && wanted(&screen) {
                return Ok(screen);
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if picture.closed || left.is_zero() {
                return Err(TerminalError::NotShown(screen.text()));
            }
            picture = self.shared.wait(picture, left);
        }
    }

    pub fn wait_for(&self, part: &str) -> Result<Screen, TerminalError> {
        self.wait(|screen| screen.shows(part))
    }

    /// Until the program ends.
    pub fn finish(self) -> Result<Left, TerminalError> {
        let status = self.ended.recv_timeout(self.deadline.saturating_duration_since(Instant::now()));
        let status = status.map_err(|_| TerminalError::NotEnded(self.shared.lock().screen().text()))?;
        self.thaw();
        let until = Instant::now() + LINGER;
        let mut picture = self.shared.lock();
        while !picture.closed && Instant::now() < until {
            picture = self.shared.wait(picture, LINGER);
        }
        let modes = tcgetattr(&*self.pty).map_err(std::io::Error::from)?.local_modes;
        let noticed = picture.parser.callbacks();
        Ok(Left {
            code: status.code(),
            signal: status.signal(),
            screen: picture.screen(),
            cooked: modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG),
            bytes: picture.bytes.clone(),
            updates: noticed.updates.clone(),
            obeyed: noticed.obeyed,
        })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.thaw();
        // All of it may be gone already.
        let _ = kill_process_group(self.pid, Signal::KILL);
    }
}

fn size(cells: u16) -> NonZeroU16 {
    NonZeroU16::new(cells).unwrap_or(NonZeroU16::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn shell(script: &str) -> Terminal {
        let run = Run::new(Path::new("/bin/sh"), Path::new("/")).named("sh").args(["-c", script]);
        Terminal::start(&run.env("PATH", "/usr/bin:/bin"), 20, 5).unwrap()
    }

    #[test]
    fn keys_go_in_and_a_screen_comes_out() {
        let terminal = shell("echo ready; read -r line; stty size; echo \"got $line\"; exit 3");
        terminal.wait_for("ready").unwrap();
        terminal.press("hello\r").unwrap();
        let left = terminal.finish().unwrap();
        assert_eq!(left.screen.rows, ["ready", "hello", "5 20", "got hello", ""]);
        assert_eq!((left.code, left.cooked, left.obeyed, left.screen.alternate), (Some(3), true, 0, false));
    }

    #[test]
    fn half_a_picture_is_not_seen() {
        let terminal = shell("printf '\\033[?2026hone'; read -r x; printf 'two\\033[?2026l'; read -r x");
        terminal.press("\r").unwrap();
        let seen = terminal.wait(|screen| screen.shows("one")).unwrap();
        assert!(seen.shows("two"), "{}", seen.text());
    }

    #[test]
    fn what_a_program_does_to_the_terminal_is_noticed() {
        let left = shell("stty raw -echo; printf '\\033[?1049h\\033[?25l\\033]2;title\\007\\007'").finish().unwrap();
        assert!(!left.cooked && left.screen.alternate && left.screen.cursor_hidden);
        assert_eq!(left.obeyed, 2);
    }

    #[test]
    fn a_program_is_told_of_a_new_size_and_of_signals() {
        let terminal = shell("trap 'stty size' WINCH; trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done");
        terminal.wait_for("ready").unwrap();
        terminal.resize(30, 6).unwrap();
        terminal.wait_for("6 30").unwrap();
        terminal.signal(15);
        assert_eq!(terminal.finish().unwrap().code, Some(7));
    }
}

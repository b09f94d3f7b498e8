//! What the sandbox holds on this machine, shown by trying: every attempt is made inside a scratch
//! sandbox, where it should fail, and outside of it, where it should work. Nothing is taken on trust.

use crate::Sandbox;
use crate::attempt::SharedMemory;
use crate::hosts::Hosts;
use crate::layout::Request;
use crate::rules::{Level, Network, Weakness};

use process::{CaptureLimits, Output, Spec, Stdin};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An attempt is one system call in a fresh process.
const LIMITS: CaptureLimits =
    CaptureLimits { deadline: Duration::from_secs(20), max_output: 4096, grace: Duration::from_millis(100) };

const OUTLIVE: &str = "outliving the sandbox";
/// Until a process that was left behind has done what it wants.
const LATER: Duration = Duration::from_millis(1500);

/// What was found.
pub enum Examination {
    /// In words: why not.
    None(String),
    Some {
        weaknesses: Vec<Weakness>,
        probes: Vec<Probe>,
    },
}

/// One attempt to leave the sandbox.
pub struct Probe {
    pub what: &'static str,
    pub verdict: ProbeVerdict,
}

/// The outcome of a probe.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ProbeVerdict {
    /// Works outside, fails inside.
    Held,
    /// Works inside.
    Open,
    /// Does not even work outside, so nothing is shown.
    Unclear,
}

impl ProbeVerdict {
    /// The word in the output of `ralph doctor`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Open => "open",
            Self::Unclear => "unclear",
        }
    }
}

/// What is tried, how, on what, and with the network cut or not.
struct Try {
    what: &'static str,
    attempt: &'static str,
    about: String,
    cut: bool,
}

/// A folder that goes away with everything in it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(temp: &Path, name: &str) -> std::io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        let root = temp.join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&root)?;
        let scratch = Self(std::fs::canonicalize(root)?);
        for folder in ["work/.git/objects", "work/.git/hooks", "home/.ssh", "outside", "temp"] {
            std::fs::create_dir_all(scratch.0.join(folder))?;
        }
        for file in ["work/.git/HEAD", "work/.git/config", "home/.ssh/key", "outside/file", "temp/theirs"] {
            std::fs::write(scratch.0.join(file), "scratch\n")?;
        }
        Ok(scratch)
    }

    fn request(&self, cut: bool) -> Request {
        Request {
            level: Level::Workspace,
            roots: vec![self.0.join("work")],
            home: Some(self.0.join("home")),
            config_dir: self.0.join("home/.claude"),
            temp: vec![self.0.join("temp"), "/dev/shm".into()],
            allow_write: Vec::new(),
            deny_write: Vec::new(),
            deny_read: Vec::new(),
            allow_read: Vec::new(),
            network: if cut { Network::Only(Hosts::default()) } else { Network::Open },
            unix_sockets: false,
            beads_socket: None,
            whole: None,
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// `exe doctor try NAME ABOUT` makes one attempt; `name` is a name that nobody else has, for a folder in `temp`.
pub async fn examine(exe: &Path, temp: &Path, name: &str) -> Examination {
    // As in an agent: what the attempts leave behind is ours to end.
    process::adopt_orphans();
    process::watch_over();
    let trouble = |error: std::io::Error| Examination::None(format!("a scratch folder cannot be made: {error}"));
    let scratch = match Scratch::new(temp, name) {
        Ok(scratch) => scratch,
        Err(error) => return trouble(error),
    };
    let boxes = Sandbox::new(scratch.request(false).rules())
        .and_then(|open| Ok((open, Sandbox::new(scratch.request(true).rules())?)));
    let (open, cut) = match boxes {
        Ok(boxes) => boxes,
        Err(error) => return Examination::None(error.to_string()),
    };
    let socket = scratch.0.join("outside/socket");
    let listening = UnixListener::bind(&socket).and_then(|unix| Ok((unix, TcpListener::bind("127.0.0.1:0")?)));
    let (_unix, server) = match listening {
        Ok(listening) => listening,
        Err(error) => return trouble(error),
    };
    let shared = Shared::new(name);
    let tries = tries(&scratch.0, &socket, &server, &shared);
    let mut inside = Vec::new();
    for one in &tries {
        let sandbox = if one.cut { &cut } else { &open };
        inside.push(works(exe, &scratch.0, one, Some(sandbox)).await);
    }
    let late = scratch.0.join("work/late");
    let linger = |path: &Path| Try { what: OUTLIVE, attempt: "outlive", about: path.display().to_string(), cut: false };
    works(exe, &scratch.0, &linger(&late), Some(&open)).await;
    let weaknesses = cut.weaknesses().to_vec();
    // What stands in for missing files would be in the way of the same attempts outside.
    drop((open, cut));
    let mut probes = Vec::new();
    for (one, worked) in tries.iter().zip(inside) {
        let verdict = match (worked, works(exe, &scratch.0, one, None).await) {
            (true, _) => ProbeVerdict::Open,
            (false, true) => ProbeVerdict::Held,
            (false, false) => ProbeVerdict::Unclear,
        };
        probes.push(Probe { what: one.what, verdict });
    }
    let control = scratch.0.join("work/late-outside");
    works(exe, &scratch.0, &linger(&control), None).await;
    tokio::time::sleep(LATER).await;
    let verdict = match (late.exists(), control.exists()) {
        (true, _) => ProbeVerdict::Open,
        (false, true) => ProbeVerdict::Held,
        (false, false) => ProbeVerdict::Unclear,
    };
    probes.push(Probe { what: OUTLIVE, verdict });
    Examination::Some { weaknesses, probes }
}

/// Things of this machine that a box must not reach, for the time of the attempts.
struct Shared {
    memory: Option<SharedMemory>,
    file: PathBuf,
}

impl Shared {
    fn new(name: &str) -> Self {
        let file = Path::new("/dev/shm").join(name);
        // Where there is no such folder the attempt shows nothing.
        let _ = std::fs::write(&file, "scratch\n");
        Self { memory: SharedMemory::make().ok(), file }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

fn tries(root: &Path, socket: &Path, server: &TcpListener, shared: &Shared) -> Vec<Try> {
    let at = |path: &str| root.join(path).display().to_string();
    let me = std::process::id().to_string();
    let address = server.local_addr().map(|address| address.to_string()).unwrap_or_default();
    let memory = shared.memory.as_ref().map_or_else(|| "-1".to_owned(), |memory| memory.0.to_string());
    let one = |what, attempt, about: String| Try { what, attempt, about, cut: false };
    vec![
        one("writing outside of the workspace", "write", at("outside/file")),
        one("emptying a file outside", "truncate", at("outside/file")),
        one("reading credentials", "read", at("home/.ssh/key")),
        one("changing a git hook", "write", at("work/.git/hooks/pre-commit")),
        one("changing git's configuration", "write", at("work/.git/config")),
        one("making a missing .mcp.json", "write", at("work/.mcp.json")),
        one("making a missing .claude", "make-folder", at("work/.claude")),
        one("reading another process's environment", "environment", me.clone()),
        one("tracing another process", "trace", me.clone()),
        one("signalling another process", "signal", me.clone()),
        one("reading another process's limits", "limit", me),
        one("reaching shared memory of this machine", "shared-memory", memory),
        one("reaching files in /dev/shm", "read", shared.file.display().to_string()),
        one("reaching temporary files of others", "read", at("temp/theirs")),
        one("making datagram sockets", "datagram-pair", String::new()),
        one("speaking to a local service", "socket", socket.display().to_string()),
        one("typing into a terminal", "type", String::new()),
        one("making namespaces", "namespace", String::new()),
        one("using io_uring", "ring", String::new()),
        one("leaving core dumps", "core-dump", String::new()),
        Try { cut: true, ..one("connecting, with the network cut", "connect", address) },
    ]
}

/// Whether the attempt succeeds. Anything but a clean success of the attempt itself is none.
async fn works(exe: &Path, root: &Path, one: &Try, sandbox: Option<&Sandbox>) -> bool {
    let spec = Spec {
        program: exe.as_os_str().to_owned(),
        args: ["doctor", "try", one.attempt, &one.about].map(Into::into).to_vec(),
        cwd: root.join("work"),
        env: Vec::new(),
        stdin: Stdin::Null,
        output: Output::Pipes,
        arg0: None,
    };
    let done = match sandbox {
        Some(sandbox) => process::capture_inside(spec, LIMITS, sandbox).await,
        None => process::capture(spec, LIMITS).await,
    };
    done.is_ok_and(|done| done.exit.success())
}

//! A scratch machine: a home with secrets, a workspace with a repository, a temporary folder, and a
//! folder that is none of the command's business.

use process::{CaptureLimits, Captured, Output, Spec, Stdin};
use ralph_sandbox::{Level, Network, Request, Sandbox};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Set where this test program is run as an attempt.
const ATTEMPT: &str = "SANDBOX_ATTEMPT";
const ABOUT: &str = "SANDBOX_ABOUT";

/// Slow machines; nothing here takes a second.
const LIMITS: CaptureLimits =
    CaptureLimits { deadline: Duration::from_mins(1), max_output: 1024 * 1024, grace: Duration::from_millis(100) };

pub struct World {
    _dir: Option<tempfile::TempDir>,
    /// One for all commands, as in an agent: a proxy lives on it.
    runtime: tokio::runtime::Runtime,
    pub root: PathBuf,
}

pub struct Said {
    pub ok: bool,
    pub text: String,
}

impl World {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["work/src", "home/.ssh", "home/.claude", "home/.cache", "temp", "outside"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let world = Self { _dir: Some(dir), runtime, root };
        for (file, text) in [
            ("home/.ssh/id_ed25519", "PRIVATE KEY"),
            ("home/.netrc", "machine password"),
            ("home/.claude/.credentials.json", "sk-secret"),
            ("home/.bashrc", "alias ll=ls\n"),
            ("outside/file", "precious\n"),
            ("work/src/main.c", "int main(void) { return 0; }\n"),
        ] {
            std::fs::write(world.at(file), text).unwrap();
        }
        world
    }

    /// With a repository that has one commit.
    pub fn with_git() -> Self {
        let world = Self::new();
        let made = world.free("git init -q . && git add -A && git commit -qm first");
        assert!(made.ok, "{}", made.text);
        world
    }

    /// The same world for another thread.
    pub fn beside(&self) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { _dir: None, runtime, root: self.root.clone() }
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub fn request(&self) -> Request {
        Request {
            level: Level::Workspace,
            roots: vec![self.at("work")],
            home: Some(self.at("home")),
            config_dir: self.at("home/.claude"),
            temp: vec![self.at("temp")],
            allow_write: Vec::new(),
            deny_write: Vec::new(),
            deny_read: Vec::new(),
            allow_read: Vec::new(),
            network: Network::Open,
            unix_sockets: false,
            beads_socket: None,
            whole: None,
        }
    }

    pub fn sandbox(&self) -> Sandbox {
        match Sandbox::new(self.request().rules()) {
            Ok(sandbox) if sandbox.weaknesses().is_empty() => sandbox,
            Ok(sandbox) => skip(&format!("{:?}", sandbox.weaknesses())),
            Err(error) => skip(&error.to_string()),
        }
    }

    fn env(&self) -> process::Env {
        let pairs = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME", self.at("home").display().to_string()),
            ("TMPDIR", self.at("temp").display().to_string()),
            ("GIT_CONFIG_NOSYSTEM", "1".to_owned()),
            ("GIT_AUTHOR_NAME", "a".to_owned()),
            ("GIT_AUTHOR_EMAIL", "a@localhost".to_owned()),
            ("GIT_COMMITTER_NAME", "a".to_owned()),
            ("GIT_COMMITTER_EMAIL", "a@localhost".to_owned()),
        ];
        pairs.map(|(name, value)| (name.into(), value.into())).to_vec()
    }

    fn spec(&self, program: &Path, args: &[&str]) -> Spec {
        Spec {
            program: program.into(),
            args: args.iter().map(Into::into).collect(),
            cwd: self.at("work"),
            env: self.env(),
            stdin: Stdin::Null,
            output: Output::Pipes,
            arg0: None,
        }
    }

    /// A shell script without a sandbox.
    pub fn free(&self, script: &str) -> Said {
        said(self.run(self.spec(Path::new("/bin/sh"), &["-c", script]), None))
    }

    pub fn inside(&self, sandbox: &Sandbox, script: &str) -> Said {
        said(self.run(self.spec(Path::new("/bin/sh"), &["-c", script]), Some(sandbox)))
    }

    /// With files that it may write besides.
    pub fn inside_with(&self, sandbox: &Sandbox, script: &str, also: &[PathBuf]) {
        let spec = Spec {
            output: Output::Merged(tempfile::tempfile().unwrap()),
            ..self.spec(Path::new("/bin/sh"), &["-c", script])
        };
        self.runtime.block_on(async {
            process::Child::spawn_inside(spec, sandbox, also).unwrap().wait().await;
        });
    }

    /// One of the attempts of `proc`, by this program.
    pub fn attempt(&self, sandbox: Option<&Sandbox>, name: &str, about: &str) -> Said {
        let me = std::env::current_exe().unwrap();
        let mut spec = self.spec(&me, &["--exact", "world::attempted", "--nocapture"]);
        spec.env.push((ATTEMPT.into(), name.into()));
        spec.env.push((ABOUT.into(), about.into()));
        said(self.run(spec, sandbox))
    }

    /// A script that does harm without the sandbox, and none with it. `harm` looks at the world afterwards.
    pub fn escape(make: fn() -> Self, script: &str, harm: fn(&Self) -> bool) {
        let world = make();
        let control = world.free(script);
        assert!(harm(&world), "without a sandbox this should do harm: {script}\n{}", control.text);
        let world = make();
        let sandbox = world.sandbox();
        let said = world.inside(&sandbox, script);
        assert!(!harm(&world), "this got out: {script}\n{}", said.text);
        drop(sandbox);
        assert!(!harm(&world), "this got out afterwards: {script}\n{}", said.text);
    }

    fn run(&self, spec: Spec, sandbox: Option<&Sandbox>) -> Captured {
        let captured = match sandbox {
            Some(sandbox) => self.runtime.block_on(process::capture_inside(spec, LIMITS, sandbox)),
            None => self.runtime.block_on(process::capture(spec, LIMITS)),
        };
        captured.unwrap()
    }

    pub fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.at(path)).unwrap_or_default()
    }
}

fn said(captured: Captured) -> Said {
    assert!(!captured.timed_out, "it never ended");
    let text = [captured.stdout, captured.stderr].concat();
    Said { ok: captured.exit.success(), text: String::from_utf8_lossy(&text).into_owned() }
}

/// Not a test of its own: what [`World::attempt`] starts.
#[test]
fn attempted() {
    let Ok(name) = std::env::var(ATTEMPT) else { return };
    let about = std::env::var(ABOUT).unwrap();
    let tried = match name.as_str() {
        "ask-proxy" => ask_proxy(&about),
        "own-loopback" => own_loopback(),
        "nested" => nested(Path::new(&about)),
        name => crate::relay::attempt(name, &about).unwrap_or_else(|| ralph_sandbox::attempt(name, &about)),
    };
    if let Err(error) = tried {
        panic!("refused: {error}");
    }
}

/// `ADDRESS|REQUEST LINE`; prints the answer.
fn ask_proxy(about: &str) -> std::io::Result<()> {
    let (address, request) = about.split_once('|').unwrap();
    let mut proxy = std::net::TcpStream::connect(address)?;
    proxy.set_read_timeout(Some(Duration::from_secs(20)))?;
    proxy.write_all(format!("{request}\r\n\r\n").as_bytes())?;
    let mut answer = [0; 4096];
    let mut text = Vec::new();
    while let Ok(read @ 1..) = proxy.read(&mut answer) {
        text.extend_from_slice(&answer[..read]);
        if request.starts_with("CONNECT") {
            break;
        }
    }
    println!("{}", String::from_utf8_lossy(&text));
    Ok(())
}

/// A server and a client in the same network.
fn own_loopback() -> std::io::Result<()> {
    let server = std::net::TcpListener::bind("127.0.0.1:0")?;
    let mut client = std::net::TcpStream::connect(server.local_addr()?)?;
    client.write_all(b"x")?;
    server.accept()?.0.read_exact(&mut [0])
}

/// A sandbox in a sandbox, around a folder of the outer one's workspace.
fn nested(work: &Path) -> std::io::Result<()> {
    use ralph_sandbox::{Hosts, Weakness};
    let world = Request {
        level: Level::Workspace,
        roots: vec![work.join("inner")],
        home: None,
        config_dir: work.join("none"),
        temp: Vec::new(),
        allow_write: Vec::new(),
        deny_write: Vec::new(),
        deny_read: vec!["secret".into()],
        allow_read: Vec::new(),
        network: Network::Only(Hosts::new(&["a.test".into()], &[]).0),
        unix_sockets: false,
        beads_socket: None,
        whole: None,
    };
    let sandbox = Sandbox::new(world.rules()).map_err(std::io::Error::other)?;
    let weak = [Weakness::ProtectedFiles, Weakness::HiddenInside, Weakness::AllowList];
    assert_eq!(sandbox.weaknesses(), weak);
    assert_eq!(sandbox.rules().network, Network::Off, "a list that cannot be held is nothing");
    let spec = Spec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), "echo x > inside; echo x > ../outside".into()],
        cwd: work.join("inner"),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        stdin: Stdin::Null,
        output: Output::Pipes,
        arg0: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(process::capture_inside(spec, LIMITS, &sandbox)).map_err(std::io::Error::other)?;
    assert!(String::from_utf8_lossy(&done.stderr).contains("ermission denied"), "{done:?}");
    Ok(())
}

/// A process of ours that is not in any sandbox and lives until dropped.
pub struct Bystander(std::process::Child);

impl Bystander {
    pub fn new() -> Self {
        Self(Command::new("/bin/sleep").arg("600").env("SECRET", "1").spawn().unwrap())
    }

    pub fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A machine that cannot hold everything can show nothing here: said past the test runner, which keeps lines to
/// itself. With `RALPH_SANDBOX=required` it is a failure.
pub fn skip(lacking: &str) -> ! {
    assert_ne!(std::env::var("RALPH_SANDBOX").as_deref(), Ok("required"), "this machine cannot hold: {lacking}");
    let line = format!("\nSKIPPED: the sandbox suite, because this machine cannot hold everything ({lacking})\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    std::process::exit(0)
}

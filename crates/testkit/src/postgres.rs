//! A PostgreSQL server of the tests' own: from the system's binaries, in a scratch folder, on a socket in it.
//!
//! It is gone with the process that started it: a shell waits for the end of its input, ends the server and removes
//! the folder. Deliberately absent: any client.
#![expect(clippy::disallowed_methods, reason = "tests start the programs that they need themselves")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Where distributions put the binaries that are not on the search path.
const FOLDERS: [&str; 3] = ["/usr/lib/postgresql", "/usr/pgsql", "/opt/homebrew/opt/postgresql"];

/// Users that a server can run as, where the tests run as root.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// Serves until its input ends. `restart` and `stop` take a line each and answer with one.
const SERVE: &str = r#"
serve() { "$bin/postgres" -D "$dir/data" -k "$dir" -c listen_addresses= -c max_connections=200 -c fsync=off $tls >> "$dir/log" 2>&1 & pid=$!; ready; }
ready() { for i in $(seq 1 600); do "$bin/pg_isready" -q -h "$dir" -U ralph -d postgres && return; sleep 0.05; done; }
"$bin/initdb" -D "$dir/data" -A trust -U ralph -E UTF8 --no-sync > "$dir/log" 2>&1 || { tail -1 "$dir/log"; exit 1; }
if [ -n "$tls" ]; then { sh -c "$certificates"; } >> "$dir/log" 2>&1 || { tail -1 "$dir/log"; exit 1; }; fi
serve; echo ready
while read -r word; do
  case $word in
    stop) kill -INT $pid; wait $pid;;
    start) serve;;
    restart) kill -INT $pid; wait $pid; serve;;
  esac
  echo done
done
kill -INT $pid; wait $pid; rm -rf "$dir"
"#;

/// An authority, another one that signed nothing, and a certificate for `localhost`. Over TCP the server takes TLS only.
const CERTIFICATES: &str = r#"
set -e
cd "$dir"
for name in ca other; do
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$name" -keyout "$name.key" -out "$name.pem"
done
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout server.key -out server.csr
printf 'subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n' > extensions
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out server.pem
chmod 600 server.key
printf 'local all all trust\nhostssl all all all trust\n' > data/pg_hba.conf
"#;

pub struct Postgres {
    folder: PathBuf,
    binaries: PathBuf,
    uid: Option<u32>,
    port: Option<u16>,
    talk: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    _shell: Child,
}

impl Postgres {
    /// `Err` says what is missing; a test that is left out for it prints that.
    pub fn start() -> Result<Self, String> {
        Self::serve(None)
    }

    /// With TLS on a port of the loopback; `ca.pem` in its folder vouches for it, `other.pem` does not.
    pub fn start_with_tls() -> Result<Self, String> {
        // Free now; who takes it in the meantime fails the test, which then says so.
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        Self::serve(Some(free.map_err(|error| error.to_string())?.port()))
    }

    fn serve(port: Option<u16>) -> Result<Self, String> {
        let binaries = binaries().ok_or("PostgreSQL is not installed (Debian: apt-get install postgresql)")?;
        let folder = tempfile::Builder::new().prefix("ralph-pg").tempdir().map_err(|error| error.to_string())?.keep();
        let uid = is_root().then(|| USERS.iter().find_map(|name| user(name))).flatten();
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SERVE]).env("dir", &folder).env("bin", &binaries).current_dir("/");
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        if let Some(port) = port {
            let files = ["ssl_cert_file", "ssl_key_file"].into_iter().zip(["server.pem", "server.key"]);
            let files: String = files.map(|(key, name)| format!(" -c {key}={}/{name}", folder.display())).collect();
            let tls = format!("-c listen_addresses=localhost -c port={port} -c ssl=on{files}");
            shell.env("tls", tls).env("certificates", CERTIFICATES).env("PGPORT", port.to_string());
        }
        // A terminal's Ctrl-C is for the tests; the server goes with them.
        shell.process_group(0);
        if let Some(uid) = uid {
            std::os::unix::fs::chown(&folder, Some(uid), None).map_err(|error| error.to_string())?;
            shell.uid(uid);
        }
        let mut shell = shell.spawn().map_err(|error| error.to_string())?;
        let (Some(stdin), Some(stdout)) = (shell.stdin.take(), shell.stdout.take()) else {
            return Err("the server's shell has no pipes".into());
        };
        let server =
            Self { folder, binaries, uid, port, talk: Mutex::new((stdin, BufReader::new(stdout))), _shell: shell };
        match server.answer().as_str() {
            "ready" => Ok(server),
            other => Err(format!("PostgreSQL cannot be started: {other}")),
        }
    }

    fn answer(&self) -> String {
        let mut line = String::new();
        let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = talk.1.read_line(&mut line);
        line.trim().to_owned()
    }

    /// `stop`, `start` or `restart`; returns when it is done.
    pub fn tell(&self, word: &str) {
        {
            let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = writeln!(talk.0, "{word}");
        }
        self.answer();
    }

    /// Runs SQL with `psql` and returns what it prints, one row a line, columns by `|`.
    pub fn sql(&self, database: &str, sql: &str) -> Result<String, String> {
        let mut psql = Command::new(self.binaries.join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-h"]).arg(&self.folder).args(["-U", "ralph", "-d", database, "-c", sql]);
        psql.stdin(Stdio::null()).current_dir("/").env("PGOPTIONS", "--client-min-messages=warning");
        psql.envs(self.port.map(|port| ("PGPORT", port.to_string())));
        if let Some(uid) = self.uid {
            psql.uid(uid);
        }
        let done = psql.output().map_err(|error| error.to_string())?;
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned());
        }
        Err(String::from_utf8_lossy(&done.stderr).trim().to_owned())
    }

    /// A new, empty database and its address.
    pub fn database(&self, name: &str) -> Result<String, String> {
        self.sql("postgres", &format!("create database {name}"))?;
        Ok(self.address(name))
    }

    pub fn address(&self, database: &str) -> String {
        let folder = self.folder.to_string_lossy().replace('/', "%2F");
        format!("postgres://ralph@{folder}/{database}")
    }

    /// Over TCP, where it was started with TLS.
    pub fn tls_address(&self, database: &str) -> String {
        format!("postgres://ralph:geheim@localhost:{}/{database}", self.port.unwrap_or_default())
    }

    /// Its socket is in here.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

fn binaries() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let complete =
        |folder: &PathBuf| ["initdb", "postgres", "psql", "pg_isready"].iter().all(|name| folder.join(name).is_file());
    let on_path = std::env::split_paths(&path).find(complete);
    on_path.or_else(|| {
        let versions = FOLDERS.iter().filter_map(|folder| Path::new(folder).read_dir().ok()).flatten().flatten();
        let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).filter(complete).collect();
        found.sort();
        found.pop()
    })
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|data| std::os::unix::fs::MetadataExt::uid(&data) == 0)
}

fn user(name: &str) -> Option<u32> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
    line.split(':').nth(2)?.parse().ok()
}

//! After the end: waiting for new work, wherever it may come from. Every place is asked for the names of
//! what is open, and a name that was not there before is new work.
//!
//! Deliberately absent: notifications of the file system. A look every few seconds costs nothing and works
//! on every file system.

use crate::Folder;
use crate::command::{capture, get, on_path};
use proc::Env;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// As the tool that these daemons were made for does it.
const EVERY: Duration = Duration::from_secs(5);
/// A todo file is cheap to look at.
const EVERY_FILE: Duration = Duration::from_secs(1);
const CALL: Duration = Duration::from_secs(5);
/// What a daemon or a program may answer.
const ANSWER_MAX: usize = 10 * 1024 * 1024;

type Names = BTreeSet<String>;
type Looking<'a> = Pin<Box<dyn Future<Output = Option<Names>> + 'a>>;

/// A place where work comes from.
trait Source {
    /// The names of open work; `None` where the place cannot be asked now.
    fn look(&self) -> Looking<'_>;
    fn every(&self) -> Duration {
        EVERY
    }
}

/// Waits for work that was not open when it was called. Says what it is.
pub async fn new_work(folder: &Folder, env: &Env) -> String {
    let sources = sources(folder, env);
    let mut known = Vec::new();
    for source in &sources {
        known.push(source.look().await.unwrap_or_default());
    }
    let every = sources.iter().map(|source| source.every()).min().unwrap_or(EVERY);
    loop {
        tokio::time::sleep(every).await;
        for (source, known) in sources.iter().zip(&mut known) {
            let Some(open) = source.look().await else { continue };
            if let Some(new) = open.difference(known).next() {
                return new.clone();
            }
            // Closed and opened again is new.
            *known = open;
        }
    }
}

fn sources(folder: &Folder, env: &Env) -> Vec<Box<dyn Source>> {
    let mut sources: Vec<Box<dyn Source>> = vec![Box::new(TodoFile(folder.todo()))];
    let beads = folder.root().join(".beads");
    if !beads.is_dir() {
        return sources;
    }
    let socket = beads.join("bd.sock");
    let path = get(env, "PATH").unwrap_or_default();
    let program = ["bd", "br"].into_iter().find_map(|name| on_path(name, path));
    let issues = beads.join("issues.jsonl");
    // One of them: they tell of the same issues.
    if socket.exists() {
        sources.push(Box::new(Daemon(socket)));
    } else if let Some(program) = program {
        sources.push(Box::new(Tracker { program, folder: folder.root().to_owned(), env: env.clone() }));
    } else {
        sources.push(Box::new(IssuesFile(issues)));
    }
    sources
}

struct TodoFile(PathBuf);

impl Source for TodoFile {
    fn look(&self) -> Looking<'_> {
        Box::pin(async {
            let text = std::fs::read_to_string(&self.0).ok()?;
            let open = cycle::todo_items(&text).into_iter().filter(|item| item.state != cycle::TodoState::Done);
            Some(open.map(|item| item.text).collect())
        })
    }

    fn every(&self) -> Duration {
        EVERY_FILE
    }
}

/// `.beads/issues.jsonl`: one issue a line.
struct IssuesFile(PathBuf);

impl Source for IssuesFile {
    fn look(&self) -> Looking<'_> {
        Box::pin(async {
            let text = std::fs::read_to_string(&self.0).ok()?;
            Some(names(text.lines().filter_map(|line| serde_json::from_str(line).ok())))
        })
    }
}

/// The daemon of older versions: a line of JSON in, a line out.
struct Daemon(PathBuf);

impl Source for Daemon {
    fn look(&self) -> Looking<'_> {
        Box::pin(async { timeout(CALL, ready(&self.0)).await.ok().flatten() })
    }
}

async fn ready(socket: &Path) -> Option<Names> {
    let mut stream = UnixStream::connect(socket).await.ok()?;
    let request = json!({"operation": "ready", "args": {}});
    stream.write_all(format!("{request}\n").as_bytes()).await.ok()?;
    let mut line = String::new();
    BufReader::new(stream.take(ANSWER_MAX as u64)).read_line(&mut line).await.ok()?;
    let answer: Value = serde_json::from_str(&line).ok().filter(|answer: &Value| answer["success"] == true)?;
    // No issues at all are a null there.
    Some(names(answer["data"].as_array().cloned().unwrap_or_default()))
}

/// `bd ready --json`, or `br`.
struct Tracker {
    program: PathBuf,
    folder: PathBuf,
    env: Env,
}

impl Source for Tracker {
    fn look(&self) -> Looking<'_> {
        Box::pin(async {
            let env = self.env.clone();
            let args = ["ready", "--json"];
            let done = capture(self.program.as_os_str(), &args, &self.folder, env, CALL, ANSWER_MAX).await.ok()?;
            let list: Vec<Value> = serde_json::from_slice(&done.stdout).ok().filter(|_| done.exit.success())?;
            Some(names(list))
        })
    }
}

fn names(issues: impl IntoIterator<Item = Value>) -> Names {
    let open = issues.into_iter().filter(|issue| issue["status"].as_str().is_none_or(|status| status == "open"));
    let name = |issue: &Value| {
        let id = issue["id"].as_str().or(issue["ID"].as_str())?;
        Some(format!("{id} {}", issue["title"].as_str().or(issue["Title"].as_str()).unwrap_or_default()))
    };
    open.filter_map(|issue| name(&issue)).collect()
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;

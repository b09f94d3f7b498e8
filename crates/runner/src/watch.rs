//! After the end: waiting for new work, wherever it may come from. Every place is asked for the names of
//! what is open, and a name that was not there before is new work.
//!
//! Deliberately absent: notifications of the file system. A look every few seconds costs nothing and works
//! on every file system.

use crate::command::{capture, get, on_path};
use crate::{Folder, Settings};
use proc::Env;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
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

/// Knows what was open when it began.
pub struct Watch {
    places: Vec<(Box<dyn Source>, Names)>,
}

impl Watch {
    pub async fn begin(folder: &Folder, settings: &Settings, env: &Env) -> Self {
        let mut places = Vec::new();
        for source in sources(folder, settings, env) {
            let open = source.look().await.unwrap_or_default();
            places.push((source, open));
        }
        Self { places }
    }

    /// Waits for work that was not open before. Says what it is.
    pub async fn next(&mut self) -> String {
        let every = self.places.iter().map(|(source, _)| source.every()).min().unwrap_or(EVERY);
        loop {
            tokio::time::sleep(every).await;
            for (source, known) in &mut self.places {
                let Some(open) = source.look().await else { continue };
                let new = open.difference(known).next().cloned();
                // Closed and opened again is new.
                *known = open;
                if let Some(new) = new {
                    return new;
                }
            }
        }
    }
}

fn sources(folder: &Folder, settings: &Settings, env: &Env) -> Vec<Box<dyn Source>> {
    let mut sources: Vec<Box<dyn Source>> = vec![Box::new(TodoFile(folder.find_todo(settings.todo.as_deref())))];
    let Some(beads) = folder.root().ancestors().map(|above| above.join(".beads")).find(|beads| beads.is_dir()) else {
        return sources;
    };
    let socket = beads.join("bd.sock");
    let path = get(env, "PATH").unwrap_or_default();
    let program = ["bd", "br"].into_iter().find_map(|name| on_path(name, path));
    let issues = beads.join("issues.jsonl");
    // One of them: they tell of the same issues.
    if socket.exists() {
        sources.push(Box::new(Daemon { socket, since: jiff::Timestamp::now().as_millisecond() }));
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

/// The daemon of older versions: a line of JSON in, a line out. It tells of what has happened since, which also
/// holds work that is not ready yet, and of what is ready, which outlives its short memory.
struct Daemon {
    socket: PathBuf,
    /// In milliseconds; what happened before is not new.
    since: i64,
}

impl Source for Daemon {
    fn look(&self) -> Looking<'_> {
        Box::pin(async { timeout(CALL, self.open()).await.ok().flatten() })
    }
}

impl Daemon {
    async fn open(&self) -> Option<Names> {
        let mut open = names(self.ask("ready", &json!({})).await?);
        // Not every version knows this question; ready work is an answer all the same.
        let happened = self.ask("get_mutations", &json!({"since": self.since})).await.unwrap_or_default();
        open.extend(happened.iter().filter_map(appeared));
        Some(open)
    }

    async fn ask(&self, operation: &str, args: &Value) -> Option<Vec<Value>> {
        let mut stream = UnixStream::connect(&self.socket).await.ok()?;
        let request = json!({"operation": operation, "args": args});
        stream.write_all(format!("{request}\n").as_bytes()).await.ok()?;
        let mut line = String::new();
        BufReader::new(stream.take(ANSWER_MAX as u64)).read_line(&mut line).await.ok()?;
        let answer: Value = serde_json::from_str(&line).ok().filter(|answer: &Value| answer["success"] == true)?;
        // Nothing at all is a null there.
        Some(answer["data"].as_array().cloned().unwrap_or_default())
    }
}

/// The work that an event of the daemon brought: made, or opened again.
fn appeared(event: &Value) -> Option<String> {
    let opens = event["Type"] == "create" || (event["Type"] == "status" && event["new_status"] == "open");
    let id = event["IssueID"].as_str().filter(|_| opens)?;
    Some(format!("{id} {}", event["Title"].as_str().unwrap_or_default()))
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

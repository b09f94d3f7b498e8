//! After the end: waiting for new work, wherever it may come from. Every place is asked for the names of
//! what is open, and a name that was not there before is new work.
//!
//! Deliberately absent: notifications of the file system. A look every few seconds costs nothing and works
//! on every file system.

use crate::helper::{capture, get, on_path};
use crate::{Folder, Settings};
use cycle::WorkItem;
use process::Env;
use serde_json::{Value, json};
use std::collections::BTreeMap;
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

/// Open work by its name: the id and the title, or the line of a todo list.
type Open = BTreeMap<String, WorkItem>;
type Looking<'a> = Pin<Box<dyn Future<Output = Option<Open>> + 'a>>;
type Reading<'a> = Pin<Box<dyn Future<Output = Option<WorkItem>> + 'a>>;

/// What a prompt shows of an issue. A longer one is cut; the agent can ask its tracker.
const TEXT_MAX: usize = 16 * 1024;

/// A tracker's folder, and in it the socket of its daemon.
const BEADS: &str = ".beads";
const SOCKET: &str = "bd.sock";

/// A place where work comes from.
trait Source {
    /// Open work; `None` where the place cannot be asked now.
    fn look(&self) -> Looking<'_>;
    /// All that the place knows of one piece of work; `None` where [`Source::look`] has told all.
    fn read<'a>(&'a self, _id: &'a str) -> Reading<'a> {
        Box::pin(async { None })
    }
    fn every(&self) -> Duration {
        EVERY
    }
}

/// Knows what was open when it began.
pub struct Watch {
    places: Vec<(Box<dyn Source>, Open)>,
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
    pub async fn next(&mut self) -> WorkItem {
        let every = self.places.iter().map(|(source, _)| source.every()).min().unwrap_or(EVERY);
        loop {
            tokio::time::sleep(every).await;
            for (source, known) in &mut self.places {
                let Some(open) = source.look().await else { continue };
                let new = open.iter().find(|(name, _)| !known.contains_key(*name)).map(|(_, work)| work.clone());
                // Closed and opened again is new.
                *known = open;
                if let Some(new) = new {
                    return whole(source.as_ref(), new).await;
                }
            }
        }
    }
}

/// Whether an issue is still open, as its tracker says now. One that cannot be asked says nothing.
pub(crate) async fn is_open(folder: &Folder, settings: &Settings, env: &Env, id: &str) -> bool {
    for source in sources(folder, settings, env) {
        let open = source.look().await.unwrap_or_default();
        if open.values().any(|work| work.id.as_deref() == Some(id)) {
            return true;
        }
    }
    false
}

/// Lists of open work leave out texts.
async fn whole(source: &dyn Source, work: WorkItem) -> WorkItem {
    let Some(id) = work.id.clone().filter(|_| work.text.is_empty()) else { return work };
    match source.read(&id).await {
        Some(read) => WorkItem { text: read.text, ..work },
        None => work,
    }
}

/// Where the daemon of the next issue tracker upwards has its socket, whether it runs or not. A folder that is a link is
/// somebody else's tracker.
pub fn beads_socket(folder: &Folder) -> Option<PathBuf> {
    let beads = beads(folder)?;
    let place = beads.parent()?.canonicalize().ok()?.join(BEADS);
    beads.canonicalize().ok().filter(|real| *real == place).map(|beads| beads.join(SOCKET))
}

fn beads(folder: &Folder) -> Option<PathBuf> {
    folder.root().ancestors().map(|above| above.join(BEADS)).find(|beads| beads.is_dir())
}

fn sources(folder: &Folder, settings: &Settings, env: &Env) -> Vec<Box<dyn Source>> {
    let mut sources: Vec<Box<dyn Source>> = vec![Box::new(TodoFile(folder.find_todo(settings.todo.as_deref())))];
    let Some(beads) = beads(folder) else { return sources };
    let socket = beads.join(SOCKET);
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
            let close = format!("Tick it off in {} when it is done.", self.0.display());
            let work = |item: cycle::TodoItem| WorkItem {
                title: item.text,
                close: Some(close.clone()),
                ..WorkItem::default()
            };
            Some(open.map(|item| (item.text.clone(), work(item))).collect())
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
            let close = |_: &str| "Set its status to \"closed\" in .beads/issues.jsonl when it is done.".to_owned();
            Some(listed(text.lines().filter_map(|line| serde_json::from_str(line).ok()), &close))
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

    fn read<'a>(&'a self, id: &'a str) -> Reading<'a> {
        let ask = async move { self.data("show", &json!({"id": id})).await };
        Box::pin(async move {
            let issue = timeout(CALL, ask).await.ok().flatten()?;
            Some(work(&issue, &close_with("bd"))?.1)
        })
    }
}

impl Daemon {
    async fn open(&self) -> Option<Open> {
        let mut open = listed(self.ask("ready", &json!({})).await?, &close_with("bd"));
        // Not every version knows this question; ready work is an answer all the same.
        let happened = self.ask("get_mutations", &json!({"since": self.since})).await.unwrap_or_default();
        open.extend(happened.iter().filter_map(appeared));
        Some(open)
    }

    async fn ask(&self, operation: &str, args: &Value) -> Option<Vec<Value>> {
        // Nothing at all is a null there.
        Some(self.data(operation, args).await?.as_array().cloned().unwrap_or_default())
    }

    async fn data(&self, operation: &str, args: &Value) -> Option<Value> {
        let mut stream = UnixStream::connect(&self.socket).await.ok()?;
        let request = json!({"operation": operation, "args": args});
        stream.write_all(format!("{request}\n").as_bytes()).await.ok()?;
        let mut line = String::new();
        BufReader::new(stream.take(ANSWER_MAX as u64)).read_line(&mut line).await.ok()?;
        let answer: Value = serde_json::from_str(&line).ok().filter(|answer: &Value| answer["success"] == true)?;
        // Some versions send an object as text.
        Some(match &answer["data"] {
            Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
            data => data.clone(),
        })
    }
}

/// The work that an event of the daemon brought: made, or opened again.
fn appeared(event: &Value) -> Option<(String, WorkItem)> {
    let opens = event["Type"] == "create" || (event["Type"] == "status" && event["new_status"] == "open");
    let id = event["IssueID"].as_str().filter(|_| opens)?;
    work(&json!({"id": id, "title": event["Title"]}), &close_with("bd"))
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
            Some(listed(list, &close_with(self.name())))
        })
    }

    fn read<'a>(&'a self, id: &'a str) -> Reading<'a> {
        Box::pin(async move {
            let (env, args) = (self.env.clone(), ["show", id, "--json"]);
            let done = capture(self.program.as_os_str(), &args, &self.folder, env, CALL, ANSWER_MAX).await.ok()?;
            let shown: Value = serde_json::from_slice(&done.stdout).ok().filter(|_| done.exit.success())?;
            let issue = shown.as_array().and_then(|list| list.first().cloned()).unwrap_or(shown);
            Some(work(&issue, &close_with(self.name()))?.1)
        })
    }
}

impl Tracker {
    fn name(&self) -> &str {
        self.program.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or("bd")
    }
}

/// How an agent closes an issue with a tracker's program.
fn close_with(program: &str) -> impl Fn(&str) -> String {
    let program = program.to_owned();
    move |id: &str| format!("Close it when it is done: {program} close {id}")
}

/// The issues that are open, or that do not say.
fn listed(issues: impl IntoIterator<Item = Value>, close: &dyn Fn(&str) -> String) -> Open {
    let open = issues.into_iter().filter(|issue| issue["status"].as_str().is_none_or(|status| status == "open"));
    open.filter_map(|issue| work(&issue, close)).collect()
}

fn work(issue: &Value, close: &dyn Fn(&str) -> String) -> Option<(String, WorkItem)> {
    let of = |name: &str| issue[name].as_str().filter(|text| !text.trim().is_empty());
    let id = of("id").or(of("ID"))?;
    let title = of("title").or(of("Title")).unwrap_or_default();
    let parts = ["description", "design", "acceptance_criteria", "notes"].into_iter().filter_map(of);
    let text = cycle::bounded(&parts.collect::<Vec<_>>().join("\n\n"), TEXT_MAX);
    let work = WorkItem { id: Some(id.to_owned()), title: title.to_owned(), text, close: Some(close(id)) };
    Some((format!("{id} {title}"), work))
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;

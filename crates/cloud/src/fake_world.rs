//! A played outside for tests: variables, files and commands as maps, and a function that answers requests.

use crate::world::{CloudEnvironment, Command, HttpRequest, HttpResponse, WorldError};
use futures_util::future::BoxFuture;
use jiff::Timestamp;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

type Answer = Box<dyn Fn(&HttpRequest) -> Option<HttpResponse> + Send + Sync>;

pub struct FakeEnvironment {
    pub variables: HashMap<String, String>,
    pub files: HashMap<PathBuf, String>,
    pub commands: Mutex<HashMap<String, Vec<Result<String, String>>>>,
    pub answer: Answer,
    pub log: Mutex<Vec<String>>,
    pub requests: Mutex<Vec<HttpRequest>>,
}

impl FakeEnvironment {
    pub fn new(variables: &[(&str, &str)]) -> Self {
        Self {
            variables: variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            files: HashMap::new(),
            commands: Mutex::default(),
            answer: Box::new(|_| None),
            log: Mutex::default(),
            requests: Mutex::default(),
        }
    }

    #[must_use]
    pub fn file(mut self, path: &str, text: impl Into<String>) -> Self {
        self.files.insert(path.into(), text.into());
        self
    }

    /// What a command prints, each time it is run.
    #[must_use]
    pub fn command(self, name: &str, outputs: &[Result<&str, &str>]) -> Self {
        let outputs = outputs.iter().rev().map(|output| output.map(str::to_owned).map_err(str::to_owned)).collect();
        self.commands.lock().unwrap().insert(name.to_owned(), outputs);
        self
    }

    #[must_use]
    pub fn answers(mut self, answer: impl Fn(&HttpRequest) -> Option<(u16, String)> + Send + Sync + 'static) -> Self {
        self.answer = Box::new(move |request| {
            let (status, body) = answer(request)?;
            let headers = vec![("Metadata-Flavor".to_owned(), "Google".to_owned())];
            Some(HttpResponse { status, headers, body: body.into_bytes() })
        });
        self
    }

    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

impl CloudEnvironment for FakeEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn home(&self) -> PathBuf {
        "/home/u".into()
    }

    fn now(&self) -> Timestamp {
        "2026-11-15T12:00:00Z".parse().unwrap()
    }

    fn read(&self, path: &Path) -> Result<Option<String>, WorldError> {
        match self.files.get(path) {
            Some(text) if text == "<unreadable>" => Err(WorldError("permission denied".into())),
            found => Ok(found.cloned()),
        }
    }

    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>> {
        self.log.lock().unwrap().push(format!("{} {}", request.method, request.url));
        let answer = (self.answer)(&request).ok_or_else(|| WorldError("connection refused".into()));
        self.requests.lock().unwrap().push(request);
        Box::pin(async move { answer })
    }

    fn run(&self, command: Command, _: Duration) -> BoxFuture<'_, Result<String, WorldError>> {
        let name = command.name().to_owned();
        self.log.lock().unwrap().push(format!("run {name}"));
        let output = self.commands.lock().unwrap().get_mut(&name).and_then(Vec::pop);
        let output = output.unwrap_or_else(|| Err("command not found".into())).map_err(WorldError);
        Box::pin(async move { output })
    }

    /// Nothing in a played world takes long.
    fn sleep(&self, _: Duration) -> BoxFuture<'_, ()> {
        Box::pin(futures_util::future::pending())
    }

    fn warn(&self, line: &str) {
        self.log.lock().unwrap().push(line.to_owned());
    }
}

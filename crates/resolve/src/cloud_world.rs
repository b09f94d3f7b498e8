//! The outside as the clouds' credential chains see it: variables, files, requests and commands of this machine.

use crate::environment::Environment;
use cloud::world::{CloudEnvironment, Command, HttpRequest, HttpResponse, RESPONSE_MAX, WorldError};
use futures_util::future::BoxFuture;
use model::ClientConfig;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A credential file is a few kilobytes.
const FILE_MAX: u64 = 1024 * 1024;
/// Between asking and killing a command that took too long.
const GRACE: Duration = Duration::from_secs(1);

pub struct Machine {
    variables: HashMap<String, String>,
    env: Vec<(OsString, OsString)>,
    home: PathBuf,
    cwd: PathBuf,
    /// Proxy, certificates and time limits for requests.
    client: ClientConfig,
}

impl Machine {
    pub fn new(environment: &Environment, client: &ClientConfig) -> Self {
        Self {
            variables: environment.texts().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            env: environment.vars.clone(),
            home: environment.home.clone().unwrap_or_default(),
            cwd: environment.cwd.clone(),
            client: client.clone(),
        }
    }
}

impl CloudEnvironment for Machine {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn home(&self) -> PathBuf {
        self.home.clone()
    }

    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::now()
    }

    fn read(&self, path: &Path) -> Result<Option<String>, WorldError> {
        match std::fs::metadata(path) {
            Ok(facts) if !facts.is_file() => return Err(WorldError("it is not a file".into())),
            Ok(facts) if facts.len() > FILE_MAX => {
                return Err(WorldError(format!("it is larger than {FILE_MAX} bytes")));
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(WorldError(error.to_string())),
        }
        std::fs::read_to_string(path).map(Some).map_err(|error| WorldError(error.to_string()))
    }

    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, WorldError>> {
        Box::pin(async move {
            let answer = model::send_small(&self.client, request, RESPONSE_MAX);
            answer.await.map_err(|problem| WorldError(problem.to_string()))
        })
    }

    fn run(&self, command: Command, wait: Duration) -> BoxFuture<'_, Result<String, WorldError>> {
        let (program, args, more) = match command {
            Command::Shell(text) => ("/bin/sh".to_owned(), vec!["-c".to_owned(), text], Vec::new()),
            Command::ShellWith { text, env } => ("/bin/sh".to_owned(), vec!["-c".to_owned(), text], env),
            Command::Program { name, args, env } => (name, args, env),
        };
        let mut env = self.env.clone();
        env.extend(more.into_iter().map(|(name, value)| (name.into(), value.into())));
        let spec = process::Spec {
            program: program.into(),
            args: args.into_iter().map(OsString::from).collect(),
            cwd: self.cwd.clone(),
            env,
            stdin: process::Stdin::Null,
            output: process::Output::Pipes,
            arg0: None,
        };
        let limits = process::CaptureLimits { deadline: wait, max_output: RESPONSE_MAX, grace: GRACE };
        Box::pin(async move {
            let done = process::capture(spec, limits).await.map_err(|error| WorldError(error.to_string()))?;
            if done.timed_out {
                return Err(WorldError(format!("it did not end within {} s", wait.as_secs())));
            }
            // What it printed may hold secrets, so only its exit is told.
            match done.exit.code {
                Some(0) => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
                Some(code) => Err(WorldError(format!("exit code {code}"))),
                None => Err(WorldError("it was killed".into())),
            }
        })
    }

    fn sleep(&self, wait: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(wait))
    }

    fn warn(&self, line: &str) {
        output::warn(line);
    }
}

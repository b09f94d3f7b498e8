//! A server in a scratch world.

use super::http::{Answer, At, Events, raw};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use testkit::{Service, World, looping};

pub fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_ralph"))
}

pub struct Server {
    pub world: World,
    service: Option<Service>,
    pub at: At,
    pub host: String,
    pub full: String,
    pub read: String,
    flags: Vec<String>,
    path: String,
}

impl Server {
    /// In a trusted repository with a fake agent.
    pub fn start(flags: &[&str]) -> Self {
        Self::with_agent("hear; say hello; work; result 'one more'", flags)
    }

    pub fn with_agent(script: &str, flags: &[&str]) -> Self {
        let world = looping::folder();
        looping::agent(&world, script);
        Self::in_world(world, flags)
    }

    pub fn in_world(world: World, flags: &[&str]) -> Self {
        Self::in_world_with_path(world, flags, &search_path())
    }

    pub fn in_world_with_path(world: World, flags: &[&str], path: &str) -> Self {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let mut server = Self {
            world,
            service: None,
            at: At::Port(0),
            host: String::new(),
            full: String::new(),
            read: String::new(),
            flags,
            path: path.to_owned(),
        };
        server.listen("127.0.0.1:0");
        server
    }

    /// Starts it, also again after it was killed.
    fn listen(&mut self, address: &str) {
        let words: Vec<&str> =
            ["serve", "--listen", address].into_iter().chain(self.flags.iter().map(String::as_str)).collect();
        let (path, home, mock) = (self.path.clone(), self.world.home().display().to_string(), self.world.mock().url());
        let tmp = self.world.home().parent().expect("a folder").join("tmp").display().to_string();
        let env = [
            ("PATH", path.as_str()),
            ("HOME", &home),
            ("TMPDIR", &tmp),
            ("ANTHROPIC_API_KEY", "sk-ant-test-0000000000000000"),
            ("IS_SANDBOX", "1"),
            ("ANTHROPIC_BASE_URL", &mock),
        ];
        let service = Service::start(&binary(), self.world.wd(), &words, &env).expect("a server");
        let link = service.greeting.clone();
        let (host, token) = link.strip_prefix("http://").and_then(|rest| rest.split_once("/#token=")).expect(&link);
        (self.host, self.full) = (host.to_owned(), token.to_owned());
        let port = host.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        self.at = At::Port(port);
        let read = self.world.home().join(".local/state/ralph/serve/read-token");
        std::fs::read_to_string(read).expect("the read-only token").trim().clone_into(&mut self.read);
        self.service = Some(service);
    }

    /// The link of the page.
    pub fn link(&self) -> String {
        format!("http://{}/#token={}", self.host, self.full)
    }

    pub fn kill(&mut self) {
        let service = self.service.take().expect("a server");
        let _ = service.end(rustix::process::Signal::KILL).expect("its end");
    }

    pub fn pid(&self) -> u32 {
        self.service.as_ref().expect("a server").pid()
    }

    /// Again, at the same address.
    pub fn restart(&mut self) {
        let host = self.host.clone();
        self.listen(&host);
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.full)
    }

    pub fn send(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> Answer {
        let bearer = self.bearer();
        let mut headers = vec![("Host", self.host.as_str()), ("Authorization", &bearer)];
        if !kind.is_empty() {
            headers.push(("Content-Type", kind));
        }
        raw(&self.at, method, path, &headers, body)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "", b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, "application/json", body.to_string().as_bytes())
    }

    pub fn events(&self, path: &str, headers: &[(&str, &str)]) -> Events {
        let bearer = self.bearer();
        let all: Vec<(&str, &str)> = [("Host", self.host.as_str()), ("Authorization", &bearer)]
            .into_iter()
            .chain(headers.iter().copied())
            .collect();
        Events::open(&self.at, path, &all)
    }

    pub fn agent(&self) -> String {
        self.world.home().join("agent.sh").display().to_string()
    }

    /// A run with the fake agent. The server must allow that.
    pub fn start_run(&self, more: &Value) -> String {
        let mut body = json!({"backend": self.agent(), "sandbox": "off", "iterations": 3});
        for (key, value) in more.as_object().expect("fields") {
            body[key] = value.clone();
        }
        let answer = self.post("/v1/runs", &body);
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["id"].as_str().expect("an id").to_owned()
    }

    pub fn run(&self, id: &str) -> Value {
        self.get(&format!("/v1/runs/{id}")).json()
    }

    /// Waits for a state; the list is looked at, since that is what clients do.
    pub fn wait_for(&self, id: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + Duration::from_secs(40);
        loop {
            let run = self.run(id);
            if fits(&run) {
                return run;
            }
            assert!(Instant::now() < until, "it never came to that: {run:#}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "tests need the caller's PATH")]
pub fn search_path() -> String {
    std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into())
}

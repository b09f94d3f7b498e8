//! The command line and the servers of a session's agent process.

use agent_client_protocol_schema::v1::McpServer;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// One agent process.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Launch {
    pub cwd: PathBuf,
    /// The id of the session that this process has.
    pub session: String,
    /// The session to go on with.
    pub resume: Option<String>,
    /// The resumed session stays as it is; this one is a copy.
    pub is_fork: bool,
    pub folders: Vec<PathBuf>,
    pub model: Option<String>,
    pub system_prompt: Option<String>,
    pub append_system_prompt: Option<String>,
    /// The client can show forms.
    pub may_question: bool,
    pub may_bypass: bool,
    /// By name, as the agent's configuration has them. Not an argument: they may hold secrets.
    pub(crate) servers: Map<String, Value>,
}

impl Launch {
    /// The words after `ralph agent`.
    pub fn args(&self) -> Vec<String> {
        let mut args: Vec<String> =
            ["-p", "--input-format", "stream-json", "--output-format", "stream-json"].map(Into::into).into();
        let mut add = |words: &[&str]| args.extend(words.iter().map(|word| (*word).to_owned()));
        add(&["--verbose", "--include-partial-messages", "--permission-prompt-tool", "stdio"]);
        match &self.resume {
            Some(old) if self.is_fork => add(&["--resume", old, "--fork-session", "--session-id", &self.session]),
            Some(old) => add(&["--resume", old]),
            None => add(&["--session-id", &self.session]),
        }
        for (flag, value) in [
            ("--model", &self.model),
            ("--system-prompt", &self.system_prompt),
            ("--append-system-prompt", &self.append_system_prompt),
        ] {
            if let Some(value) = value {
                add(&[&format!("{flag}={value}")]);
            }
        }
        for folder in &self.folders {
            add(&["--add-dir", &folder.to_string_lossy()]);
        }
        if !self.may_question {
            add(&["--disallowed-tools", "AskUserQuestion"]);
        }
        if self.may_bypass {
            add(&["--allow-dangerously-skip-permissions"]);
        }
        args
    }

    /// Options that clients put into `_meta` of a request that opens a session.
    pub(crate) fn set_meta(&mut self, meta: &Value) {
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        self.model = text(&meta["claudeCode"]["options"]["model"]);
        self.system_prompt = text(&meta["systemPrompt"]);
        self.append_system_prompt = text(&meta["systemPrompt"]["append"]);
    }

    pub(crate) fn set_servers(&mut self, servers: &[McpServer]) {
        self.servers = servers.iter().filter_map(server).collect();
    }
}

fn server(server: &McpServer) -> Option<(String, Value)> {
    let headers = |headers: &[agent_client_protocol_schema::v1::HttpHeader]| {
        headers.iter().map(|header| (header.name.clone(), Value::from(header.value.as_str()))).collect::<Map<_, _>>()
    };
    match server {
        McpServer::Http(http) => {
            let config = json!({"type": "http", "url": http.url, "headers": headers(&http.headers)});
            Some((http.name.clone(), config))
        }
        McpServer::Sse(sse) => {
            let config = json!({"type": "sse", "url": sse.url, "headers": headers(&sse.headers)});
            Some((sse.name.clone(), config))
        }
        McpServer::Stdio(stdio) => {
            let env = stdio.env.iter().map(|one| (one.name.clone(), Value::from(one.value.as_str())));
            let env: Map<String, Value> = env.collect();
            let config = json!({"type": "stdio", "command": stdio.command, "args": stdio.args, "env": env});
            Some((stdio.name.clone(), config))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_new_resumed_or_copied() {
        let launch = |resume: Option<&str>, is_fork| {
            Launch { session: "new".into(), resume: resume.map(Into::into), is_fork, ..Launch::default() }
                .args()
                .join(" ")
        };
        assert!(launch(None, false).contains("--session-id new"));
        let resumed = launch(Some("old"), false);
        assert!(resumed.contains("--resume old") && !resumed.contains("--session-id"));
        assert!(launch(Some("old"), true).contains("--resume old --fork-session --session-id new"));
    }

    #[test]
    fn what_the_client_cannot_show_is_not_offered() {
        let args = Launch::default().args();
        assert!(args.ends_with(&["--disallowed-tools".into(), "AskUserQuestion".into()]));
        let args = Launch { may_question: true, may_bypass: true, ..Launch::default() }.args();
        assert!(!args.contains(&"AskUserQuestion".to_owned()));
        assert!(args.contains(&"--allow-dangerously-skip-permissions".to_owned()));
    }

    #[test]
    fn servers_and_their_secrets_are_no_arguments() {
        let servers: Vec<McpServer> = serde_json::from_value(json!([
            {"name": "s", "command": "/bin/x", "args": ["a"], "env": [{"name": "KEY", "value": "secret"}]},
            {"type": "http", "name": "h", "url": "http://u", "headers": [{"name": "A", "value": "b"}]},
        ]))
        .unwrap();
        let mut launch = Launch::default();
        launch.set_servers(&servers);
        launch
            .set_meta(&json!({"claudeCode": {"options": {"model": "sonnet"}}, "systemPrompt": {"append": "be brief"}}));
        assert_eq!(launch.servers["s"]["env"], json!({"KEY": "secret"}));
        assert_eq!(launch.servers["h"], json!({"type": "http", "url": "http://u", "headers": {"A": "b"}}));
        let args = launch.args().join(" ");
        assert!(args.contains("--model=sonnet --append-system-prompt=be brief") && !args.contains("secret"));
    }
}

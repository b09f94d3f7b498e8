//! A stdio server for the tests: `fake-mcp-server <mode> [<log>]`. It writes the method of every message
//! it gets to the log, and misbehaves in the way its mode or the called tool says.

#![expect(clippy::disallowed_methods, reason = "a program of its own, with its own arguments and stdout")]
#![expect(clippy::print_stderr, reason = "its last words are what is tested")]

use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead as _, Write as _};
use std::time::Duration;

struct Server {
    mode: String,
    log: Option<File>,
    /// Tools that were added while running.
    grown: usize,
    /// The client said that its user can be asked.
    can_ask: bool,
    /// A call that is answered when the client has told its roots.
    asking: Option<Value>,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let mode = args.next().unwrap_or_default();
    let log = args.next().and_then(|path| File::options().append(true).create(true).open(path).ok());
    match mode.as_str() {
        "dies" => {
            eprintln!("no database at the door");
            std::process::exit(2);
        }
        "noisy" => say_line("Welcome to the noisy server"),
        "confused" => {
            say_line("usage: give me a port");
            return;
        }
        _ => {}
    }
    let mut server = Server { mode, log, grown: 0, can_ask: false, asking: None };
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if let Ok(message) = serde_json::from_str(&line) {
            server.hear(&message);
        }
    }
    if server.mode == "stubborn" {
        std::thread::sleep(Duration::from_mins(10));
    }
}

impl Server {
    fn hear(&mut self, message: &Value) {
        let method = message["method"].as_str().unwrap_or("answer");
        if let Some(log) = &mut self.log {
            let _ = writeln!(log, "{method}");
        }
        let id = &message["id"];
        match method {
            _ if self.mode == "silent" => {}
            "answer" => {
                if let Some(call) = self.asking.take() {
                    let roots = message["result"].get("roots").unwrap_or(&message["result"]).to_string();
                    say(&json!({"id": call, "result": {"content": [{"type": "text", "text": roots}]}}));
                }
            }
            "initialize" => {
                let version = &message["params"]["protocolVersion"];
                let capabilities =
                    json!({"tools": {"listChanged": true}, "resources": {}, "prompts": {"listChanged": true}});
                self.can_ask = !message["params"]["capabilities"]["elicitation"].is_null();
                let info = json!({"name": "fake", "version": "1"});
                let result = json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info,
                    "instructions": "be kind"});
                say(&json!({"id": id, "result": result}));
            }
            "tools/list" => self.list(id, message["params"]["cursor"].as_str()),
            "tools/call" => self.call(id, &message["params"]),
            "prompts/list" => {
                let mut prompts = vec![json!({"name": "review", "description": "reviews a file",
                    "arguments": [{"name": "file", "required": true}, {"name": "how"}]})];
                prompts.extend((1..=self.grown).map(|number| json!({"name": format!("grown{number}")})));
                say(&json!({"id": id, "result": {"prompts": prompts}}));
            }
            "prompts/get" => {
                let text = format!("Review with {}", message["params"]["arguments"]);
                let content = json!({"type": "text", "text": text});
                say(&json!({"id": id, "result": {"messages": [{"role": "user", "content": content}]}}));
            }
            "resources/list" => say(&json!({"id": id, "result": {"resources": [{"uri": "a:1", "name": "one"}]}})),
            "resources/read" if message["params"]["uri"] == "hang:1" => {}
            "resources/read" => {
                let contents = json!([{"uri": message["params"]["uri"], "mimeType": "text/plain", "text": "inside"}]);
                say(&json!({"id": id, "result": {"contents": contents}}));
            }
            _ => {}
        }
    }

    fn list(&self, id: &Value, cursor: Option<&str>) {
        let tool = |name: String| json!({"name": name, "inputSchema": {"type": "object", "properties": {}}});
        let names = [
            "add", "fail", "refuse", "hang", "crash", "flood", "endless", "big", "grow", "roots", "env", "pid", "odd",
            "question",
        ];
        let mut result = match (self.mode.as_str(), cursor) {
            ("paged", None) => json!({"tools": [tool("one".into())], "nextCursor": "2"}),
            ("paged", _) => json!({"tools": [tool("two".into())]}),
            ("forever", _) => json!({"tools": [tool("again".into())], "nextCursor": "more"}),
            _ => json!({"tools": names.map(|name| tool(name.into()))}),
        };
        if let Some(tools) = result["tools"].as_array_mut() {
            tools.extend((1..=self.grown).map(|number| tool(format!("grown{number}"))));
            tools.push(json!({"name": "bare"}));
        }
        say(&json!({"id": id, "result": result}));
    }

    fn call(&mut self, id: &Value, params: &Value) {
        let text = |text: String| json!({"content": [{"type": "text", "text": text}]});
        let arguments = &params["arguments"];
        let result = match params["name"].as_str().unwrap_or_default() {
            "add" => {
                let sum = arguments["a"].as_i64().unwrap_or(0) + arguments["b"].as_i64().unwrap_or(0);
                text(sum.to_string())
            }
            "fail" => json!({"content": [{"type": "text", "text": "boom"}], "isError": true}),
            "refuse" => {
                say(&json!({"id": id, "error": {"code": -32602, "message": "not like that"}}));
                return;
            }
            "hang" => return,
            "crash" => {
                eprintln!("panicked at the disco");
                std::process::exit(3);
            }
            "flood" => loop {
                say(&json!({"method": "notifications/tools/list_changed"}));
            },
            "endless" => loop {
                let _ = std::io::stdout().write_all(&[b'x'; 8192]);
            },
            "big" => text("word ".repeat(100_000)),
            "grow" => {
                self.grown += 1;
                say(&json!({"method": "notifications/tools/list_changed"}));
                text("grown".into())
            }
            "roots" => {
                say(&json!({"id": 77, "method": "roots/list"}));
                self.asking = Some(id.clone());
                return;
            }
            "question" if self.can_ask => {
                let schema =
                    json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
                let params = json!({"mode": "form", "message": "Who are you?", "requestedSchema": schema});
                say(&json!({"id": 78, "method": "elicitation/create", "params": params}));
                self.asking = Some(id.clone());
                return;
            }
            "env" => text(std::env::var(arguments["name"].as_str().unwrap_or_default()).unwrap_or_default()),
            "pid" => text(std::process::id().to_string()),
            "odd" => json!({"content": [{"type": "hologram", "x": 1}]}),
            other => text(other.to_owned()),
        };
        say(&json!({"id": id, "result": result}));
    }
}

fn say(message: &Value) {
    let mut message = message.clone();
    message["jsonrpc"] = "2.0".into();
    say_line(&message.to_string());
}

/// Nobody reads any more: the client is gone, and so are we.
fn say_line(line: &str) {
    let mut stdout = std::io::stdout().lock();
    if stdout.write_all(line.as_bytes()).and_then(|()| stdout.write_all(b"\n")).and_then(|()| stdout.flush()).is_err() {
        std::process::exit(0);
    }
}

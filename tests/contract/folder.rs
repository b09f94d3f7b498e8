//! What a folder says, followed into the request that reaches the model: memory, hooks, skills, commands,
//! agents, styles and plugins of the project in `fixture/`.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]

#[path = "folder/agents.rs"]
mod agents;
#[path = "folder/background_agents.rs"]
mod background_agents;
mod common;
#[path = "folder/errands.rs"]
mod errands;
#[path = "folder/explain.rs"]
mod explain;
#[path = "folder/installed.rs"]
mod installed;
#[path = "folder/memory.rs"]
mod memory;
#[path = "folder/messages.rs"]
mod messages;
#[path = "folder/nearby.rs"]
mod nearby;
#[path = "folder/plugins.rs"]
mod plugins;
#[path = "folder/prompter.rs"]
mod prompter;
#[path = "folder/servers.rs"]
mod servers;
#[path = "folder/sessions.rs"]
mod sessions;
#[path = "folder/skills.rs"]
mod skills;
#[path = "folder/speed.rs"]
mod speed;
#[path = "folder/styles.rs"]
mod styles;

use common::claude;
use serde_json::Value;
use std::path::{Path, PathBuf};
use testkit::{Run, World};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/contract/fixture")
}

fn files_below(dir: &Path, base: &Path, found: &mut Vec<(String, String)>) {
    for entry in dir.read_dir().expect("the fixture").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_below(&path, base, found);
        } else {
            let name = path.strip_prefix(base).expect("below").to_string_lossy().into_owned();
            found.push((name, std::fs::read_to_string(&path).expect("text")));
        }
    }
}

/// A world whose working folder is the fixture project.
fn project(turns: Value) -> World {
    let mut files = Vec::new();
    files_below(&fixture(), &fixture(), &mut files);
    let script = mock::Script::from_value(turns).expect("a script");
    World::new(files.iter().map(|(name, text)| (name.as_str(), text.as_str())), script).expect("a world")
}

/// Writes a file below the working folder of a world.
fn add(world: &World, name: &str, text: &str) {
    let path = world.wd().join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

/// One prompt on the command line, events on stdout.
fn streaming(world: &World, prompt: &str) -> Run {
    claude(world).args(["-p", prompt, "--verbose", "--output-format", "stream-json"]).close()
}

/// Bodies of the requests that offered tools, in order.
fn requests(world: &World) -> Vec<Value> {
    world.mock().requests().into_iter().filter(mock::Recorded::has_tools).map(|request| request.body).collect()
}

/// All system text of a request.
fn system(request: &Value) -> String {
    let blocks = request["system"].as_array().expect("system blocks").iter();
    blocks.map(|block| block["text"].as_str().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// All text of its messages.
fn said(request: &Value) -> String {
    request["messages"].to_string()
}

/// What a tool tells the model about itself.
fn described(request: &Value, tool: &str) -> String {
    let tools = request["tools"].as_array().expect("tools");
    let found = tools.iter().find(|one| one["name"] == tool).unwrap_or_else(|| panic!("no tool {tool}"));
    found["description"].as_str().unwrap_or_default().to_owned()
}

fn init(outcome: &testkit::Outcome) -> Value {
    outcome.events().into_iter().find(|event| event["subtype"] == "init").expect("init")
}

//! `/v1/config/mcp`: MCP servers of a served folder, kept where agents look for them: `.mcp.json`. A server that is a command needs
//! `--allow-exec`, because later runs start it.

use crate::app::App;
use crate::files::Served;
use crate::problem::Problem;
use crate::request;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

type Shared = State<Arc<App>>;

/// Of `.mcp.json`.
const FILE_MAX: usize = 1024 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct McpQuery {
    directory: String,
    mcp_name: String,
}

fn file(app: &App, directory: &str) -> Result<Served, Problem> {
    let folder = app.folders.place(directory)?;
    Ok(Served { rest: folder.rest.join(".mcp.json"), ..folder })
}

/// The file's content; one that is not there has none. One that cannot be read is never overwritten.
fn load(file: &Served) -> Result<Map<String, Value>, Problem> {
    if is_placeholder(file) {
        return Ok(Map::new());
    }
    let bytes = match file.read(FILE_MAX) {
        Err(problem) if problem.kind == "not_found" => return Ok(Map::new()),
        read => read?,
    };
    let broken = || Problem::conflict(format!("{} is no JSON object; mend it first", file.shown()));
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(content)) => Ok(content),
        _ => Err(broken()),
    }
}

/// A sandbox puts an empty folder where a protected file is missing.
fn is_placeholder(file: &Served) -> bool {
    file.list().is_ok_and(|entries| entries.is_empty())
}

fn save(file: &Served, content: &Map<String, Value>) -> Result<(), Problem> {
    if is_placeholder(file) {
        file.remove(false)?;
    }
    let text = serde_json::to_string_pretty(content).map_err(|error| Problem::internal(error.to_string()))?;
    file.write(format!("{text}\n").as_bytes())
}

fn servers(content: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    content.entry("mcpServers").or_insert_with(|| json!({})).as_object_mut()
}

/// From sandbox-agent's words to those of `.mcp.json`. Other keys stay as they are.
fn to_file(mut config: Map<String, Value>) -> Result<Value, Problem> {
    let remote = config.remove("transport");
    let kind = match config.get("type").and_then(Value::as_str) {
        Some("local") if config.get("command").is_some_and(Value::is_string) => "stdio",
        Some("remote") if config.get("url").is_some_and(Value::is_string) => {
            if remote.as_ref().and_then(Value::as_str) == Some("sse") { "sse" } else { "http" }
        }
        _ => return Err(Problem::invalid("a server is {type:\"local\", command} or {type:\"remote\", url}")),
    };
    config.insert("type".into(), kind.into());
    Ok(Value::Object(config))
}

fn from_file(config: &Value) -> Value {
    let mut config = config.clone();
    if let Some(fields) = config.as_object_mut() {
        match fields.get("type").and_then(Value::as_str) {
            Some(transport @ ("http" | "sse")) => {
                let transport = transport.to_owned();
                fields.insert("type".into(), "remote".into());
                fields.insert("transport".into(), transport.into());
            }
            _ => {
                fields.insert("type".into(), "local".into());
            }
        }
    }
    config
}

pub async fn read_mcp(State(app): Shared, uri: Uri) -> Result<Json<Value>, Problem> {
    let McpQuery { directory, mcp_name } = request::query(&uri)?;
    let mut content = load(&file(&app, &directory)?)?;
    let found = servers(&mut content).and_then(|servers| servers.get(&mcp_name).map(from_file));
    found.map(Json).ok_or_else(|| Problem::not_found(format!("there is no MCP server '{mcp_name}'")))
}

pub async fn write_mcp(State(app): Shared, uri: Uri, headers: HeaderMap, body: Body) -> Result<StatusCode, Problem> {
    let McpQuery { directory, mcp_name } = request::query(&uri)?;
    let config = to_file(request::json(&headers, body).await?)?;
    if config["type"] == "stdio" {
        app.need_exec("an MCP server that is a command")?;
    }
    let file = file(&app, &directory)?;
    let mut content = load(&file)?;
    let broken = || Problem::conflict(format!("mcpServers of {} is no object; mend it first", file.shown()));
    servers(&mut content).ok_or_else(broken)?.insert(mcp_name, config);
    save(&file, &content)?;
    Ok(StatusCode::NO_CONTENT)
}

pub async fn remove_mcp(State(app): Shared, uri: Uri) -> Result<StatusCode, Problem> {
    let McpQuery { directory, mcp_name } = request::query(&uri)?;
    let file = file(&app, &directory)?;
    let mut content = load(&file)?;
    if servers(&mut content).and_then(|servers| servers.remove(&mcp_name)).is_some() {
        save(&file, &content)?;
    }
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_translated_both_ways() {
        for config in [
            json!({"type": "local", "command": "x", "args": ["a"]}),
            json!({"type": "remote", "url": "http://h/", "transport": "sse"}),
            json!({"type": "remote", "url": "http://h/", "transport": "http"}),
        ] {
            let written = to_file(config.as_object().unwrap().clone()).unwrap();
            assert_eq!(from_file(&written), config, "{written}");
        }
        for wrong in [json!({}), json!({"type": "local"}), json!({"type": "remote", "command": "x"})] {
            assert!(to_file(wrong.as_object().unwrap().clone()).is_err(), "{wrong}");
        }
    }
}

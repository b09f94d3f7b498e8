//! `mcp add|add-json|list|get|remove|reset-project-choices`: the servers that the user has configured.
//!
//! Elsewhere: how servers stand (`mcp_health`), logins (`mcp_login`), our own tools as a server (`mcp_serve`).

use super::{mcp_health, mcp_login, mcp_serve};
use crate::failure::{Ended, Failure};
use crate::say;
use arguments::Arguments;
use resolve::Environment;
use serde_json::{Map, Value, json};
use settings::{Places, Scope, StoredServer};
use wire::ExitCode;

const USAGE: &str = "usage: mcp add [-s local|project|user] [-t stdio|http|sse] [-e NAME=VALUE]… [-H \"Name: value\"]… \
                     <name> <command or address> [arguments…]\n       \
                     mcp add-json [-s SCOPE] <name> <json> | list | get <name> | remove [-s SCOPE] <name> | reset-project-choices\n       \
                     mcp login [--no-browser] <name> | logout <name> | serve";

/// The words that [`USAGE`] explains.
const COMMANDS: [&str; 9] =
    ["add", "add-json", "list", "get", "remove", "reset-project-choices", "login", "logout", "serve"];

pub fn run(words: &[String], typed: &Arguments, environment: &Environment) -> Ended {
    let asked = asked(words)?;
    let plain: Vec<&str> = asked.words.iter().map(String::as_str).collect();
    match plain.as_slice() {
        ["serve"] => return mcp_serve::run(typed, environment),
        ["login", name] => mcp_login::log_in(name, asked.no_browser, typed, environment)?,
        ["logout", name] => mcp_login::log_out(name, typed, environment)?,
        ["list"] => say::out(&list(typed, environment)?),
        ["get", name] => say::out(&get(name, typed, environment)?),
        _ => say::out(&act(&asked, &plain, &resolve::places(environment))?),
    }
    Ok(ExitCode::Success)
}

/// What was typed after `mcp`.
#[derive(Debug, Default, PartialEq)]
struct Asked {
    words: Vec<String>,
    scope: Option<Scope>,
    transport: Option<String>,
    env: Vec<String>,
    headers: Vec<String>,
    /// Of a client that is registered by hand with the server's authorization server.
    client_id: Option<String>,
    callback_port: Option<u16>,
    no_browser: bool,
}

/// Flags are ours up to the server's own command line, which begins with the third plain word or after `--`.
fn asked(words: &[String]) -> Result<Asked, Failure> {
    let mut asked = Asked::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let is_servers = asked.words.len() >= 3 && asked.words[0] == "add";
        if word == "--" || is_servers {
            asked.words.extend(Some(word).filter(|word| *word != "--").cloned());
            asked.words.extend(rest.cloned());
            break;
        }
        let (flag, inline) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let mut value = || {
            let given = inline.clone().or_else(|| rest.next().cloned());
            given.ok_or_else(|| Failure::usage(format!("option '{flag}' needs a value")))
        };
        match flag {
            "-s" | "--scope" => {
                let name = value()?;
                let wrong = || Failure::usage(format!("--scope is '{name}'; allowed are local, project, user"));
                asked.scope = Some(Scope::parse(&name).ok_or_else(wrong)?);
            }
            "-t" | "--transport" => asked.transport = Some(value()?),
            "-e" | "--env" => asked.env.push(value()?),
            "-H" | "--header" => asked.headers.push(value()?),
            "--client-id" => asked.client_id = Some(value()?),
            "--callback-port" => {
                let port = value()?;
                let wrong = |_| Failure::usage(format!("--callback-port is '{port}', which is no port"));
                asked.callback_port = Some(port.parse().map_err(wrong)?);
            }
            "--no-browser" => asked.no_browser = true,
            _ if flag.starts_with('-') => {
                return Err(Failure::usage(format!("unknown option '{flag}'\n{USAGE}")));
            }
            _ => asked.words.push(word.clone()),
        }
    }
    Ok(asked)
}

fn act(asked: &Asked, plain: &[&str], places: &Places) -> Result<String, Failure> {
    match plain {
        ["add", name, target, args @ ..] => add(places, asked.scope, name, &entry(asked, target, args)?),
        ["add-json", name, text] => {
            let entry =
                serde_json::from_str(text).map_err(|error| refused(format!("the server is not JSON: {error}")))?;
            add(places, asked.scope, name, &entry)
        }
        ["remove", name] => remove(places, asked.scope, name),
        ["reset-project-choices"] => {
            settings::reset_project_choices(places).map_err(refused)?;
            Ok("The choices about this project's servers are forgotten.\n".to_owned())
        }
        ["add-from-claude-desktop", ..] => Err(refused(format!("'mcp {}' is not part of this agent.", plain[0]))),
        [word, ..] if !COMMANDS.contains(word) => Err(unknown("mcp", word, &COMMANDS)),
        _ => Err(Failure::form(USAGE)),
    }
}

/// A word behind a command that none of its own words is.
pub fn unknown(command: &str, word: &str, known: &[&str]) -> Failure {
    Failure::usage(format!("unknown command '{command} {word}'. There are: {}", known.join(", ")))
}

/// The entry that the words of `mcp add` describe.
fn entry(asked: &Asked, target: &str, args: &[&str]) -> Result<Value, Failure> {
    let pairs = |given: &[String], sign: char| -> Result<Map<String, Value>, Failure> {
        let pair = |text: &String| {
            let wrong = || refused(format!("'{text}' is not of the form NAME{sign}VALUE"));
            let (name, value) = text.split_once(sign).ok_or_else(wrong)?;
            Ok((name.trim().to_owned(), json!(value.trim())))
        };
        given.iter().map(pair).collect()
    };
    let is_address = target.starts_with("http://") || target.starts_with("https://");
    match asked.transport.as_deref() {
        Some(kind @ ("http" | "sse")) => Ok(remote(asked, kind, target, &pairs(&asked.headers, ':')?)),
        None if is_address => Ok(remote(asked, "http", target, &pairs(&asked.headers, ':')?)),
        None | Some("stdio") => {
            Ok(json!({"type": "stdio", "command": target, "args": args, "env": pairs(&asked.env, '=')?}))
        }
        Some(other) => Err(Failure::usage(format!("--transport is '{other}'; allowed are stdio, http, sse"))),
    }
}

fn remote(asked: &Asked, kind: &str, url: &str, headers: &Map<String, Value>) -> Value {
    let mut entry = json!({"type": kind, "url": url, "headers": headers});
    if let Some(id) = &asked.client_id {
        entry["oauth"]["clientId"] = json!(id);
    }
    if let Some(port) = asked.callback_port {
        entry["oauth"]["callbackPort"] = json!(port);
    }
    entry
}

/// In the words that clients know.
pub fn refused(why: impl std::fmt::Display) -> Failure {
    Failure::agent(format!("Error: {why}"))
}

fn word(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "user",
        Scope::Project => "project",
        Scope::Local => "local",
    }
}

fn add(places: &Places, scope: Option<Scope>, name: &str, entry: &Value) -> Result<String, Failure> {
    let scope = scope.unwrap_or(Scope::Local);
    let (servers, problems) = mcp::parse(&json!({"mcpServers": {name: entry}}), word(scope), &|_| Some(String::new()));
    if servers.is_empty() {
        let why = problems.first().map_or("it cannot be used", |problem| problem.message.as_str());
        return Err(refused(format!("the server {name} was not added: {why}.")));
    }
    if settings::add_server(places, scope, name, entry).map_err(refused)? {
        Ok(format!("Added MCP server {name} ({} scope)\n", word(scope)))
    } else {
        Err(refused(format!("MCP server {name} already exists in {} scope; remove it first.", word(scope))))
    }
}

fn remove(places: &Places, scope: Option<Scope>, name: &str) -> Result<String, Failure> {
    let scopes = scope.map_or(vec![Scope::Local, Scope::Project, Scope::User], |scope| vec![scope]);
    for scope in scopes {
        if settings::remove_server(places, scope, name).map_err(refused)? {
            return Ok(format!("Removed MCP server {name} ({} scope)\n", word(scope)));
        }
    }
    Err(refused(format!("No MCP server found with name: {name}")))
}

fn summary(server: &StoredServer) -> String {
    if let Some(url) = server.entry["url"].as_str() {
        return url.to_owned();
    }
    let args = server.entry["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    server.entry["command"].as_str().into_iter().chain(args).collect::<Vec<_>>().join(" ")
}

fn list(typed: &Arguments, environment: &Environment) -> Result<String, Failure> {
    let stored = settings::stored_servers(&resolve::places(environment));
    if stored.is_empty() {
        return Ok("No MCP servers are configured. Add one with 'mcp add'.\n".to_owned());
    }
    let health = mcp_health::of(None, typed, environment)?;
    let line = |server: &StoredServer| {
        format!("{}: {} ({}) - {}\n", server.name, summary(server), word(server.scope), health.of(&server.name))
    };
    Ok(stored.iter().map(line).collect())
}

fn get(name: &str, typed: &Arguments, environment: &Environment) -> Result<String, Failure> {
    let stored = settings::stored_servers(&resolve::places(environment));
    let server = stored.iter().find(|server| server.name == name);
    let server = server.ok_or_else(|| refused(format!("No MCP server found with name: {name}")))?;
    let entry = serde_json::to_string_pretty(&server.entry).unwrap_or_default();
    let health = mcp_health::of(Some(name), typed, environment)?;
    Ok(format!("{name} ({} scope)\nStatus: {}\n{entry}\n", word(server.scope), health.of(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<(Asked, Value), Failure> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let asked = asked(&words)?;
        let args: Vec<&str> = asked.words.iter().skip(3).map(String::as_str).collect();
        let entry = entry(&asked, &asked.words[2], &args)?;
        Ok((asked, entry))
    }

    #[test]
    fn a_servers_own_flags_stay_its_own() {
        for (line, expected) in [
            (
                "add a npx -y pkg --port 3",
                json!({"type": "stdio", "command": "npx", "args": ["-y", "pkg", "--port", "3"], "env": {}}),
            ),
            (
                "add -e K=V a -- npx -y pkg",
                json!({"type": "stdio", "command": "npx", "args": ["-y", "pkg"], "env": {"K": "V"}}),
            ),
            ("add -t http a https://x.test -H A:b", json!({"type": "http", "url": "https://x.test", "headers": {}})),
            (
                "add -t sse -H A:b a https://x.test",
                json!({"type": "sse", "url": "https://x.test", "headers": {"A": "b"}}),
            ),
            ("add a https://x.test", json!({"type": "http", "url": "https://x.test", "headers": {}})),
        ] {
            assert_eq!(read(line).map(|(_, entry)| entry).unwrap(), expected, "{line}");
        }
        assert_eq!(read("add -s user a b").unwrap().0.scope, Some(Scope::User));
        for line in ["add -t ws a b", "add -e K a b", "add -s moon a b", "add --odd a b", "add a b -s"] {
            assert!(read(line).is_err() || line.ends_with("-s"), "{line}");
        }
    }
}

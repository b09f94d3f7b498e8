//! `ralph acp login`: an API key, asked for in a terminal and kept where the agent looks for one.

use crate::failure::{Ended, Failure};
use crate::say;
use agent::StdinKind;
use resolve::{Environment, stdin_kind};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::{Map, Value};
use std::io::{BufRead as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use wire::ExitCode;

/// How keys of the API begin.
const KEY_PREFIX: &str = "sk-ant-";

/// The field of the file that is looked at first.
const FIELD: &str = "primaryApiKey";

/// Longer than any key.
const KEY_MAX: usize = 1024;

pub(super) fn is_logged_in(environment: &Environment) -> bool {
    let lookup = |name: &str| environment.get(name).map(str::to_owned);
    let choice = model::Choice::from_switches(&model::Variables::new(&lookup));
    choice.switch().is_some()
        || resolve::credentials_only(None, environment).is_ok_and(|resolution| resolution.chosen.is_some())
}

pub(super) fn run(environment: &Environment) -> Ended {
    if is_logged_in(environment) {
        say::out("Logged in already ('ralph auth status' says with what).\n");
        return Ok(ExitCode::Success);
    }
    if stdin_kind(false) != StdinKind::Terminal {
        let why = Failure::usage("'ralph acp login' asks for a key in a terminal");
        return Err(why.hint("Elsewhere, set ANTHROPIC_API_KEY."));
    }
    say::out("API key (it is not shown): ");
    let key = read_hidden();
    say::out("\n");
    let key = key.map_err(|error| Failure::failed(format!("the key cannot be read: {error}")))?.trim().to_owned();
    if !key.starts_with(KEY_PREFIX) || key.len() > KEY_MAX || key.contains(char::is_whitespace) {
        return Err(Failure::usage(format!("this is no API key: one begins with {KEY_PREFIX}.")));
    }
    let [file, _] = resolve::places(environment).key_files();
    let cannot = |error| Failure::failed(format!("the key cannot be written to {}: {error}", file.display()));
    keep(&file, &key).map_err(cannot)?;
    say::out(&format!("Logged in: the key is in {}.\n", file.display()));
    Ok(ExitCode::Success)
}

/// The terminal shows nothing while the key is typed, and is as before afterwards.
fn read_hidden() -> std::io::Result<String> {
    let stdin = std::io::stdin();
    let before = tcgetattr(&stdin)?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&stdin, OptionalActions::Flush, &hidden)?;
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    tcsetattr(&stdin, OptionalActions::Flush, &before)?;
    read.map(|_| line)
}

/// What else is in the file stays. Only its owner can read it.
fn keep(file: &Path, key: &str) -> std::io::Result<()> {
    let mut object: Map<String, Value> =
        std::fs::read(file).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    object.insert(FIELD.into(), key.into());
    let text = serde_json::to_vec_pretty(&object)?;
    let beside = file.with_extension(format!("api.{}", std::process::id()));
    let mut new = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    let written = new.write_all(&text).and_then(|()| new.sync_all()).and_then(|()| std::fs::rename(&beside, file));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_key_is_kept_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(".claude.json.api");
        for (before, other) in
            [(None, Value::Null), (Some(r#"{"other": 1}"#), Value::from(1)), (Some("broken"), Value::Null)]
        {
            if let Some(before) = before {
                std::fs::write(&file, before).unwrap();
            }
            keep(&file, "sk-ant-1").unwrap();
            let kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            assert_eq!((&kept[FIELD], &kept["other"]), (&Value::from("sk-ant-1"), &other));
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
        }
    }
}

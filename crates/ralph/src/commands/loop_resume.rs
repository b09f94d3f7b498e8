//! Going on with a run: which one, and with which of its flags.

use arguments::loop_flags::Wanted;
use cycle::VerdictKind;
use runner::Folder;
use std::path::Path;

/// The last run, unless it is done.
pub fn unfinished(folder: &Folder) -> Option<String> {
    let info = runner::load(folder, &runner::find(folder, None).ok()?).ok()?;
    let done = info.memory.verdict.is_some_and(|verdict| verdict.verdict == VerdictKind::Done);
    (!done).then_some(info.id)
}

/// What was typed, over what was typed when the run began. Used-up iterations are not taken over: whoever goes
/// on wants more of them. Money, time and tokens are: nobody wants a limit to go away by itself.
pub fn flags(wanted: &Wanted, folder: &Folder, resume: Option<&str>) -> Result<toml::Table, String> {
    let mut flags = toml::Table::new();
    if let Some(info) = resume.and_then(|id| runner::load(folder, id).ok()) {
        flags = inherited(info.start);
        let done = i64::from(info.memory.iterations);
        if flags.get("max").and_then(toml::Value::as_integer).is_some_and(|max| max > 0 && done >= max) {
            flags.remove("max");
        }
        let rehearsed = flags.remove(REHEARSED).filter(|_| wanted.rehearse.is_none());
        if let Some(script) = rehearsed.as_ref().and_then(toml::Value::as_str) {
            return Err(format!("error: run {} was a rehearsal; go on with --rehearse {script}", info.id));
        }
    }
    flags.extend(wanted.settings.clone());
    Ok(flags)
}

/// Among the recorded flags: nobody wants a rehearsal to become a run that costs something.
const REHEARSED: &str = "rehearse";

fn inherited(start: Option<cycle::RunStarted>) -> toml::Table {
    // Flags that cannot be read were none of ours.
    start.and_then(|start| serde_json::from_value(start.flags.into()).ok()).unwrap_or_default()
}

/// For whoever goes on with the run.
pub fn recorded(mut flags: toml::Table, script: Option<&Path>) -> serde_json::Map<String, serde_json::Value> {
    // How a run is shown is up to whoever looks.
    flags.retain(|key, _| !["json", "no_tui", "stay", "timestamps"].contains(&key));
    flags.extend(script.map(|script| (REHEARSED.to_owned(), script.display().to_string().into())));
    match serde_json::to_value(flags) {
        Ok(serde_json::Value::Object(flags)) => flags,
        _ => serde_json::Map::new(),
    }
}

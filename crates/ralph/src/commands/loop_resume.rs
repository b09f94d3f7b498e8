//! Going on with a run: which one, and with which of its options.

use crate::failure::Failure;
use arguments::LoopOptions;
use arguments::loop_flags::Wanted;
use cycle::{RunStarted, VerdictKind};
use runner::Folder;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The last run, unless it is done.
pub fn unfinished(folder: &Folder) -> Option<String> {
    let info = runner::load(folder, &runner::find(folder, None).ok()?).ok()?;
    let done = info.memory.verdict.is_some_and(|verdict| verdict.verdict == VerdictKind::Done);
    (!done).then_some(info.id)
}

/// What was typed, over what was typed when the run began. Used-up iterations are not taken over: whoever goes
/// on wants more of them. Money, time and tokens are: nobody wants a limit to go away by itself.
pub fn options(wanted: &Wanted, folder: &Folder, resume: Option<&str>) -> Result<LoopOptions, Failure> {
    let Some(info) = resume.and_then(|id| runner::load(folder, id).ok()) else { return Ok(wanted.options.clone()) };
    let Recorded { options: mut earlier, script } = recorded(info.start.as_ref());
    earlier.max = earlier.max.filter(|max| *max == 0 || info.memory.iterations < *max);
    match script {
        // Nobody wants a rehearsal to become a run that costs something.
        Some(script) if wanted.rehearse.is_none() => {
            let id = info.id;
            Err(Failure::usage(format!("run {id} was a rehearsal; go on with --rehearse {script}")))
        }
        _ => Ok(wanted.options.clone().or(earlier)),
    }
}

/// What the recording of a run says about how it was started.
#[derive(Default)]
pub struct Recorded {
    pub options: LoopOptions,
    /// Of a rehearsal.
    pub script: Option<String>,
}

/// Beside the options in the recording.
#[derive(Default, Serialize, Deserialize)]
struct Rehearsal {
    #[serde(skip_serializing_if = "Option::is_none")]
    rehearse: Option<String>,
}

/// Options that cannot be read were none of ours.
pub fn recorded(start: Option<&RunStarted>) -> Recorded {
    let Some(start) = start else { return Recorded::default() };
    let flags = serde_json::Value::Object(start.flags.clone());
    let rehearsal: Rehearsal = serde_json::from_value(flags.clone()).unwrap_or_default();
    Recorded { options: serde_json::from_value(flags).unwrap_or_default(), script: rehearsal.rehearse }
}

/// For whoever goes on with the run.
pub fn record(options: LoopOptions, script: Option<&Path>) -> serde_json::Map<String, serde_json::Value> {
    // How a run is shown is up to whoever looks.
    let kept = LoopOptions { json: None, no_tui: None, stay: None, timestamps: None, ..options };
    let values = [
        serde_json::to_value(kept),
        serde_json::to_value(Rehearsal { rehearse: script.map(|script| script.display().to_string()) }),
    ];
    let object = |value| if let Ok(serde_json::Value::Object(map)) = value { map } else { serde_json::Map::new() };
    values.into_iter().flat_map(object).collect()
}

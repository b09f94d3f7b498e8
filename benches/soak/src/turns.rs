//! Many turns in one conversation: it is shortened again and again, and nothing may pile up beside it.

use crate::agent::{Agent, went_well};
use crate::model::Model;
use crate::{Sample, SoakError, memory};
use mock::{Script, ScriptedAnswer};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

/// The agent's window, and by how much every answer says that it has been filled: a summary every hundred
/// answers, as in a long day's work.
const WINDOW: u64 = 100_000;
const ANSWERS_PER_WINDOW: u64 = 100;

/// Every so many turns the model reads a file first.
const TOOL_EVERY: usize = 5;

/// Looks at the memory in a whole run.
const SAMPLES: usize = 200;

#[derive(Debug)]
pub struct Turns {
    pub samples: Vec<Sample>,
    pub took: Duration,
    pub left_well: bool,
}

impl Turns {
    /// How much the memory of the last quarter is above that of the second, in MiB. The first is warming up.
    pub fn growth(&self) -> f64 {
        let quarter = self.samples.len() / 4;
        let mean =
            |samples: &[Sample]| samples.iter().map(|sample| sample.mib).sum::<f64>() / samples.len().max(1) as f64;
        mean(&self.samples[quarter * 3..]) - mean(&self.samples[quarter..quarter * 2])
    }
}

pub fn turns(binary: &Path, count: usize) -> Result<Turns, SoakError> {
    let root = tempfile::tempdir().map_err(SoakError::io("making a folder"))?;
    let file = root.path().join("a.txt");
    std::fs::write(&file, "one\ntwo\n").map_err(SoakError::io("writing a file"))?;
    let model = Model::start(script(count, &file.display().to_string()))?;
    let settings = json!({"autoCompactWindow": WINDOW}).to_string();
    let mut agent = Agent::start(binary, root.path(), &model, 0, &["--settings", &settings])?;
    let started = Instant::now();
    let every = count.div_ceil(SAMPLES);
    let mut samples = Vec::new();
    for turn in 1..=count {
        agent.prompt(&format!("number {turn}: what is in the file?"))?;
        let line = agent.result()?;
        if !went_well(&line) {
            return Err(SoakError::Failed { turn, line });
        }
        if turn % every == 0 {
            samples.push(Sample { at: turn, mib: memory::resident(agent.pid()) });
        }
    }
    Ok(Turns { samples, took: started.elapsed(), left_well: agent.leave() })
}

fn script(count: usize, file: &str) -> Script {
    let mut turns: Vec<ScriptedAnswer> = Vec::new();
    let mut answers = 0u64;
    let mut say = |turn: ScriptedAnswer| {
        let filled = (answers % ANSWERS_PER_WINDOW + 1) * WINDOW / ANSWERS_PER_WINDOW;
        answers += 1;
        let usage = json!({"input_tokens": 10, "cache_read_input_tokens": filled, "output_tokens": 20});
        turns.push(ScriptedAnswer { usage: usage.as_object().cloned(), ..turn });
    };
    for turn in 1..=count {
        if turn % TOOL_EVERY == 0 {
            say(ScriptedAnswer::tool("Read", &json!({"file_path": file})));
        }
        say(ScriptedAnswer::text("Two lines: one, and two. There is nothing else in it, as far as I can see."));
    }
    let untooled = vec![ScriptedAnswer::text("So far the file was read many times."); turns.len()];
    Script { turns, untooled, ..Script::default() }
}

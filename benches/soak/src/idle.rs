//! Many agents at once: each has answered one prompt and waits for the next.

use crate::agent::{Agent, went_well};
use crate::model::Model;
use crate::{Sample, SoakError, memory};
use mock::{Script, ScriptedAnswer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::Path;
use std::time::{Duration, Instant};

/// Started together; more would only wait for the processor.
const BATCH: usize = 25;

/// How long the idle ones are watched.
const WATCHED: Duration = Duration::from_secs(5);

/// Pipes of one agent in our hands.
const FILES_EACH: u64 = 4;

#[derive(Debug)]
pub struct Idle {
    /// All agents together, while their number grew.
    pub samples: Vec<Sample>,
    pub agents: usize,
    pub mib_each: f64,
    /// Processor time of all of them together while nobody asked anything, per second.
    pub cpu_per_second: Duration,
    pub leaving: Duration,
    pub left_well: usize,
}

pub fn idle(binary: &Path, count: usize) -> Result<Idle, SoakError> {
    allow_files(count as u64 * FILES_EACH);
    let root = tempfile::tempdir().map_err(SoakError::io("making a folder"))?;
    let model = Model::start(Script { turns: vec![ScriptedAnswer::text("Hello."); count], ..Script::default() })?;
    let mut agents: Vec<Agent> = Vec::with_capacity(count);
    let mut samples = Vec::new();
    while agents.len() < count {
        let first = agents.len();
        for number in first..count.min(first + BATCH) {
            let mut agent = Agent::start(binary, root.path(), &model, number, &[])?;
            agent.prompt("hello")?;
            agents.push(agent);
        }
        for (turn, agent) in agents[first..].iter_mut().enumerate() {
            let line = agent.result()?;
            if !went_well(&line) {
                return Err(SoakError::Failed { turn, line });
            }
        }
        samples.push(Sample { at: agents.len(), mib: agents.iter().map(|agent| memory::share(agent.pid())).sum() });
    }
    let cpu = |agents: &[Agent]| agents.iter().map(|agent| memory::cpu(agent.pid())).sum::<Duration>();
    let before = cpu(&agents);
    std::thread::sleep(WATCHED);
    let used = cpu(&agents).saturating_sub(before);
    let total = samples.last().map_or(0.0, |sample| sample.mib);
    let leaving = Instant::now();
    let left_well = agents.into_iter().map(Agent::leave).filter(|well| *well).count();
    Ok(Idle {
        samples,
        agents: count,
        mib_each: total / count.max(1) as f64,
        cpu_per_second: used / WATCHED.as_secs() as u32,
        leaving: leaving.elapsed(),
        left_well,
    })
}

/// As far as we may; if it is too little, starting an agent says so.
fn allow_files(wanted: u64) {
    let now = getrlimit(Resource::Nofile);
    let current = now.current.map_or(u64::MAX, |current| current.max(wanted));
    let limit = Rlimit { current: Some(now.maximum.map_or(current, |most| current.min(most))), maximum: now.maximum };
    let _ = setrlimit(Resource::Nofile, limit);
}

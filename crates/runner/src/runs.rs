//! Earlier runs of a folder: their list, and what one of them knew when it stopped.

use crate::Folder;
use crate::record;
use crate::replay::recorded_text;
use cycle::{
    AgentEnd, EventKind, IterationReport, IterationStarted, LoopEvent, Memory, OutputReader, Price, Receipt, RunStarted,
};
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum RunsError {
    #[error("there are no runs here yet; start one with 'ralph'")]
    None,
    #[error("there is no run {0} here; 'ralph runs' lists them")]
    Unknown(String),
    #[error("{} cannot be used: {source}", file.display())]
    Io { file: PathBuf, source: std::io::Error },
    #[error("run {0} asks nothing")]
    NoQuestion(String),
    #[error("run {0} did not take the answer; is it still running? 'ralph runs' tells")]
    NotTaken(String),
    #[error("{0}")]
    Busy(String),
}

/// What a recording tells.
#[derive(Debug, Clone)]
pub struct RunInfo {
    pub id: String,
    pub started: u64,
    /// The last one: a run that went on began more than once.
    pub start: Option<RunStarted>,
    /// The commit that the run began with, the first time.
    pub head: Option<String>,
    pub memory: Memory,
    pub receipts: Vec<(u32, Receipt)>,
    /// Receipts, checks and changes of strategy, in the order in which they happened.
    pub steps: Vec<LoopEvent>,
    /// An iteration that never ended, as far as it was recorded.
    pub(crate) torn: Option<Box<IterationReport>>,
}

/// Newest first.
pub fn list(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.runs()).into_iter().flatten().flatten();
    let mut ids: Vec<String> = entries
        .filter(|entry| entry.path().join("events.ndjson").is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    ids.sort_unstable_by(|one, other| other.cmp(one));
    ids
}

/// The run of that name, or that starts with it; without a name the newest.
pub fn find(folder: &Folder, name: Option<&str>) -> Result<String, RunsError> {
    let mut runs = list(folder).into_iter();
    match name {
        None => runs.next().ok_or(RunsError::None),
        Some(name) => runs.find(|id| id.starts_with(name)).ok_or_else(|| RunsError::Unknown(name.into())),
    }
}

/// Agents' lines are most of a recording, and none of what is remembered.
fn is_agent_line(line: &str) -> bool {
    const HEAD: usize = 48;
    line[..line.floor_char_boundary(HEAD.min(line.len()))].contains("\"type\":\"agent\"")
}

pub fn load(folder: &Folder, id: &str) -> Result<RunInfo, RunsError> {
    load_priced(folder, id, cycle::unpriced)
}

/// With what an iteration that never ended cost until then.
pub(crate) fn load_priced(folder: &Folder, id: &str, price: Price) -> Result<RunInfo, RunsError> {
    let file = folder.events(id);
    let bytes = std::fs::read(&file).map_err(|source| RunsError::Io { file, source })?;
    let text = String::from_utf8_lossy(&bytes);
    let mut info = RunInfo {
        id: id.into(),
        started: 0,
        start: None,
        head: None,
        memory: Memory::default(),
        receipts: Vec::new(),
        steps: Vec::new(),
        torn: None,
    };
    let mut open: Option<(IterationStarted, Vec<&str>)> = None;
    for line in text.lines() {
        if is_agent_line(line) {
            if let Some((_, lines)) = &mut open {
                lines.push(line);
            }
            continue;
        }
        let Ok(event) = LoopEvent::parse(line) else { continue };
        match &event.kind {
            EventKind::RunStarted(start) => {
                if info.start.is_none() {
                    info.started = event.at;
                    info.head.clone_from(&start.head);
                }
                info.start = Some((**start).clone());
            }
            EventKind::IterationStarted(start) => open = Some((start.clone(), Vec::new())),
            EventKind::IterationEnded { iteration, receipt } => {
                open = None;
                info.receipts.push((*iteration, (**receipt).clone()));
            }
            _ => {}
        }
        let is_step = matches!(
            event.kind,
            EventKind::IterationEnded { .. } | EventKind::CheckFinished(_) | EventKind::StrategyChanged { .. }
        );
        if is_step {
            info.steps.push(event.clone());
        }
        info.memory.fold(&event);
    }
    info.torn = open.map(|(start, lines)| Box::new(torn(&start, &lines, price)));
    Ok(info)
}

/// The report of an iteration that was cut off by the end of this program. An answer stands only as the last word: a turn
/// that had begun behind it is lost.
fn torn(start: &IterationStarted, lines: &[&str], price: Price) -> IterationReport {
    let mut reader = OutputReader::priced(start.iteration, &start.model, price);
    let mut answered = false;
    for line in lines {
        if let Ok(LoopEvent { kind: EventKind::Agent { line, .. }, .. }) = LoopEvent::parse(line) {
            let turns = reader.output().turns;
            reader.read_line(&recorded_text(&line));
            answered = reader.output().turns > turns;
        }
    }
    let mut output = reader.into_output();
    output.answer = output.answer.filter(|_| answered);
    IterationReport::unchanged(AgentEnd::Exited(0), output)
}

/// Puts a person's answer into a run that waits for one. The caller holds the folder's lock.
pub fn answer(folder: &Folder, id: &str, text: &str, now: u64) -> Result<String, RunsError> {
    let info = load(folder, id)?;
    let blocked = info.memory.verdict.and_then(|verdict| verdict.question);
    let question =
        blocked.filter(|_| info.memory.question.is_some()).ok_or_else(|| RunsError::NoQuestion(id.into()))?;
    let event = EventKind::Answered { id: question.id.clone(), text: text.into() }.at(now);
    record::add(folder, id, &event).map_err(|source| RunsError::Io { file: folder.events(id), source })?;
    Ok(question.text)
}

//! What the instruction files say: before the first message, and again when a file is touched that has its own.
//!
//! Deliberately absent: which files those are (`config`). Every document that comes into a conversation passes
//! [`tell`], once, for whoever listens.

use crate::hearing;
use crate::shared::{Lane, Role, Shared};
use crate::{prompt, turn, words};
use hooks::InstructionsLoaded;
use project::{Cause, Memory, MemoryFile, Skill};
use std::path::{Path, PathBuf};

/// Text of one memory file that goes into the conversation. Longer files are cut, visibly.
const FILE_CHARS: usize = 200_000;

/// What one conversation knows of the instruction files; nothing where they are not for it.
#[derive(Default)]
pub struct Known {
    memory: Option<Memory>,
    /// Skills for some files only, and of subfolders, that the model was told of.
    told_skills: Vec<String>,
    /// Documents that came into the conversation and that nobody was told of yet.
    news: Vec<News>,
}

/// A document without its text.
struct News {
    path: String,
    kind: &'static str,
    reason: &'static str,
    cause: Cause,
}

/// Whose conversation it is: automatic memory is for the main one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    Main,
    Agent,
}

/// Reads what stands before a conversation. The text is the first block of its first message.
pub fn begin(shared: &Shared, reader: Reader) -> (Option<String>, Known) {
    read(shared, reader, None)
}

fn read(shared: &Shared, reader: Reader, reason: Option<&'static str>) -> (Option<String>, Known) {
    let options = &shared.options;
    let Some(wanted) = &options.memory else { return (prompt::preamble(shared, None), Known::default()) };
    let mut wanted = wanted.clone();
    if reader == Reader::Agent {
        wanted.auto = None;
    }
    let (memory, mut files) = project::memory(&options.places, options.sources, &options.settings, &wanted);
    hide(shared, &mut files);
    if reader == Reader::Main {
        *shared.live.memory_files.borrow_mut() = files.iter().map(sizes).collect();
    }
    let news = files.iter().map(|file| News::of(file, reason)).collect();
    let text = (!files.is_empty()).then(|| format!("{}{}\n</system-reminder>", words::MEMORY_HEAD, contents(&files)));
    (prompt::preamble(shared, text), Known { memory: Some(memory), told_skills: Vec::new(), news })
}

fn sizes(file: &MemoryFile) -> (String, &'static str, usize) {
    (file.path.display().to_string(), file.kind, file.text.len())
}

/// Before a conversation is shortened: what was told on the way will be gone, and what stands before it is read anew.
pub fn begin_again(shared: &Shared, lane: &mut Lane) {
    if lane.memory.memory.is_none() {
        return;
    }
    let reader = match &lane.role {
        Role::Main => Reader::Main,
        Role::Sub(_) => Reader::Agent,
    };
    let (preamble, known) = read(shared, reader, Some("compact"));
    lane.conversation.set_preamble(preamble);
    lane.memory = known;
}

/// The instructions for the files that the conversation has just touched.
pub async fn follow(shared: &Shared, lane: &mut Lane) {
    let touched = lane.tools.reads.take_touched();
    let Some(memory) = &mut lane.memory.memory else { return };
    let mut files: Vec<MemoryFile> = touched.iter().flat_map(|file| memory.near(file)).collect();
    let folders = memory.take_folders();
    hide(shared, &mut files);
    if let Some(words) = skills(shared, lane, &touched, &folders) {
        turn::whisper(shared, lane, &words);
    }
    if files.is_empty() {
        return;
    }
    if lane.role.is_main() {
        shared.live.memory_files.borrow_mut().extend(files.iter().map(sizes));
    }
    lane.memory.news.extend(files.iter().map(|file| News::of(file, None)));
    turn::whisper(shared, lane, &format!("{}{}", words::MEMORY_NEARBY, contents(&files)));
    tell(shared, lane).await;
}

/// Skills that came with the touched files: those of their folders, and those that are for them.
fn skills(shared: &Shared, lane: &mut Lane, touched: &[PathBuf], folders: &[PathBuf]) -> Option<String> {
    let (places, setup) = (&shared.options.places, shared.setup());
    let mut new: Vec<Skill> = Vec::new();
    if shared.options.sources.project && shared.options.slash {
        let found = folders.iter().flat_map(|folder| project::skills_below(places, folder, &setup.skills));
        let wanted = |skill: &Skill| setup.only_skills.as_ref().is_none_or(|names| names.contains(&skill.name));
        new.extend(found.filter(wanted));
    }
    let waiting = setup.skills.iter().filter(|skill| !lane.memory.told_skills.contains(&skill.name));
    let fitting = waiting.filter(|skill| touched.iter().any(|file| skill.is_for(places, file)));
    let told: Vec<Skill> = new.iter().chain(fitting).filter(|skill| skill.model_invocable).cloned().collect();
    if !new.is_empty() {
        shared.change_setup(|setup| setup.skills.extend(new));
    }
    lane.memory.told_skills.extend(told.iter().map(|skill| skill.name.clone()));
    let lines: String = told.iter().map(|skill| format!("\n- {}: {}", skill.name, skill.listing())).collect();
    (!told.is_empty() && lane.toolset.find("Skill").is_some()).then(|| format!("{}{lines}", words::SKILLS_NEARBY))
}

/// Tells hooks of the documents that came into the conversation since they were last told.
pub async fn tell(shared: &Shared, lane: &mut Lane) {
    for news in std::mem::take(&mut lane.memory.news) {
        hearing::fire(shared, lane, &news.payload()).await;
    }
}

/// What a rule hides from Read does not come in as an instruction or by an import either.
fn hide(shared: &Shared, files: &mut Vec<MemoryFile>) {
    let denied = &shared.kit.denied;
    files.retain(|file| !denied(&file.path) && !denied(&tools::real_path(&file.path)));
}

fn contents(files: &[MemoryFile]) -> String {
    let mut text = String::new();
    for file in files {
        let body: String = file.text.chars().take(FILE_CHARS).collect();
        let cut = if body.len() < file.text.len() { "\n[cut here: the file is longer]" } else { "" };
        text.push_str(&format!("\n\nContents of {} ({}):\n\n{body}{cut}", file.path.display(), file.kind));
    }
    text
}

impl News {
    fn of(file: &MemoryFile, reason: Option<&'static str>) -> Self {
        let own = match &file.cause {
            Cause::Start => reason.unwrap_or("session_start"),
            Cause::Below { .. } => "nested_traversal",
            Cause::Paths { .. } => "path_glob_match",
            Cause::Import { .. } => "include",
        };
        Self { path: file.path.display().to_string(), kind: file.kind, reason: own, cause: file.cause.clone() }
    }

    fn payload(&self) -> InstructionsLoaded<'_> {
        let text = |path: &Path| Some(path.to_string_lossy().into_owned());
        let (globs, trigger_file_path, parent_file_path) = match &self.cause {
            Cause::Start => (None, None, None),
            Cause::Below { file } => (None, text(file), None),
            Cause::Paths { globs, file } => (Some(globs.as_slice()), text(file), None),
            Cause::Import { by } => (None, None, text(by)),
        };
        InstructionsLoaded {
            file_path: &self.path,
            memory_type: self.kind,
            load_reason: self.reason,
            globs,
            trigger_file_path,
            parent_file_path,
        }
    }
}

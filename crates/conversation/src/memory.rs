//! What the instruction files say: before the first message, and again when a file is touched that has its own.
//!
//! Deliberately absent: which files those are (`config`). Every document that comes into a conversation passes
//! [`Memories::tell`], once, for whoever listens.

use crate::conversation::Conversation;
use crate::hook_runner::HookRunner;
use context::{Known, News, prompt, texts};
use options::{Choices, Options};
use project::{MemoryFile, Skill};
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

/// Text of one memory file that goes into the conversation. Longer files are cut, visibly.
const FILE_CHARS: usize = 200_000;

/// Whose conversation it is: automatic memory is for the main one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    Main,
    Agent,
}

/// Reads instruction files for the conversations of a session.
pub struct Memories {
    pub options: Rc<Options>,
    pub choices: Rc<Choices>,
    pub hooks: Rc<HookRunner>,
    pub denied: tools::Denied,
    /// The instruction files of the main conversation: path, kind and characters.
    pub sizes: RefCell<Vec<(String, &'static str, usize)>>,
}

impl Memories {
    /// Reads what stands before a conversation. The text is the first block of its first message.
    pub fn begin(&self, reader: Reader) -> (Option<String>, Known) {
        self.read(reader, None)
    }

    fn read(&self, reader: Reader, reason: Option<&'static str>) -> (Option<String>, Known) {
        let options = &self.options;
        let Some(wanted) = &options.memory else {
            return (prompt::preamble(options, &self.choices, None), Known::default());
        };
        let mut wanted = wanted.clone();
        if reader == Reader::Agent {
            wanted.auto = None;
        }
        let (memory, mut files) = project::memory(&options.places, options.sources, &options.settings, &wanted);
        self.hide(&mut files);
        if reader == Reader::Main {
            *self.sizes.borrow_mut() = files.iter().map(sizes).collect();
        }
        let news = files.iter().map(|file| News::of(file, reason)).collect();
        let text =
            (!files.is_empty()).then(|| format!("{}{}\n</system-reminder>", texts::MEMORY_HEAD, contents(&files)));
        let known = Known { memory: Some(memory), told_skills: Vec::new(), news };
        (prompt::preamble(options, &self.choices, text), known)
    }

    /// When a conversation was shortened: what was told on the way is gone, and what stands before it is read anew. `None`
    /// leaves it as it is.
    pub fn begin_again(&self, conversation: &Conversation) -> Option<Option<String>> {
        conversation.memory.borrow().memory.as_ref()?;
        let reader = if conversation.role.is_main() { Reader::Main } else { Reader::Agent };
        let (preamble, known) = self.read(reader, Some("compact"));
        conversation.memory.replace(known);
        Some(preamble)
    }

    /// The instructions for the files that the conversation has just touched.
    pub async fn follow(&self, conversation: &Conversation) -> Vec<String> {
        let mut reminders = Vec::new();
        let touched = conversation.tools().reads.take_touched();
        let (mut files, folders) = {
            let mut known = conversation.memory.borrow_mut();
            let Some(memory) = &mut known.memory else { return reminders };
            let files: Vec<MemoryFile> = touched.iter().flat_map(|file| memory.near(file)).collect();
            (files, memory.take_folders())
        };
        self.hide(&mut files);
        reminders.extend(self.skills(conversation, &touched, &folders));
        if files.is_empty() {
            return reminders;
        }
        if conversation.role.is_main() {
            self.sizes.borrow_mut().extend(files.iter().map(sizes));
        }
        conversation.memory.borrow_mut().news.extend(files.iter().map(|file| News::of(file, None)));
        reminders.push(format!("{}{}", texts::MEMORY_NEARBY, contents(&files)));
        self.tell(conversation).await;
        reminders
    }

    /// Skills that came with the touched files: those of their folders, and those that are for them.
    fn skills(&self, conversation: &Conversation, touched: &[PathBuf], folders: &[PathBuf]) -> Option<String> {
        let (options, setup) = (&self.options, self.choices.setup());
        let places = &options.places;
        let mut new: Vec<Skill> = Vec::new();
        if options.sources.project && options.slash {
            let found = folders.iter().flat_map(|folder| project::skills_below(places, folder, &setup.skills));
            let wanted = |skill: &Skill| setup.only_skills.as_ref().is_none_or(|names| names.contains(&skill.name));
            new.extend(found.filter(wanted));
        }
        let mut known = conversation.memory.borrow_mut();
        let waiting = setup.skills.iter().filter(|skill| !known.told_skills.contains(&skill.name));
        let fitting = waiting.filter(|skill| touched.iter().any(|file| skill.is_for(places, file)));
        let told: Vec<Skill> = new.iter().chain(fitting).filter(|skill| skill.model_invocable).cloned().collect();
        if !new.is_empty() {
            self.choices.change_setup(|setup| setup.skills.extend(new));
        }
        known.told_skills.extend(told.iter().map(|skill| skill.name.clone()));
        let lines: String = told.iter().map(|skill| format!("\n- {}: {}", skill.name, skill.listing())).collect();
        let has_tool = conversation.toolset.borrow().find("Skill").is_some();
        (!told.is_empty() && has_tool).then(|| format!("{}{lines}", texts::SKILLS_NEARBY))
    }

    /// Tells hooks of the documents that came into the conversation since they were last told.
    pub async fn tell(&self, conversation: &Conversation) {
        let news = std::mem::take(&mut conversation.memory.borrow_mut().news);
        for news in news {
            self.hooks.fire(conversation, &news.payload()).await;
        }
    }

    /// What a rule hides from Read does not come in as an instruction or by an import either.
    fn hide(&self, files: &mut Vec<MemoryFile>) {
        let denied = &self.denied;
        files.retain(|file| !denied(&file.path) && !denied(&tools::real_path(&file.path)));
    }
}

fn sizes(file: &MemoryFile) -> (String, &'static str, usize) {
    (file.path.display().to_string(), file.kind, file.text.len())
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

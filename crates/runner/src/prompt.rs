//! The prompt of an iteration, from the person's files and what the loop remembers.

use crate::Folder;
use crate::Settings;
use cycle::IterationStart;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// What a file may add to a prompt. Longer ones are cut, and the agent is told.
const FILE_MAX: u64 = 256 * 1024;

const EXPLORE: &str = "There is no AGENTS.md here. Explore the repository before you change anything: its layout, \
    how it is built and tested, its conventions.";

const STRUCTURED: &str = "When you stop, return {\"summary\": \"what you did and what is next\"} with the \
    StructuredOutput tool. If the whole goal is reached, return exactly {\"summary\": \"DONE\"}.";

/// The texts that belong to every iteration, read anew for each: people edit them while the loop runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sources {
    pub prompt: Option<String>,
    pub todo: Option<String>,
    pub agents: Option<String>,
    pub goal: Option<String>,
}

#[derive(Debug, thiserror::Error)]
#[error("{} cannot be read: {source}", file.display())]
pub struct SourceError {
    file: PathBuf,
    source: std::io::Error,
}

pub(crate) fn read(folder: &Folder, settings: &Settings) -> Result<Sources, SourceError> {
    let todo = folder.find_todo(settings.todo.as_deref());
    let goal = settings.goal.as_ref().map(|goal| folder.root().join(goal));
    let root = folder.root();
    Ok(Sources {
        prompt: folder.find_prompt(settings.prompt.as_deref()).map(|file| text(root, &file)).transpose()?,
        todo: optional(root, &todo)?.filter(|text| !crate::init::is_todo_template(text)),
        agents: optional(root, &root.join("AGENTS.md"))?,
        goal: goal.map(|file| text(root, &file)).transpose()?,
    })
}

fn optional(root: &Path, file: &Path) -> Result<Option<String>, SourceError> {
    if file.symlink_metadata().is_ok() { text(root, file).map(Some) } else { Ok(None) }
}

/// Agents can write these files, and what is in them goes into the next prompt: opened like a tool opens its files.
fn text(root: &Path, file: &Path) -> Result<String, SourceError> {
    let fail = |source| SourceError { file: file.to_owned(), source };
    let mut bytes = Vec::new();
    let opened = crate::files::source(root, file).map_err(fail)?;
    opened.take(FILE_MAX + 1).read_to_end(&mut bytes).map_err(fail)?;
    let cut = bytes.len() as u64 > FILE_MAX;
    bytes.truncate(FILE_MAX as usize);
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    Ok(if cut { format!("{text}\n(cut here: {} is longer)", file.display()) } else { text })
}

/// A prompt this long costs more than it says: it is sent with every iteration.
const LONG: usize = 64 * 1024;

/// What is strange about the person's files, for a warning at the start.
pub(crate) fn prompt_warnings(sources: &Sources) -> Vec<String> {
    let mut prompt_warnings = Vec::new();
    if sources.goal.is_none() && sources.prompt.as_deref().is_some_and(|prompt| prompt.trim().is_empty()) {
        prompt_warnings
            .push("the prompt is empty: the agent is told nothing but the todo list and the rules".to_owned());
    }
    for (name, text) in [("prompt", &sources.prompt), ("todo list", &sources.todo), ("goal", &sources.goal)] {
        let Some(text) = text else { continue };
        if text.contains(['\0', '\u{fffd}']) {
            prompt_warnings.push(format!("the {name} is not UTF-8 text: what cannot be read is replaced"));
        }
        if text.len() as u64 >= FILE_MAX {
            prompt_warnings.push(format!("the {name} is longer than {} KB and is cut there", FILE_MAX / 1024));
        } else if text.len() > LONG {
            prompt_warnings.push(format!("the {name} has {} KB, and every iteration pays for it", text.len() / 1024));
        }
    }
    prompt_warnings
}

/// Sections in the order of what matters most to a reader that may stop early.
pub(crate) fn assemble(sources: &Sources, start: &IterationStart, structured: bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut section = |title: &str, text: &str| parts.push(format!("# {title}\n\n{}", text.trim()));
    if let Some(goal) = &sources.goal {
        section("Goal", goal);
    }
    if let Some(prompt) = &sources.prompt {
        section("Instructions", prompt);
    }
    if let Some(work) = &start.work {
        section("The work of this run", &work_text(work));
    }
    if let Some(strategy) = &start.strategy {
        section("Try something else", strategy);
    }
    if !start.notes.is_empty() {
        section("From before", &start.notes.join("\n\n"));
    }
    if let Some(todo) = &sources.todo {
        section("Todo list", todo);
    }
    section("About this repository", sources.agents.as_deref().unwrap_or(EXPLORE));
    if let Some(summary) = start.summary.as_deref().filter(|summary| !summary.is_empty()) {
        section("Older iterations, summarised", summary);
    }
    if !start.progress.is_empty() {
        let entries = start.progress.iter().map(|entry| format!("{}. {}", entry.iteration, entry.text));
        section("The latest iterations", &entries.collect::<Vec<_>>().join("\n"));
    }
    if structured {
        section("Your result", STRUCTURED);
    }
    section("Rules", "Do not change anything under .ralph/ except its todo list.");
    parts.join("\n\n")
}

pub(crate) fn work_text(work: &cycle::WorkItem) -> String {
    let id = work.id.as_ref().map_or(String::new(), |id| format!("{id}: "));
    let parts = [format!("{id}{}", work.title), work.text.clone(), work.close.clone().unwrap_or_default()];
    parts.into_iter().filter(|part| !part.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// What a screen calls the run: the first line with words in it.
pub(crate) fn title(sources: &Sources, fallback: &str) -> String {
    const TITLE_MAX: usize = 60;
    let text = sources.goal.as_deref().or(sources.prompt.as_deref()).unwrap_or_default();
    let line =
        text.lines().map(|line| line.trim_start_matches(['#', '-', '*', ' ']).trim()).find(|line| !line.is_empty());
    cycle::bounded(line.unwrap_or(fallback), TITLE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cycle::{Allowance, Progress};

    #[test]
    fn everything_the_agent_should_know_is_in_it_once() {
        let sources = Sources {
            prompt: Some("# Fix it".into()),
            todo: Some("- [ ] one".into()),
            agents: None,
            goal: Some("Reach the moon".into()),
        };
        let start = IterationStart {
            iteration: 12,
            attempt: 1,
            way: 0,
            model: "m".into(),
            session: None,
            strategy: Some("Think differently".into()),
            notes: vec!["the check failed".into()],
            work: Some(cycle::WorkItem {
                id: Some("bd-1".into()),
                title: "Mend the door".into(),
                text: "It squeaks.".into(),
                close: Some("Close it with `bd close bd-1`.".into()),
            }),
            summary: Some("ten iterations".into()),
            progress: vec![Progress { iteration: 11, text: "built the engine".into() }],
            allowance: Allowance::default(),
        };
        let prompt = assemble(&sources, &start, true);
        for part in [
            "# Goal\n\nReach the moon",
            "# Fix it",
            "Think differently",
            "the check failed",
            "bd-1: Mend the door\n\nIt squeaks.\n\nClose it with `bd close bd-1`.",
            "- [ ] one",
            "no AGENTS.md",
            "ten iterations",
            "11. built the engine",
            "StructuredOutput",
        ] {
            assert_eq!(prompt.matches(part).count(), 1, "{part}: {prompt}");
        }
        assert_eq!(title(&sources, "x"), "Reach the moon");
        let with_agents = Sources { agents: Some("run make".into()), ..sources };
        let prompt = assemble(&with_agents, &start, false);
        assert!(
            prompt.contains("run make") && !prompt.contains("no AGENTS.md") && !prompt.contains("StructuredOutput")
        );
    }

    #[test]
    fn strange_prompts_are_warned_of() {
        let of =
            |prompt: &str| prompt_warnings(&Sources { prompt: Some(prompt.into()), ..Sources::default() }).join("\n");
        assert_eq!(of("# Fix it"), "");
        assert!(of("").contains("the prompt is empty"));
        assert!(of("a\0b").contains("not UTF-8") && of("a\u{fffd}").contains("not UTF-8"));
        assert!(of(&"x".repeat(100 * 1024)).contains("100 KB"));
        assert!(of(&"x".repeat(257 * 1024)).contains("is cut there"));
    }

    #[test]
    fn long_files_are_cut_and_say_so() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        std::fs::create_dir(folder.ralph()).unwrap();
        std::fs::write(folder.prompt(), "x".repeat(300 * 1024)).unwrap();
        let sources = read(&folder, &Settings::default()).unwrap();
        let prompt = sources.prompt.unwrap();
        assert!(prompt.len() < 270 * 1024 && prompt.contains("cut here"));
        let missing = Settings { goal: Some("none.md".into()), ..Settings::default() };
        assert!(read(&folder, &missing).unwrap_err().to_string().contains("none.md"));
    }
}

//! The system prompt and what stands before the first message.

use crate::{style, texts};
use options::{Choices, Options};
use output::clock;
use project::Attribution;
use serde_json::{Value, json};
use std::path::Path;

/// The system blocks of the main conversation: the part everyone shares first, so that caches hold.
pub fn system(
    options: &Options,
    choices: &Choices,
    from_servers: Option<String>,
    agent_prompt: Option<&str>,
    git: Option<String>,
) -> Vec<Value> {
    let setup = choices.setup();
    let prompting = &setup.prompting;
    let mut texts = Vec::new();
    // Clients without a prompt of their own send an empty one; an agent's prompt is more than that.
    let own = prompting.system.as_ref().filter(|own| agent_prompt.is_none() || !own.trim().is_empty());
    if let Some(own) = own {
        texts.push(own.clone());
    } else {
        let style = style::chosen(options, choices);
        let codes = style.as_ref().is_none_or(|style| style.keep_coding_instructions);
        match agent_prompt {
            Some(agent) => texts.push(agent.to_owned()),
            None if prompting.short => texts.push(texts::SHORT.to_owned()),
            None if codes => texts.push(format!("{}\n{}", texts::SYSTEM, texts::CODING)),
            None => texts.push(texts::SYSTEM.to_owned()),
        }
        texts.extend(style.map(|style| format!("# How to answer: {}\n{}", style.name, style.prompt)));
        texts.extend(prompting.attribution.as_ref().filter(|_| codes && !prompting.short).and_then(Attribution::words));
        texts.extend(prompting.language.as_deref().map(texts::language));
        if !prompting.static_system {
            texts.push(surroundings(options, choices, &options.cwd));
            texts.extend(git);
        }
    }
    texts.extend(from_servers);
    texts.extend(prompting.append.clone());
    blocks(&texts)
}

/// A sub-agent's system blocks.
pub fn sub_system(
    options: &Options,
    choices: &Choices,
    prompt: &str,
    cwd: &Path,
    (git, notes): (Option<String>, Option<String>),
) -> Vec<Value> {
    let mut texts = vec![prompt.to_owned(), surroundings(options, choices, cwd)];
    texts.extend(git);
    texts.extend(notes);
    texts.extend(choices.setup().prompting.append_subagent.clone());
    blocks(&texts)
}

fn blocks(texts: &[String]) -> Vec<Value> {
    texts.iter().filter(|text| !text.trim().is_empty()).map(|text| json!({"type": "text", "text": text})).collect()
}

/// What differs per machine, folder and day.
fn surroundings(options: &Options, choices: &Choices, cwd: &Path) -> String {
    let git = if options.session.git_branch.is_empty() {
        "no".to_owned()
    } else {
        format!("yes, on branch {}", options.session.git_branch)
    };
    let mut text = format!(
        "# Where you are\nWorking folder: {}\nGit repository: {git}\nSystem: {} {}\nShell: {}\nToday: {}\nModel: {}\n",
        cwd.display(),
        std::env::consts::OS,
        std::env::consts::ARCH,
        options.tools.shell.program.display(),
        &clock::now_iso()[..10],
        choices.model(),
    );
    for root in &options.extra_roots {
        text.push_str(&format!("Also yours to work in: {}\n", root.display()));
    }
    text
}

/// Project memory and what is kept out of the system prompt: the first block of the first message.
pub fn preamble(options: &Options, choices: &Choices, memory: Option<String>) -> Option<String> {
    let setup = choices.setup();
    let prompting = &setup.prompting;
    let mut parts: Vec<String> = memory.into_iter().collect();
    if prompting.static_system && prompting.system.is_none() {
        parts.push(surroundings(options, choices, &options.cwd));
    }
    if parts.is_empty() { None } else { Some(parts.join("\n\n")) }
}

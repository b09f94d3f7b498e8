//! Who looks at work that is said to be done: the reviewer of a run and of a goal.

use crate::failure::Failure;
use arguments::LoopOptions;
use goals::Reviewer;
use goals::command_line::reviewer as parse;
use resolve::Environment;
use runner::{Job, Settings};
use sandbox::Level;
use std::path::{Path, PathBuf};

/// Gives a run its reviewer, where one is wanted.
pub fn add(job: &mut Job, environment: &Environment) -> Result<(), Failure> {
    let Some(name) = &job.settings.review else { return Ok(()) };
    let mut wanted = parse(name);
    // Unless somebody else is named: by the agent that does the work, in a conversation of its own.
    wanted.backend.get_or_insert_with(|| job.backend.name.clone());
    // A rehearsal's model and key are in the job's environment.
    let command = command(&wanted, job.folder.root(), environment, &job.env);
    job.reviewer = Some(command.map_err(|failure| Failure::settings(format!("--review: {}", failure.reason())))?);
    Ok(())
}

/// The reviewer reads, and answers by schema. Our own agent shuts itself in; another one is held as a whole.
pub fn command(
    reviewer: &Reviewer,
    folder: &Path,
    environment: &Environment,
    env: &process::Env,
) -> Result<runner::Reviewer, Failure> {
    let there = environment.in_folder(folder);
    let wish = reviewer.backend.as_deref().unwrap_or("auto");
    let path = environment.raw("PATH").unwrap_or_default();
    let backend = runner::choose(wish, &environment.exe, folder, path.as_ref())?;
    let configured = Settings::load(&runner::Folder::new(folder).config(), &LoopOptions::default())?.review_model;
    let mut args: Vec<String> = Vec::new();
    let ours = backend.is_ours();
    let program = if ours { environment.exe.clone() } else { PathBuf::from(&backend.program) };
    if ours {
        args.extend(["agent".into(), "--sandbox".into(), "read-only".into()]);
    }
    args.extend(["-p", "--output-format", "json", "--tools", cycle::review::TOOLS].map(str::to_owned));
    args.extend(["--json-schema".to_owned(), cycle::review::schema().to_string()]);
    let model = reviewer.model.clone().or(configured);
    args.extend(model.into_iter().flat_map(|model| ["--model".to_owned(), model]));
    let mut env: process::Env = env.iter().filter(|(name, _)| name != "RALPH_STORE").cloned().collect();
    let mut sandbox = None;
    if !ours {
        let foreign =
            resolve::Foreign { name: &backend.name, level: Level::ReadOnly, env: &env, keeps: &[], beads_socket: None };
        let held = resolve::held(&foreign, &there, &mut Vec::new())?;
        env.extend(held.sets.clone());
        sandbox = Some(held.look);
    }
    Ok(runner::Reviewer { program, args, env, sandbox })
}

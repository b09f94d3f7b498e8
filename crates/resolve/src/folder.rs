//! What the folder, the user and the plugins bring: agents, skills, and what hangs on them.

use crate::declared_plugins;
use crate::environment::Environment;
use crate::refusal::Refusal;
use crate::runtime::runtime;
use arguments::Arguments;
use model::ClientConfig;
use options::InputFormat;
use project::{AgentDef, MemoryOptions, PluginDir, PluginProblem, Plugins, Skill};
use settings::{Places, Settings, Sources, Surface};
use std::path::PathBuf;
use std::time::Duration;

pub struct Folder {
    pub agents: Vec<AgentDef>,
    pub skills: Vec<Skill>,
    pub plugins: Plugins,
    /// What clients are told that wait for plugins.
    pub installs: Vec<wire::PluginInstall>,
}

/// The folder's and the user's first, so that a plugin never takes the place of their own.
pub fn read(
    typed: &Arguments,
    places: &Places,
    sources: Sources,
    roots: &[PathBuf],
    (settings, minimal): (&Settings, bool),
    client: &ClientConfig,
    environment: &mut Environment,
) -> Result<Folder, Refusal> {
    let of_plugins = |surface| settings::is_plugin_only(&settings.managed, surface);
    let shelves = |surface| if of_plugins(surface) { Sources::NONE } else { sources };
    let given = given_agents(typed, environment)?.filter(|_| !of_plugins(Surface::Agents));
    let mut agents = project::agents(places, shelves(Surface::Agents), given.as_deref())
        .map_err(|error| Refusal::new(format!("Error: {error}")))?;
    let roots: &[PathBuf] = if of_plugins(Surface::Skills) { &[] } else { roots };
    let mut skills = project::skills(places, shelves(Surface::Skills), roots);
    let declared = if minimal {
        declared_plugins::Installed::default()
    } else {
        declared_plugins::install(places, settings, environment)
    };
    let (mut installed, mut problems) =
        if minimal { Default::default() } else { project::enabled_plugins(places, settings) };
    // One reason is enough: why it could not be installed, or nothing where it lies ready.
    let is_told = |plugin: &str| {
        let name = plugin.rsplit_once('@').map(|(name, _)| name);
        declared.problems.iter().any(|known| known.plugin == plugin)
            || declared.seeded.iter().any(|dir| dir.called.as_deref() == name)
    };
    problems.retain(|problem| problem.kind != "plugin-not-found" || !is_told(&problem.plugin));
    installed.extend(declared.seeded);
    problems.extend(declared.problems);
    // Those of the command line first: they take the place of installed ones of the same name.
    let mut dirs = plugin_dirs(typed, environment);
    let (fetched, unfetched) = fetched(typed, places, client);
    dirs.extend(fetched);
    dirs.extend(installed);
    let mut plugins = project::plugins(places, &dirs);
    plugins.problems.extend(unfetched.into_iter().chain(problems));
    for plugin in &plugins.loaded {
        agents.extend(plugin.agents.iter().cloned());
        skills.extend(plugin.skills.iter().cloned());
    }
    project::override_skills(&mut skills, settings);
    add_programs(&plugins, environment);
    Ok(Folder { agents, skills, plugins, installs: declared.events })
}

/// A file of agents is text that somebody wrote by hand.
const AGENTS_MAX: u64 = 2 * 1024 * 1024;

/// `--agents`: JSON, or the file that holds it.
fn given_agents(typed: &Arguments, environment: &Environment) -> Result<Option<String>, Refusal> {
    let Some(given) = typed.agents.as_deref().filter(|given| !given.trim().is_empty()) else { return Ok(None) };
    if given.trim_start().starts_with(['{', '[', '"']) {
        return Ok(Some(given.to_owned()));
    }
    let file = environment.cwd.join(given);
    let unusable = |why: String| Refusal::new(format!("Error: --agents {}: {why}", file.display()));
    match settings::files::read_text(&file, AGENTS_MAX) {
        Ok(Some(text)) => Ok(Some(text)),
        Ok(None) => Err(unusable("it is neither JSON nor a file that exists".to_owned())),
        Err(failure) => Err(unusable(failure.to_string())),
    }
}

fn plugin_dirs(typed: &Arguments, environment: &Environment) -> Vec<PluginDir> {
    let named = |paths: &[String], with_mcp: bool| {
        let paths = paths.iter().filter(|path| !path.is_empty());
        paths
            .map(move |path| PluginDir { path: environment.cwd.join(path), with_mcp, called: None })
            .collect::<Vec<_>>()
    };
    let mut dirs = named(&typed.plugin_dir, true);
    dirs.extend(named(&typed.plugin_dir_no_mcp, false));
    dirs
}

/// Plugins by their address. One that does not come is a problem, and the run goes on without it.
fn fetched(typed: &Arguments, places: &Places, client: &ClientConfig) -> (Vec<PluginDir>, Vec<PluginProblem>) {
    let (mut dirs, mut problems) = (Vec::new(), Vec::new());
    for address in typed.plugin_url.iter().filter(|address| !address.is_empty()) {
        let archive = runtime().map_err(|error| error.to_string()).and_then(|runtime| {
            runtime.block_on(model::fetch(address, client, project::ARCHIVE_MAX)).map_err(|error| error.to_string())
        });
        let called = address.rsplit('/').next().unwrap_or_default().trim_end_matches(".zip").to_owned();
        match archive.and_then(|archive| project::unpack_plugin(places, &archive).map_err(|error| error.to_string())) {
            Ok(path) => dirs.push(PluginDir { path, with_mcp: true, called: Some(called) }),
            Err(message) => {
                let path = PathBuf::from(address);
                problems.push(PluginProblem { plugin: called, kind: "fetch-failed", message, path });
            }
        }
    }
    (dirs, problems)
}

/// The plugins' `bin` folders after everything on the search path: they add programs and replace none.
fn add_programs(plugins: &Plugins, environment: &mut Environment) {
    let folders = plugins.loaded.iter().map(|plugin| plugin.folders.root.join("bin")).filter(|bin| bin.is_dir());
    let folders: Vec<String> = folders.map(|bin| bin.display().to_string()).collect();
    if folders.is_empty() {
        return;
    }
    let known = environment.get("PATH").map(str::to_owned);
    let path = known.into_iter().chain(folders).collect::<Vec<_>>().join(":");
    environment.overlay(&[("PATH".to_owned(), path)]);
}

/// Which instruction files count beside the usual ones; none where they are switched off.
pub fn memory(
    settings: &Settings,
    places: &Places,
    roots: &[PathBuf],
    environment: &Environment,
) -> Option<MemoryOptions> {
    if environment.is_on("CLAUDE_CODE_DISABLE_CLAUDE_MDS") {
        return None;
    }
    let with_roots = environment.is_on("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD");
    let auto_off =
        settings.flag("autoMemoryEnabled") == Some(false) || environment.is_on("CLAUDE_CODE_DISABLE_AUTO_MEMORY");
    let folder = settings.auto_memory_directory.clone().unwrap_or_else(|| {
        let name = environment.get("CLAUDE_CODE_PROJECT_DIR_NAME").filter(|_| places.config_dir_is_custom);
        session::Store::new(&places.config_dir, &places.project_root(), name).memory_dir()
    });
    let index = folder.join("MEMORY.md");
    Some(MemoryOptions {
        extra_dirs: if with_roots { roots.to_vec() } else { Vec::new() },
        auto: (!auto_off && index.is_file()).then_some(index),
    })
}

/// A client that sends messages may still bring the agent; then the first turn looks for it.
pub fn chosen_agent(
    typed: &Arguments,
    settings: &Settings,
    (agents, plugins): (&[AgentDef], &Plugins),
    input: InputFormat,
) -> Result<Option<String>, Refusal> {
    let named = typed.agent.as_deref().or(settings.agent.as_deref()).filter(|name| !name.is_empty());
    let brought = plugins.loaded.iter().find_map(|plugin| plugin.main_agent.as_deref());
    let Some(name) = named.or(brought) else {
        return Ok(None);
    };
    let builtin = ["general-purpose", "Explore", "Plan"];
    if input == InputFormat::StreamJson || builtin.contains(&name) || agents.iter().any(|agent| agent.name == name) {
        return Ok(Some(name.to_owned()));
    }
    let known: Vec<&str> = builtin.into_iter().chain(agents.iter().map(|agent| agent.name.as_str())).collect();
    Err(Refusal::new(format!("Error: there is no agent '{name}'. Known: {}", known.join(", "))))
}

/// Whether the model is told about the repository and about commits.
pub fn speaks_of_git(settings: &Settings, environment: &Environment) -> bool {
    settings.flag("includeGitInstructions") != Some(false) && !environment.is_on("CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS")
}

/// The session goes on without what git has not said by then: nobody waits for a repository.
const GIT_DEADLINE: Duration = Duration::from_millis(200);

pub fn git_deadline(environment: &Environment) -> Duration {
    // Tests share two cores with many others.
    let of_tests = environment.number("RALPH_TEST_GIT_DEADLINE_MS").filter(|_| cfg!(debug_assertions));
    of_tests.map_or(GIT_DEADLINE, Duration::from_millis)
}

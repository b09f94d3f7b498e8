//! What was typed, together with environment and settings, becomes [`options::Options`]. Every error
//! here is one line on stderr and exit 1, before any model call.

use crate::configuration::{minimal, places_for, settings, sources};
use crate::connection::{self, CONTRACT_VERSION};
use crate::environment::{Environment, hangup_is_ignored, stdin_kind};
use crate::refusal::{Refusal, one_of};
use crate::{access, asking, child_env, confined, folder, outside, permissions, policies, sessions, tooling};
use arguments::Arguments;
use options::{
    BuiltinAgents, InputFormat, Options, OutputFormat, Preparation, Prompting, Schema, Setup, StateEvents, StdinKind,
};
use settings::{Places, Settings, Sources};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

/// Options, and what should be said on stderr before the run.
pub struct Resolved {
    pub options: Options,
    pub warnings: Vec<String>,
}

pub fn options(typed: &Arguments, environment: &mut Environment) -> Result<Resolved, Refusal> {
    refuse_foreign(typed)?;
    let mut warnings = Vec::new();
    let (input, output) = formats(typed)?;
    let places = places_for(typed, environment)?;
    let (bare, safe) = minimal(typed, environment);
    let sources = sources(typed)?;
    let loaded = settings(typed, (&places, &*environment), sources, safe || bare)?;
    warnings.extend(loaded.warnings);
    let settings = loaded.settings;
    environment.overlay(&settings.env);

    let prompt = prompt(typed);
    let schema = schema(typed)?;
    let extra_roots = permissions::extra_roots(typed, &settings, environment, &mut warnings);
    let mut permissions = permissions::resolve(typed, &settings, environment, &mut warnings)?;
    let memory = if bare || safe { None } else { folder::memory(&settings, &places, &extra_roots, environment) };
    permissions::let_read(&mut permissions.rules, memory.as_ref());
    warnings.extend(connection::warnings(environment)?);
    let access = access::resolve(&settings, &places, environment, bare, &mut warnings)?;
    policies::enforce(typed, &settings, &access, &mut warnings)?;
    let mut asking = asking::resolve(typed, &settings, environment, &access, &mut warnings)?;
    let session = sessions::resolve(typed, &places, environment)?;
    let limits = tooling::limits(typed, environment, access.client.profile.concurrency, &mut warnings)?;
    warnings.extend(tooling::unpriced_budget(&limits, &asking.model, &access.client));
    // What the command line itself gives counts in a minimal start too.
    let shelves = if bare || safe { Sources::NONE } else { sources };
    let folder::Folder { agents, skills, plugins, installs } =
        folder::read(typed, &places, shelves, &extra_roots, (&settings, bare || safe), &access.client, environment)?;
    let outside = outside::resolve(typed, &settings, &places, &plugins, environment, (bare || safe, &session))?;
    warnings.extend(outside.problems.iter().map(|problem| match problem.name.as_str() {
        "" => format!("warning: MCP servers: {}", problem.message),
        name => format!("warning: MCP server {name}: {}", problem.message),
    }));
    let agent = folder::chosen_agent(typed, &settings, (&agents, &plugins), input)?;
    asking::follow_agent(&mut asking, agent.as_deref(), &agents);
    let mut tools = tooling::resolve(typed, environment, &places, &session, (&asking.model, &extra_roots));
    tooling::follow_endpoint(&mut tools, environment, &access.client);
    let confined = confined::resolve(typed, &settings, &places, &extra_roots, environment, &mut warnings)?;
    policies::restrain_root(&mut permissions, environment, confined.is_some() && typed.sandbox.is_given)?;
    if let Some(confined) = confined {
        tooling::confine(&mut tools, confined);
    }
    let setup = Setup {
        prompting: prompting(typed, &settings, environment, bare)?,
        schema: schema.map(Rc::new),
        agents,
        agent,
        plugins: Rc::new(plugins),
        only_skills: None,
        listing_chars: environment.number("SLASH_COMMAND_TOOL_CHAR_BUDGET").map(|chars| chars as usize),
        skills: if bare || safe || typed.disable_slash_commands { Vec::new() } else { skills },
        tool_aliases: BTreeMap::new(),
        suggestions: typed.prompt_suggestions && may_suggest(&settings, environment),
        subagent_text: typed.forward_subagent_text || environment.is_on("CLAUDE_CODE_FORWARD_SUBAGENT_TEXT"),
    };
    let git_state = (!bare && folder::speaks_of_git(&settings, environment)).then(|| folder::git_deadline(environment));
    let options = Options {
        input,
        output,
        stdin: stdin(input, prompt.is_some()),
        ends_with_terminal: !hangup_is_ignored(),
        await_initialize: typed.await_initialize,
        partial: typed.include_partial_messages,
        replay_user: typed.replay_user_messages,
        hook_events: typed.include_hook_events,
        may_suggest: may_suggest(&settings, environment),
        preparation: preparation(typed),
        state_events: state_events(environment),
        checkpoint_dir: checkpoint_dir(typed, &settings, environment, &places, &session),
        stop_block_cap: environment.number("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP").map_or(STOP_BLOCK_CAP, |cap| cap as u32),
        ascii: environment.stdout_is_terminal && output != OutputFormat::Text,
        cwd: environment.cwd.clone(),
        extra_roots,
        env: child_env::without_telemetry(environment),
        setup,
        mentions: !environment.is_on("CLAUDE_CODE_DISABLE_ATTACHMENTS"),
        slash: !bare && !typed.disable_slash_commands,
        bundled: !environment.is_on("CLAUDE_CODE_DISABLE_BUNDLED_SKILLS")
            && settings.flag("disableBundledSkills") != Some(true),
        memory,
        observer: observer::Observer::off(),
        debug_file: debug_file(typed, &places, &session),
        version: CONTRACT_VERSION,
        places,
        sources: shelves,
        settings,
        prompt,
        permissions,
        asking,
        session,
        limits,
        tools,
        outside,
        access,
        bare,
        plugin_installs: installs,
        git_state,
        builtin_agents: builtin_agents(environment),
    };
    Ok(Resolved { options, warnings })
}

/// Flags of another product are refused.
fn refuse_foreign(typed: &Arguments) -> Result<(), Refusal> {
    let Some(name) = typed.foreign else { return Ok(()) };
    let conflict = if name == "bg" && typed.print { " --bg and --print conflict." } else { "" };
    Err(Refusal::new(format!(
        "Error: --{name} belongs to the interactive or cloud product and is not part of this agent.{conflict}"
    )))
}

pub fn formats(typed: &Arguments) -> Result<(InputFormat, OutputFormat), Refusal> {
    let verbose = typed.verbose;
    let output = match typed.output_format.as_deref().unwrap_or("text") {
        "text" => OutputFormat::Text,
        "json" if verbose => OutputFormat::JsonList,
        "json" => OutputFormat::Json,
        "stream-json" => OutputFormat::StreamJson,
        other => return Err(one_of("output-format", other, "text, json, stream-json")),
    };
    let input = match typed.input_format.as_deref().unwrap_or("text") {
        "text" => InputFormat::Text,
        "stream-json" => InputFormat::StreamJson,
        other => return Err(one_of("input-format", other, "text, stream-json")),
    };
    if input == InputFormat::StreamJson && output != OutputFormat::StreamJson {
        return Err(Refusal::new("Error: --input-format=stream-json requires output-format=stream-json."));
    }
    if typed.print && output == OutputFormat::StreamJson && !verbose {
        return Err(Refusal::new("Error: When using --print, --output-format=stream-json requires --verbose"));
    }
    if typed.replay_user_messages && input != InputFormat::StreamJson {
        return Err(Refusal::new(
            "Error: --replay-user-messages requires both --input-format=stream-json and --output-format=stream-json.",
        ));
    }
    let of_streams = [
        (typed.include_partial_messages, "include-partial-messages"),
        (typed.forward_subagent_text, "forward-subagent-text"),
    ];
    for (is_given, flag) in of_streams {
        if is_given && output != OutputFormat::StreamJson {
            return Err(Refusal::new(format!("Error: --{flag} requires --output-format=stream-json.")));
        }
    }
    Ok((input, output))
}

/// `--init-only` says more than the others, and first work says more than upkeep.
fn preparation(typed: &Arguments) -> Option<Preparation> {
    let asked = [
        (typed.init_only, Preparation::InitOnly),
        (typed.init, Preparation::Init),
        (typed.maintenance, Preparation::Maintenance),
    ];
    asked.into_iter().find_map(|(is_given, preparation)| is_given.then_some(preparation))
}

/// Stop hooks that never let go would otherwise keep a run going for ever.
const STOP_BLOCK_CAP: u32 = 8;

fn builtin_agents(environment: &Environment) -> BuiltinAgents {
    if environment.is_on("CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS") {
        BuiltinAgents::None
    } else if environment.is_on("CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS") {
        BuiltinAgents::GeneralOnly
    } else {
        BuiltinAgents::All
    }
}

fn state_events(environment: &Environment) -> StateEvents {
    if environment.is_on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS") {
        StateEvents::All
    } else if environment.is_on("CLAUDE_CODE_SDK_READS_SESSION_STATE") {
        StateEvents::HostOnly
    } else {
        StateEvents::Off
    }
}

fn checkpoint_dir(
    typed: &Arguments,
    settings: &Settings,
    environment: &Environment,
    places: &Places,
    session: &options::Session,
) -> Option<PathBuf> {
    let kept = settings.flag("fileCheckpointingEnabled") != Some(false)
        && environment.is_on("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING")
        && !environment.is_on("CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING");
    let wanted = kept || typed.rewind_files.is_some();
    wanted.then(|| places.config_dir.join("file-history").join(&session.id))
}

/// `--debug` logs beside the transcripts, `--debug-file` where it says, `--debug-to-stderr` for whoever started us.
fn debug_file(typed: &Arguments, places: &Places, session: &options::Session) -> Option<PathBuf> {
    if let Some(file) = typed.debug_file.as_deref().filter(|file| !file.is_empty()) {
        return Some(PathBuf::from(file));
    }
    if typed.debug_to_stderr {
        return Some(PathBuf::from("/dev/stderr"));
    }
    if !typed.debug.is_given {
        return None;
    }
    let folder = places.config_dir.join("debug");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join(format!("{}.txt", session.id)))
}

/// The environment wins over the settings.
fn may_suggest(settings: &Settings, environment: &Environment) -> bool {
    let variable = "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION";
    environment.is_on(variable)
        || (!environment.is_off(variable) && settings.flag("promptSuggestionEnabled") != Some(false))
}

/// Positionals are one prompt; several are how some clients mention several files.
fn prompt(typed: &Arguments) -> Option<String> {
    let prompt = typed.positionals.join(" ");
    (!prompt.is_empty()).then_some(prompt)
}

fn stdin(input: InputFormat, has_prompt: bool) -> StdinKind {
    stdin_kind(has_prompt && input == InputFormat::Text)
}

fn schema(typed: &Arguments) -> Result<Option<Schema>, Refusal> {
    let Some(text) = typed.json_schema.as_deref().filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let schema = Schema::parse(text)
        .map_err(|problem| Refusal::new(format!("Error: --json-schema is not a valid JSON Schema: {problem}")))?;
    Ok(Some(schema))
}

fn prompting(
    typed: &Arguments,
    settings: &Settings,
    environment: &Environment,
    bare: bool,
) -> Result<Prompting, Refusal> {
    Ok(Prompting {
        short: environment.is_on("CLAUDE_CODE_SIMPLE_SYSTEM_PROMPT"),
        language: settings.language.as_deref().and_then(project::language),
        attribution: (!bare && folder::speaks_of_git(settings, environment))
            .then(|| project::Attribution::of(&settings.merged)),
        system: text_or_file(typed.system_prompt.as_deref(), typed.system_prompt_file.as_deref(), "system-prompt")?,
        append: text_or_file(
            typed.append_system_prompt.as_deref(),
            typed.append_system_prompt_file.as_deref(),
            "append-system-prompt",
        )?
        .filter(|text| !text.is_empty()),
        append_subagent: typed.append_subagent_system_prompt.as_deref().map(str::to_owned),
        static_system: typed.exclude_dynamic_system_prompt_sections,
        plan: typed.plan_mode_instructions.clone().filter(|text| !text.trim().is_empty()),
    })
}

/// The text of `--FLAG`, or of the file of `--FLAG-file`.
fn text_or_file(text: Option<&str>, file: Option<&str>, flag: &str) -> Result<Option<String>, Refusal> {
    match (text, file) {
        (Some(_), Some(_)) => Err(Refusal::new(format!("Error: --{flag} and --{flag}-file cannot be used together."))),
        (Some(words), None) => Ok(Some(words.to_owned())),
        (None, Some(path)) => std::fs::read_to_string(path)
            .map(Some)
            .map_err(|error| Refusal::new(format!("Error: --{flag}-file {path} cannot be read: {error}"))),
        (None, None) => Ok(None),
    }
}

//! Which model, thinking how, up to what.

use crate::access;
use crate::environment::Environment;
use crate::refusal::{Refusal, one_of};
use arguments::Arguments;
use model::{Choice, ModelEnv, ModelNames, SmallModel, SmallQuestions, Thinking, ThinkingAsk};
use options::{Access, Asking, AutoCompact, Caching, Elsewhere};
use project::AgentDef;
use settings::Settings;
use std::sync::Arc;

/// Models tried after the first, as the contract allows.
const FALLBACKS_MAX: usize = 3;

const EFFORTS: [&str; 6] = ["low", "medium", "high", "xhigh", "max", "ultracode"];

pub fn resolve(
    typed: &Arguments,
    settings: &Settings,
    environment: &Environment,
    access: &Access,
    warnings: &mut Vec<String>,
) -> Result<Asking, Refusal> {
    let mut model_env = model_env(settings, environment);
    model_env.endpoint =
        access.client.cloud.as_ref().map(|cloud| Arc::new(cloud.endpoint.clone()) as Arc<dyn ModelNames>);
    let named = non_empty(typed.model.as_deref()).or(environment.get("ANTHROPIC_MODEL"));
    let asked = named.or(settings.model.as_deref()).unwrap_or("default");
    let model = available_model(asked, settings, &model_env)?;
    let profile = &access.client.profile;
    let small = small_model(environment, access, asked, named.is_some());
    let small_model =
        Some(model::resolve(small, &model_env)).filter(|id| model_env.allows(id)).unwrap_or_else(|| model.clone());
    let Fallbacks { names, elsewhere } = fallbacks(typed, settings, environment, (access, &model_env), warnings)?;
    Ok(Asking {
        model,
        model_named: named.is_some(),
        small_model,
        fallback: names,
        elsewhere,
        thinking: thinking(typed, settings, environment)?,
        effort: effort(typed, settings, environment, warnings),
        max_output: environment.number("CLAUDE_CODE_MAX_OUTPUT_TOKENS").filter(|tokens| *tokens > 0),
        betas: betas(typed, environment, model_env.endpoint.as_deref(), warnings),
        task_budget: number(typed.task_budget.as_deref(), "task-budget")?,
        extra_body: extra_body(environment)?,
        cache: caching(environment, model_env.endpoint.as_deref()),
        auto_compact: auto_compact(typed, settings, environment)?,
        window: window(environment, profile.context_window),
        subagent_model: environment.get("CLAUDE_CODE_SUBAGENT_MODEL").map(str::to_owned),
        model_env,
    })
}

/// The id that is sent, where `availableModels` allows it. The default model is always allowed, unless the administrator
/// enforces his list for it too; then the first model of the list takes its place.
fn available_model(asked: &str, settings: &Settings, env: &ModelEnv) -> Result<String, Refusal> {
    let id = model::resolve(asked, env);
    let Some(listed) = env.available.as_ref().filter(|_| !env.allows(&id)) else { return Ok(id) };
    if asked != "default" {
        return Err(Refusal::new(format!(
            "Error: the settings do not allow the model '{asked}'. Allowed (availableModels): {}",
            listed.join(", ")
        )));
    }
    if !settings::is_on(settings.managed.get("enforceAvailableModels")) {
        return Ok(id);
    }
    listed.first().map(|name| model::resolve(name, env)).ok_or_else(|| {
        Refusal::new(
            "Error: the administrator allows no model (availableModels is empty, enforceAvailableModels is on).",
        )
    })
}

/// Who answers small questions: what the user names, else a model that this provider is known to have.
fn small_model<'a>(environment: &'a Environment, access: &Access, asked: &'a str, is_named: bool) -> &'a str {
    if environment.get("ANTHROPIC_DEFAULT_HAIKU_MODEL").is_some() {
        return "haiku";
    }
    if let Some(small) = environment.get("ANTHROPIC_SMALL_FAST_MODEL") {
        return small;
    }
    let cloud = access.client.cloud.as_ref().map(|cloud| cloud.endpoint.small_questions());
    match (cloud, access.client.profile.small_model) {
        (Some(SmallQuestions::SonnetUnlessNamed), _) if !is_named => "sonnet",
        (Some(SmallQuestions::SonnetUnlessNamed | SmallQuestions::SessionModel), _) | (None, SmallModel::Main) => asked,
        (Some(SmallQuestions::Haiku), _) | (None, SmallModel::Haiku) => "haiku",
    }
}

fn caching(environment: &Environment, endpoint: Option<&dyn ModelNames>) -> Caching {
    let is_bedrock = endpoint.is_some_and(|endpoint| endpoint.provider_name() == "bedrock");
    let hour = environment.is_on("ENABLE_PROMPT_CACHING_1H")
        || (is_bedrock && environment.is_on("ENABLE_PROMPT_CACHING_1H_BEDROCK"));
    let families = [("HAIKU", "haiku"), ("SONNET", "sonnet"), ("OPUS", "opus"), ("FABLE", "fable")];
    let off = |name: &str| environment.is_on(&format!("DISABLE_PROMPT_CACHING_{name}"));
    Caching {
        off: environment.is_on("DISABLE_PROMPT_CACHING"),
        off_for: families.map(|(name, family)| off(name).then_some(family)),
        hour: hour && !environment.is_on("FORCE_PROMPT_CACHING_5M"),
    }
}

/// A session that runs as an agent asks that agent's model, unless the caller named one.
pub fn follow_agent(asking: &mut Asking, agent: Option<&str>, agents: &[AgentDef]) {
    let agent = agents.iter().find(|known| Some(known.name.as_str()) == agent);
    let own = agent.and_then(|agent| agent.model.as_deref()).filter(|model| *model != "inherit");
    let own = own.map(|own| model::resolve(own, &asking.model_env)).filter(|own| asking.model_env.allows(own));
    if let (false, Some(own)) = (asking.model_named, own) {
        asking.model = own;
    }
}

fn non_empty(value: Option<&str>) -> Option<&str> {
    value.filter(|value| !value.is_empty())
}

fn model_env(settings: &Settings, environment: &Environment) -> ModelEnv {
    let named = |name: &str| environment.get(name).map(str::to_owned);
    ModelEnv {
        opus: named("ANTHROPIC_DEFAULT_OPUS_MODEL"),
        sonnet: named("ANTHROPIC_DEFAULT_SONNET_MODEL"),
        haiku: named("ANTHROPIC_DEFAULT_HAIKU_MODEL"),
        fable: named("ANTHROPIC_DEFAULT_FABLE_MODEL"),
        default: named("ANTHROPIC_DEFAULT_MODEL"),
        disable_legacy_remap: environment.is_on("CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP"),
        overrides: settings.model_overrides.clone(),
        endpoint: None,
        available: settings.available_models.clone(),
        custom: named("ANTHROPIC_CUSTOM_MODEL_OPTION").map(|id| model::CustomModel {
            id,
            name: named("ANTHROPIC_CUSTOM_MODEL_OPTION_NAME"),
            description: named("ANTHROPIC_CUSTOM_MODEL_OPTION_DESCRIPTION"),
        }),
    }
}

#[derive(Default)]
struct Fallbacks {
    names: Vec<String>,
    elsewhere: Vec<Elsewhere>,
}

/// Models to fall back on: ids of the provider that is asked, or `provider:model`. Another provider counts only where the
/// command line names it: a settings file may be the folder's, and who gets the conversation is the user's to say.
fn fallbacks(
    typed: &Arguments,
    settings: &Settings,
    environment: &Environment,
    (access, env): (&Access, &ModelEnv),
    warnings: &mut Vec<String>,
) -> Result<Fallbacks, Refusal> {
    let flag = typed.fallback_model.as_deref();
    let listed: Vec<&str> = match flag {
        Some(list) => list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect(),
        None => settings.fallback_model.iter().map(String::as_str).collect(),
    };
    let own = env.endpoint.as_ref().map_or("firstParty", |endpoint| endpoint.provider_name());
    let (mut found, mut refused) = (Fallbacks::default(), Vec::new());
    for name in listed.into_iter().take(FALLBACKS_MAX) {
        match model::split_provider(name) {
            (Some(choice), model) if choice.name() != own => {
                if flag.is_none() {
                    warnings.push(format!(
                        "warning: fallbackModel {name} is another provider's, which only --fallback-model may name; it is left out"
                    ));
                    continue;
                }
                let other = elsewhere(name, choice, model, (settings, environment, access, env))?;
                if !env.allows(&other.model) {
                    refused.push(other.name);
                    continue;
                }
                found.names.push(other.name.clone());
                found.elsewhere.push(other);
            }
            (_, model) => {
                let id = model::resolve(model, env);
                if env.allows(&id) { found.names.push(id) } else { refused.push(id) }
            }
        }
    }
    if !refused.is_empty() {
        warnings.push(format!("warning: the settings do not allow the fallback model {}", refused.join(", ")));
    }
    Ok(found)
}

fn elsewhere(
    name: &str,
    choice: Choice,
    model: &str,
    (settings, environment, access, env): (&Settings, &Environment, &Access, &ModelEnv),
) -> Result<Elsewhere, Refusal> {
    let refused = |why: &dyn std::fmt::Display| Refusal::new(format!("Error: --fallback-model {name}: {why}."));
    if model.is_empty() {
        return Err(refused(&"there is no model behind the colon"));
    }
    let client = access::elsewhere(choice, settings, environment, &access.client).map_err(|why| refused(&why))?;
    let endpoint = client.cloud.as_ref().map(|cloud| Arc::new(cloud.endpoint.clone()) as Arc<dyn ModelNames>);
    let model = model::resolve(model, &ModelEnv { endpoint, ..env.clone() });
    Ok(Elsewhere { name: format!("{}:{model}", choice.name()), model, client })
}

fn thinking(typed: &Arguments, settings: &Settings, environment: &Environment) -> Result<ThinkingAsk, Refusal> {
    let flag = match typed.thinking.as_deref() {
        None | Some("") => None,
        Some("adaptive" | "enabled") => Some(Thinking::Adaptive),
        Some("disabled") => Some(Thinking::Disabled),
        Some(other) => return Err(one_of("thinking", other, "adaptive, disabled")),
    };
    Ok(ThinkingAsk {
        flag,
        max_tokens_env: environment.number("MAX_THINKING_TOKENS"),
        flag_budget: number(typed.max_thinking_tokens.as_deref(), "max-thinking-tokens")?,
        always: settings.always_thinking == Some(true),
        disabled_by_env: environment.is_on("CLAUDE_CODE_DISABLE_THINKING"),
        adaptive_disabled_by_env: environment.is_on("CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING"),
        display: display(typed)?.or_else(|| summaries(settings)),
        without_display: environment.is_on("CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS"),
    })
}

fn summaries(settings: &Settings) -> Option<String> {
    (settings.flag("showThinkingSummaries") == Some(true)).then(|| "summarized".to_owned())
}

fn display(typed: &Arguments) -> Result<Option<String>, Refusal> {
    match non_empty(typed.thinking_display.as_deref()) {
        Some(other) if !["summarized", "omitted"].contains(&other) => {
            Err(one_of("thinking-display", other, "summarized, omitted"))
        }
        display => Ok(display.map(str::to_owned)),
    }
}

/// A level that nobody knows is said and left out: the model's own level stands.
fn effort(
    typed: &Arguments,
    settings: &Settings,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Option<String> {
    let flag = non_empty(typed.effort.as_deref());
    if let Some(level) = flag.filter(|level| !EFFORTS.contains(level)) {
        warnings.push(format!(
            "warning: --effort '{level}' is unknown and ignored; known are low, medium, high, xhigh, max"
        ));
    }
    let flag = flag.filter(|level| EFFORTS.contains(level));
    let chosen = environment.get("CLAUDE_CODE_EFFORT_LEVEL").or(flag).or(settings.effort_level.as_deref());
    chosen
        .filter(|level| EFFORTS.contains(level))
        .map(|level| if level == "ultracode" { "max" } else { level }.to_owned())
}

/// The only beta that Bedrock takes from a user.
const BEDROCK_BETA: &str = "context-1m-2025-08-07";

/// Betas that the user names. Clouds refuse what they do not know: some of them take none from the environment, and
/// Bedrock takes one from the command line.
fn betas(
    typed: &Arguments,
    environment: &Environment,
    endpoint: Option<&dyn ModelNames>,
    warnings: &mut Vec<String>,
) -> Vec<String> {
    let provider = endpoint.map_or("firstParty", ModelNames::provider_name);
    let takes_variable = !matches!(provider, "bedrock" | "mantle" | "vertex");
    let flag = typed.betas.iter().map(String::as_str);
    let all = flag.chain(environment.get("ANTHROPIC_BETAS").filter(|_| takes_variable));
    let named = all.flat_map(|list| list.split(',')).map(str::trim).filter(|beta| !beta.is_empty());
    let (taken, refused): (Vec<&str>, Vec<&str>) =
        named.partition(|beta| provider != "bedrock" || *beta == BEDROCK_BETA);
    if !refused.is_empty() {
        warnings.push(format!("warning: --betas {}: Bedrock takes only {BEDROCK_BETA}", refused.join(",")));
    }
    taken.into_iter().map(str::to_owned).collect()
}

fn extra_body(environment: &Environment) -> Result<Option<serde_json::Value>, Refusal> {
    let Some(text) = environment.get("CLAUDE_CODE_EXTRA_BODY") else {
        return Ok(None);
    };
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(body) if body.is_object() => Ok(Some(body)),
        _ => Err(Refusal::new("Error: CLAUDE_CODE_EXTRA_BODY is not a JSON object.")),
    }
}

fn auto_compact(typed: &Arguments, settings: &Settings, environment: &Environment) -> Result<AutoCompact, Refusal> {
    if environment.is_on("DISABLE_COMPACT")
        || environment.is_on("DISABLE_AUTO_COMPACT")
        || settings.auto_compact_enabled == Some(false)
    {
        return Ok(AutoCompact::Off);
    }
    match typed.autocompact.as_deref() {
        None | Some("" | "auto") => {}
        Some(text) => {
            let (digits, unit) = text.strip_suffix(['k', 'K']).map_or((text, 1), |digits| (digits, 1000));
            let tokens: u64 =
                digits.parse().map_err(|_| one_of("autocompact", text, "auto, a number, or a number with k"))?;
            return Ok(AutoCompact::At(tokens.saturating_mul(unit)));
        }
    }
    let window = environment.number("CLAUDE_CODE_AUTO_COMPACT_WINDOW").or(settings.auto_compact_window);
    let share = environment.number("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE").filter(|share| (1..=100).contains(share));
    Ok(match (window, share) {
        (Some(tokens), _) => AutoCompact::At(tokens),
        (None, Some(share)) => AutoCompact::Percent(share),
        (None, None) => AutoCompact::Auto,
    })
}

/// What the long context costs is not everybody's wish.
const SHORT_WINDOW: u64 = 200_000;

fn window(environment: &Environment, of_profile: Option<u64>) -> Option<u64> {
    let most = environment.number("CLAUDE_CODE_MAX_CONTEXT_TOKENS").filter(|tokens| *tokens > 0);
    let short = environment.is_on("CLAUDE_CODE_DISABLE_1M_CONTEXT").then_some(SHORT_WINDOW);
    most.into_iter().chain(short).chain(of_profile).min()
}

/// The whole number that was given for a flag.
pub fn number(given: Option<&str>, flag: &str) -> Result<Option<u64>, Refusal> {
    let Some(text) = non_empty(given) else {
        return Ok(None);
    };
    text.parse()
        .map(Some)
        .map_err(|_| Refusal::new(format!("error: option '--{flag}' is '{text}'; a whole number is needed")))
}

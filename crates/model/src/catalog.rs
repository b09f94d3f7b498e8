//! The models we know, as data (`models.json`): names, limits, prices, and how each wants to be asked.
//!
//! An id that is not in the file is never refused: it is sent as it is, and its price is its nearest
//! relative's with [`ModelInfo::cost_basis`] saying so. Deliberately absent: asking the API for its list.

use crate::capabilities::Capabilities;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Where a model of no known family is capped: small enough for every provider we have met.
const UNKNOWN_CONTEXT: u64 = 200_000;
/// What the reference asks for when it does not know the model either.
const UNKNOWN_MAX_OUTPUT: u64 = 32_000;
/// Web searches are billed by the piece: 10 dollars a thousand.
const USD_PER_WEB_SEARCH: f64 = 0.01;
const TOKENS_PER_PRICE: f64 = 1_000_000.0;
/// After a name it asks for the long context where that is not the default.
const LONG_CONTEXT_SUFFIX: &str = "[1m]";
/// What the suffix means for a model that nobody knows.
const LONG_CONTEXT: u64 = 1_000_000;
/// The alias whose family prices a model of no family at all.
const DEFAULT_FAMILY: &str = "opus";

/// The form in which a model is asked to think.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingKind {
    #[default]
    None,
    /// A number of tokens.
    Budget,
    /// On or off.
    Adaptive,
    /// Always on: `disabled` would be refused.
    AdaptiveAlways,
    /// Adaptive as far as we know; when it is not wanted, better to say nothing.
    AdaptiveOrAbsent,
}

impl ThinkingKind {
    pub fn is_adaptive(self) -> bool {
        matches!(self, Self::Adaptive | Self::AdaptiveAlways | Self::AdaptiveOrAbsent)
    }
}

/// USD per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    pub cache_write_5m: f64,
    pub cache_write_1h: f64,
    pub cache_read: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ModelInfo {
    pub id: String,
    pub name: String,
    pub family: String,
    pub context_window: u64,
    /// Said only where `[1m]` buys more than [`Self::context_window`].
    pub long_context_window: Option<u64>,
    pub max_output: u64,
    pub price: Price,
    pub thinking: ThinkingKind,
    /// Adaptive, but a fixed budget still works when the user turns adaptive thinking off.
    pub also_takes_budget: bool,
    /// Can think between tool calls when the request asks for it.
    pub interleaves: bool,
    pub default_effort: Option<String>,
    pub effort_levels: Vec<String>,
    /// The highest effort the API takes together with disabled thinking.
    pub max_effort_without_thinking: Option<String>,
    /// Needs a Read in the conversation before it may edit a file.
    pub reads_before_edit: bool,
    /// Retired: answered by the current model of its family unless the user forbids it.
    pub legacy: bool,
    /// Whose price this is, where it is not the model's own.
    pub cost_basis: Option<String>,
    /// Who answers for it; empty where nobody has said.
    #[serde(skip)]
    pub provider: &'static str,
    /// Whether the provider knows the field that says how thinking is shown.
    #[serde(skip)]
    pub without_display: bool,
    /// The model behind an id that does not say it, where somebody has said it.
    #[serde(skip)]
    pub(crate) stands_for: Option<String>,
}

impl ModelInfo {
    /// What `modelUsage` calls the model: Anthropic's id without a date, or the id itself where it is not known.
    pub fn canonical_model(&self) -> String {
        match catalog().model(self.stands_for.as_deref().unwrap_or(&self.id)) {
            Some(known) => undated(&known.id).to_owned(),
            None => split_long_context(&self.id).0.to_owned(),
        }
    }

    /// Lays what the user says that the model can do over what is known.
    pub(crate) fn take(&mut self, capabilities: &Capabilities) {
        if let Some(known) = capabilities.of(&self.id) {
            self.thinking = match (known.adaptive, known.thinking) {
                (true, _) => ThinkingKind::Adaptive,
                (false, true) => ThinkingKind::Budget,
                (false, false) => ThinkingKind::None,
            };
            self.interleaves = known.interleaved;
            self.effort_levels = known.effort_levels();
            if self.effort_levels.is_empty() {
                self.default_effort = None;
            } else if self.default_effort.as_ref().is_none_or(|level| !self.effort_levels.contains(level)) {
                self.default_effort = Some("high".to_owned());
            }
        }
        let is_unknown = self.cost_basis.is_some() && self.default_effort.is_none();
        if capabilities.always_effort && is_unknown && !self.effort_levels.is_empty() {
            self.default_effort = Some("high".to_owned());
        }
    }

    /// Takes away what this provider does not take: clouds lag behind, and refuse what they do not know.
    pub(crate) fn narrow_to_provider(&mut self) {
        let is_unknown = self.cost_basis.is_some();
        if matches!(self.provider, "bedrock" | "vertex") && is_unknown {
            self.thinking = ThinkingKind::Budget;
            self.default_effort = None;
        }
        // Models since 4.7 are those that think adaptively and take no budget.
        let is_new = self.thinking.is_adaptive() && !self.also_takes_budget && !is_unknown;
        self.without_display = matches!(self.provider, "bedrock" | "mantle" | "vertex") && !is_new;
    }

    /// Whether the model works better with tools that keep a list of what is to be done: those before 4.6.
    pub fn wants_task_list(&self) -> bool {
        self.cost_basis.is_none() && !self.thinking.is_adaptive()
    }

    /// What `modelUsage` says about the price.
    pub fn basis_name(&self) -> &'static str {
        if self.cost_basis.is_some() { "unknown" } else { "list" }
    }
}

/// An endpoint with model ids of its own.
pub trait ModelNames: std::fmt::Debug + Send + Sync {
    fn provider_name(&self) -> &'static str;

    /// The id to send for the model that the user asked for.
    fn model_id(&self, asked: &str, env: &ModelEnv) -> String;
}

/// What the user's environment and settings say about names. Empty values count as unset.
#[derive(Debug, Clone, Default)]
pub struct ModelEnv {
    /// `ANTHROPIC_DEFAULT_OPUS_MODEL` and its three sisters.
    pub opus: Option<String>,
    pub sonnet: Option<String>,
    pub haiku: Option<String>,
    pub fable: Option<String>,
    /// `ANTHROPIC_DEFAULT_MODEL`: what `default` means.
    pub default: Option<String>,
    /// `CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP`.
    pub disable_legacy_remap: bool,
    /// Settings `modelOverrides`: our id to the provider's id.
    pub overrides: BTreeMap<String, String>,
    /// A cloud that has model ids of its own.
    pub endpoint: Option<Arc<dyn ModelNames>>,
    /// The names that the settings allow; `None` for any.
    pub available: Option<Vec<String>>,
    /// `ANTHROPIC_CUSTOM_MODEL_OPTION`: one more entry of the list that clients show.
    pub custom: Option<CustomModel>,
}

/// A model that the user adds to the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomModel {
    pub id: String,
    pub name: Option<String>,
    pub description: Option<String>,
}

impl ModelEnv {
    /// Whether the name, or the variable behind it, asks for the long context.
    fn asks_long_context(&self, asked: &str) -> bool {
        let (name, is_long) = split_long_context(asked);
        let default = set(self.default.as_deref()).filter(|_| name.is_empty() || name.eq_ignore_ascii_case("default"));
        let name = default.unwrap_or(name);
        let variable = alias_family(split_long_context(name).0).and_then(|family| self.family(family));
        is_long || split_long_context(name).1 || variable.is_some_and(|named| split_long_context(named).1)
    }

    pub(crate) fn family(&self, family: &str) -> Option<&str> {
        let value = match family {
            "opus" => &self.opus,
            "sonnet" => &self.sonnet,
            "haiku" => &self.haiku,
            "fable" => &self.fable,
            _ => &None,
        };
        set(value.as_deref())
    }
}

/// One entry of the model list that clients show.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing {
    pub value: String,
    pub display_name: String,
    pub description: String,
    pub resolved_model: String,
    pub supports_effort: bool,
    pub supported_effort_levels: Vec<String>,
    pub supports_adaptive_thinking: bool,
}

#[derive(Default, Deserialize)]
struct Catalog {
    current: BTreeMap<String, String>,
    aliases: Vec<Alias>,
    models: Vec<ModelInfo>,
}

#[derive(Deserialize)]
struct Alias {
    name: String,
    family: String,
    title: String,
    about: String,
}

fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    // The file is part of the binary and a test parses it.
    CATALOG.get_or_init(|| serde_json::from_str(include_str!("models.json")).unwrap_or_default())
}

impl Catalog {
    fn current(&self, family: &str) -> Option<&str> {
        self.current.get(family).map(String::as_str)
    }

    fn alias(&self, name: &str) -> Option<&Alias> {
        self.aliases.iter().find(|alias| alias.name.eq_ignore_ascii_case(name))
    }

    fn model(&self, id: &str) -> Option<&ModelInfo> {
        let wanted = canonical(id);
        self.models.iter().find(|model| undated(&model.id) == wanted)
    }
}

/// The id to send for what the user typed: an alias, an id, either with `[1m]` behind it.
pub fn resolve(asked: &str, env: &ModelEnv) -> String {
    let id = match &env.endpoint {
        Some(endpoint) => endpoint.model_id(asked, env),
        None => anthropic_id(asked, env),
    };
    if env.asks_long_context(asked) && info(&id).has_longer_context() {
        format!("{id}{LONG_CONTEXT_SUFFIX}")
    } else {
        id
    }
}

impl ModelInfo {
    /// Whether `[1m]` behind the id asks for more than the model gives without. Of a model that nobody knows, the user
    /// knows it.
    fn has_longer_context(&self) -> bool {
        self.long_context_window.is_some() || self.cost_basis.is_some()
    }
}

/// The id of the first-party API.
pub(crate) fn anthropic_id(asked: &str, env: &ModelEnv) -> String {
    let (name, _) = split_long_context(asked);
    let default = set(env.default.as_deref()).filter(|_| name.is_empty() || name.eq_ignore_ascii_case("default"));
    let name = default.map_or(name, |default| split_long_context(default).0);
    let name = if name.is_empty() { "default" } else { name };
    let id = match catalog().alias(name) {
        Some(alias) => family_id(&alias.family, env),
        None => unless_retired(name, env),
    };
    env.overrides.get(&id).cloned().unwrap_or(id)
}

/// The family that an alias names, where the word is one.
pub(crate) fn alias_family(name: &str) -> Option<&'static str> {
    catalog().alias(name).map(|alias| alias.family.as_str())
}

fn family_id(family: &str, env: &ModelEnv) -> String {
    let catalog = catalog();
    let Some(named) = env.family(family) else { return catalog.current(family).unwrap_or(family).to_owned() };
    // A variable may itself hold an alias. It means the built-in one, or `opus=opus` would never end.
    let (named, _) = split_long_context(named);
    catalog.alias(named).and_then(|alias| catalog.current(&alias.family)).unwrap_or(named).to_owned()
}

fn unless_retired(id: &str, env: &ModelEnv) -> String {
    match catalog().model(id) {
        Some(model) if model.legacy && !env.disable_legacy_remap => family_id(&model.family, env),
        _ => id.to_owned(),
    }
}

/// Everything known about an id. `[1m]` behind it gives the long context where the model has one.
pub fn info(id: &str) -> ModelInfo {
    let (name, long) = split_long_context(id);
    let mut found = catalog().model(name).cloned().unwrap_or_else(|| relative(name));
    name.clone_into(&mut found.id);
    if long && found.has_longer_context() {
        found.id = format!("{name}{LONG_CONTEXT_SUFFIX}");
        found.context_window = found.long_context_window.unwrap_or(LONG_CONTEXT).max(found.context_window);
    }
    found
}

/// The assumed properties of an unknown model.
fn relative(id: &str) -> ModelInfo {
    let catalog = catalog();
    let lower = id.to_ascii_lowercase();
    let family = catalog.current.keys().find(|family| lower.contains(family.as_str()));
    let basis = catalog.current(family.map_or(DEFAULT_FAMILY, String::as_str)).unwrap_or_default();
    let kin = catalog.model(basis).cloned().unwrap_or_default();
    ModelInfo {
        id: id.to_owned(),
        name: id.to_owned(),
        family: family.cloned().unwrap_or_default(),
        context_window: if family.is_some() { kin.context_window } else { UNKNOWN_CONTEXT },
        max_output: UNKNOWN_MAX_OUTPUT,
        price: kin.price,
        thinking: ThinkingKind::AdaptiveOrAbsent,
        default_effort: family.map(|_| "high".to_owned()),
        effort_levels: kin.effort_levels,
        // A model outside the known families may be of any age; inside, it is newer than our list.
        reads_before_edit: family.is_none(),
        cost_basis: Some(format!("no price known for this model; counted as {basis}")),
        ..ModelInfo::default()
    }
}

/// What a message cost. Cache writes whose lifetime the API did not tell count as the short one.
pub fn cost_usd(usage: &wire::Usage, info: &ModelInfo) -> f64 {
    let long = usage.cache_creation.ephemeral_1h_input_tokens;
    let short = usage.cache_creation.ephemeral_5m_input_tokens;
    let short = short.max(usage.cache_creation_input_tokens.saturating_sub(long));
    let price = &info.price;
    let tokens = [
        (usage.input_tokens, price.input),
        (usage.output_tokens, price.output),
        (short, price.cache_write_5m),
        (long, price.cache_write_1h),
        (usage.cache_read_input_tokens, price.cache_read),
    ];
    let sum: f64 = tokens.iter().map(|(count, price)| *count as f64 * price).sum();
    sum / TOKENS_PER_PRICE + usage.server_tool_use.web_search_requests as f64 * USD_PER_WEB_SEARCH
}

/// The aliases as a menu.
pub fn listing(env: &ModelEnv) -> Vec<Listing> {
    let entry = |alias: &Alias| {
        let id = resolve(&alias.name, env);
        let info = info(&id);
        let description = format!("{}: {}", info.name, alias.about);
        Listing::new(&alias.name, alias.title.clone(), description, id, info)
    };
    let custom = env.custom.as_ref().map(|custom| {
        let name = custom.name.clone().unwrap_or_else(|| custom.id.clone());
        let description = custom.description.clone().unwrap_or_else(|| format!("{}: named by the user", custom.id));
        Listing::new(&custom.id, name, description, custom.id.clone(), info(&custom.id))
    });
    catalog().aliases.iter().map(entry).chain(custom).collect()
}

impl Listing {
    fn new(value: &str, display_name: String, description: String, resolved_model: String, info: ModelInfo) -> Self {
        Self {
            value: value.to_owned(),
            display_name,
            description,
            resolved_model,
            supports_effort: !info.effort_levels.is_empty(),
            supported_effort_levels: info.effort_levels,
            supports_adaptive_thinking: info.thinking.is_adaptive(),
        }
    }
}

fn set(value: Option<&str>) -> Option<&str> {
    value.map(str::trim).filter(|value| !value.is_empty())
}

pub(crate) fn split_long_context(asked: &str) -> (&str, bool) {
    let asked = asked.trim();
    let cut = asked.len().saturating_sub(LONG_CONTEXT_SUFFIX.len());
    match asked.split_at_checked(cut) {
        Some((name, end)) if end.eq_ignore_ascii_case(LONG_CONTEXT_SUFFIX) => (name.trim_end(), true),
        _ => (asked, false),
    }
}

/// The one spelling that a cloud's or a gateway's id and ours have in common.
pub fn canonical(id: &str) -> String {
    let lower = split_long_context(id).0.to_ascii_lowercase();
    let from = lower.find("claude-").unwrap_or(0);
    let name = lower[from..].split([':', '@']).next().unwrap_or_default().replace('.', "-");
    let name = name.strip_suffix("-latest").unwrap_or(&name);
    let name = ["-v1", "-v2"].iter().find_map(|version| name.strip_suffix(version)).unwrap_or(name);
    undated(name).to_owned()
}

fn undated(id: &str) -> &str {
    match id.rsplit_once('-') {
        Some((name, date)) if date.len() == 8 && date.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => id,
    }
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
mod tests;

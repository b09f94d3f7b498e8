//! Permission rules as people write them: `Tool` or `Tool(specifier)`.
//!
//! Parsing never widens: an empty specifier is an error, and a form that means nothing in an allow list
//! parses but never grants. Deliberately absent: which lists exist and where they come from (`config`).

use std::path::PathBuf;

use serde_json::Value;

use crate::names::{self, RuleKind};
use crate::path_pattern::PathPattern;
use crate::pattern::{self, CommandPattern, List};

/// The settings file or the flag that a rule was written in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Source {
    /// For people: `userSettings`, `cliArg`, a file's path.
    pub name: String,
    /// What `/p` path patterns are relative to.
    pub anchor: PathBuf,
}

/// A permission rule: `Tool` or `Tool(specifier)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Canonical tool name, which may hold `*`.
    pub tool: String,
    /// `None`: every use of the tool.
    pub specifier: Option<Specifier>,
    pub source: Source,
    /// As it was written.
    pub text: String,
}

/// The part of a rule in parentheses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Specifier {
    pub text: String,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Command(CommandPattern),
    Path(PathPattern),
    Domain(String),
    /// An agent or skill name, with its arguments.
    Name(CommandPattern),
    /// Nothing but `param:value` can be meant.
    Parameter,
}

/// Why a text is no permission rule, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("permission rule is empty: remove it or name a tool")]
    Empty,
    #[error("permission rule `{0}` has no tool name before its parenthesis")]
    NoTool(String),
    #[error("permission rule `{0}` has unbalanced parentheses: write Tool or Tool(specifier)")]
    Unbalanced(String),
    #[error("permission rule `{0}` has an empty specifier: write the bare tool name to mean every use")]
    EmptySpecifier(String),
    #[error("permission rule `{0}` has a tool name with characters that no tool name has")]
    BadTool(String),
    #[error("permission rule `{0}` negates a path, which rules cannot do: use the other list")]
    Negated(String),
    #[error("permission rule `{0}` names no host: write WebFetch(domain:example.com)")]
    NoHost(String),
}

/// The rules of all sources. A deny rule wins over an ask rule, and that over an allow rule.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    pub allow: Vec<Rule>,
    pub ask: Vec<Rule>,
    pub deny: Vec<Rule>,
}

/// Parses a rule. A text that is not understood is an error, so that a deny rule is never silently nothing.
pub fn parse_rule(text: &str, source: &Source) -> Result<Rule, RuleError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(RuleError::Empty);
    }
    let (name, inner) = match text.split_once('(') {
        None if text.contains(')') => return Err(RuleError::Unbalanced(text.to_owned())),
        None => (text, None),
        Some((name, rest)) => match rest.strip_suffix(')') {
            Some(inner) => (name.trim_end(), Some(inner.trim())),
            None => return Err(RuleError::Unbalanced(text.to_owned())),
        },
    };
    if name.is_empty() {
        return Err(RuleError::NoTool(text.to_owned()));
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*' | '.' | ':')) {
        return Err(RuleError::BadTool(text.to_owned()));
    }
    let tool = names::canonical_in_rules(name).to_owned();
    let specifier = match inner {
        None => None,
        Some("") => return Err(RuleError::EmptySpecifier(text.to_owned())),
        Some("*" | ":*") if !names::kind_of(&tool).names_paths() => None,
        Some(inner) => Some(parse_specifier(&tool, inner, text)?),
    };
    Ok(Rule { tool, specifier, source: source.clone(), text: text.to_owned() })
}

fn parse_specifier(tool: &str, inner: &str, whole: &str) -> Result<Specifier, RuleError> {
    let kind = match names::kind_of(tool) {
        RuleKind::Command => Kind::Command(CommandPattern::parse(inner)),
        RuleKind::Read | RuleKind::Search | RuleKind::Write => {
            if inner.starts_with('!') {
                return Err(RuleError::Negated(whole.to_owned()));
            }
            Kind::Path(PathPattern::parse(inner))
        }
        RuleKind::Host => match inner.strip_prefix("domain:").map(str::trim) {
            Some("") => return Err(RuleError::NoHost(whole.to_owned())),
            Some(host) => Kind::Domain(host.to_owned()),
            None => Kind::Parameter,
        },
        RuleKind::Agent | RuleKind::Skill => Kind::Name(CommandPattern::parse(inner.trim_start_matches('/'))),
        RuleKind::Session | RuleKind::Question | RuleKind::PlanEnd | RuleKind::Other => Kind::Parameter,
    };
    Ok(Specifier { text: inner.to_owned(), kind })
}

/// `A,B C(d, e f) G` becomes its rules: commas and spaces separate, but not inside parentheses.
pub fn split_list(text: &str) -> Vec<String> {
    let mut rules = vec![String::new()];
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (c == ',' || c.is_whitespace()) {
            rules.push(String::new());
        } else if let Some(last) = rules.last_mut() {
            last.push(c);
        }
    }
    rules.retain(|rule| !rule.is_empty());
    rules
}

impl Rule {
    /// Whether the rule speaks about this tool at all, by name.
    pub(crate) fn names(&self, tool: &str, list: List) -> bool {
        let rule = self.tool.as_str();
        if rule == tool {
            return true;
        }
        if rule.starts_with("mcp__") && !rule.contains('*') {
            return tool.strip_prefix(rule).is_some_and(|rest| rest.starts_with("__"));
        }
        if !rule.contains('*') {
            return false;
        }
        (list != List::Allow || grants_by_glob(rule)) && pattern::wildcard(rule, tool)
    }

    /// Every use of the tool, no condition.
    pub(crate) fn is_bare_for(&self, tool: &str, list: List) -> bool {
        self.specifier.is_none() && self.names(tool, list)
    }

    /// `Tool(param:value)` on a top-level scalar of the input; only ever restricts.
    pub(crate) fn parameter_hits(&self, tool: &str, input: &Value) -> bool {
        let Some(specifier) = &self.specifier else { return false };
        let Some((key, wanted)) = specifier.text.split_once(':') else { return false };
        if PRIMARY_FIELDS.contains(&key.trim()) || !self.names(tool, List::Deny) {
            return false;
        }
        let given = match input.get(key.trim()) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Bool(flag)) => flag.to_string(),
            Some(Value::Number(number)) => number.to_string(),
            _ => return false,
        };
        pattern::wildcard(wanted.trim(), &given)
    }
}

/// What a tool is about has its own grammar or none; `param:value` is for the switches beside it.
const PRIMARY_FIELDS: [&str; 12] = [
    "command",
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "url",
    "query",
    "prompt",
    "content",
    "new_source",
    "old_string",
    "new_string",
];

/// In an allow list a glob may only stand after a literal `mcp__server__`.
fn grants_by_glob(rule: &str) -> bool {
    let Some(rest) = rule.strip_prefix("mcp__") else { return false };
    let literal = rest.split('*').next().unwrap_or_default();
    literal.find("__").is_some_and(|at| at > 0)
}

impl RuleSet {
    /// A deny rule without condition takes the tool out of the request altogether.
    pub fn removes(&self, tool: &str) -> bool {
        let tool = names::canonical_in_rules(tool);
        self.deny.iter().any(|rule| rule.is_bare_for(tool, List::Deny))
    }

    /// Whether any rule, in any list, speaks about this tool.
    pub fn mentions_tool(&self, tool: &str) -> bool {
        let tool = names::canonical_in_rules(tool);
        let named = |list: List| move |rule: &Rule| rule.names(tool, list);
        self.allow.iter().any(named(List::Allow))
            || self.ask.iter().any(named(List::Ask))
            || self.deny.iter().any(named(List::Deny))
    }

    /// Rules that stand in a list where they mean nothing or something else, in words for people.
    pub fn warnings(&self) -> Vec<String> {
        let inert = self.allow.iter().filter_map(|rule| {
            let why = allow_problem(rule)?;
            Some(format!("allow rule `{}` from {} grants nothing: {why}", rule.text, rule.source.name))
        });
        inert.collect()
    }

    pub(crate) fn list(&self, list: List) -> &[Rule] {
        match list {
            List::Allow => &self.allow,
            List::Ask => &self.ask,
            List::Deny => &self.deny,
        }
    }

    pub(crate) fn bare(&self, list: List, tool: &str) -> Option<&Rule> {
        self.list(list).iter().find(|rule| rule.is_bare_for(tool, list))
    }
}

fn allow_problem(rule: &Rule) -> Option<&'static str> {
    if rule.tool.contains('*') && !grants_by_glob(&rule.tool) {
        return Some("a tool name with * may only stand after mcp__server__");
    }
    let tool = rule.tool.as_str();
    match &rule.specifier.as_ref()?.kind {
        Kind::Path(_) if tool == names::READ.name || tool == names::EDIT.name => None,
        Kind::Path(_) if names::kind_of(tool) == RuleKind::Write => {
            Some("write Edit(path), it covers every editing tool")
        }
        Kind::Path(_) => Some("write Read(path), it covers every reading tool"),
        Kind::Parameter if names::kind_of(tool) == RuleKind::Host => Some("write WebFetch(domain:host)"),
        Kind::Parameter => Some("param:value works in ask and deny lists only"),
        _ => None,
    }
}

//! What was typed after `ralph`: every key of `.ralph/config.toml` is a flag, plus a few that are about
//! this one run.

use std::path::PathBuf;

/// How a flag's value is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Whole,
    Amount,
    Switch,
    List,
    /// A text, or nothing: then it is just wanted.
    Maybe,
}

use Kind::{Amount, List, Maybe, Switch, Text, Whole};

/// Flag, key, kind, help.
const FLAGS: [(&str, &str, Kind, &str); 57] = [
    ("max", "max", Whole, "iterations at most; 0 is no such limit (also: ralph N)"),
    ("max-iterations", "max", Whole, "the same"),
    ("duration", "duration", Text, "wall time of the run, like 4h"),
    ("max-cost", "max_cost", Amount, "USD of the run"),
    ("max-tokens", "max_tokens", Whole, "tokens of the run"),
    ("iteration-time", "iteration_time", Text, "wall time of one iteration"),
    ("iteration-cost", "iteration_cost", Amount, "USD of one iteration"),
    ("iteration-tokens", "iteration_tokens", Whole, "tokens of one iteration"),
    ("day-time", "day_time", Text, "wall time of all your runs of a day, in all folders"),
    ("day-cost", "day_cost", Amount, "USD of all your runs of a day, in all folders"),
    ("day-tokens", "day_tokens", Whole, "tokens of all your runs of a day, in all folders"),
    ("idle", "idle", Text, "an agent that is silent this long is stopped (5m)"),
    ("prompt", "prompt", Text, "the prompt file (.ralph/prompt.md, docs/PROMPT.md)"),
    ("todo", "todo", Text, "the todo list (.ralph/todo.md)"),
    ("goal", "goal", Text, "a goal file; the summary DONE reaches it"),
    ("promise", "promise", Text, "the words that claim completion"),
    ("session", "session", Text, "clean, or continue: one conversation for all iterations"),
    ("cooldown", "cooldown", Text, "seconds between iterations"),
    ("check", "check", List, "a command that must pass before done counts; repeatable"),
    ("check-from", "check_from", Text, "a commit whose versions of the checks' scripts count"),
    ("check-time", "check_time", Text, "how long a check may take (10m)"),
    ("commit", "commit", Switch, "a git commit per iteration"),
    ("review", "review", Maybe, "another agent looks at it before done counts (--review [BACKEND:MODEL])"),
    ("review-model", "review_model", Text, "the reviewer's model"),
    ("review-rounds", "review_rounds", Whole, "reviews with findings before a person is asked (3)"),
    (
        "backend",
        "backend",
        Text,
        "auto, builtin, claude, a path, or an ACP agent: codex, gemini, opencode, goose, claude-acp, acp:COMMAND",
    ),
    ("model", "model", Text, "the model (sonnet)"),
    ("fallback-model", "fallback_model", Text, "tried when the loop gets nowhere"),
    ("fallback", "fallback", List, "provider:model, taken while a usage limit lasts; repeatable"),
    ("fallback-after", "fallback_after", Text, "the longest wait for a limit where a fallback is free (15m)"),
    ("summary-model", "summary_model", Text, "who condenses old iterations (haiku)"),
    ("reasoning", "reasoning", Text, "none, low, med, high"),
    ("permissions", "permissions", Text, "bypass, acceptEdits, default, plan"),
    ("sandbox", "sandbox", Text, "what commands may write: workspace, read-only, off"),
    ("keep-env", "keep_env", List, "a credential in the environment that another agent needs itself; repeatable"),
    ("tools", "tools", Text, "the agent's tools"),
    ("auth", "auth", Text, "auto, or login: the agent's own login"),
    ("output-format", "output_format", Text, "stream-json, args, json, text: how the agent is spoken to"),
    ("pty", "pty_mode", Switch, "give the agent a terminal"),
    ("structured", "structured", Switch, "require results of the form {\"summary\": …}"),
    ("live", "live", Switch, "show the agent's words as they come"),
    ("max-failures", "max_failures", Whole, "failed iterations in a row that end the run (3)"),
    ("max-outage", "max_outage", Text, "how long an unreachable API is waited for (--duration, else 24h)"),
    ("failure-pause", "failure_pause", Text, "seconds after a failed iteration (2)"),
    ("on-failure", "on_failure", Text, "continue, or stop at the first"),
    ("on-question", "on_question", Text, "stop, or wait for 'ralph answer'"),
    ("stuck", "stuck", Switch, "--stuck=false: never mind when nothing changes"),
    ("summarise-every", "summarise_every", Whole, "iterations between summaries (10); 0 is never"),
    ("watch", "watch", Switch, "when done, wait for new work and start again"),
    (
        "notify",
        "notify",
        List,
        "called at the end and for questions: a command, a web address, or 'terminal'; repeatable",
    ),
    ("json", "json", Switch, "print every event as a line of JSON"),
    ("no-tui", "no_tui", Switch, "plain lines, no screen"),
    ("stay", "stay", Switch, "keep the screen when the run is over, until q"),
    ("timestamps", "timestamps", Switch, "plain lines begin with the time"),
    ("keep-runs", "keep_runs", Whole, "recordings to keep (100); 0 is all"),
    ("keep-days", "keep_days", Whole, "days that a recording is kept (90); 0 is for ever"),
    ("keep-size", "keep_size", Text, "size of all recordings together (2GB); 0 is no such limit"),
];

/// Flags about this run alone.
const OWN: [(&str, &str); 7] = [
    ("detach", "start a run that goes on by itself; see it with 'ralph attach', end it with 'ralph stop'"),
    ("rehearse", "run against a script or a recording (--rehearse FILE), without a token"),
    ("fault", "what goes wrong in a rehearsal: limit, crash, malformed, slow; --fault crash@2, slow@3=30s"),
    ("continue", "go on with the last run where it is not done"),
    ("replay", "play a recording instead of running (--replay [FILE or RUN])"),
    ("help", "this text"),
    ("h", "the same"),
];

/// What `--replay` plays.
#[derive(Debug, PartialEq)]
pub enum Recording {
    Newest,
    /// A file, or the id of a run.
    File(PathBuf),
}

#[derive(Debug, Default, PartialEq)]
pub struct Wanted {
    pub settings: toml::Table,
    pub go_on: bool,
    /// The run outlives whoever starts it.
    pub detach: bool,
    pub replay: Option<Recording>,
    /// A script for the model.
    pub rehearse: Option<PathBuf>,
    /// What is to go wrong in a rehearsal, as it was typed.
    pub faults: Vec<String>,
    pub help: bool,
}

/// Whether `ralph WORD …` is about the loop: all flags are, misspelt ones too.
pub fn is_ours(word: &str) -> bool {
    word.starts_with('-') || word.parse::<u32>().is_ok()
}

fn find(name: &str) -> Option<&'static (&'static str, &'static str, Kind, &'static str)> {
    FLAGS.iter().find(|(flag, ..)| *flag == name)
}

pub fn parse(words: &[String]) -> Result<Wanted, String> {
    let mut wanted = Wanted::default();
    let mut words = words.iter().peekable();
    let mut number: Option<&String> = None;
    while let Some(word) = words.next() {
        if let Ok(max) = word.parse::<u32>() {
            if let Some(before) = number.replace(word) {
                return Err(format!("error: '{before}' and '{word}' are two numbers of iterations; give one."));
            }
            wanted.settings.insert("max".into(), toml::Value::Integer(max.into()));
            continue;
        }
        let Some(flag) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            return Err(format!("error: '{word}' is neither a number of iterations nor a flag. See 'ralph --help'."));
        };
        let (name, inline) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value.to_owned())));
        if wanted.own(name, inline.as_deref(), &mut words)? {
            continue;
        }
        let Some((_, key, kind, _)) = find(name) else { return Err(unknown(word, name)) };
        let value = match (inline, kind) {
            (Some(value), _) => value,
            (None, Switch) => "true".to_owned(),
            (None, Maybe) => {
                let is_value = |word: &&String| !word.starts_with('-') && word.parse::<u32>().is_err();
                words.next_if(is_value).cloned().unwrap_or_else(|| "true".to_owned())
            }
            (None, _) => words.next().cloned().ok_or_else(|| format!("error: option '--{name}' needs a value."))?,
        };
        wanted.set(name, key, *kind, value)?;
    }
    if wanted.rehearse.is_none() && !wanted.faults.is_empty() {
        return Err("error: option '--fault' is for rehearsals; add --rehearse FILE.".into());
    }
    Ok(wanted)
}

fn unknown(word: &str, name: &str) -> String {
    let names = FLAGS.iter().map(|(flag, ..)| *flag).chain(OWN.iter().map(|(flag, _)| *flag));
    // One letter is as near to any other.
    let names = names.filter(|known| known.len() > 1);
    let near = crate::nearest(name, names).map(|near| format!("Did you mean '--{near}'?"));
    let hint = near.unwrap_or_else(|| {
        let of_agent = |flag: &crate::Flag| {
            flag.name == name
                || flag.aliases.contains(&name)
                || flag.short.is_some_and(|short| name == short.to_string())
        };
        let agents = crate::FLAGS.iter().any(of_agent);
        let where_else = if agents { "It is one of the agent: 'ralph agent …'." } else { "See 'ralph 1 --help'." };
        where_else.to_owned()
    });
    format!("error: unknown option '{word}'. {hint}")
}

impl Wanted {
    /// Whether a switch was given, whatever the config says.
    pub fn is_on(&self, key: &str) -> bool {
        self.settings.get(key).and_then(toml::Value::as_bool).unwrap_or(false)
    }

    fn own<'a>(
        &mut self,
        name: &str,
        inline: Option<&str>,
        words: &mut std::iter::Peekable<impl Iterator<Item = &'a String>>,
    ) -> Result<bool, String> {
        match name {
            "continue" => self.go_on = switch(name, inline)?,
            "detach" => self.detach = switch(name, inline)?,
            "help" | "h" => self.help = switch(name, inline)?,
            "rehearse" => self.rehearse = Some(own_value(name, inline, words)?.into()),
            "fault" => self.faults.push(own_value(name, inline, words)?),
            "replay" => {
                let next = words.next_if(|word| !word.starts_with('-'));
                let file = inline.or(next.map(String::as_str));
                self.replay = Some(file.map_or(Recording::Newest, |file| Recording::File(file.into())));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set(&mut self, name: &str, key: &str, kind: Kind, value: String) -> Result<(), String> {
        let wrong = |what: &str| format!("error: option '--{name}' needs {what}, not '{value}'.");
        let value = match kind {
            Text | Maybe => toml::Value::String(value),
            Whole => toml::Value::Integer(value.parse::<u32>().map_err(|_| wrong("a whole number"))?.into()),
            Amount => toml::Value::Float(value.parse().map_err(|_| wrong("an amount in USD"))?),
            Switch => toml::Value::Boolean(value.parse().map_err(|_| wrong("true or false"))?),
            List => {
                let list = self.settings.entry(key).or_insert_with(|| toml::Value::Array(Vec::new()));
                if let toml::Value::Array(list) = list {
                    list.push(toml::Value::String(value));
                }
                return Ok(());
            }
        };
        self.settings.insert(key.into(), value);
        Ok(())
    }
}

fn switch(name: &str, inline: Option<&str>) -> Result<bool, String> {
    let wrong = |value: &str| format!("error: option '--{name}' needs true or false, not '{value}'.");
    inline.map_or(Ok(true), |value| value.parse().map_err(|_| wrong(value)))
}

fn own_value<'a>(
    name: &str,
    inline: Option<&str>,
    words: &mut impl Iterator<Item = &'a String>,
) -> Result<String, String> {
    let value = inline.map(str::to_owned).or_else(|| words.next().cloned());
    value.ok_or_else(|| format!("error: option '--{name}' needs a value."))
}

/// The options of a run as they are typed, with what they do.
pub fn option_lines() -> Vec<(String, &'static str)> {
    let keys = FLAGS.iter().map(|(flag, _, kind, help)| {
        let value = match kind {
            Switch => "",
            Maybe => " [value]",
            _ => " <value>",
        };
        (format!("--{flag}{value}"), *help)
    });
    // `-h` is known, but nobody needs to be told of it.
    let own = OWN.iter().filter(|(flag, _)| flag.len() > 1).map(|(flag, help)| (format!("--{flag}"), *help));
    keys.chain(own).collect()
}

pub fn help() -> String {
    let mut text =
        String::from("Usage: ralph [N] [options]\n\nRuns an agent in iterations until it is done, and checked.\n\n");
    for (option, help) in option_lines() {
        text.push_str(&format!("  {option:<28} {help}\n"));
    }
    text.push_str("\nEvery option but --detach, --rehearse, --fault, --continue, --replay and --help is also a key of .ralph/config.toml.\n\nExit codes:\n");
    text + &wire::exit_table()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Wanted, String> {
        parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn adversary_37_both_forms_of_a_value_are_the_same() {
        assert_eq!(parsed("--max=3").unwrap(), parsed("--max 3").unwrap());
        assert_eq!(parsed("--max-iterations=3").unwrap(), parsed("3").unwrap());
        assert_eq!(parsed("--check make --check=lint").unwrap().settings["check"].as_array().unwrap().len(), 2);
        assert_eq!(parsed("--commit").unwrap(), parsed("--commit=true").unwrap());
        assert_eq!(parsed("--review builtin:opus").unwrap(), parsed("--review=builtin:opus").unwrap());
        assert_eq!(parsed("--review 20").unwrap(), parsed("20 --review").unwrap(), "a number is one of iterations");
        assert_eq!(parsed("--review --commit").unwrap(), parsed("--review=true --commit").unwrap());
        assert_eq!(parsed("--continue=false").unwrap(), Wanted::default());
        assert!(parsed("--json").unwrap().is_on("json") && !parsed("--json=false").unwrap().is_on("json"));
    }

    #[test]
    fn mistakes_are_one_line_with_a_hint() {
        for (words, message) in [
            ("--max x", "error: option '--max' needs a whole number, not 'x'."),
            ("--max", "error: option '--max' needs a value."),
            ("--rehearse", "error: option '--rehearse' needs a value."),
            ("--fault crash", "error: option '--fault' is for rehearsals; add --rehearse FILE."),
            ("--modle m", "error: unknown option '--modle'. Did you mean '--model'?"),
            ("--max-iteratons 3", "error: unknown option '--max-iteratons'. Did you mean '--max-iterations'?"),
            ("-p hi", "error: unknown option '-p'. It is one of the agent: 'ralph agent …'."),
            ("--output-formt=x", "error: unknown option '--output-formt=x'. Did you mean '--output-format'?"),
            ("--zzzzzz", "error: unknown option '--zzzzzz'. See 'ralph 1 --help'."),
            ("3 4", "error: '3' and '4' are two numbers of iterations; give one."),
            ("--watch=x", "error: option '--watch' needs true or false, not 'x'."),
            ("3 four", "error: 'four' is neither a number of iterations nor a flag. See 'ralph --help'."),
        ] {
            assert_eq!(parsed(words).unwrap_err(), message, "{words}");
        }
    }

    #[test]
    fn every_flag_is_a_key_and_every_key_a_flag() {
        let template = include_str!("../../runner/src/templates/config.toml");
        let words = |line: &str| line.trim_start_matches("# ").split(" = ").next().unwrap_or_default().to_owned();
        let keys: Vec<String> = template.lines().filter(|line| line.contains(" = ")).map(words).collect();
        for key in keys {
            assert!(FLAGS.iter().any(|(_, known, ..)| *known == key), "{key} has no flag");
        }
    }
}

//! `ralph explain CALL…`: what would become of a tool call, by which rule of which file, and why.
//!
//! The same rules, mode and folders as a run with the same flags. Deliberately absent: asking hooks or
//! people, because neither should be bothered for a question.

use crate::failure::{Ended, Failure};
use crate::say;
use arguments::Arguments;
use policy::{Call, Decision, RuleKind, Verdict, names};
use resolve::{Environment, Judging};
use serde_json::{Value, json};
use tools::Disk;
use wire::ExitCode;

const USAGE: &str = "usage: ralph explain [agent's flags] [--] 'Bash(git push)' 'Read(~/.ssh/id_rsa)' …";

pub fn run(words: &[String], environment: &Environment) -> Ended {
    let typed = arguments::parse(words.iter().cloned())?;
    if typed.help {
        say::out(&format!("{USAGE}\n"));
        return Ok(ExitCode::Success);
    }
    if typed.positionals.is_empty() {
        return Err(Failure::form(&format!("{USAGE}\nFlags that take lists need -- before the calls.")));
    }
    say::out(&report(&typed, environment)?);
    Ok(ExitCode::Success)
}

fn report(typed: &Arguments, environment: &Environment) -> Result<String, Failure> {
    let judging = resolve::judging(typed, environment)?;
    for warning in &judging.warnings {
        say::err(warning);
    }
    let mut text = format!("mode: {}\n", judging.policy.mode.as_str());
    for written in &typed.positionals {
        let decided = decide(&judging, written)?;
        text.push_str(&format!("\n{written}\n"));
        for line in lines(&judging, written, &decided) {
            text.push_str(&format!("  {line}\n"));
        }
    }
    if judging.has_hooks {
        text.push_str(
            "\nPreToolUse hooks are set up here; they may still refuse a call, change it, or answer for you.\n",
        );
    }
    Ok(text)
}

fn lines(judging: &Judging, written: &str, decision: &Decision) -> Vec<String> {
    let verdict = match decision.verdict {
        Verdict::Allow => "allow",
        Verdict::Ask => "ask",
        Verdict::Deny => "deny",
    };
    let mut lines = vec![format!("{verdict}: {}", decision.reason)];
    if let Some(text) = &decision.run {
        lines.push(format!("The shell is given: {}", text.replace('\n', "\n    ")));
    }
    if decision.verdict == Verdict::Ask {
        lines.push("Where nobody can be asked, that means no.".to_owned());
    }
    if judging.policy.rules.removes(split(written).0) {
        lines.push("The tool is not even offered to the model.".to_owned());
    }
    lines
}

/// `Tool(what)` as rules are written.
fn split(written: &str) -> (&str, &str) {
    match written.trim().split_once('(') {
        Some((tool, rest)) => (tool.trim(), rest.strip_suffix(')').unwrap_or(rest)),
        None => (written.trim(), ""),
    }
}

fn decide(judging: &Judging, written: &str) -> Result<Decision, Failure> {
    let (tool, what) = split(written);
    if tool.is_empty() {
        return Err(Failure::usage(format!("'{written}' names no tool")).hint(USAGE));
    }
    let input = input(tool, what);
    // A call that names no file is judged all the same: that is an answer too.
    let found = tools::find(names::find_for_rules(tool).map_or(tool, |entry| entry.name));
    let targets = found.and_then(|found| found.targets(&input, &judging.workspace).ok()).unwrap_or_default();
    let rules = found.map_or(RuleKind::Other, |found| found.spec().entry.rules);
    Ok(policy::decide(&judging.policy, &Call { tool, rules, input: &input, targets: &targets }, &Disk))
}

/// The input that a call written like a rule would have; a JSON object is taken as it is.
fn input(tool: &str, what: &str) -> Value {
    if let Ok(value @ Value::Object(_)) = serde_json::from_str(what) {
        return value;
    }
    let Some(entry) = names::find_for_rules(tool).filter(|entry| !entry.subject.is_empty() && !what.is_empty()) else {
        return json!({});
    };
    match entry.rules {
        RuleKind::Host => {
            let url = what.strip_prefix("domain:").map_or_else(|| what.to_owned(), |host| format!("https://{host}/"));
            return json!({entry.subject: url});
        }
        RuleKind::Skill => {
            let (skill, args) = what.split_once(' ').unwrap_or((what, ""));
            return json!({entry.subject: skill, "args": args});
        }
        _ => {}
    }
    let mut input = json!({"pattern": "*"});
    input[entry.subject] = json!(what);
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_the_way_rules_are_written() {
        for (written, tool, expected) in [
            ("Bash(git push (x))", "Bash", json!({"pattern": "*", "command": "git push (x)"})),
            ("Read(~/.ssh/id)", "Read", json!({"pattern": "*", "file_path": "~/.ssh/id"})),
            ("WebFetch(domain:a.b)", "WebFetch", json!({"url": "https://a.b/"})),
            ("WebFetch(http://a.b/c)", "WebFetch", json!({"url": "http://a.b/c"})),
            ("Skill(fix 42 now)", "Skill", json!({"skill": "fix", "args": "42 now"})),
            ("mcp__db__query", "mcp__db__query", json!({})),
            (r#"Bash({"command":"ls","timeout":3})"#, "Bash", json!({"command": "ls", "timeout": 3})),
        ] {
            let (name, what) = split(written);
            assert_eq!((name, input(name, what)), (tool, expected), "{written}");
        }
    }
}

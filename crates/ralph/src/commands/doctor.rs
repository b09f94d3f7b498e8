//! `doctor`: what this machine and folder look like to us, and what is wrong with it. Changes nothing but
//! a scratch folder of its own, in which the sandbox is tried.

use super::doctor_endpoint;
use crate::failure::{Ended, Failure};
use crate::say;
use arguments::{Arguments, LoopOptions};
use resolve::{CONTRACT_VERSION, Environment, runtime, temp_dir};
use sandbox::{Examination, ProbeVerdict};
use wire::ExitCode;

/// `doctor [--json] [--endpoint]`, and `doctor try NAME ABOUT`: one attempt, for the doctor itself to start.
pub fn command(words: &[String], environment: &Environment) -> Ended {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [] => run(environment, false, false),
        ["--json"] => run(environment, true, false),
        ["--endpoint"] => run(environment, false, true),
        ["--json", "--endpoint"] | ["--endpoint", "--json"] => run(environment, true, true),
        ["try", name, about] => {
            let tried = sandbox::attempt(name, about);
            tried.map(|()| ExitCode::Success).map_err(|error| Failure::agent(format!("refused: {error}")))
        }
        _ => Err(Failure::usage("'ralph doctor' takes no arguments but --json and --endpoint.")),
    }
}

/// `asks`: the endpoint may be sent one question.
pub fn run(environment: &Environment, json: bool, asks: bool) -> Ended {
    let places = resolve::places(environment);
    let mut report = Report::default();
    report.line("version", &format!("ralph {}, speaking {CONTRACT_VERSION}", env!("CARGO_PKG_VERSION")));
    report.line("binary", &environment.exe.display().to_string());
    report.line("folder", &environment.cwd.display().to_string());
    report.line("configuration", &places.config_dir.display().to_string());
    report.line("trusted", &settings::trust_state(&places).explanation());
    let shell = tools::find_shell(
        environment.get("CLAUDE_CODE_SHELL").map(std::path::Path::new),
        environment.get("PATH").unwrap_or_default().as_ref(),
    );
    report.line("shell", &shell.display().to_string());
    let whole = resolve::with_settings(None, environment);
    let is_cloud = doctor_endpoint::is_cloud(&whole);
    if !is_cloud {
        let endpoint = whole.get("ANTHROPIC_BASE_URL").unwrap_or(model::ClientConfig::DEFAULT_BASE_URL);
        report.line("endpoint", &without_password(endpoint));
    }
    if let Some(problem) = resolve::endpoint_problem(environment) {
        report.problem("endpoint", problem.trim_start_matches("Error: "));
    }
    settings(&mut report, &places);
    doctor_endpoint::examine(&mut report, &whole, asks);
    if !is_cloud {
        credentials(&mut report, environment);
    }
    writable(&mut report, &places.config_dir);
    let scratch = format!("ralph-doctor-{}", uuid::Uuid::new_v4().simple());
    let found = runtime()?.block_on(sandbox::examine(&environment.exe, &temp_dir(), &scratch));
    sandbox(&mut report, &found);
    looped(&mut report, environment, &found);
    acp_agents(&mut report, environment);
    say::out(&if json { report.json(&found) } else { report.text() });
    Ok(if report.problems == 0 { ExitCode::Success } else { ExitCode::Failure })
}

#[derive(Default)]
pub(super) struct Report {
    lines: Vec<(bool, String, String)>,
    problems: u32,
}

impl Report {
    pub(super) fn line(&mut self, name: &str, value: &str) {
        self.lines.push((false, name.to_owned(), value.to_owned()));
    }

    pub(super) fn problem(&mut self, name: &str, value: &str) {
        self.problems += 1;
        self.lines.push((true, name.to_owned(), value.to_owned()));
    }

    fn text(&self) -> String {
        let mark = |problem: bool| if problem { '!' } else { ' ' };
        self.lines.iter().map(|(problem, name, value)| format!("{} {name:<14} {value}\n", mark(*problem))).collect()
    }

    fn json(&self, found: &Examination) -> String {
        let line = |(problem, name, value): &(bool, String, String)| serde_json::json!({"name": name, "value": value, "problem": problem});
        let lines: Vec<_> = self.lines.iter().map(line).collect();
        let whole = serde_json::json!({"problems": self.problems, "lines": lines, "sandbox": sandbox_json(found)});
        format!("{whole}\n")
    }
}

fn sandbox_json(found: &Examination) -> serde_json::Value {
    match found {
        Examination::None(why) => serde_json::json!({"available": false, "why": why}),
        Examination::Some { weaknesses, probes } => serde_json::json!({
            "available": true,
            "weaknesses": weaknesses.iter().map(|weakness| weakness.name()).collect::<Vec<_>>(),
            "probes": probes.iter()
                .map(|probe| serde_json::json!({"what": probe.what, "verdict": probe.verdict.name()}))
                .collect::<Vec<_>>(),
        }),
    }
}

/// An address may have a name and a password before its host.
fn without_password(address: &str) -> String {
    match address.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let host = rest[..end].rfind('@').map_or(0, |at| at + 1);
            format!("{scheme}://{}", &rest[host..])
        }
        None => address.to_owned(),
    }
}

fn settings(report: &mut Report, places: &settings::Places) {
    match settings::load(places, settings::Sources::default(), None, None, false) {
        Ok(loaded) => {
            let state = places.global_file().display().to_string();
            for warning in &loaded.warnings {
                if warning.starts_with(&state) {
                    report.problem("settings", warning);
                } else {
                    report.line("settings", warning);
                }
            }
        }
        Err(error) => report.problem("settings", &error.to_string()),
    }
}

fn credentials(report: &mut Report, environment: &Environment) {
    // Broken settings are told already; what they say of credentials is not known, and the rest is.
    let without_settings = || arguments::parse(["--setting-sources".to_owned(), String::new()]).unwrap_or_default();
    let found = resolve::credentials_only(None::<&Arguments>, environment)
        .or_else(|_| resolve::credentials_only(Some(&without_settings()), environment));
    match found {
        Ok(resolution) => match resolution.chosen {
            Some(chosen) => report.line("credentials", &chosen.label),
            None => report.problem(
                "credentials",
                "none found; set ANTHROPIC_API_KEY ('ralph auth status' shows what was looked at)",
            ),
        },
        Err(refusal) => report.problem("credentials", &refusal.text),
    }
}

fn sandbox(report: &mut Report, found: &Examination) {
    let (weaknesses, probes) = match found {
        Examination::None(why) => return report.problem("sandbox", why),
        Examination::Some { weaknesses, probes } => (weaknesses, probes),
    };
    for weakness in weaknesses {
        report.problem("sandbox", &weakness.to_string());
    }
    let named = |verdict: ProbeVerdict| -> Vec<&str> {
        probes.iter().filter(|probe| probe.verdict == verdict).map(|probe| probe.what).collect()
    };
    let held = named(ProbeVerdict::Held);
    report.line("sandbox", &format!("{} of {} attempts held, tried just now", held.len(), probes.len()));
    for what in held {
        report.line("", &format!("held: {what}"));
    }
    for what in named(ProbeVerdict::Unclear) {
        report.line("", &format!("not shown: {what} (does not work here without a sandbox either)"));
    }
    for what in named(ProbeVerdict::Open) {
        report.problem("sandbox", &format!("NOT held: {what}"));
    }
}

/// What a loop here would start from.
fn loop_files(report: &mut Report, folder: &runner::Folder, settings: &runner::Settings) {
    let name = |file: &std::path::Path| file.strip_prefix(folder.root()).unwrap_or(file).display().to_string();
    match (folder.find_prompt(settings.prompt.as_deref()), runner::unedited(folder, settings)) {
        (None, _) if folder.ralph().exists() => report.problem("loop prompt", "missing; 'ralph init' makes one"),
        (None, _) => report.line("loop prompt", "none here; 'ralph init' sets up a loop"),
        (Some(_), Some(what)) => report.problem("loop prompt", &what),
        (Some(prompt), None) => report.line("loop prompt", &name(&prompt)),
    }
    if folder.config().is_file() {
        report.line("loop config", &name(&folder.config()));
    }
    let repository = folder.root().ancestors().any(|above| above.join(".git").exists());
    report.line(
        "git",
        if repository { "yes" } else { "no repository here: a loop cannot tell what its iterations changed" },
    );
}

/// Which agent a loop here would run, and what would hold it.
fn looped(report: &mut Report, environment: &Environment, found: &Examination) {
    let folder = runner::Folder::new(&environment.cwd);
    let settings = match runner::Settings::load(&folder.config(), &LoopOptions::default()) {
        Ok(settings) => settings,
        Err(error) => {
            report.problem("loop config", &error.to_string());
            runner::Settings::default()
        }
    };
    loop_files(report, &folder, &settings);
    let wish = settings.backend;
    let path = environment.raw("PATH").unwrap_or_default();
    let backend = match runner::choose(&wish, &environment.exe, &environment.cwd, path.as_ref()) {
        Ok(backend) => backend,
        Err(error) => return report.problem("loop", &error.to_string()),
    };
    let holds = match (found, backend.is_ours()) {
        (Examination::None(_), _) => "nothing can hold it here, and loops need '--sandbox off'",
        (Examination::Some { .. }, true) => "ours; the sandbox holds its commands",
        (Examination::Some { .. }, false) => "not ours; the sandbox holds all of it",
    };
    let name = runner::acp_command(&backend.name).map_or_else(|| backend.program.display().to_string(), str::to_owned);
    report.line("loop", &format!("would run {name}: {holds}"));
}

/// Which ACP agents a loop here could run by a short name.
fn acp_agents(report: &mut Report, environment: &Environment) {
    let path = environment.raw("PATH").unwrap_or_default();
    let is_there = |name: &str| runner::choose(name, &environment.exe, &environment.cwd, path.as_ref()).is_ok();
    let (there, missing): (Vec<_>, Vec<_>) =
        acp::PRESETS.iter().map(|preset| preset.name).partition(|name| is_there(name));
    let list = |names: &[&str]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    report.line("ACP agents", &format!("installed: {}; not installed: {}", list(&there), list(&missing)));
}

/// Only looks: a folder that is missing is made when the first session needs it.
fn writable(report: &mut Report, folder: &std::path::Path) {
    if folder.exists() && rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_err() {
        report.problem("transcripts", &format!("{} cannot be written; sessions will not be kept", folder.display()));
    }
}

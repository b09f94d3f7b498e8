//! `doctor`: what this machine and folder look like to us, and what is wrong with it. Reads only.

use crate::argv::Typed;
use crate::environment::Environment;
use crate::meaning::{self, CONTRACT_VERSION};
use crate::say;
use std::path::PathBuf;
use wire::ExitCode;

pub fn run(environment: &Environment) -> ExitCode {
    let places = meaning::places(environment);
    let mut report = Report::default();
    report.line("version", &format!("ralph {}, speaking {CONTRACT_VERSION}", env!("CARGO_PKG_VERSION")));
    report.line("binary", &environment.exe.display().to_string());
    report.line("folder", &environment.cwd.display().to_string());
    report.line("configuration", &places.config_dir.display().to_string());
    report.line(
        "trusted",
        if config::is_trusted(&places) {
            "yes"
        } else {
            "no (run 'ralph trust' to let this folder's settings grant things)"
        },
    );
    let shell = tools::find_shell(
        environment.get("CLAUDE_CODE_SHELL").map(std::path::Path::new),
        environment.get("PATH").unwrap_or_default().as_ref(),
    );
    report.line("shell", &shell.display().to_string());
    let endpoint = environment.get("ANTHROPIC_BASE_URL").unwrap_or(model::ClientConfig::DEFAULT_BASE_URL);
    report.line("endpoint", &without_password(endpoint));
    if let Some(problem) = meaning::endpoint_problem(environment) {
        report.problem("endpoint", problem.trim_start_matches("Error: "));
    }
    settings(&mut report, &places);
    credentials(&mut report, environment);
    writable(&mut report, &places.config_dir);
    say::out(&report.text);
    if report.problems == 0 { ExitCode::Success } else { ExitCode::Failure }
}

#[derive(Default)]
struct Report {
    text: String,
    problems: u32,
}

impl Report {
    fn line(&mut self, name: &str, value: &str) {
        self.text.push_str(&format!("  {name:<14} {value}\n"));
    }

    fn problem(&mut self, name: &str, value: &str) {
        self.problems += 1;
        self.text.push_str(&format!("! {name:<14} {value}\n"));
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

fn settings(report: &mut Report, places: &config::Places) {
    match config::load(places, config::Sources::default(), None, None, false) {
        Ok(loaded) => {
            for warning in &loaded.warnings {
                let is_broken = |(file, _): &(PathBuf, String)| warning.starts_with(&file.display().to_string());
                if loaded.broken.iter().any(is_broken) {
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
    match meaning::credentials_only(None::<&Typed>, environment) {
        Ok(resolution) => match resolution.chosen {
            Some(chosen) => report.line("credentials", &chosen.label),
            None => report
                .problem("credentials", "none found; set ANTHROPIC_API_KEY ('auth status' shows what was looked at)"),
        },
        Err(refusal) => report.problem("credentials", &refusal.text),
    }
}

/// Only looks: a folder that is missing is made when the first session needs it.
fn writable(report: &mut Report, folder: &std::path::Path) {
    if folder.exists() && rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_err() {
        report.problem("transcripts", &format!("{} cannot be written; sessions will not be kept", folder.display()));
    }
}

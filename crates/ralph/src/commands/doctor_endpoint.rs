//! `doctor` and the endpoint: which provider is chosen, and, for an address of the user's, which profile it looks like.
//!
//! With `--endpoint` one question is asked: the server's list of models, without a credential. Nothing else depends on
//! its answer.

use super::doctor::Report;
use ::cloud::world::HttpRequest;
use resolve::{Environment, runtime};
use std::time::Duration;

/// A server that has not answered by then says nothing.
const WAIT: Duration = Duration::from_secs(2);
/// Lists of models are a few kilobytes.
const ANSWER_MAX: usize = 256 * 1024;

/// Whether a switch chooses a cloud: then the first-party API's address and credentials do not count.
pub fn is_cloud(environment: &Environment) -> bool {
    let lookup = |name: &str| environment.get(name).map(str::to_owned);
    !model::Choice::from_switches(&model::Variables::new(&lookup)).is_first_party()
}

pub fn examine(report: &mut Report, environment: &Environment, asks: bool) {
    let lookup = |name: &str| environment.get(name).map(str::to_owned);
    let choice = model::Choice::from_switches(&model::Variables::new(&lookup));
    if let Some(switch) = choice.switch() {
        report.line("provider", &format!("{} ({switch} is set)", choice.name()));
        for ignored in choice.ignored_switches() {
            report.problem(
                "provider",
                &format!("{ignored} is ignored, because {switch} is set as well; unset one of them"),
            );
        }
        for (label, value) in resolve::described_provider(environment).into_iter().skip(1) {
            match label {
                "Problem" => report.problem("provider", &value),
                label => report.line("provider", &format!("{label}: {value}")),
            }
        }
        report.line("credentials", "looked for at the first request");
        return;
    }
    // Settings that cannot be read are told already.
    let profile = match resolve::profile(environment) {
        Some(Ok(profile)) => profile.name,
        Some(Err(refusal)) => return report.problem("profile", refusal.text.trim_start_matches("Error: ")),
        None => return,
    };
    let Some(base) = environment.get("ANTHROPIC_BASE_URL").filter(|_| asks) else { return };
    let named = profile.as_str();
    match looks_like(base, environment) {
        Some(found) if found == profile => report.line("profile", &format!("{named}, and the endpoint looks like it")),
        Some(found) => {
            let found = found.as_str();
            report.line(
                "profile",
                &format!("{named}; the endpoint looks like {found}: set RALPH_ENDPOINT_PROFILE={found}"),
            );
        }
        None => report.line("profile", &format!("{named}; the endpoint does not say which one it needs")),
    }
}

fn looks_like(base: &str, environment: &Environment) -> Option<model::ProfileName> {
    let client = resolve::api(environment).ok()?;
    let base = base.trim_end_matches('/');
    let url = if base.ends_with("/v1") { format!("{base}/models") } else { format!("{base}/v1/models") };
    let request = HttpRequest { method: "GET", url, wait: WAIT, ..HttpRequest::default() };
    let answer = runtime().ok()?.block_on(model::send_small(&client, request, ANSWER_MAX)).ok()?;
    model::suggest_profile(answer.status, &answer.body)
}

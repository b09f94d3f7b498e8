//! The ways to a model. Each provider is one file that implements [`Provider`]; this module chooses among them.
//!
//! Everything here is pure: variables come in through [`Variables`], an [`Endpoint`] or an error that names the
//! variable comes out. Deliberately absent: finding credentials (`credential`), sending (`client`), and guessing
//! a provider from an address.

mod anthropic_aws;
mod aws_auth;
mod bedrock;
mod endpoint;
mod first_party;
mod foundry;
mod ids;
mod mantle;
mod variables;
mod vertex;

pub use endpoint::{AuthPlan, Endpoint, EntraPlan, GooglePlan, Operation, SmallQuestions, StreamFormat};
pub(crate) use first_party::DEFAULT_BASE_URL;
pub use variables::{SetupError, Variables};

use endpoint::Provider;

/// In the order in which they win when several switches are set.
const PROVIDERS: &[&dyn Provider] = &[
    &bedrock::Bedrock,
    &foundry::Foundry,
    &anthropic_aws::AnthropicAws,
    &mantle::Mantle,
    &vertex::Vertex,
    &first_party::FirstParty,
];

/// Providers beside the one that is chosen.
const OTHERS: usize = PROVIDERS.len() - 1;

/// The provider that the switches choose, and the switches that lost.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    provider: &'static dyn Provider,
    ignored: [Option<&'static str>; OTHERS],
}

impl Choice {
    /// Looks at the switches only.
    pub fn from_switches(variables: &Variables) -> Self {
        let mut on = PROVIDERS.iter().filter(|provider| provider.switch().is_none_or(|name| variables.is_on(name)));
        let provider = on.next().copied().unwrap_or(&first_party::FirstParty);
        let mut ignored = [None; OTHERS];
        // Bedrock beside Mantle is a mix that users configure on purpose.
        let mix = |name: &str| provider.name() == "bedrock" && name == mantle::SWITCH;
        for (place, name) in
            ignored.iter_mut().zip(on.filter_map(|provider| provider.switch()).filter(|name| !mix(name)))
        {
            *place = Some(name);
        }
        Self { provider, ignored }
    }

    /// The provider called so before a model's name (`bedrock:us.anthropic.…`).
    pub fn by_name(name: &str) -> Option<Self> {
        let provider = PROVIDERS.iter().find(|provider| provider.short_name() == name || provider.name() == name)?;
        Some(Self { provider: *provider, ignored: [None; OTHERS] })
    }

    /// The variables that choose a provider.
    pub fn all_switches() -> impl Iterator<Item = &'static str> {
        PROVIDERS.iter().filter_map(|provider| provider.switch())
    }

    pub fn name(&self) -> &'static str {
        self.provider.name()
    }

    pub fn is_first_party(&self) -> bool {
        self.provider.switch().is_none()
    }

    pub fn switch(&self) -> Option<&'static str> {
        self.provider.switch()
    }

    /// Switches that are set and not followed.
    pub fn ignored_switches(&self) -> impl Iterator<Item = &'static str> {
        self.ignored.into_iter().flatten()
    }

    /// The endpoint in words: what `auth status --text` shows. What is missing or wrong is one of them.
    pub fn described(&self, variables: &Variables) -> Vec<(&'static str, String)> {
        let mut lines = vec![("API provider", self.name().to_owned())];
        match self.endpoint(variables) {
            Ok(endpoint) => {
                let is_vertex = self.name() == "vertex";
                lines.extend(endpoint.project.clone().map(|project| ("GCP project", project)));
                let region = if is_vertex { "Default region" } else { "AWS region" };
                lines.extend(endpoint.region.clone().map(|name| (region, name)));
                let workspace = endpoint.headers.iter().find(|(name, _)| *name == "anthropic-workspace-id");
                lines.extend(workspace.map(|(_, id)| ("Workspace ID", id.clone())));
                let resource = variables.get("ANTHROPIC_FOUNDRY_RESOURCE").filter(|_| self.name() == "foundry");
                lines.extend(resource.map(|name| ("Microsoft Foundry resource", name)));
                lines.extend(endpoint.is_custom_base.then(|| ("Base URL", without_password(&endpoint.base))));
            }
            Err(problem) => lines.push(("Problem", problem.to_string())),
        }
        lines
    }

    pub fn endpoint(&self, variables: &Variables) -> Result<Endpoint, SetupError> {
        self.provider.endpoint(variables)
    }
}

fn without_password(url: &url::Url) -> String {
    let mut url = url.clone();
    // Neither can fail for an address with a host.
    let _ = url.set_password(None);
    let _ = url.set_username("");
    url.to_string()
}

/// Splits `provider:model` at the first colon, only behind the name of a provider: ids of Bedrock hold colons.
pub fn split_provider(text: &str) -> (Option<Choice>, &str) {
    match text.split_once(':').map(|(name, model)| (Choice::by_name(name.trim()), model)) {
        Some((Some(choice), model)) => (Some(choice), model.trim()),
        _ => (None, text.trim()),
    }
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;

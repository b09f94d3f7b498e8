//! The variables that describe an endpoint, and what can be wrong with them.

use crate::secret::Secret;
use url::Url;

/// Variables by name. An empty value counts as unset.
pub struct Variables<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
    /// The region of the active AWS profile, where its file names one.
    pub profile_region: Option<String>,
    /// The project of the Google credential file: its own, else the one that is billed.
    pub file_project: Option<String>,
}

impl<'a> Variables<'a> {
    pub fn new(lookup: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { lookup, profile_region: None, file_project: None }
    }

    pub fn get(&self, name: &str) -> Option<String> {
        (self.lookup)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// The reference's idea of "on": `1`, `true`, `yes`, `on` in any case.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on"))
    }

    /// The AWS region; a value that is no name of a region counts as unset.
    pub(super) fn aws_region(&self) -> String {
        let named = ["AWS_REGION", "AWS_DEFAULT_REGION"].iter().filter_map(|name| self.get(name));
        named.chain(self.profile_region.clone()).find(|name| is_region(name)).unwrap_or_else(|| "us-east-1".to_owned())
    }

    /// With authorisation skipped, a token for the gateway in front may still be sent.
    pub(super) fn gateway_token(&self) -> Option<Secret> {
        self.get("ANTHROPIC_AUTH_TOKEN").map(Secret::new)
    }

    pub(super) fn url(&self, name: &'static str, or: &str) -> Result<Url, SetupError> {
        let text = self.get(name).unwrap_or_else(|| or.to_owned());
        let url = Url::parse(&text).map_err(|_| SetupError::BadAddress(name))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(SetupError::BadAddress(name));
        }
        Ok(url)
    }
}

pub(super) fn is_region(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// What is missing or wrong, by the name of the variable that says it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    #[error("{0} is not an http or https address")]
    BadAddress(&'static str),
    #[error("ANTHROPIC_VERTEX_PROJECT_ID is not set, and no Google credential file names a project")]
    NoProject,
    #[error("{0} is not set")]
    Missing(&'static str),
    #[error("neither ANTHROPIC_FOUNDRY_RESOURCE nor ANTHROPIC_FOUNDRY_BASE_URL is set")]
    NoResource,
    #[error("ANTHROPIC_FOUNDRY_RESOURCE and ANTHROPIC_FOUNDRY_BASE_URL are both set; unset one of them")]
    TwoResources,
    #[error("ANTHROPIC_FOUNDRY_RESOURCE is not a resource's name (2 to 64 letters, digits and hyphens)")]
    BadResource,
}

//! Where requests go and what they carry: the address, the format of answers, how each request is authorised.

use super::Provider;
use crate::config::Secret;
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
    #[error("ANTHROPIC_AWS_WORKSPACE_ID is not set")]
    NoWorkspace,
    #[error("neither ANTHROPIC_FOUNDRY_RESOURCE nor ANTHROPIC_FOUNDRY_BASE_URL is set")]
    NoResource,
    #[error("ANTHROPIC_FOUNDRY_RESOURCE and ANTHROPIC_FOUNDRY_BASE_URL are both set; unset one of them")]
    TwoResources,
    #[error("ANTHROPIC_FOUNDRY_RESOURCE is not a resource's name (2 to 64 letters, digits and hyphens)")]
    BadResource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFormat {
    ServerSentEvents,
    /// AWS's binary frames, each with one event of the Messages API inside.
    EventStream,
}

/// How a request gets its credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthPlan {
    /// The credential of the client's own configuration: key, token, helper or login.
    FirstParty,
    /// Fixed headers.
    Headers(Vec<(&'static str, Secret)>),
    /// Signed with keys from the AWS chain.
    SigV4 { service: &'static str, region: String },
    /// A bearer token from Google.
    Google(GooglePlan),
    /// A bearer token from Entra.
    Entra(EntraPlan),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GooglePlan {
    pub scope: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntraPlan {
    pub resource: &'static str,
}

/// One resolved way to a model.
#[derive(Debug, Clone)]
pub struct Endpoint {
    pub(super) provider: &'static dyn Provider,
    pub base: Url,
    /// Where the base address was chosen by the user, not by the provider's rules.
    pub is_custom_base: bool,
    pub region: Option<String>,
    pub project: Option<String>,
    /// Models that are asked in another region.
    pub(super) model_regions: Vec<(&'static str, String)>,
    /// Headers of every request beside the credential.
    pub headers: Vec<(&'static str, String)>,
    pub auth: AuthPlan,
    pub stream: StreamFormat,
    /// In front of Bedrock's model ids.
    pub id_prefix: Option<String>,
    /// Mantle beside Bedrock, where both switches are on: each id goes to the one that has it.
    pub(super) beside: Option<Box<Endpoint>>,
}

impl Endpoint {
    pub(super) fn new(provider: &'static dyn Provider, base: Url, auth: AuthPlan) -> Self {
        Self {
            provider,
            base,
            is_custom_base: false,
            region: None,
            project: None,
            model_regions: Vec::new(),
            headers: Vec::new(),
            auth,
            stream: StreamFormat::ServerSentEvents,
            id_prefix: None,
            beside: None,
        }
    }

    /// The region that this model is asked in.
    pub fn region_of(&self, model: &str) -> Option<&str> {
        let canonical = crate::canonical_model(model);
        let own = self.model_regions.iter().find(|(name, _)| *name == canonical).map(|(_, region)| region.as_str());
        own.or(self.region.as_deref())
    }
}

/// The Messages paths, which four providers share.
pub(super) fn messages_path(operation: super::Operation) -> String {
    match operation {
        super::Operation::Stream => "v1/messages?beta=true".to_owned(),
        super::Operation::CountTokens => "v1/messages/count_tokens?beta=true".to_owned(),
    }
}

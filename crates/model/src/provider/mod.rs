//! The ways to a model. Each provider is one file that implements [`Provider`]; this module chooses among them.
//!
//! Everything here is pure: variables come in through [`Variables`], an [`Endpoint`] or an error that names the
//! variable comes out. Deliberately absent: finding credentials (`credential`), sending (`client`), and guessing
//! a provider from an address.

mod anthropic_aws;
mod bedrock;
mod endpoint;
mod first_party;
mod foundry;
mod ids;
mod mantle;
mod vertex;

pub use endpoint::{AuthPlan, Endpoint, EntraPlan, GooglePlan, SetupError, StreamFormat, Variables};

use crate::request::Request;
use serde_json::{Map, Value};
use url::Url;

/// What is asked of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Stream,
    CountTokens,
}

/// Where a beta goes: most providers take a header, one takes some of them in the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BetaPlace {
    Header,
    Body,
}

/// One way to a model.
pub(crate) trait Provider: Send + Sync + std::fmt::Debug {
    /// As `modelUsage` and `ralph auth status` call it.
    fn name(&self) -> &'static str;

    /// As `--fallback-model NAME:MODEL` calls it.
    fn short_name(&self) -> &'static str;

    /// The variable that turns it on; the first-party API needs none.
    fn switch(&self) -> Option<&'static str>;

    /// The endpoint that the variables describe.
    fn endpoint(&'static self, variables: &Variables) -> Result<Endpoint, SetupError>;

    /// The provider's id for an id or alias of ours.
    fn model_id(&self, asked: &ids::Asked, endpoint: &Endpoint) -> String;

    /// The path behind the base address, with the escapes of the wire, and the query.
    fn path(&self, endpoint: &Endpoint, operation: Operation, model: &str) -> String;

    /// The base address for this model, where it differs from the endpoint's own.
    fn base(&self, _endpoint: &Endpoint, _model: &str) -> Option<String> {
        None
    }

    /// Changes the fields of the body, which are those of the Messages API.
    fn shape_body(&self, _operation: Operation, _head: &mut Map<String, Value>) {}

    fn beta_place(&self, _beta: &str) -> BetaPlace {
        BetaPlace::Header
    }
}

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

    pub fn endpoint(&self, variables: &Variables) -> Result<Endpoint, SetupError> {
        self.provider.endpoint(variables)
    }
}

/// Splits `provider:model` at the first colon, only behind the name of a provider: ids of Bedrock hold colons.
pub fn split_provider(text: &str) -> (Option<Choice>, &str) {
    match text.split_once(':').map(|(name, model)| (Choice::by_name(name.trim()), model)) {
        Some((Some(choice), model)) => (Some(choice), model.trim()),
        _ => (None, text.trim()),
    }
}

impl Endpoint {
    pub fn provider_name(&self) -> &'static str {
        self.provider.name()
    }

    /// Who answers for this id: of two endpoints that are used together, the one that has it.
    pub fn provider_of(&self, model: &str) -> &'static str {
        self.serving(model).provider.name()
    }

    /// The endpoint that this id goes to.
    pub(crate) fn serving(&self, model: &str) -> &Self {
        self.other(model).unwrap_or(self)
    }

    /// The id to send for what the user asked for.
    pub fn model_id(&self, asked: &str, env: &crate::ModelEnv) -> String {
        self.provider.model_id(&ids::Asked::new(asked, env), self)
    }

    /// The whole address of a request for this model.
    pub(crate) fn url(&self, operation: Operation, model: &str) -> Url {
        if let Some(other) = self.other(model) {
            return other.url(operation, model);
        }
        let other = self.provider.base(self, model).and_then(|base| Url::parse(&base).ok());
        let mut url = other.unwrap_or_else(|| self.base.clone());
        let path = self.provider.path(self, operation, model);
        let (path, query) = path.split_once('?').map_or((path.as_str(), None), |(path, query)| (path, Some(query)));
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/{path}"));
        if query.is_some() {
            url.set_query(query);
        }
        url
    }

    /// The body in the provider's form.
    pub(crate) fn body(&self, operation: Operation, request: &Request) -> Result<Vec<u8>, serde_json::Error> {
        if let Some(other) = self.other(&request.model) {
            return other.body(operation, request);
        }
        request.body_with(operation == Operation::CountTokens, |head| {
            let in_body: Vec<&str> =
                request.all_betas().filter(|beta| self.provider.beta_place(beta) == BetaPlace::Body).collect();
            if !in_body.is_empty() {
                head.insert("anthropic_beta".into(), in_body.into());
            }
            self.provider.shape_body(operation, head);
        })
    }

    fn other(&self, model: &str) -> Option<&Self> {
        self.beside.as_deref().filter(|_| mantle::is_own_id(model))
    }

    pub(crate) fn takes_in_header(&self, beta: &str) -> bool {
        self.provider.beta_place(beta) == BetaPlace::Header
    }
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;

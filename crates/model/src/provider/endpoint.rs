//! An endpoint and the provider behind it: the address, the format of answers, the authorisation of requests.

use super::ids::{self, is_mantle_id};
use super::variables::{SetupError, Variables};
use crate::catalog::{ModelEnv, ModelNames, canonical};
use crate::request::{Request, WEB_SEARCH_BETA};
use crate::secret::Secret;
use serde_json::{Map, Value};
use std::borrow::Cow;
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
    /// The provider refuses it, or does without.
    Nowhere,
}

/// The model for small questions, where the user names none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmallQuestions {
    /// Every account has Haiku.
    Haiku,
    /// The session's model: no other one is known to be there.
    SessionModel,
    /// The session's model where the user named it, else Sonnet.
    SonnetUnlessNamed,
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

    fn small_questions(&self) -> SmallQuestions {
        SmallQuestions::SessionModel
    }

    /// The base address for this model, where it differs from the endpoint's own.
    fn base(&self, _endpoint: &Endpoint, _model: &str) -> Option<String> {
        None
    }

    /// Changes the fields of the body, which are those of the Messages API.
    fn shape_body(&self, _operation: Operation, _head: &mut Map<String, Value>) {}

    fn beta_place(&self, beta: &str) -> BetaPlace;

    /// The whole body of a question for the number of tokens, from that of the Messages API.
    fn count_body(&self, body: Vec<u8>) -> Vec<u8> {
        body
    }

    /// The variable with which the user chooses the address, for messages.
    fn base_variable(&self) -> &'static str;
}

/// Betas of APIs that are Anthropic's own, behind whatever door.
pub(super) fn own_beta_place(beta: &str) -> BetaPlace {
    if beta == WEB_SEARCH_BETA { BetaPlace::Nowhere } else { BetaPlace::Header }
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

impl AuthPlan {
    /// Authorisation is left to a gateway; the user's token for it is sent where there is one.
    pub(super) fn gateway(variables: &Variables) -> Self {
        let token = variables.gateway_token();
        Self::Headers(token.map(|token| ("authorization", token.bearer())).into_iter().collect())
    }
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
    /// Models that are asked in another region, by their canonical names.
    pub(super) model_regions: Vec<(Cow<'static, str>, String)>,
    /// Headers of every request beside the credential.
    pub headers: Vec<(&'static str, String)>,
    pub auth: AuthPlan,
    pub stream: StreamFormat,
    /// In front of Bedrock's model ids.
    pub id_prefix: Option<String>,
    /// Where Bedrock lists its inference profiles. Absent where the user chose the prefix.
    pub(crate) profiles: Option<Url>,
    /// Where Bedrock tells about inference profiles.
    pub(super) control: Option<Url>,
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
            profiles: None,
            control: None,
            beside: None,
        }
    }

    /// The region that this model is asked in.
    pub fn region_of(&self, model: &str) -> Option<&str> {
        let canonical = canonical(model);
        let own = self.model_regions.iter().find(|(name, _)| *name == canonical).map(|(_, region)| region.as_str());
        own.or(self.region.as_deref())
    }

    /// Who answers for this id: of two endpoints that are used together, the one that has it.
    pub fn provider_of(&self, model: &str) -> &'static str {
        self.serving(model).provider.name()
    }

    pub fn small_questions(&self) -> SmallQuestions {
        self.provider.small_questions()
    }

    /// The endpoint that this id goes to.
    pub(crate) fn serving(&self, model: &str) -> &Self {
        self.other(model).unwrap_or(self)
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
        if let Some(other) = self.other(request.model_id()) {
            return other.body(operation, request);
        }
        let is_count = operation == Operation::CountTokens;
        let body = request.body_with(is_count, |head| {
            let in_body: Vec<&str> =
                request.all_betas().filter(|beta| self.provider.beta_place(beta) == BetaPlace::Body).collect();
            if !in_body.is_empty() {
                head.insert("anthropic_beta".into(), in_body.into());
            }
            self.provider.shape_body(operation, head);
        })?;
        Ok(if is_count { self.provider.count_body(body) } else { body })
    }

    /// The variable with which the user chooses the address.
    pub(crate) fn base_variable(&self) -> &'static str {
        self.provider.base_variable()
    }

    /// Where Bedrock tells about one inference profile.
    pub(crate) fn profile_url(&self, id: &str) -> Option<Url> {
        let mut url = self.control.clone()?;
        let path = format!("{}/{}", url.path().trim_end_matches('/'), cloud::sigv4::escaped(id));
        url.set_path(&path);
        Some(url)
    }

    /// The addresses of the endpoint, with the variables that choose them.
    pub(crate) fn bases(&self) -> impl Iterator<Item = (&Url, &'static str)> {
        std::iter::once(self).chain(self.beside.as_deref()).map(|one| (&one.base, one.base_variable()))
    }

    /// Every address that requests go to.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &Url> {
        let beside = self.beside.as_deref().map(|other| &other.base);
        std::iter::once(&self.base).chain(beside).chain(self.control.as_ref())
    }

    /// The authorisation of requests for this model: they are signed for the region that they go to.
    pub(crate) fn auth_of(&self, model: &str) -> AuthPlan {
        let serving = self.serving(model);
        match (&serving.auth, serving.region_of(model)) {
            (AuthPlan::SigV4 { service, .. }, Some(region)) => AuthPlan::SigV4 { service, region: region.to_owned() },
            (plan, _) => plan.clone(),
        }
    }

    /// The plans for authorisation, that of Mantle beside Bedrock included.
    pub(crate) fn auth_plans(&self) -> impl Iterator<Item = &AuthPlan> {
        std::iter::once(&self.auth).chain(self.beside.as_deref().map(|other| &other.auth))
    }

    fn other(&self, model: &str) -> Option<&Self> {
        self.beside.as_deref().filter(|_| is_mantle_id(model))
    }

    pub(crate) fn takes_in_header(&self, beta: &str) -> bool {
        self.provider.beta_place(beta) == BetaPlace::Header
    }
}

impl ModelNames for Endpoint {
    fn provider_name(&self) -> &'static str {
        self.provider.name()
    }

    fn model_id(&self, asked: &str, env: &ModelEnv) -> String {
        self.provider.model_id(&ids::Asked::new(asked, env), self)
    }
}

/// The Messages paths, which four providers share.
pub(super) fn messages_path(operation: Operation) -> String {
    match operation {
        Operation::Stream => "v1/messages?beta=true".to_owned(),
        Operation::CountTokens => "v1/messages/count_tokens?beta=true".to_owned(),
    }
}

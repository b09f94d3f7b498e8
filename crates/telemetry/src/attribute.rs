//! Attributes: names with typed values, in the order in which they are exported.

use crate::config::Config;
use crate::repository;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Text(String),
    Int(i64),
    Double(f64),
    Bool(bool),
    List(Vec<String>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

pub type Attribute = (String, Value);
pub type Attributes = Vec<Attribute>;

/// `with` and `with_some`: a record with one more attribute.
macro_rules! takes_attributes {
    ($($record:ty),+) => {$(
        impl $record {
            #[must_use]
            pub fn with(mut self, name: &str, value: impl Into<$crate::attribute::Value>) -> Self {
                self.attributes.push((name.to_owned(), value.into()));
                self
            }

            #[must_use]
            pub fn with_some(self, name: &str, value: Option<impl Into<$crate::attribute::Value>>) -> Self {
                match value {
                    Some(value) => self.with(name, value),
                    None => self,
                }
            }
        }
    )+};
}
pub(crate) use takes_attributes;

/// The program that speaks: the same for all signals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Resource {
    /// `amd64`, `arm64`.
    pub arch: String,
    pub os: String,
    /// The kernel's release.
    pub os_version: String,
    /// As `OTEL_SERVICE_NAME` or the resource attributes say; else the program's own.
    pub service: String,
    pub version: String,
}

impl Resource {
    /// This machine.
    pub fn here(service: &str, version: &str) -> Self {
        let arch = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            arch: arch.to_owned(),
            os: std::env::consts::OS.to_owned(),
            os_version: release.trim().to_owned(),
            service: service.to_owned(),
            version: version.to_owned(),
        }
    }

    pub(crate) fn attributes(&self, config: &Config) -> Attributes {
        let service = config.service_name.clone().unwrap_or_else(|| self.service.clone());
        let own = [
            ("host.arch", &self.arch),
            ("os.type", &self.os),
            ("os.version", &self.os_version),
            ("service.name", &service),
            ("service.version", &self.version),
        ];
        let mut all: Attributes =
            own.iter().map(|(name, value)| ((*name).to_owned(), (*value).as_str().into())).collect();
        let more = config.resource_attributes.iter().filter(|(name, _)| !own.iter().any(|(own, _)| own == name));
        all.extend(more.map(|(name, value)| (name.clone(), Value::Text(value.clone()))));
        all
    }
}

/// An id that nobody else has.
pub fn random_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// An id for a user who has none yet.
pub fn random_user_id() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}

/// Who and where: on every data point, record and span.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Common {
    pub user_id: String,
    pub session_id: String,
    pub version: String,
    pub entrypoint: Option<String>,
    pub organization_id: Option<String>,
    pub email: Option<String>,
    pub account_uuid: Option<String>,
    pub account_id: Option<String>,
    pub provider: Option<String>,
    pub has_custom_base_url: bool,
    pub plan: Option<String>,
    /// The address of the repository's remote, where it is to be told.
    pub remote: Option<String>,
}

impl Common {
    /// With the account that the user's state file names.
    #[must_use]
    pub fn with_account(mut self, state: &serde_json::Value) -> Self {
        let account = |name: &str| state["oauthAccount"][name].as_str().map(str::to_owned);
        self.organization_id = account("organizationUuid");
        self.email = account("emailAddress");
        self.account_uuid = account("accountUuid");
        self.account_id = account("accountId");
        self
    }

    /// In the order that consumers know, without what the switches leave out.
    pub(crate) fn attributes(&self, config: &Config) -> Attributes {
        let shows = &config.shows;
        let text = |value: &str| Some(value.to_owned());
        let account = |value: &Option<String>| value.clone().filter(|_| shows.account);
        let first = [
            ("user.id", text(&self.user_id)),
            ("session.id", text(&self.session_id).filter(|_| shows.session)),
            ("app.version", text(&self.version).filter(|_| shows.version)),
            ("app.entrypoint", self.entrypoint.clone().filter(|_| shows.entrypoint)),
            ("organization.id", self.organization_id.clone()),
            ("user.email", self.email.clone()),
            ("user.account_uuid", account(&self.account_uuid)),
            ("user.account_id", account(&self.account_id)),
            ("anthropic.provider", self.provider.clone()),
        ];
        let known = |(name, value): (&str, Option<String>)| Some((name.to_owned(), Value::Text(value?)));
        let mut all: Attributes = first.into_iter().filter_map(known).collect();
        if self.has_custom_base_url {
            all.push(("anthropic.custom_base_url".to_owned(), Value::Bool(true)));
        }
        let last = [("anthropic.plan", self.plan.clone()), ("terminal.type", config.terminal.clone())];
        all.extend(last.into_iter().filter_map(known));
        // The user's own word about a repository wins.
        let is_said = |name: &str| config.resource_attributes.iter().any(|(said, _)| said == name);
        let derived = self.remote.as_deref().map(repository::attributes).unwrap_or_default();
        let derived = derived.into_iter().filter(|(name, _)| !is_said(name));
        all.extend(derived.map(|(name, value)| (name.to_owned(), Value::Text(value))));
        if shows.resource_attributes {
            let more =
                config.resource_attributes.iter().filter(|(name, _)| !all.iter().any(|(known, _)| known == name));
            let more: Attributes = more.map(|(name, value)| (name.clone(), Value::Text(value.clone()))).collect();
            all.extend(more);
        }
        all
    }
}

//! Amazon Bedrock's Invoke API: the model in the path, binary frames in the answer.

use super::aws_auth::aws_auth;
use super::endpoint::{BetaPlace, Endpoint, Operation, Provider, SmallQuestions, StreamFormat};
use super::ids;
use super::variables::{SetupError, Variables, is_region};
use crate::catalog::canonical;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use url::Url;

const API_VERSION: &str = "bedrock-2023-05-31";
/// Betas that Bedrock reads from the body.
const BODY_BETAS: [&str; 5] = [
    "interleaved-thinking-2025-05-14",
    "context-1m-2025-08-07",
    "tool-search-tool-2025-10-19",
    "thinking-token-count-2026-05-13",
    "thinking-binding-controls-2026-08-01",
];
/// Those that it takes in the header. Any other is refused, so it is not sent.
const HEADER_BETAS: [&str; 2] = ["effort-2025-11-24", "task-budgets-2026-03-13"];
/// What a count needs beside the prompt: the same request, with the shortest answer.
const COUNT_MAX_TOKENS: u64 = 1;
const PREFIXES: [&str; 6] = ["us", "eu", "apac", "jp", "au", "global"];

#[derive(Debug)]
pub struct Bedrock;

impl Provider for Bedrock {
    fn name(&self) -> &'static str {
        "bedrock"
    }

    fn short_name(&self) -> &'static str {
        "bedrock"
    }

    fn switch(&self) -> Option<&'static str> {
        Some("CLAUDE_CODE_USE_BEDROCK")
    }

    fn endpoint(&'static self, variables: &Variables) -> Result<Endpoint, SetupError> {
        let region = variables.aws_region();
        let name = "ANTHROPIC_BEDROCK_BASE_URL";
        let base = variables.url(name, &runtime(&region))?;
        let auth = aws_auth(variables, "CLAUDE_CODE_SKIP_BEDROCK_AUTH", "bedrock", &region);
        let tier = variables.get("ANTHROPIC_BEDROCK_SERVICE_TIER");
        let wanted =
            variables.get("ANTHROPIC_BEDROCK_REGION_PREFIX").filter(|wanted| PREFIXES.contains(&wanted.as_str()));
        let is_custom_base = variables.get(name).is_some();
        let control = control(&base, is_custom_base, &region);
        let listed = |mut url: Url| {
            url.set_query(Some("type=SYSTEM_DEFINED"));
            url
        };
        let profiles = control.clone().filter(|_| wanted.is_none()).map(listed);
        Ok(Endpoint {
            is_custom_base,
            profiles,
            control,
            // An address that the user chose has no regions.
            model_regions: small_region(variables).filter(|_| !is_custom_base).into_iter().collect(),
            headers: tier.map(|tier| ("x-amzn-bedrock-service-tier", tier)).into_iter().collect(),
            stream: StreamFormat::EventStream,
            id_prefix: Some(prefix(wanted.as_deref(), &region)),
            region: Some(region),
            beside: beside(variables)?,
            ..Endpoint::new(self, base, auth)
        })
    }

    fn model_id(&self, asked: &ids::Asked, endpoint: &Endpoint) -> String {
        asked.bedrock_id(endpoint.id_prefix.as_deref().unwrap_or("us"))
    }

    fn small_questions(&self) -> SmallQuestions {
        SmallQuestions::SonnetUnlessNamed
    }

    fn path(&self, _: &Endpoint, operation: Operation, model: &str) -> String {
        // The colon of an id stays as it is on the wire; the slash of an ARN does not.
        let id = cloud::sigv4::escaped(model).replace("%3A", ":");
        match operation {
            Operation::Stream => format!("model/{id}/invoke-with-response-stream"),
            // Counting is the foundation model's, which has no group of regions before its name.
            Operation::CountTokens => {
                let foundation = id.find(".anthropic.").map_or(id.as_str(), |dot| &id[dot + 1..]);
                format!("model/{foundation}/count-tokens")
            }
        }
    }

    fn shape_body(&self, operation: Operation, head: &mut Map<String, Value>) {
        head.shift_remove("model");
        head.shift_remove("stream");
        head.insert("anthropic_version".into(), json!(API_VERSION));
        if operation == Operation::CountTokens {
            head.insert("max_tokens".into(), json!(COUNT_MAX_TOKENS));
        }
    }

    fn beta_place(&self, beta: &str) -> BetaPlace {
        match beta {
            beta if BODY_BETAS.contains(&beta) => BetaPlace::Body,
            beta if HEADER_BETAS.contains(&beta) => BetaPlace::Header,
            _ => BetaPlace::Nowhere,
        }
    }

    fn base(&self, endpoint: &Endpoint, model: &str) -> Option<String> {
        let region = endpoint.region_of(model).filter(|region| Some(*region) != endpoint.region.as_deref())?;
        Some(runtime(region))
    }

    /// The request that would be made, in a wrapper.
    fn count_body(&self, body: Vec<u8>) -> Vec<u8> {
        json!({"input": {"invokeModel": {"body": STANDARD.encode(body)}}}).to_string().into_bytes()
    }

    fn base_variable(&self) -> &'static str {
        "ANTHROPIC_BEDROCK_BASE_URL"
    }
}

fn runtime(region: &str) -> String {
    format!("https://bedrock-runtime.{region}.amazonaws.com")
}

/// The model for small questions may be asked in a region of its own, where the user names that model.
fn small_region(variables: &Variables) -> Option<(Cow<'static, str>, String)> {
    let region = variables.get("ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION").filter(|name| is_region(name))?;
    let named = ["ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_SMALL_FAST_MODEL"];
    let model = named.iter().find_map(|name| variables.get(name))?;
    Some((Cow::Owned(canonical(&model)), region))
}

/// Where inference profiles are told of: beside the models of a gateway, else at the control plane of the region.
fn control(base: &Url, is_custom_base: bool, region: &str) -> Option<Url> {
    let mut url = if is_custom_base {
        base.clone()
    } else {
        let china = if region.starts_with("cn-") { ".cn" } else { "" };
        Url::parse(&format!("https://bedrock.{region}.amazonaws.com{china}")).ok()?
    };
    let path = format!("{}/inference-profiles", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Some(url)
}

/// Mantle answers for its own ids where its switch is on as well.
fn beside(variables: &Variables) -> Result<Option<Box<Endpoint>>, SetupError> {
    if !variables.is_on(super::mantle::SWITCH) {
        return Ok(None);
    }
    super::mantle::Mantle.endpoint(variables).map(|endpoint| Some(Box::new(endpoint)))
}

/// The group of regions that a model's inference profile is named after.
fn prefix(wanted: Option<&str>, region: &str) -> String {
    if region.starts_with("us-gov-") {
        return "us-gov".to_owned();
    }
    if let Some(wanted) = wanted {
        return wanted.to_owned();
    }
    let groups = [("us-", "us"), ("eu-", "eu"), ("ap-", "apac")];
    groups.iter().find(|(start, _)| region.starts_with(start)).map_or("global", |(_, group)| group).to_owned()
}

//! Bedrock's inference profiles: whether an account has a refused model under another prefix, and the model behind the
//! ARN of a profile.
//!
//! They are listed when a prefixed id was refused, once, and never before; a profile is looked up before it is asked for
//! the first time, since its ARN does not say how the model wants to be asked and what it costs. A question that fails
//! changes nothing. Deliberately absent: further pages of the list.

use crate::client::{Client, read_up_to};
use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue, USER_AGENT};
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;
use url::Url;

/// A turn waits for the list, and can go on without it.
const LISTING_WAIT: Duration = Duration::from_secs(8);

/// A region has less than a hundred profiles of less than a kilobyte each.
const LISTING_MAX: usize = 1024 * 1024;

impl Client {
    /// The same model under a prefix that the account has, where it does not have this one.
    pub async fn other_profile(&self, refused: &str) -> Option<String> {
        let listed =
            self.profiles.get_or_init(|| async { self.list_profiles(refused).await.unwrap_or_default() }).await;
        choose(refused, listed)
    }

    /// Looks up which model an ARN stands for, unless that is known or was asked before.
    pub async fn look_behind(&self, model: &str) {
        let Some(cloud) = &self.config.cloud else { return };
        let is_profile = model.starts_with("arn:") && model.contains("inference-profile/");
        let is_known = self.config.capabilities.model_behind(model).is_some() || cloud.behind.was_asked(model);
        if !is_profile || is_known {
            return;
        }
        let found = match cloud.endpoint.profile_url(model) {
            Some(url) => self.ask_control(model, url).await,
            None => None,
        };
        cloud.behind.note(model, found.as_ref().and_then(model_of));
    }

    async fn list_profiles(&self, model: &str) -> Option<Vec<String>> {
        let url = self.config.cloud.as_ref()?.endpoint.serving(model).profiles.clone()?;
        self.ask_control(model, url).await.map(|listing| read(&listing))
    }

    /// A question to the control plane.
    async fn ask_control(&self, model: &str, url: Url) -> Option<Value> {
        let endpoint = self.config.cloud.as_ref()?.endpoint.serving(model);
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, self.value(&self.config.user_agent, "the user agent").ok()?);
        self.add_fixed(endpoint, &mut headers).ok()?;
        let listing = self.send(Method::GET, model, url, headers, Bytes::new());
        let mut response = timeout(LISTING_WAIT, listing).await.ok()?.ok()?;
        serde_json::from_slice(&read_up_to(&mut response, LISTING_MAX).await).ok()
    }
}

/// The foundation model behind a profile.
fn model_of(profile: &Value) -> Option<String> {
    let arn = profile["models"][0]["modelArn"].as_str()?;
    arn.split_once("foundation-model/").map(|(_, id)| id.to_owned())
}

fn read(listing: &Value) -> Vec<String> {
    let summaries = listing["inferenceProfileSummaries"].as_array();
    let ids = summaries.into_iter().flatten().filter_map(|profile| profile["inferenceProfileId"].as_str());
    ids.map(str::to_owned).collect()
}

/// A profile that is listed and was refused all the same is not replaced: the account may not use that model.
fn choose(refused: &str, listed: &[String]) -> Option<String> {
    let (_, model) = refused.split_once(".anthropic.")?;
    if listed.iter().any(|id| id == refused) {
        return None;
    }
    listed.iter().find(|id| id.split_once(".anthropic.").is_some_and(|(_, name)| name == model)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_same_model_under_another_prefix_is_taken() {
        let profile = |id: &str| json!({"inferenceProfileId": id, "status": "ACTIVE"});
        let listing = json!({"inferenceProfileSummaries": [
            profile("eu.anthropic.claude-opus-5"), profile("global.anthropic.claude-opus-5-5"), json!({"status": "?"}),
            profile("us.amazon.nova-pro-v1:0")]});
        let listed = read(&listing);
        for (refused, expected) in [
            ("us.anthropic.claude-opus-5-5", Some("global.anthropic.claude-opus-5-5")),
            ("us.anthropic.claude-opus-5", Some("eu.anthropic.claude-opus-5")),
            ("eu.anthropic.claude-opus-5", None),
            ("us.anthropic.claude-sonnet-5", None),
            ("arn:aws:bedrock:us-east-2:1:application-inference-profile/x", None),
        ] {
            assert_eq!(choose(refused, &listed).as_deref(), expected, "{refused}");
        }
        for odd in [json!(null), json!({}), json!({"inferenceProfileSummaries": "x"})] {
            assert_eq!(read(&odd), Vec::<String>::new(), "{odd}");
        }
    }

    #[test]
    fn the_model_behind_a_profile_is_its_first() {
        let arn = "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-sonnet-4-5-20250929-v1:0";
        let profile = json!({"models": [{"modelArn": arn}, {"modelArn": "x"}]});
        assert_eq!(model_of(&profile).as_deref(), Some("anthropic.claude-sonnet-4-5-20250929-v1:0"));
        for odd in [json!(null), json!({"models": []}), json!({"models": [{"modelArn": "arn:else"}]})] {
            assert_eq!(model_of(&odd), None, "{odd}");
        }
    }
}

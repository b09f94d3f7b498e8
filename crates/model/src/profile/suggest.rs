//! The likely profile of a server, from its list of models. For `ralph doctor` only: no request depends on it.

use super::ProfileName;
use serde_json::Value;

/// Who local servers say the models belong to: vLLM, llama.cpp, Ollama, LM Studio.
const LOCAL_OWNERS: [&str; 4] = ["vllm", "llamacpp", "library", "organization_owner"];

/// Reads the answer to `GET /v1/models`; `None` where it says nothing.
pub fn suggest_profile(status: u16, body: &[u8]) -> Option<ProfileName> {
    let answer: Value = serde_json::from_slice(body).ok().filter(|_| status == 200)?;
    let models = answer["data"].as_array()?;
    if models.iter().any(|model| model["type"] == "model") {
        return Some(ProfileName::Gateway);
    }
    let owner = |model: &Value| model["owned_by"].as_str().unwrap_or_default().to_owned();
    if models.iter().any(|model| LOCAL_OWNERS.contains(&owner(model).as_str())) {
        return Some(ProfileName::Local);
    }
    models.iter().any(|model| model["object"] == "model").then_some(ProfileName::OpenAiChat)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_models_tells_the_kind_of_server() {
        for (status, body, expected) in [
            (200, r#"{"data":[{"type":"model","id":"claude-x"}]}"#, Some(ProfileName::Gateway)),
            (
                200,
                r#"{"object":"list","data":[{"id":"q","object":"model","owned_by":"library"}]}"#,
                Some(ProfileName::Local),
            ),
            (
                200,
                r#"{"object":"list","data":[{"id":"q","object":"model","owned_by":"vllm"}]}"#,
                Some(ProfileName::Local),
            ),
            (
                200,
                r#"{"object":"list","data":[{"id":"g","object":"model","owned_by":"openai"}]}"#,
                Some(ProfileName::OpenAiChat),
            ),
            (200, r#"{"data":[]}"#, None),
            (200, "<html>", None),
            (401, r#"{"data":[{"type":"model"}]}"#, None),
        ] {
            assert_eq!(suggest_profile(status, body.as_bytes()), expected, "{status} {body}");
        }
    }
}

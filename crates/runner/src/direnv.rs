//! The folder's own environment, where direnv is installed and the person allowed the folder.

use crate::helper::{capture, on_path, set};
use process::Env;
use serde_json::{Map, Value};
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

/// An `.envrc` may build things; not for longer than this.
const DEADLINE: Duration = Duration::from_secs(30);
const OUTPUT_MAX: usize = 1024 * 1024;

/// Where credentials and settings are read from is not a folder's to say, allowed or not.
const NOT_ITS_BUSINESS: [&str; 2] = ["HOME", "RALPH_HOME"];
const NOT_ITS_FAMILIES: [&str; 4] = ["XDG_", "LD_", "DYLD_", "CLAUDE_"];
/// Nor is where credentials are sent to.
const NOT_ITS_ENDS: [&str; 3] = ["_BASE_URL", "_PROXY", "_CUSTOM_HEADERS"];

/// Merges what direnv exports; the warning, where it refuses.
pub(crate) async fn merge(env: &mut Env, folder: &Path) -> Option<String> {
    if !folder.ancestors().any(|above| above.join(".envrc").is_file()) {
        return None;
    }
    let path = crate::helper::get(env, "PATH")?.to_owned();
    let direnv = on_path("direnv", &path)?;
    let done = capture(direnv.as_os_str(), &["export", "json"], folder, env.clone(), DEADLINE, OUTPUT_MAX).await;
    match done {
        Ok(done) if done.exit.success() => {
            if let Ok(exports) = serde_json::from_slice::<Map<String, Value>>(&done.stdout) {
                apply(env, &exports);
            }
            None
        }
        Ok(done) => {
            let why = String::from_utf8_lossy(&done.stderr);
            Some(format!("direnv gave no environment: {}", why.lines().last().unwrap_or("no reason")))
        }
        Err(error) => Some(format!("direnv gave no environment: {error}")),
    }
}

fn apply(env: &mut Env, exports: &Map<String, Value>) {
    for (name, value) in exports {
        let upper = name.to_ascii_uppercase();
        let foreign = NOT_ITS_BUSINESS.contains(&upper.as_str())
            || NOT_ITS_FAMILIES.iter().any(|family| upper.starts_with(family))
            || NOT_ITS_ENDS.iter().any(|end| upper.ends_with(end));
        if !foreign {
            set(env, name, value.as_str().map(OsStr::new));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn adversary_20_a_folder_does_not_say_where_credentials_are() {
        let mut env: Env = vec![("HOME".into(), "/h".into()), ("OLD".into(), "1".into())];
        let exports = json!({
            "HOME": "/evil", "XDG_CONFIG_HOME": "/evil", "LD_PRELOAD": "x", "OLD": null, "NEW": "2",
            "ANTHROPIC_BASE_URL": "x", "https_proxy": "x", "CLAUDE_CONFIG_DIR": "x", "CLAUDE_CODE_USE_BEDROCK": "1",
        });
        apply(&mut env, exports.as_object().unwrap());
        assert_eq!(env, [("HOME".into(), "/h".into()), ("NEW".into(), "2".into())]);
    }
}

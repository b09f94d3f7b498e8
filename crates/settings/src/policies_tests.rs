use super::*;
use crate::Secret;
use crate::surfaces::is_plugin_only;
use serde_json::json;

fn refused(managed: &Value, flags: &[&str], credential: Option<&Found>) -> Option<String> {
    refusal(managed, &Start { version: "2.1.325", sideloading: flags, credential, is_first_party: true })
}

#[test]
fn policies_that_stop_a_start() {
    let key = Found::ApiKey(Secret::new("k"));
    let login = Found::OAuthToken(Secret::new("t"));
    let none: &[&str] = &[];
    for (managed, flags, credential, expected) in [
        (json!({}), none, &key, None),
        (json!({"requiredMinimumVersion": "2.1.325"}), none, &key, None),
        (json!({"requiredMinimumVersion": "2.1"}), none, &key, None),
        (json!({"requiredMinimumVersion": "2.1.326"}), none, &key, Some("at least 2.1.326")),
        (json!({"requiredMinimumVersion": "2.10.0"}), none, &key, Some("at least 2.10.0")),
        (json!({"requiredMinimumVersion": 3}), none, &key, Some("is no version")),
        (json!({"requiredMinimumVersion": "new"}), none, &key, Some("is no version")),
        (json!({"requiredMaximumVersion": "2.1.324"}), none, &key, Some("at most 2.1.324")),
        (json!({"requiredMaximumVersion": "2.1.325-beta"}), none, &key, None),
        (json!({"disableSideloadFlags": true}), none, &key, None),
        (json!({"disableSideloadFlags": true}), &["plugin-dir"], &key, Some("--plugin-dir")),
        (json!({"disableSideloadFlags": "yes"}), &["agents"], &key, Some("--agents")),
        (json!({"disableSideloadFlags": false}), &["agents"], &key, None),
        (json!({"policyHelper": {"path": "/x"}}), none, &key, Some("policyHelper")),
        (json!({"forceRemoteSettingsRefresh": true}), none, &key, Some("forceRemoteSettingsRefresh")),
        (json!({"forceLoginOrgUUID": "a"}), none, &key, Some("forceLoginOrgUUID")),
        (json!({"forceLoginMethod": "claudeai"}), none, &key, Some("forceLoginMethod")),
        (json!({"forceLoginMethod": "claudeai"}), none, &login, None),
        (json!({"forceLoginMethod": "console"}), none, &login, Some("forceLoginMethod")),
        (json!({"forceLoginMethod": "console"}), none, &key, None),
        (json!({"forceLoginMethod": "tomorrow"}), none, &key, Some("forceLoginMethod")),
        (json!({"strictPluginOnlyCustomization": ["skills", "looks"]}), none, &key, Some("\"looks\"")),
        (json!({"strictPluginOnlyCustomization": ["skills"]}), none, &key, None),
    ] {
        let line = refused(&managed, flags, Some(credential));
        match expected {
            None => assert_eq!(line, None, "{managed}"),
            Some(part) => assert!(line.as_deref().is_some_and(|line| line.contains(part)), "{managed}: {line:?}"),
        }
    }
}

#[test]
fn customisation_is_left_to_plugins_as_far_as_the_policy_says() {
    for (policy, expected) in [
        (json!(null), [false; 4]),
        (json!(false), [false; 4]),
        (json!(true), [true; 4]),
        (json!("all"), [true; 4]),
        (json!(["hooks", "mcp"]), [false, false, true, true]),
        (json!({"skills": true, "mcp": false}), [true, false, false, false]),
        (json!([]), [false; 4]),
    ] {
        let managed = json!({"strictPluginOnlyCustomization": policy});
        assert_eq!(SURFACES.map(|surface| is_plugin_only(&managed, surface)), expected, "{policy}");
    }
}

#[test]
fn settings_without_effect_are_named_once() {
    assert_eq!(without_effect(&json!({"model": "opus", "autoMode": {}, "fastMode": false})), None);
    assert_eq!(
        without_effect(&json!({"processWrapper": "x", "autoMode": {"allow": ["a"]}, "defaultShell": "powershell"}))
            .as_deref(),
        Some("warning: settings without effect in this agent: autoMode, processWrapper, defaultShell")
    );
}

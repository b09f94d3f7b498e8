//! The rules as a Seatbelt profile, the language of macOS's `sandbox-exec`. Pure text.
//!
//! The last rule that matches decides, so each part is "nothing", then "but this", then "not this of it".
//! Paths are matched by name there, so what does not exist yet is held like what does. Deliberately
//! absent: a list of the many services a Mac offers; those that hand out secrets or run things are closed.

use crate::layout::PROTECTED;
use crate::rules::{IN_CHECKOUTS, Network, Rules};
use std::path::{Path, PathBuf};

/// Services that start programs outside, or read what was copied.
const CLOSED_SERVICES: [&str; 2] = ["com.apple.coreservices.launchservicesd", "com.apple.pasteboard.1"];

/// Services that read the keychain.
const KEYCHAIN: [&str; 2] = ["com.apple.SecurityServer", "com.apple.securityd.xpc"];

/// Devices that every program writes to.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx", "/dev/dtracehelper"];

pub(crate) fn profile(rules: &Rules, also: &[PathBuf], proxy: Option<u16>) -> String {
    let mut text = String::from("(version 1)\n(allow default)\n");
    let mut say = |verdict: &str, what: &str, filters: &[String]| {
        for filter in filters {
            text.push_str(&format!("({verdict} {what} {filter})\n"));
        }
    };
    let all = ["(subpath \"/\")".to_owned()];
    let trees = |paths: &[PathBuf]| -> Vec<String> { paths.iter().map(|path| filter("subpath", path)).collect() };
    say("deny", "file-write*", &all);
    say("allow", "file-write*", &DEVICES.map(|device| filter("literal", Path::new(device))));
    say("allow", "file-write*", &["(regex #\"^/dev/(ttys[0-9]+|fd/.*)$\")".to_owned()]);
    say("allow", "file-write*", &trees(&rules.write));
    say("allow", "file-write*", &trees(also));
    let replaced = rules.agent.iter().flat_map(|agent| &agent.replaces).map(|file| replaced(file));
    say("allow", "file-write*", &replaced.collect::<Vec<_>>());
    say("deny", "file-write*", &trees(&rules.protected));
    say("allow", "file-write*", &trees(&rules.checkouts));
    say("deny", "file-write*", &rules.checkouts.iter().map(|folder| guarded(folder)).collect::<Vec<_>>());
    say("deny", "file-write-unlink", &ancestors(&rules.protected));
    say("deny", "file-read*", &trees(&rules.hidden));
    say("deny", "file-write*", &trees(&rules.hidden));
    say("allow", "file-read*", &trees(&rules.shown));
    let others = ["(target others)".to_owned()];
    say("deny", "signal", &others);
    say("deny", "process-info*", &others);
    text.push_str("(deny appleevent-send)\n(deny job-creation)\n");
    let keychain = KEYCHAIN.iter().filter(|_| rules.agent.is_none());
    for service in keychain.chain(&CLOSED_SERVICES) {
        text.push_str(&format!("(deny mach-lookup (global-name \"{service}\"))\n"));
    }
    text.push_str(&network(rules, proxy));
    text
}

fn network(rules: &Rules, proxy: Option<u16>) -> String {
    let mut text = String::new();
    if rules.network != Network::Open {
        text.push_str("(deny network*)\n(allow network-bind (local ip \"localhost:*\"))\n");
        text.push_str("(allow network-inbound (local ip \"localhost:*\"))\n");
        text.extend(proxy.map(|port| format!("(allow network-outbound (remote ip \"localhost:{port}\"))\n")));
    }
    let verdict = if rules.unix_sockets { "allow" } else { "deny" };
    text.push_str(&format!("({verdict} network-outbound (remote unix-socket))\n"));
    text
}

/// A folder that holds something protected must not be moved away.
fn ancestors(protected: &[PathBuf]) -> Vec<String> {
    let mut folders: Vec<&Path> = protected.iter().flat_map(|path| path.ancestors().skip(1)).collect();
    folders.sort_unstable();
    folders.dedup();
    folders.into_iter().map(|folder| filter("literal", folder)).collect()
}

/// What is protected in each checkout below a folder.
fn guarded(folder: &Path) -> String {
    let names: Vec<String> = IN_CHECKOUTS.iter().chain(&PROTECTED).map(|name| expression(Path::new(name))).collect();
    format!("(regex #\"^{}/[^/]+/({})(/|$)\")", expression(folder), names.join("|"))
}

/// A file, and what is made beside it to replace it.
fn replaced(file: &Path) -> String {
    format!("(regex #\"^{}([.][^/]*)?$\")", expression(file))
}

/// A path as a regular expression. A letter that would mean something there, or end it, stands for any one.
fn expression(path: &Path) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '_' | '-' | ' ');
    let letter = |c: char| {
        if plain(c) {
            c.to_string()
        } else if c == '.' {
            "[.]".to_owned()
        } else {
            ".".to_owned()
        }
    };
    path.to_string_lossy().chars().map(letter).collect()
}

fn filter(kind: &str, path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("({kind} \"{text}\")")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hosts;

    fn rules() -> Rules {
        Rules {
            write: vec!["/w".into(), "/tmp".into()],
            protected: vec!["/w/.git/hooks".into()],
            checkouts: vec!["/w/.claude/worktrees".into()],
            hidden: vec!["/Users/me/.ssh".into()],
            shown: vec!["/Users/me/.ssh/known_hosts".into()],
            network: Network::Only(Hosts::default()),
            unix_sockets: false,
            beads_socket: None,
            agent: None,
            ..Rules::default()
        }
    }

    #[test]
    fn the_profile_word_for_word() {
        let expected = r#"(version 1)
(allow default)
(deny file-write* (subpath "/"))
(allow file-write* (literal "/dev/null"))
(allow file-write* (literal "/dev/zero"))
(allow file-write* (literal "/dev/tty"))
(allow file-write* (literal "/dev/ptmx"))
(allow file-write* (literal "/dev/dtracehelper"))
(allow file-write* (regex #"^/dev/(ttys[0-9]+|fd/.*)$"))
(allow file-write* (subpath "/w"))
(allow file-write* (subpath "/tmp"))
(allow file-write* (subpath "/note"))
(deny file-write* (subpath "/w/.git/hooks"))
(allow file-write* (subpath "/w/.claude/worktrees"))
(deny file-write* (regex #"^/w/[.]claude/worktrees/[^/]+/([.]git|[.]claude|[.]mcp[.]json|[.]ralph/config[.]toml|[.]ralph/check|[.]ralph/runs|[.]vscode|[.]idea)(/|$)"))
(deny file-write-unlink (literal "/"))
(deny file-write-unlink (literal "/w"))
(deny file-write-unlink (literal "/w/.git"))
(deny file-read* (subpath "/Users/me/.ssh"))
(deny file-write* (subpath "/Users/me/.ssh"))
(allow file-read* (subpath "/Users/me/.ssh/known_hosts"))
(deny signal (target others))
(deny process-info* (target others))
(deny appleevent-send)
(deny job-creation)
(deny mach-lookup (global-name "com.apple.SecurityServer"))
(deny mach-lookup (global-name "com.apple.securityd.xpc"))
(deny mach-lookup (global-name "com.apple.coreservices.launchservicesd"))
(deny mach-lookup (global-name "com.apple.pasteboard.1"))
(deny network*)
(allow network-bind (local ip "localhost:*"))
(allow network-inbound (local ip "localhost:*"))
(allow network-outbound (remote ip "localhost:4711"))
(deny network-outbound (remote unix-socket))
"#;
        assert_eq!(profile(&rules(), &["/note".into()], Some(4711)), expected);
    }

    #[test]
    fn an_agent_replaces_its_state_and_asks_the_keychain() {
        let agent = crate::Agent { replaces: vec!["/Users/me/.claude.json".into()] };
        let text = profile(&Rules { agent: Some(agent), ..rules() }, &[], None);
        assert!(text.contains(r#"(allow file-write* (regex #"^/Users/me/[.]claude[.]json([.][^/]*)?$"))"#), "{text}");
        assert!(!text.contains("SecurityServer") && text.contains("pasteboard"), "{text}");
    }

    #[test]
    fn an_open_network_is_not_spoken_of() {
        let text = profile(&Rules { network: Network::Open, unix_sockets: true, ..rules() }, &[], None);
        assert!(!text.contains("network*") && text.ends_with("(allow network-outbound (remote unix-socket))\n"));
    }

    /// A folder's name must not be able to add a rule.
    #[test]
    fn names_are_only_names() {
        let evil = PathBuf::from("/w/a\") (allow default) (subpath \"\\");
        let text = profile(&Rules { write: vec![evil], ..rules() }, &[], None);
        assert!(text.contains(r#"(subpath "/w/a\") (allow default) (subpath \"\\")"#), "{text}");
    }
}

//! The sandbox, for the tools that run in this process: they keep to the rules that the kernel holds
//! for commands, or the model would just use the other door.
//!
//! Deliberately absent: permission. A call that was permitted still has to be inside.

use policy::Targets;
use sandbox::{Network, Rules};
use url::Url;

/// Why a call cannot be made in the sandbox; `None` if it can.
pub(crate) fn refuses(rules: &Rules, targets: &Targets) -> Option<String> {
    let paths = targets.paths.iter().find_map(|target| {
        let judged = if target.write { rules.may_write(&target.real) } else { rules.may_read(&target.real) };
        judged.err()
    });
    if let Some(error) = paths {
        return Some(format!("{error}. Do not try to get around this; go on without it."));
    }
    let url = targets.url.as_deref()?;
    let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    match &rules.network {
        Network::Open => None,
        Network::Off => Some("The sandbox has no network.".into()),
        Network::Only(hosts) if host.as_deref().is_some_and(|host| hosts.allows(host)) => None,
        Network::Only(_) => Some(format!("{url} is not among the hosts that the sandbox lets be reached.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Target;
    use sandbox::Hosts;

    #[test]
    fn files_are_judged_as_the_kernel_would() {
        let rules = Rules {
            write: vec!["/w".into()],
            protected: vec!["/w/.mcp.json".into()],
            hidden: vec!["/h/.ssh".into()],
            ..Rules::default()
        };
        for (name, path, write, no) in [
            ("Write", "/w/a", true, false),
            ("Write", "/w/.mcp.json", true, true),
            ("Edit", "/h/.bashrc", true, true),
            ("Read", "/h/.bashrc", false, false),
            ("Read", "/h/.ssh/id", false, true),
            ("Grep", "/h/.ssh", false, true),
        ] {
            let targets = Targets::paths(vec![Target { given: path.into(), real: path.into(), write }]);
            assert_eq!(refuses(&rules, &targets).is_some(), no, "{name} {path}");
        }
    }

    #[test]
    fn pages_are_judged_by_the_same_list_as_connections() {
        let only = |hosts: &[String]| Rules { network: Network::Only(Hosts::new(hosts, &[]).0), ..Rules::default() };
        let fetch = |rules: &Rules, url: &str| {
            refuses(rules, &Targets { url: Some(url.into()), ..Targets::default() }).is_some()
        };
        assert!(!fetch(&Rules::default(), "https://a.test/"));
        assert!(fetch(&Rules { network: Network::Off, ..Rules::default() }, "https://a.test/"));
        assert!(fetch(&only(&[]), "https://a.test/"));
        let list = only(&["a.test".into()]);
        assert!(!fetch(&list, "https://a.test/x"));
        for url in ["https://a.test.evil.test/", "https://a.test@evil.test/", "https://evil.test/#a.test", "nonsense"] {
            assert!(fetch(&list, url), "{url}");
        }
    }
}

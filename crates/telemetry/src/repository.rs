//! The repository that a session works in, as attributes, by the address of its remote. Pure.
//!
//! Only the host and the path are told: never a user, a password, a query or a port. What is no address of a host is nothing.

/// By a word in the name of the host.
const PROVIDERS: [&str; 4] = ["github", "gitlab", "bitbucket", "gitea"];
const SCHEMES: [&str; 5] = ["https://", "http://", "ssh://", "git://", "git+ssh://"];

/// The attributes of `origin`. In lower case, so that a repository has one name however it was cloned.
pub(crate) fn attributes(remote: &str) -> Vec<(&'static str, String)> {
    let Some((host, path)) = host_and_path(remote) else { return Vec::new() };
    let (owner, name) = match path.rsplit_once('/') {
        Some((owner, name)) => (Some(owner), name),
        None => (None, path.as_str()),
    };
    let provider = PROVIDERS.into_iter().find(|provider| host.contains(provider));
    let told = [
        ("vcs.repository.url.full", Some(format!("https://{host}/{path}"))),
        ("vcs.owner.name", owner.map(str::to_owned)),
        ("vcs.repository.name", Some(name.to_owned())),
        ("vcs.provider.name", provider.map(str::to_owned)),
    ];
    told.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn host_and_path(remote: &str) -> Option<(String, String)> {
    let remote = remote.trim().to_lowercase();
    let scheme = SCHEMES.iter().find_map(|scheme| remote.strip_prefix(scheme));
    let (authority, path) = match scheme {
        Some(rest) => rest.split_once('/')?,
        // `git@host:path`, which is no path of this machine: those have a slash before the first colon, or none.
        None => remote.split_once(':').filter(|(host, path)| !host.contains('/') && !path.starts_with("//"))?,
    };
    let host = authority.rsplit('@').next()?.split(':').next()?;
    let path = path.split(['?', '#']).next()?.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    let is_name = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace) && !text.contains('@');
    // One letter is a drive.
    (is_name(host) && host.len() > 1 && is_name(path)).then(|| (host.to_owned(), path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_has_one_name_however_it_was_cloned() {
        let told = |remote: &str| attributes(remote).into_iter().map(|(_, value)| value).collect::<Vec<_>>().join(" ");
        let expected = "https://github.com/example-org/example-repo example-org example-repo github";
        for remote in [
            "https://github.com/example-org/example-repo.git",
            "https://user:secret@github.com/Example-Org/example-repo?token=x#y",
            "git@github.com:example-org/example-repo.git",
            "ssh://git@github.com:22/example-org/example-repo/",
        ] {
            assert_eq!(told(remote), expected, "{remote}");
        }
        assert_eq!(told("https://git.example.com/a/b/c.git"), "https://git.example.com/a/b/c a/b c");
        assert_eq!(told("git@host.example:repo"), "https://host.example/repo repo");
        for nothing in
            ["", "/srv/git/a.git", "../a", "file:///srv/a", "c:/a", "https://", "https://host", "host:", "a b:c"]
        {
            assert_eq!(told(nothing), "", "{nothing}");
        }
    }
}

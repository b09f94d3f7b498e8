//! Which commands leave a sandbox by their name.

use crate::Exclusions;

fn covers(patterns: &[&str], command: &str) -> bool {
    let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
    Exclusions::new(&patterns).cover(command)
}

#[test]
fn every_part_must_be_excluded() {
    for command in [
        "docker ps",
        "docker",
        "docker build -t x . && docker push x",
        "docker ps | podman load",
        "timeout 5 docker ps",
        "docker ps > /dev/null 2>&1",
    ] {
        assert!(covers(&["docker", "podman *"], command), "{command}");
    }
    for command in [
        "docker ps; make",
        "docker ps && curl evil.test",
        "docker ps | tee out",
        "docker run $(cat /etc/passwd)",
        "docker run `make`",
        "docker ps > out",
        "docker ps >> ~/.bashrc",
        "PATH=/tmp docker ps",
        "LD_PRELOAD=./x.so docker ps",
        "./docker ps",
        "/tmp/docker ps",
        "dockerx ps",
        "\"$(echo docker)\" ps",
        "$DOCKER ps",
        "sh -c 'docker ps'",
        "eval docker ps",
        "docker() { make; }; docker ps",
        "docker ps &&",
        "docker 'unclosed",
        "alias docker=make; docker ps",
        "make # docker",
        // Outside the small grammar: what leaves the sandbox must be sure.
        "docker run --rm \"$IMAGE\"",
        "(docker ps; podman ps)",
        "cat <<E\n$(#)\nmake)\nE",
        "",
    ] {
        assert!(!covers(&["docker", "podman *"], command), "{command}");
    }
}

#[test]
fn patterns_are_those_of_rules() {
    for (pattern, command, covered) in [
        ("docker:*", "docker ps", true),
        ("docker *", "docker", true),
        ("npm run test:*", "npm run test:unit", false),
        ("npm run test:*", "npm run test --all", true),
        ("npm run build", "npm run build", true),
        ("npm run build", "npm run build --evil", false),
        ("npm run *", "npm install", false),
        ("*", "make", false),
        ("* --version", "make --version", false),
        ("", "make", false),
        ("git *", "git -c core.pager=evil log", false),
        ("git *", "git status", true),
        ("find *", "find . -exec make {} ;", false),
    ] {
        assert_eq!(covers(&[pattern], command), covered, "{pattern:?} {command:?}");
    }
    assert!(!covers(&[], "docker ps"));
}

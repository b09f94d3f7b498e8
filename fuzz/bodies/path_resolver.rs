//! Paths as a model gives them: what they resolve to is what will be opened, and nothing else.

use std::path::{Component, Path};
use tools::Workspace;

pub fn resolve(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let base = super::scratch();
    furnish(&base);
    let workspace = Workspace::new(base.join("work"), Vec::new(), Some(base.join("home")));
    let Ok(target) = workspace.resolve(&text) else { return };
    assert!(target.real.is_absolute(), "{text:?}: {target:?}");
    assert!(!target.real.components().any(|part| part == Component::ParentDir), "{text:?}: {target:?}");
    if let Ok(real) = target.real.canonicalize() {
        assert_eq!(real, target.real, "{text:?} is somewhere else than judged");
    }
    if workspace.contains(&target.real)
        && let Ok(mut file) = workspace.open_read(&target)
    {
        let mut content = String::new();
        // Folders and strange files give nothing.
        let _ = std::io::Read::read_to_string(&mut file, &mut content);
        assert_ne!(content, "secret", "{text:?} leads outside");
    }
}

/// Links that lead out, to themselves, to each other and to nothing.
fn furnish(base: &Path) {
    if base.join("work").exists() {
        return;
    }
    for folder in ["work/sub/deep", "home", "outside"] {
        std::fs::create_dir_all(base.join(folder)).expect("a folder");
    }
    for (file, content) in [("work/a", "inside"), ("work/sub/b", "inside"), ("outside/s", "secret")] {
        std::fs::write(base.join(file), content).expect("a file");
    }
    let links = [
        ("../outside", "work/out"),
        ("../outside/s", "work/s"),
        ("loop", "work/loop"),
        ("pong", "work/ping"),
        ("ping", "work/pong"),
        ("nowhere/at/all", "work/dead"),
        ("sub", "work/in"),
        ("..", "work/sub/up"),
        ("/", "work/sub/root"),
    ];
    for (to, link) in links {
        std::os::unix::fs::symlink(to, base.join(link)).expect("a link");
    }
}

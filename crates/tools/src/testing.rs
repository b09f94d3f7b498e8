//! A folder, a conversation on it, and calls as the agent makes them.

use crate::context::{Denied, ToolContext, ToolLimits};
use crate::tool::Invocation;
use crate::{Content, ReadLog, Shell, Tasks, Todos, ToolOutcome, Web, WebError, Workspace, find, find_shell, run};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

pub(crate) struct Bench {
    folder: TempDir,
    pub(crate) ctx: ToolContext,
}

impl Bench {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::bytes(&files.iter().map(|(path, text)| (*path, text.as_bytes())).collect::<Vec<_>>())
    }

    pub(crate) fn bytes(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for (age, (path, bytes)) in files.iter().enumerate() {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, bytes).unwrap();
            // Clocks tick too slowly to tell which was first.
            set_modified(&path, 1000 + age as u64);
        }
        let ctx = ToolContext {
            workspace: Arc::new(Workspace::new(root.clone(), Vec::new(), Some(root.join("home")))),
            reads: ReadLog::default(),
            todos: Todos::default(),
            limits: ToolLimits::default(),
            must_read_first: false,
            denied: Arc::new(|_| false),
            shell: shell(&root),
            tasks: Tasks::default(),
            web: Web::new(
                Arc::new(|| Err(WebError("there is no network in tests".into()))),
                Arc::new(|_| Box::pin(async { Err(WebError("there is no model in tests".into())) })),
            ),
        };
        Self { folder, ctx }
    }

    /// The files of the captured conversations, in a git repository.
    pub(crate) fn captured() -> Self {
        let bench = Self::new(&[
            ("a.txt", "hello world\nsecond line\nthird\n"),
            ("src/main.rs", "fn main() {\n    println!(\"hi\");\n}\n"),
            ("src/lib.rs", "pub fn add(a: i32, b: i32) -> i32 { a + b }\n// TODO: sub\n"),
            ("docs/x.md", "# X\nTODO write\n"),
            (".gitignore", "target/\n"),
            ("target/junk.rs", "TODO junk\n"),
        ]);
        std::fs::create_dir(bench.root().join(".git")).unwrap();
        bench
    }

    pub(crate) fn older_model(mut self) -> Self {
        self.ctx.must_read_first = true;
        self
    }

    pub(crate) fn denying(mut self, denied: Denied) -> Self {
        self.ctx.denied = denied;
        self
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.root().join(name).display().to_string()
    }

    pub(crate) fn file(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.root().join(name)).unwrap()
    }

    /// Check, resolve, run: everything but asking for permission.
    pub(crate) async fn call(&self, name: &str, input: Value) -> ToolOutcome {
        let tool = find(name).unwrap();
        let input = match tool.validate(name, &input) {
            Ok(input) => input,
            Err(error) => return error.into(),
        };
        let targets = match tool.targets(&input, &self.ctx.workspace) {
            Ok(targets) => targets,
            Err(error) => return error.into(),
        };
        run(tool, Invocation { tool_use_id: "toolu_1", input: &input, targets: &targets, run: None }, &self.ctx).await
    }
}

fn shell(root: &Path) -> Shell {
    let path = "/usr/local/bin:/usr/bin:/bin";
    let env = vec![("PATH".into(), path.into())];
    Shell::new(find_shell(None, path.as_ref()), env, root.join("spill"), root.to_path_buf())
}

pub(crate) fn text(outcome: &ToolOutcome) -> &str {
    match &outcome.content {
        Content::Text(text) => text,
        Content::Blocks(_) => panic!("blocks, not text"),
    }
}

/// A file's time set to a whole second, so that tests need not wait for clocks.
pub(crate) fn set_modified(path: &Path, seconds: u64) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
}

//! What the tools of all conversations have in common. The rest is each conversation's own: its working folder, and the
//! files it has read.

use options::Options;
use std::path::PathBuf;
use std::sync::Arc;

pub struct ToolResources {
    pub tasks: tools::Tasks,
    pub web: tools::Web,
    pub denied: tools::Denied,
}

impl ToolResources {
    pub fn context(&self, options: &Options) -> tools::ToolContext {
        self.context_in(options, options.cwd.clone(), Arc::clone(&self.denied))
    }

    /// For whoever works in another folder, where other paths may be denied.
    pub fn context_in(&self, options: &Options, cwd: PathBuf, denied: tools::Denied) -> tools::ToolContext {
        let roots = options.extra_roots.clone();
        let workspace = tools::Workspace::new(cwd, roots, options.places.home.clone());
        let workspace = workspace.seen_from(options.tools.shell.sandbox.clone());
        tools::ToolContext {
            workspace: Arc::new(workspace),
            reads: tools::ReadLog::default(),
            todos: tools::Todos::default(),
            limits: options.tools.limits,
            must_read_first: model::info(&options.asking.model).reads_before_edit,
            denied,
            shell: options.tools.shell.clone(),
            tasks: self.tasks.clone(),
            web: self.web.clone(),
        }
    }
}

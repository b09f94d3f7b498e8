//! The removal of clones that dead workers left on this machine.

use super::Worker;
use crate::goal::{GoalId, GoalState};

/// What a folder is for, as its name begins: `work12-3` is of claim 3 of goal 12.
pub const KINDS: [&str; 3] = ["work", "land", "review"];

/// Goal and claim, from a folder's name.
fn parse(name: &str) -> Option<(i64, i64)> {
    let rest = KINDS.iter().find_map(|kind| name.strip_prefix(kind))?;
    let (goal, fence) = rest.split_once('-')?;
    Some((goal.parse().ok()?, fence.parse().ok()?))
}

impl Worker {
    /// A worker that was asleep may have made refs after its successor had taken all of them away. Those of goals that
    /// failed or were cancelled stay: a retry goes on from them.
    pub async fn forget_if_done(&self, id: GoalId) {
        if let Ok(goal) = self.store.goal(id).await
            && goal.state == GoalState::Done
        {
            self.repository(&goal.repo).forget(id).await;
        }
    }

    /// Removes them. What cannot be found out now is left for the next time.
    pub async fn sweep(&self) {
        let Ok(repos) = self.clones().read_dir() else { return };
        self.sweep_clones(repos).await;
        // A worker may die between removing a clone and taking its trust back.
        (self.options.forget_clone)(&self.clones());
    }

    async fn sweep_clones(&self, repos: std::fs::ReadDir) {
        for repo in repos.flatten() {
            let Ok(entries) = repo.path().read_dir() else { continue };
            for entry in entries.flatten() {
                let Some((goal, fence)) = entry.file_name().to_str().and_then(parse) else { continue };
                match self.store.is_live(goal, fence).await {
                    Ok(false) => {
                        self.forget_if_done(goal).await;
                        self.remove_clone(&entry.path());
                    }
                    Ok(true) => {}
                    Err(_) => return,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn only_our_own_folders_are_swept() {
        for (name, expected) in [
            ("work12-3", Some((12, 3))),
            ("land1-1", Some((1, 1))),
            ("review7-20", Some((7, 20))),
            ("work-3", None),
            ("other12-3", None),
            ("work12", None),
        ] {
            assert_eq!(parse(name), expected, "{name}");
        }
    }
}

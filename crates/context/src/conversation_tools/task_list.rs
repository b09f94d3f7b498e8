//! The list of tasks that a session keeps: who they are, how they stand, what waits for what. Pure.

use super::error::CallError;
use serde_json::{Map, Value, json};

/// A list longer than this is a model that has lost its way, and every listing would cost more than the work.
pub const MOST: usize = 500;

#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    pub id: String,
    pub subject: String,
    pub description: String,
    status: String,
    active_form: Option<String>,
    owner: Option<String>,
    blocks: Vec<String>,
    blocked_by: Vec<String>,
    metadata: Map<String, Value>,
}

#[derive(Debug, Default)]
pub struct TaskList {
    tasks: Vec<Task>,
    made: u64,
}

/// What an update came to, in the words of its result.
#[derive(Debug, PartialEq)]
pub struct Updated {
    pub fields: Vec<&'static str>,
    /// From and to.
    pub status: Option<(String, String)>,
}

impl TaskList {
    pub fn get(&self, id: &str) -> Option<&Task> {
        self.tasks.iter().find(|task| task.id == bare(id))
    }

    pub fn create(&mut self, input: &Value) -> Result<Task, CallError> {
        if self.tasks.len() >= MOST {
            return Err(CallError::TooManyTasks);
        }
        self.made += 1;
        let task = Task {
            id: self.made.to_string(),
            subject: text(&input["subject"]).unwrap_or_default(),
            description: text(&input["description"]).unwrap_or_default(),
            status: "pending".into(),
            active_form: text(&input["activeForm"]),
            owner: None,
            blocks: Vec::new(),
            blocked_by: Vec::new(),
            metadata: input["metadata"].as_object().cloned().unwrap_or_default(),
        };
        self.tasks.push(task.clone());
        Ok(task)
    }

    pub fn remove(&mut self, id: &str) {
        let id = bare(id);
        self.tasks.retain(|task| task.id != id);
        for task in &mut self.tasks {
            task.blocks.retain(|other| other != id);
            task.blocked_by.retain(|other| other != id);
        }
    }

    /// `None` where there is no such task.
    pub fn update(&mut self, input: &Value) -> Option<Updated> {
        let id = bare(input["taskId"].as_str().unwrap_or_default()).to_owned();
        let task = self.tasks.iter_mut().find(|task| task.id == id)?;
        let mut fields = Vec::new();
        let mut set = |name, place: &mut String| {
            if let Some(new) = text(&input[name]).filter(|new| new != place) {
                *place = new;
                fields.push(name);
            }
        };
        set("subject", &mut task.subject);
        set("description", &mut task.description);
        for (name, place) in [("activeForm", &mut task.active_form), ("owner", &mut task.owner)] {
            if let Some(new) = text(&input[name]).filter(|new| place.as_ref() != Some(new)) {
                *place = Some(new);
                fields.push(name);
            }
        }
        if let Some(changes) = input["metadata"].as_object() {
            for (key, value) in changes {
                match value {
                    Value::Null => drop(task.metadata.shift_remove(key)),
                    value => drop(task.metadata.insert(key.clone(), value.clone())),
                }
            }
            fields.push("metadata");
        }
        let status = text(&input["status"]).filter(|new| *new != task.status);
        let status = status.map(|new| (std::mem::replace(&mut task.status, new.clone()), new));
        fields.extend(status.iter().map(|_| "status"));
        if status.as_ref().is_some_and(|(_, new)| new == "deleted") {
            self.remove(&id);
        }
        fields.extend(self.link(&id, &input["addBlocks"]).then_some("blocks"));
        fields.extend(self.link_back(&id, &input["addBlockedBy"]).then_some("blockedBy"));
        Some(Updated { fields, status })
    }

    fn link(&mut self, id: &str, others: &Value) -> bool {
        let others: Vec<String> = names(others).into_iter().filter(|other| other != id).collect();
        others.iter().fold(false, |any, other| self.connect(id, other) | any)
    }

    fn link_back(&mut self, id: &str, others: &Value) -> bool {
        let others: Vec<String> = names(others).into_iter().filter(|other| other != id).collect();
        others.iter().fold(false, |any, other| self.connect(other, id) | any)
    }

    /// `first` has to be done before `then`. False where that is known, or one of them is not there.
    fn connect(&mut self, first: &str, then: &str) -> bool {
        let known = self.get(first).is_none_or(|task| task.blocks.iter().any(|other| other == then));
        if known || self.get(then).is_none() {
            return false;
        }
        for task in &mut self.tasks {
            if task.id == first {
                task.blocks.push(then.to_owned());
            } else if task.id == then {
                task.blocked_by.push(first.to_owned());
            }
        }
        true
    }

    /// As clients read it.
    pub fn listing(&self) -> Value {
        self.tasks
            .iter()
            .map(|task| {
                let mut one = json!({"id": task.id, "subject": task.subject, "status": task.status, "blockedBy": task.blocked_by});
                if let Some(owner) = &task.owner {
                    one["owner"] = json!(owner);
                }
                one
            })
            .collect()
    }

    /// As the model reads it, one line a task; clients know the form of these lines.
    pub fn lines(&self) -> String {
        let line = |task: &Task| {
            let owner = task.owner.as_ref().map(|owner| format!(" ({owner})")).unwrap_or_default();
            let waits: Vec<String> = task.blocked_by.iter().map(|other| format!("#{other}")).collect();
            let waits = if waits.is_empty() { String::new() } else { format!(" [blocked by {}]", waits.join(", ")) };
            format!("#{} [{}] {}{owner}{waits}", task.id, task.status, task.subject)
        };
        let lines: Vec<String> = self.tasks.iter().map(line).collect();
        if lines.is_empty() { "No tasks found".into() } else { lines.join("\n") }
    }
}

impl Task {
    pub fn shown(&self) -> Value {
        json!({
            "id": self.id,
            "subject": self.subject,
            "description": self.description,
            "status": self.status,
            "blocks": self.blocks,
            "blockedBy": self.blocked_by,
        })
    }
}

/// Models write `#3` as often as `3`.
fn bare(id: &str) -> &str {
    id.trim().trim_start_matches('#')
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty())
}

fn names(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(|id| bare(id).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> TaskList {
        let mut list = TaskList::default();
        for subject in ["lay\nbricks", "roof", "paint"] {
            list.create(&json!({"subject": subject, "description": "d"})).unwrap();
        }
        list
    }

    #[test]
    fn tasks_are_made_listed_changed_and_deleted() {
        let mut list = three();
        assert_eq!(TaskList::default().lines(), "No tasks found");
        let update = list
            .update(&json!({"taskId": "#2", "status": "in_progress", "addBlockedBy": ["1", "9", "2"], "owner": "me"}));
        assert_eq!(
            update,
            Some(Updated {
                fields: vec!["owner", "status", "blockedBy"],
                status: Some(("pending".into(), "in_progress".into()))
            })
        );
        assert_eq!(
            list.lines(),
            "#1 [pending] lay bricks\n#2 [in_progress] roof (me) [blocked by #1]\n#3 [pending] paint"
        );
        assert_eq!(list.get("1").unwrap().shown()["blocks"], json!(["2"]));
        list.update(&json!({"taskId": "1", "status": "deleted"}));
        assert_eq!(
            list.listing()[0],
            json!({"id": "2", "subject": "roof", "status": "in_progress", "blockedBy": [], "owner": "me"})
        );
        assert_eq!(list.update(&json!({"taskId": "1"})), None);
        assert_eq!(list.create(&json!({"subject": "x"})).unwrap().id, "4", "an id is never used twice");
    }

    #[test]
    fn what_changes_nothing_is_no_change() {
        let mut list = three();
        let same = json!({"taskId": "3", "subject": "paint", "status": "pending", "addBlocks": ["3", "7"]});
        assert_eq!(list.update(&same), Some(Updated { fields: Vec::new(), status: None }));
        list.update(&json!({"taskId": "3", "metadata": {"a": 1, "b": 2}}));
        list.update(&json!({"taskId": "3", "metadata": {"a": null}}));
        assert_eq!(list.get("3").unwrap().metadata.keys().collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn a_list_without_end_is_refused() {
        let mut list = TaskList::default();
        let made = (0..=MOST).filter(|_| list.create(&json!({"subject": "x"})).is_ok()).count();
        assert_eq!(made, MOST);
    }
}

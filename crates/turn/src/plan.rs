//! Plan mode, as the model knows it: told when it begins and when it ends, whoever switched it and whenever.
//!
//! Deliberately absent: what it forbids, which `policy` holds whatever the model was told.

use crate::turn::{Cx, Turn};
use crate::words;
use wire::PermissionMode;

impl Turn {
    /// Tells the main conversation what has changed since it was last told.
    pub(crate) fn tell_plan_mode(&mut self, cx: &mut Cx) {
        let is_on = self.settings.mode == PermissionMode::Plan;
        if std::mem::replace(&mut self.plan_told, is_on) == is_on {
            return;
        }
        if !is_on {
            return self.push_reminder(words::PLAN_MODE_OFF, cx);
        }
        let work = self.settings.plan_instructions.as_deref().unwrap_or(words::PLAN_MODE_WORK);
        let text = format!("{}\n\n{work}\n\n{}", words::PLAN_MODE, words::PLAN_MODE_END);
        self.push_reminder(&text, cx);
    }
}

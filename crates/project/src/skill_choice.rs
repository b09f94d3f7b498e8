//! Which of the skills there are count: what the settings say of single ones, and what a client asked for.

use crate::Skill;
use settings::Settings;

/// What the settings say about single skills: `off`, `name-only`, `user-invocable-only`.
pub fn override_skills(skills: &mut Vec<Skill>, settings: &Settings) {
    let Some(wanted) = settings.merged["skillOverrides"].as_object() else { return };
    let word = |skill: &Skill| wanted.get(&skill.name).and_then(|word| word.as_str()).map(str::to_owned);
    skills.retain(|skill| word(skill).as_deref() != Some("off"));
    for skill in skills {
        match word(skill).as_deref() {
            Some("user-invocable-only") => skill.model_invocable = false,
            Some("name-only") => {
                skill.description.clear();
                skill.when_to_use = None;
            }
            _ => {}
        }
    }
}

impl Skill {
    /// Whether one of these names is its own, or the end of its own after a `:`.
    pub fn is_among(&self, names: &[String]) -> bool {
        names.iter().any(|name| {
            let rest = self.name.strip_suffix(name.as_str());
            !name.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(':'))
        })
    }
}

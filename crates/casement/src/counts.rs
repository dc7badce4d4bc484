//! How many things a plan adds, changes and removes.

use casement_cluster::{ChangeMethod, ClusterChange};
use casement_resource::{Change, Diff};
use casement_run::survey::SurveyedStep;

/// What a step or an object needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Add,
    Change,
    Remove,
}

impl Action {
    fn new(absent_before: bool, absent_after: bool) -> Self {
        match (absent_before, absent_after) {
            (true, _) => Self::Add,
            (false, true) => Self::Remove,
            (false, false) => Self::Change,
        }
    }

    pub fn of(change: &Change) -> Self {
        Self::new(change.before.is_none(), change.after.is_none())
    }

    pub fn of_object(change: &ClusterChange) -> Self {
        match change.method {
            ChangeMethod::Apply | ChangeMethod::Patch => {
                Self::new(change.before.is_none(), change.after.is_none())
            }
            ChangeMethod::Restart { .. } => Self::Change,
            ChangeMethod::Delete => Self::Remove,
        }
    }

    pub fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Change => "~",
            Self::Remove => "-",
        }
    }
}

#[derive(Debug, Default)]
pub struct Counts {
    add: usize,
    change: usize,
    remove: usize,
    unchanged: usize,
    /// Could not be observed.
    unknown: usize,
}

impl Counts {
    pub fn add_step(&mut self, step: &SurveyedStep) {
        match &step.step.result {
            Ok(Diff::InSync { .. }) => self.unchanged += 1,
            Ok(Diff::Changes(changes)) => {
                let mut actions = changes.iter().map(Action::of);
                let first = actions.next().unwrap_or(Action::Change);
                let same = actions.all(|action| action == first);
                self.count(if same { first } else { Action::Change });
            }
            Err(_) => self.unknown += 1,
        }
    }

    pub fn add_cluster_change(&mut self, change: &ClusterChange) {
        self.count(Action::of_object(change));
    }

    fn count(&mut self, action: Action) {
        match action {
            Action::Add => self.add += 1,
            Action::Change => self.change += 1,
            Action::Remove => self.remove += 1,
        }
    }

    /// `41 to add, 2 to change`; `in sync` if there is nothing to do.
    pub fn pending(&self) -> String {
        let parts = [
            (self.add, "to add"),
            (self.change, "to change"),
            (self.remove, "to remove"),
            (self.unknown, "unknown"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts = parts.map(|(count, text)| format!("{count} {text}"));
        let parts: Vec<String> = parts.collect();
        match parts.is_empty() {
            true => "in sync".to_owned(),
            false => parts.join(", "),
        }
    }

    /// `Plan: 62 to add, 6 to change, 16 unchanged. No changes were made.`
    pub fn plan(&self) -> String {
        let Self {
            add,
            change,
            remove,
            unchanged,
            unknown,
        } = self;
        let mut text = format!("Plan: {add} to add, {change} to change");
        if *remove > 0 {
            text += &format!(", {remove} to remove");
        }
        text += &format!(", {unchanged} unchanged");
        if *unknown > 0 {
            text += &format!(", {unknown} unknown");
        }
        text + ". No changes were made."
    }
}

#[cfg(test)]
mod tests {
    use casement_resource::wire::ObservedStep;

    use super::*;

    fn step(result: Diff) -> SurveyedStep {
        SurveyedStep {
            name: "file C:\\k\\a".to_owned(),
            step: ObservedStep {
                id: "a".parse().unwrap(),
                result: Ok(result),
            },
        }
    }

    #[test]
    fn step_is_added_if_nothing_existed_before() {
        let mut counts = Counts::default();
        assert_eq!(counts.pending(), "in sync");
        let missing = || Change::missing("exists", "yes");
        let changed = || Change::field("owner", "a", "b");
        counts.add_step(&step(Diff::unchanged("same content")));
        counts.add_step(&step(Diff::Changes(vec![missing(), missing()])));
        counts.add_step(&step(Diff::Changes(vec![missing(), changed()])));
        assert_eq!(counts.pending(), "1 to add, 1 to change");
        assert_eq!(
            counts.plan(),
            "Plan: 1 to add, 1 to change, 1 unchanged. No changes were made."
        );
    }

    #[test]
    fn removals_are_counted_only_if_there_are_any() {
        let removed = Change {
            field: "exists".to_owned(),
            before: Some("yes".to_owned()),
            after: None,
        };
        let mut counts = Counts::default();
        counts.add_step(&step(Diff::Changes(vec![removed])));
        assert_eq!(counts.pending(), "1 to remove");
        assert!(
            counts
                .plan()
                .contains("0 to change, 1 to remove, 0 unchanged")
        );
    }
}

//! How many things a plan adds, changes and removes.

use casement_cluster::ClusterChange;
use casement_report::Action;
use casement_run::survey::SurveyedStep;
use serde::Serialize;

use crate::changes;

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    #[serde(rename = "create")]
    add: usize,
    change: usize,
    remove: usize,
    unchanged: usize,
    /// Could not be observed.
    unknown: usize,
}

impl Counts {
    pub fn add_step(&mut self, step: &SurveyedStep) {
        self.count(Action::of_result(&step.step.result));
    }

    pub fn add_cluster_change(&mut self, change: &ClusterChange) {
        self.count(changes::action(change));
    }

    pub fn count(&mut self, action: Action) {
        match action {
            Action::Create => self.add += 1,
            Action::Change => self.change += 1,
            Action::Remove => self.remove += 1,
            Action::None => self.unchanged += 1,
            Action::Unknown => self.unknown += 1,
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
    use casement_resource::{Change, Diff, Stage};

    use super::*;

    fn step(result: Diff) -> SurveyedStep {
        SurveyedStep {
            stage: Stage::Prepare,
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

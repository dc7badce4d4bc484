//! `casement-node observe`: the differences between the host and its documents.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use casement_resource::{Code, Diff, Failure, NodeDocument};

use crate::engine::{Observation, observe};
use crate::platform::{Platform, Result};
use crate::state::{Layout, applied};

pub(crate) type DocumentObservation = (NodeDocument, Observation);

/// Uses the document in a file, or the documents of the last apply.
pub(crate) fn observe_documents(
    platform: &dyn Platform,
    layout: &Layout,
    file: Option<&Path>,
) -> Result<Vec<DocumentObservation>> {
    let documents = match file {
        Some(file) => vec![read(file)?],
        None => applied::all(layout)?,
    };
    let observe_one = |document: NodeDocument| {
        let seen = observe(platform, layout, &document)?;
        Ok((document, seen))
    };
    documents.into_iter().map(observe_one).collect()
}

fn read(file: &Path) -> Result<NodeDocument> {
    let name = file.display();
    let bytes = fs::read(file).map_err(|error| {
        Failure::new(
            Code::Protocol,
            format!("failed to read `{name}`"),
            "pass the path of a node document",
        )
        .values("a node document in JSON", error.to_string())
    })?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Failure::new(
            Code::Protocol,
            format!("`{name}` is not a node document that this agent supports"),
            "use the same version of casement and the agent",
        )
        .values("a node document in JSON", error.to_string())
    })
}

pub(crate) fn in_sync(results: &[DocumentObservation]) -> bool {
    let mut steps = results
        .iter()
        .flat_map(|(_, observation)| &observation.steps);
    steps.all(casement_resource::wire::ObservedStep::in_sync)
}

/// The summary comes first, then the differences.
pub(crate) fn render(results: &[DocumentObservation], verbose: bool) -> String {
    let steps: usize = results.iter().map(|(_, it)| it.steps.len()).sum();
    if results.is_empty() {
        return "Nothing to observe: no document was applied to this host yet.\n\
                Run `casement apply`, or pass a document: `casement-node observe FILE`.\n"
            .to_owned();
    }
    let all = results
        .iter()
        .flat_map(|(_, observation)| &observation.steps);
    let differing = all.filter(|step| !step.in_sync()).count();
    let mut text = match differing {
        0 => format!(
            "No changes: {} in sync.\n",
            counted(steps, "step is", "steps are")
        ),
        _ => format!(
            "{differing} of {} out of sync. No changes were made.\n",
            counted(steps, "step", "steps")
        ),
    };
    for (document, observation) in results {
        render_document(&mut text, document, observation, verbose);
    }
    if differing > 0 {
        text.push_str("\nRun `casement apply` to fix this. With `windows.repair: auto` in the cluster file, the\nservice `casement` repairs drift automatically.\n");
    }
    text
}

fn render_document(
    text: &mut String,
    document: &NodeDocument,
    observation: &Observation,
    verbose: bool,
) {
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "\n{}, stage {}",
        document.host(),
        document.stage().name()
    );
    let mut unchanged = 0;
    for (step, observed) in document.steps().iter().zip(&observation.steps) {
        let what = step.resource.identity();
        let _ = match &observed.result {
            Ok(Diff::InSync { reason, .. }) if verbose => writeln!(text, "  = {what}: {reason}"),
            Ok(Diff::InSync { .. }) => {
                unchanged += 1;
                Ok(())
            }
            Ok(Diff::Changes(changes)) => changes.iter().try_for_each(|change| {
                let sign = if change.before.is_none() { '+' } else { '~' };
                writeln!(text, "  {sign} {what}  {change}")
            }),
            Err(failure) => writeln!(
                text,
                "  ? {what}\n      error[{}]: {}{}\n      help     {}",
                failure.code,
                failure.message,
                values(failure),
                failure.help
            ),
        };
    }
    if unchanged > 0 {
        let _ = writeln!(
            text,
            "  = {unchanged} unchanged  (-v lists them with the reason)"
        );
    }
    if !observation.missing_blobs.is_empty() {
        let files = observation.missing_blobs.len();
        let _ = writeln!(
            text,
            "  {} missing on this host; `casement apply` copies the content",
            counted(files, "file is", "files are")
        );
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn values(failure: &Failure) -> String {
    let line = |name: &str, value: &Option<String>| {
        let value = value.as_ref()?;
        Some(format!("\n      {name:<8} {value}"))
    };
    let parts = [
        line("expected", &failure.expected),
        line("found", &failure.found),
    ];
    parts.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::documents::{document, env, file, registry, service, windows_host};
    use crate::sim::Sim;
    use casement_resource::{RegistryData, Run};

    fn observed(steps: Vec<casement_resource::Step>) -> Vec<DocumentObservation> {
        let dir = tempfile::tempdir().unwrap();
        let layout = Layout::new(dir.path().to_owned());
        let sim = Sim::new(windows_host());
        layout.prepare(&sim).unwrap();
        let document = document(steps);
        let observation = observe(&sim, &layout, &document).unwrap();
        vec![(document, observation)]
    }

    #[test]
    fn differences_follow_the_summary() {
        let mut results = observed(vec![
            env("old", "Old", "before"),
            env("new", "NEW", "1"),
            env("other", "Old2", "x"),
            file("notes", r"C:\k\notes.txt", "yours"),
            service("kubelet", Run::Running, &[], &[]),
            registry("r", r"SOFTWARE\x", RegistryData::Number(1)),
        ]);
        results[0].1.steps[2].result = Err(Failure::new(
            Code::System,
            "cannot read the registry: access denied",
            "log in as an administrator",
        )
        .values("a value", "nothing"));
        let text = render(&results, false);
        let mut goldens = casement_golden::Goldens::in_folder("tests/golden/observe");
        goldens.add("differences.txt", text);
        goldens.assert();
        assert!(render(&results, true).contains("  = env Old: "));
        assert!(!in_sync(&results));
    }

    #[test]
    fn host_in_sync_reports_no_changes() {
        let results = observed(vec![env("old", "Old", "before")]);
        assert!(in_sync(&results));
        assert_eq!(
            render(&results, false),
            "No changes: 1 step is in sync.\n\nwin1, stage prepare\n  = 1 unchanged  (-v lists them with the reason)\n"
        );
        assert!(render(&[], false).starts_with("Nothing to observe"));
    }
}

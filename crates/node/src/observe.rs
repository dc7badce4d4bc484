//! What `observe` says to a person: what differs, and that nothing was changed.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use casement_resource::{Code, Diff, Failure, NodeDocument};

use crate::engine::{Observation, observe};
use crate::platform::{Platform, Result};
use crate::state::{Layout, kept};

/// A document, with what was seen.
pub(crate) type Seen = (NodeDocument, Observation);

/// Looks at the host: at what a file says, or at what it is kept to.
pub(crate) fn look(
    platform: &dyn Platform,
    layout: &Layout,
    file: Option<&Path>,
) -> Result<Vec<Seen>> {
    let documents = match file {
        Some(file) => vec![read(file)?],
        None => kept::all(layout)?,
    };
    let look = |document: NodeDocument| {
        let seen = observe(platform, layout, &document)?;
        Ok((document, seen))
    };
    documents.into_iter().map(look).collect()
}

fn read(file: &Path) -> Result<NodeDocument> {
    let name = file.display();
    let bytes = fs::read(file).map_err(|error| {
        Failure::new(
            Code::Protocol,
            format!("`{name}` cannot be read"),
            "give the path of a node document",
        )
        .values("a node document, as JSON", error.to_string())
    })?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Failure::new(
            Code::Protocol,
            format!("`{name}` is no document that this agent knows"),
            "use a casement and an agent of the same version",
        )
        .values("a node document, as JSON", error.to_string())
    })
}

/// Whether nothing is to do.
pub(crate) fn is_right(seen: &[Seen]) -> bool {
    let mut steps = seen.iter().flat_map(|(_, seen)| &seen.steps);
    steps.all(casement_resource::wire::ObservedStep::is_right)
}

/// What was seen, in words: the answer first, then what differs.
pub(crate) fn tell(seen: &[Seen], verbose: bool) -> String {
    let steps: usize = seen.iter().map(|(_, seen)| seen.steps.len()).sum();
    if seen.is_empty() {
        return "Nothing to look at: this host is kept to no document.\n\
                `casement apply` brings one; `casement-node observe FILE` looks at one.\n"
            .to_owned();
    }
    let wrong = seen.iter().flat_map(|(_, seen)| &seen.steps);
    let wrong = wrong.filter(|step| !step.is_right()).count();
    let mut text = match wrong {
        0 => format!("This host is right: {steps} of {steps} steps.\n"),
        _ => format!("{wrong} of {steps} steps differ. Nothing was changed.\n"),
    };
    for (document, seen) in seen {
        tell_one(&mut text, document, seen, verbose);
    }
    if wrong > 0 {
        text.push_str("\n`casement apply` puts it right; the service `casement` does so by itself\nwhere the cluster's file says `repair: auto`.\n");
    }
    text
}

fn tell_one(text: &mut String, document: &NodeDocument, seen: &Observation, verbose: bool) {
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "\n{}, stage {}",
        document.host(),
        document.stage().name()
    );
    let mut quiet = 0;
    for (step, seen) in document.steps().iter().zip(&seen.steps) {
        let what = step.resource.identity();
        let _ = match &seen.seen {
            Ok(Diff::Right { reason, .. }) if verbose => writeln!(text, "  = {what}: {reason}"),
            Ok(Diff::Right { .. }) => {
                quiet += 1;
                Ok(())
            }
            Ok(Diff::Changes(changes)) => changes.iter().try_for_each(|change| {
                let sign = if change.before.is_none() { '+' } else { '~' };
                writeln!(text, "  {sign} {what}  {change}")
            }),
            Err(failure) => writeln!(
                text,
                "  ? {what}\n      error[{}]: {}{}\n      remedy  {}",
                failure.code,
                failure.what,
                both(failure),
                failure.remedy
            ),
        };
    }
    if quiet > 0 {
        let right = match (quiet, quiet == document.steps().len()) {
            (1, true) => "it is right".to_owned(),
            (_, true) => format!("all {quiet} are right"),
            (1, false) => "1 more is right".to_owned(),
            (_, false) => format!("{quiet} more are right"),
        };
        let _ = writeln!(text, "  = {right}  (-v says why)");
    }
    if !seen.missing_blobs.is_empty() {
        let _ = writeln!(
            text,
            "  {} of the files that it takes are not on this host yet; `casement apply` copies them",
            seen.missing_blobs.len()
        );
    }
}

/// The two values that disagree, below what they are about.
fn both(failure: &Failure) -> String {
    let line = |name: &str, value: &Option<String>| {
        let value = value.as_ref()?;
        Some(format!("\n      {name:<7} {value}"))
    };
    let parts = [
        line("wanted", &failure.wanted),
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

    fn seen(steps: Vec<casement_resource::Step>) -> Vec<Seen> {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path().to_owned());
        let sim = Sim::new(windows_host());
        layout.prepare(&sim).unwrap();
        let document = document(steps);
        let seen = observe(&sim, &layout, &document).unwrap();
        vec![(document, seen)]
    }

    #[test]
    fn what_differs_is_said_after_the_answer() {
        let mut seen = seen(vec![
            env("old", "Old", "before"),
            env("new", "NEW", "1"),
            env("other", "Old2", "x"),
            file("notes", r"C:\k\notes.txt", "yours"),
            service("kubelet", Run::Running, &[], &[]),
            registry("r", r"SOFTWARE\x", RegistryData::Number(1)),
        ]);
        seen[0].1.steps[2].seen = Err(Failure::new(
            Code::System,
            "cannot read the registry: access denied",
            "log in as an administrator",
        )
        .values("a value", "nothing"));
        let told = tell(&seen, false);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/observe.txt");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&path, &told).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            written,
            told,
            "{} differs; BLESS=1 writes it",
            path.display()
        );
        assert!(tell(&seen, true).contains("  = env Old: "));
        assert!(!is_right(&seen));
    }

    #[test]
    fn a_host_that_is_right_is_said_to_be_so_first() {
        let seen = seen(vec![env("old", "Old", "before")]);
        assert!(is_right(&seen));
        assert_eq!(
            tell(&seen, false),
            "This host is right: 1 of 1 steps.\n\nwin1, stage prepare\n  = it is right  (-v says why)\n"
        );
        assert!(tell(&[], false).starts_with("Nothing to look at"));
    }
}

//! Keeps the host as the last apply left it: looks at boot, when HNS was started
//! anew and every few minutes, and puts right what drifted.
//!
//! A look changes nothing and is not written down. A repair is a run like any
//! other, with a journal, so that `status` and a person can see what was done.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use casement_resource::wire::{Outcome, What};
use casement_resource::{Diff, Failure, NodeDocument, Repair, ResourceId, RunId};

use super::Ended;
use super::runs::{Asked, Runs};
use crate::engine::observe;
use crate::kinds;
use crate::platform::{Level, Result};
use crate::state::lock::milliseconds;
use crate::state::order::{self, Order, Task};
use crate::state::{Layout, kept};

/// Between two looks at a host that is right.
const EVERY: Duration = Duration::from_secs(5 * 60);
/// Before a repair that failed is tried again; at boot much is not there yet.
const SOON: Duration = Duration::from_secs(10);
/// Between two tries at most, when repairs do not help.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// Between two looks at whether HNS is still the same process.
const GLANCE: Duration = Duration::from_secs(5);
/// Who asks for a repair.
const KEEPER: &str = "casement's own repair";

/// What a look at the host came to; what matters more comes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Found {
    /// Everything is as it was left, or nothing was.
    Right,
    /// It had drifted, and is right again.
    Repaired,
    /// It has drifted, and is left to a person.
    Left,
    /// It has drifted, and could not be put right.
    Failed,
    /// A run is at work: what it leaves is looked at afterwards.
    Busy,
}

/// Looks for as long as the service lives.
pub(super) fn keep(runs: &Arc<Runs>, ended: &Ended) {
    let mut pause = Pause::default();
    while !ended.0.load(Ordering::SeqCst) {
        // Seen before the look: a restart in the meantime is not lost.
        let hns = runs.platform().hns_process().ok().flatten();
        let wait = pause.after(look(runs).unwrap_or(Found::Failed));
        let since = Instant::now();
        while since.elapsed() < wait {
            thread::sleep(GLANCE);
            let restarted = runs.platform().hns_process().ok().flatten() != hns;
            if restarted || ended.0.load(Ordering::SeqCst) {
                break;
            }
        }
    }
}

/// How long to wait: longer each time that a repair did not help.
#[derive(Debug, Default)]
struct Pause {
    failures: u32,
}

impl Pause {
    fn after(&mut self, found: Found) -> Duration {
        if found == Found::Busy {
            return SOON;
        }
        if found != Found::Failed {
            self.failures = 0;
            return EVERY;
        }
        let doubled = 1_u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        self.failures = self.failures.saturating_add(1);
        SOON.saturating_mul(doubled).min(LONGEST)
    }
}

/// One look, and what follows from it.
pub(super) fn look(runs: &Arc<Runs>) -> Result<Found> {
    if runs.at_work() {
        return Ok(Found::Busy);
    }
    let mut found = Found::Right;
    for document in kept::all(runs.layout())? {
        let drift = drift(runs, &document)?;
        if drift.is_empty() {
            continue;
        }
        let lines: Vec<_> = drift.iter().map(|(_, line)| line.as_str()).collect();
        let what = lines.join("; ");
        if document.repair() == Repair::Report || needs_secret(&document, &drift) {
            let text = format!(
                "{} differs: {what}. `casement apply` mends it.",
                document.host()
            );
            runs.platform().notice(Level::Warning, &text);
            found = found.max(Found::Left);
            continue;
        }
        match repair(runs, document)? {
            None => return Ok(Found::Busy),
            Some(Ok(())) => {
                let text = format!("Repaired: {what}");
                runs.platform().notice(Level::Information, &text);
                found = found.max(Found::Repaired);
            }
            Some(Err(why)) => {
                let text = format!("Not repaired: {what}. {why}");
                runs.platform().notice(Level::Error, &text);
                found = found.max(Found::Failed);
            }
        }
    }
    Ok(found)
}

/// What differs, each step with a line on it.
fn drift(runs: &Runs, document: &NodeDocument) -> Result<Vec<(ResourceId, String)>> {
    let seen = observe(runs.platform(), runs.layout(), document)?;
    let lines = seen.steps.into_iter().filter_map(|step| match step.seen {
        Ok(Diff::Right { .. }) => None,
        Ok(Diff::Changes(changes)) => {
            let (wanted, found) = kinds::both_sides(&changes);
            let line = format!("{} ({found} instead of {wanted})", step.id);
            Some((step.id, line))
        }
        Err(failure) => {
            let line = format!("{} ({})", step.id, failure.what);
            Some((step.id, line))
        }
    });
    Ok(lines.collect())
}

/// A step that needs a secret needs a controller.
fn needs_secret(document: &NodeDocument, drift: &[(ResourceId, String)]) -> bool {
    let differs = |id: &ResourceId| drift.iter().any(|(other, _)| other == id);
    let mut steps = document.steps().iter().filter(|step| differs(&step.id));
    steps.any(|step| !kinds::secrets(&step.resource).is_empty())
}

/// Carries a document out once more; none if somebody else has the host.
fn repair(
    runs: &Arc<Runs>,
    document: NodeDocument,
) -> Result<Option<std::result::Result<(), String>>> {
    let run = run_id(runs.layout())?;
    let order = Order {
        run: run.clone(),
        controller: KEEPER.to_owned(),
        task: Task::Converge(document),
    };
    if let Asked::Busy(_) = runs.ask(order)? {
        return Ok(None);
    }
    let mut next = 1;
    let mut failure = None;
    loop {
        for event in runs.events(&run, next)? {
            next = event.sequence + 1;
            match event.what {
                What::StepFailed { id, failure: why } => {
                    failure = Some(format!("{id}: {}; {}", why.what, why.remedy));
                }
                What::Finished { outcome, .. } => {
                    return Ok(Some(match (outcome, failure) {
                        (Outcome::Done, _) => Ok(()),
                        (_, why) => Err(why.unwrap_or_else(|| "It was stopped.".to_owned())),
                    }));
                }
                _ => {}
            }
        }
    }
}

/// A name that no run has had: not even where the clock was set back.
fn run_id(layout: &Layout) -> Result<RunId> {
    let known = order::runs(layout)?;
    let mut names = (milliseconds()..).map(|now| format!("repair-{now}"));
    let new = |name: &String| known.iter().all(|run| run.as_str() != name);
    let text = names.find(new).unwrap_or_default();
    text.parse().map_err(|error| {
        Failure::new(
            casement_resource::Code::State,
            format!("`{text}` is no name of a run: {error}"),
            "report this",
        )
    })
}

#[cfg(test)]
mod tests {
    use casement_resource::wire::RemoveWhat;
    use casement_resource::{Repair, ServiceState};

    use super::*;
    use crate::engine::documents::{document, full, service, windows_host};
    use crate::sim::{Faults, Sim};

    /// A simulated host behind a service, after an apply.
    struct Rig {
        sim: Arc<Sim>,
        runs: Arc<Runs>,
        _folder: tempfile::TempDir,
    }

    impl Rig {
        fn with(document: NodeDocument) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let layout = Layout::new(folder.path().to_owned());
            let sim = Arc::new(Sim::new(windows_host()));
            layout.prepare(&*sim).unwrap();
            let platform: Arc<dyn crate::platform::Platform> = sim.clone();
            let rig = Self {
                runs: Arc::new(Runs::new(platform, layout)),
                sim,
                _folder: folder,
            };
            rig.carry_out(Task::Converge(document));
            rig
        }

        fn carry_out(&self, task: Task) {
            let run: RunId = format!("r{}", matches!(task, Task::Remove(_)))
                .parse()
                .unwrap();
            let controller = "test".to_owned();
            let values = [(
                "token".parse().unwrap(),
                casement_resource::Secret::new("abcdef.0123456789abcdef".to_owned()),
            )];
            self.runs.secrets(values.into());
            let order = Order {
                run: run.clone(),
                controller,
                task,
            };
            assert!(matches!(self.runs.ask(order).unwrap(), Asked::Accepted));
            let mut next = 1;
            loop {
                let events = self.runs.events(&run, next).unwrap();
                let Some(last) = events.last() else { break };
                next = last.sequence + 1;
            }
            while self.runs.at_work() {
                thread::yield_now();
            }
        }

        /// Somebody stops a service.
        fn stop(&self, name: &str) {
            self.sim.meddle(|world| {
                world.services.get_mut(name).unwrap().state = ServiceState::Stopped;
            });
        }

        fn look(&self) -> Found {
            let found = look(&self.runs).unwrap();
            while self.runs.at_work() {
                thread::yield_now();
            }
            found
        }
    }

    fn proxy() -> NodeDocument {
        let step = service("s1", casement_resource::Run::Running, &[], &[]);
        document(vec![step])
    }

    #[test]
    fn what_drifted_is_put_right_and_told() {
        let rig = Rig::with(proxy());
        let world = rig.sim.world();
        assert_eq!(rig.look(), Found::Right);
        rig.stop("s1");
        assert_eq!(rig.look(), Found::Repaired);
        assert_eq!(rig.sim.world(), world);
        assert_eq!(rig.look(), Found::Right);
        let [(level, text)] = &rig.sim.notices()[..] else {
            panic!("{:?}", rig.sim.notices());
        };
        assert_eq!(*level, Level::Information);
        assert!(text.contains("stopped"), "{text}");
    }

    #[test]
    fn who_wants_reports_gets_reports() {
        let rig = Rig::with(proxy().kept(Repair::Report));
        rig.stop("s1");
        let world = rig.sim.world();
        assert_eq!(rig.look(), Found::Left);
        assert_eq!(rig.sim.world(), world);
        assert_eq!(rig.sim.notices()[0].0, Level::Warning);
    }

    #[test]
    fn what_cannot_be_repaired_is_told_with_the_reason() {
        let rig = Rig::with(proxy());
        rig.stop("s1");
        rig.sim.set_faults(Faults {
            failing: Some("start_service".to_owned()),
            ..Faults::default()
        });
        assert_eq!(rig.look(), Found::Failed);
        let notices = rig.sim.notices();
        assert!(notices[0].1.contains("a fault was asked for") || notices[0].1.contains("refused"));
        assert_eq!(notices[0].0, Level::Error);
    }

    #[test]
    fn a_join_that_is_gone_is_left_to_a_controller() {
        let rig = Rig::with(full());
        rig.sim.meddle(|world| {
            let path = r"C:\etc\kubernetes\kubelet.conf".parse().unwrap();
            assert!(world.entries.remove(&path).is_some());
        });
        assert_eq!(rig.look(), Found::Left);
        assert_eq!(rig.sim.notices()[0].0, Level::Warning);
    }

    #[test]
    fn beside_a_secret_that_is_in_its_place_the_rest_is_repaired() {
        let rig = Rig::with(full());
        rig.sim.meddle(|world| world.variables.clear());
        assert_eq!(rig.look(), Found::Repaired);
        assert_eq!(rig.look(), Found::Right);
    }

    #[test]
    fn nothing_is_kept_after_a_reset() {
        let rig = Rig::with(proxy());
        rig.carry_out(Task::Remove(RemoveWhat::All));
        assert_eq!(rig.sim.world(), windows_host());
        assert_eq!(rig.look(), Found::Right);
        assert_eq!(rig.sim.world(), windows_host());
    }

    #[test]
    fn repairs_that_do_not_help_become_rare() {
        let mut pause = Pause::default();
        assert_eq!(pause.after(Found::Right), EVERY);
        assert_eq!(pause.after(Found::Left), EVERY);
        assert_eq!(pause.after(Found::Failed), SOON);
        assert_eq!(pause.after(Found::Busy), SOON);
        assert_eq!(pause.after(Found::Failed), SOON * 2);
        assert_eq!(pause.after(Found::Failed), SOON * 4);
        for _ in 0..100 {
            pause.after(Found::Failed);
        }
        assert_eq!(pause.after(Found::Failed), LONGEST);
        assert_eq!(pause.after(Found::Repaired), EVERY);
    }
}

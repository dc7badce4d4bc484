//! Keeps the host in the state of the last apply: checks it at boot, after a restart
//! of HNS and every few minutes, and repairs drift.
//!
//! A check changes nothing and is not recorded. A repair is a run like any other,
//! with a journal, so that `casement status` shows what was done.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use casement_resource::wire::{EventKind, Outcome};
use casement_resource::{Diff, Failure, NodeDocument, Repair, ResourceId, RunId};

use super::Stopped;
use super::runs::{Runs, Submitted};
use crate::engine::observe;
use crate::kinds;
use crate::platform::{Level, Result};
use crate::state::lock::milliseconds;
use crate::state::order::{self, Order, Task};
use crate::state::{Layout, applied};

/// Between two checks of a host that is in sync.
const CHECK_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// Before a failed repair is retried; right after boot much is not ready yet.
const FIRST_RETRY: Duration = Duration::from_secs(10);
const LONGEST_RETRY: Duration = Duration::from_secs(60 * 60);
/// Between two checks for a restart of HNS.
const HNS_POLL_INTERVAL: Duration = Duration::from_secs(5);
const CONTROLLER: &str = "automatic repair";

/// Ordered by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CheckResult {
    InSync,
    Repaired,
    /// Drifted, and only reported.
    Reported,
    /// Drifted, and the repair failed.
    Failed,
    /// Another run is active; the host is checked after it.
    Busy,
}

/// Runs until the service stops.
pub(super) fn run_loop(runs: &Arc<Runs>, stopped: &Stopped) {
    let mut backoff = Backoff::default();
    while !stopped.0.load(Ordering::SeqCst) {
        // Read before the check, so that a restart during the check is not missed.
        let hns = runs.platform().hns_process().ok().flatten();
        let wait = backoff.after(check(runs).unwrap_or(CheckResult::Failed));
        let started = Instant::now();
        while started.elapsed() < wait {
            thread::sleep(HNS_POLL_INTERVAL);
            let restarted = runs.platform().hns_process().ok().flatten() != hns;
            if restarted || stopped.0.load(Ordering::SeqCst) {
                break;
            }
        }
    }
}

/// The interval to the next check; doubles with each failed repair.
#[derive(Debug, Default)]
struct Backoff {
    failures: u32,
}

impl Backoff {
    fn after(&mut self, result: CheckResult) -> Duration {
        if result == CheckResult::Busy {
            return FIRST_RETRY;
        }
        if result != CheckResult::Failed {
            self.failures = 0;
            return CHECK_INTERVAL;
        }
        let doubled = 1_u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        self.failures = self.failures.saturating_add(1);
        FIRST_RETRY.saturating_mul(doubled).min(LONGEST_RETRY)
    }
}

pub(super) fn check(runs: &Arc<Runs>) -> Result<CheckResult> {
    if runs.is_active() {
        return Ok(CheckResult::Busy);
    }
    let mut result = CheckResult::InSync;
    for document in applied::all(runs.layout())? {
        let drift = drift(runs, &document)?;
        if drift.is_empty() {
            continue;
        }
        let lines: Vec<_> = drift.iter().map(|(_, line)| line.as_str()).collect();
        let details = lines.join("; ");
        if document.repair() == Repair::Report || needs_secret(&document, &drift) {
            let text = format!(
                "{} drifted: {details}. Run `casement apply` to fix it.",
                document.host()
            );
            runs.platform().notice(Level::Warning, &text);
            result = result.max(CheckResult::Reported);
            continue;
        }
        match repair(runs, document)? {
            None => return Ok(CheckResult::Busy),
            Some(Ok(())) => {
                let text = format!("Repaired: {details}");
                runs.platform().notice(Level::Information, &text);
                result = result.max(CheckResult::Repaired);
            }
            Some(Err(reason)) => {
                let text = format!("Repair failed: {details}. {reason}");
                runs.platform().notice(Level::Error, &text);
                result = result.max(CheckResult::Failed);
            }
        }
    }
    Ok(result)
}

/// The drifted steps, each with a description.
fn drift(runs: &Runs, document: &NodeDocument) -> Result<Vec<(ResourceId, String)>> {
    let observation = observe(runs.platform(), runs.layout(), document)?;
    let name = |id: &ResourceId| {
        let step = document.step(id);
        step.map_or_else(|| id.to_string(), |step| step.resource.identity())
    };
    let lines = observation
        .steps
        .into_iter()
        .filter_map(|step| match step.result {
            Ok(Diff::InSync { .. }) => None,
            Ok(Diff::Changes(changes)) => {
                let (expected, found) = kinds::expected_and_found(&changes);
                let line = format!("{} ({found} instead of {expected})", name(&step.id));
                Some((step.id, line))
            }
            Err(failure) => {
                let line = format!("{} ({})", name(&step.id), failure.message);
                Some((step.id, line))
            }
        });
    Ok(lines.collect())
}

/// Only a controller can send a secret.
fn needs_secret(document: &NodeDocument, drift: &[(ResourceId, String)]) -> bool {
    let differs = |id: &ResourceId| drift.iter().any(|(other, _)| other == id);
    let mut steps = document.steps().iter().filter(|step| differs(&step.id));
    steps.any(|step| !kinds::secrets(&step.resource).is_empty())
}

/// Applies a document again; `None` if another run is active.
fn repair(
    runs: &Arc<Runs>,
    document: NodeDocument,
) -> Result<Option<std::result::Result<(), String>>> {
    let run = run_id(runs.layout())?;
    let steps = document.steps().iter();
    let names = steps.map(|step| (step.id.clone(), step.resource.identity()));
    let names: BTreeMap<ResourceId, String> = names.collect();
    let order = Order {
        run: run.clone(),
        controller: CONTROLLER.to_owned(),
        task: Task::Converge(document),
    };
    if let Submitted::Busy(_) = runs.submit(order)? {
        return Ok(None);
    }
    let mut next = 1;
    let mut failure = None;
    loop {
        for event in runs.events(&run, next)? {
            next = event.sequence + 1;
            match event.kind {
                EventKind::StepFailed { id, failure: cause } => {
                    let name = names.get(&id).map_or("", String::as_str);
                    failure = Some(format!("{name}: {}; {}", cause.message, cause.help));
                }
                EventKind::Finished { outcome, .. } => {
                    return Ok(Some(match (outcome, failure) {
                        (Outcome::Done, _) => Ok(()),
                        (_, cause) => {
                            Err(cause.unwrap_or_else(|| "The run was canceled.".to_owned()))
                        }
                    }));
                }
                _ => {}
            }
        }
    }
}

/// An ID that no run has had, even if the clock was set back.
fn run_id(layout: &Layout) -> Result<RunId> {
    let known = order::runs(layout)?;
    let mut names = (milliseconds()..).map(|now| format!("repair-{now}"));
    let new = |name: &String| known.iter().all(|run| run.as_str() != name);
    let text = names.find(new).unwrap_or_default();
    text.parse().map_err(|error| {
        Failure::new(
            casement_resource::Code::State,
            format!("`{text}` is not a valid run ID: {error}"),
            "report this as a bug",
        )
    })
}

#[cfg(test)]
mod tests {
    use casement_resource::wire::RemoveScope;
    use casement_resource::{Repair, ServiceState};

    use super::*;
    use crate::engine::documents::{document, full, service, windows_host};
    use crate::sim::{Faults, Sim};

    /// A simulated host with a service, after an apply.
    struct Fixture {
        sim: Arc<Sim>,
        runs: Arc<Runs>,
        _dir: tempfile::TempDir,
    }

    impl Fixture {
        fn with(document: NodeDocument) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let layout = Layout::new(dir.path().to_owned());
            let sim = Arc::new(Sim::new(windows_host()));
            layout.prepare(&*sim).unwrap();
            let platform: Arc<dyn crate::platform::Platform> = sim.clone();
            let fixture = Self {
                runs: Arc::new(Runs::new(platform, layout)),
                sim,
                _dir: dir,
            };
            fixture.apply(Task::Converge(document));
            fixture
        }

        fn apply(&self, task: Task) {
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
            assert!(matches!(
                self.runs.submit(order).unwrap(),
                Submitted::Accepted
            ));
            let mut next = 1;
            loop {
                let events = self.runs.events(&run, next).unwrap();
                let Some(last) = events.last() else { break };
                next = last.sequence + 1;
            }
            while self.runs.is_active() {
                thread::yield_now();
            }
        }

        fn stop(&self, name: &str) {
            self.sim.modify_world(|world| {
                world.services.get_mut(name).unwrap().state = ServiceState::Stopped;
            });
        }

        fn check(&self) -> CheckResult {
            let result = check(&self.runs).unwrap();
            while self.runs.is_active() {
                thread::yield_now();
            }
            result
        }
    }

    fn one_service() -> NodeDocument {
        let step = service("s1", casement_resource::Run::Running, &[], &[]);
        document(vec![step])
    }

    #[test]
    fn drift_is_repaired_and_logged() {
        let fixture = Fixture::with(one_service());
        let world = fixture.sim.world();
        assert_eq!(fixture.check(), CheckResult::InSync);
        fixture.stop("s1");
        assert_eq!(fixture.check(), CheckResult::Repaired);
        assert_eq!(fixture.sim.world(), world);
        assert_eq!(fixture.check(), CheckResult::InSync);
        let [(level, text)] = &fixture.sim.notices()[..] else {
            panic!("{:?}", fixture.sim.notices());
        };
        assert_eq!(*level, Level::Information);
        assert!(text.contains("stopped"), "{text}");
    }

    #[test]
    fn report_mode_changes_nothing() {
        let fixture = Fixture::with(one_service().with_repair(Repair::Report));
        fixture.stop("s1");
        let world = fixture.sim.world();
        assert_eq!(fixture.check(), CheckResult::Reported);
        assert_eq!(fixture.sim.world(), world);
        assert_eq!(fixture.sim.notices()[0].0, Level::Warning);
    }

    #[test]
    fn failed_repair_is_logged_with_the_reason() {
        let fixture = Fixture::with(one_service());
        fixture.stop("s1");
        fixture.sim.set_faults(Faults {
            failing: Some("start_service".to_owned()),
            ..Faults::default()
        });
        assert_eq!(fixture.check(), CheckResult::Failed);
        let notices = fixture.sim.notices();
        assert!(notices[0].1.contains("injected fault") || notices[0].1.contains("refused"));
        assert_eq!(notices[0].0, Level::Error);
    }

    #[test]
    fn lost_join_is_only_reported() {
        let fixture = Fixture::with(full());
        fixture.sim.modify_world(|world| {
            let path = r"C:\etc\kubernetes\kubelet.conf".parse().unwrap();
            assert!(world.entries.remove(&path).is_some());
        });
        assert_eq!(fixture.check(), CheckResult::Reported);
        assert_eq!(fixture.sim.notices()[0].0, Level::Warning);
    }

    #[test]
    fn steps_without_missing_secrets_are_repaired() {
        let fixture = Fixture::with(full());
        fixture.sim.modify_world(|world| world.variables.clear());
        assert_eq!(fixture.check(), CheckResult::Repaired);
        assert_eq!(fixture.check(), CheckResult::InSync);
    }

    #[test]
    fn reset_host_is_not_repaired() {
        let fixture = Fixture::with(one_service());
        fixture.apply(Task::Remove(RemoveScope::All));
        assert_eq!(fixture.sim.world(), windows_host());
        assert_eq!(fixture.check(), CheckResult::InSync);
        assert_eq!(fixture.sim.world(), windows_host());
    }

    #[test]
    fn failed_repairs_back_off() {
        let mut backoff = Backoff::default();
        assert_eq!(backoff.after(CheckResult::InSync), CHECK_INTERVAL);
        assert_eq!(backoff.after(CheckResult::Reported), CHECK_INTERVAL);
        assert_eq!(backoff.after(CheckResult::Failed), FIRST_RETRY);
        assert_eq!(backoff.after(CheckResult::Busy), FIRST_RETRY);
        assert_eq!(backoff.after(CheckResult::Failed), FIRST_RETRY * 2);
        assert_eq!(backoff.after(CheckResult::Failed), FIRST_RETRY * 4);
        for _ in 0..100 {
            backoff.after(CheckResult::Failed);
        }
        assert_eq!(backoff.after(CheckResult::Failed), LONGEST_RETRY);
        assert_eq!(backoff.after(CheckResult::Repaired), CHECK_INTERVAL);
    }
}

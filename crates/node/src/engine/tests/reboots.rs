//! Reboots during a run.

use casement_resource::wire::{EventKind, Outcome};
use casement_resource::{Code, NodeDocument, Resource, ServiceState, WindowsFeatureFacts};

use super::{Faults, Rig, Task, changed, document, failed, windows_host, with_after};
use crate::engine::documents::{feature, file, hostname, reboot, service, update};
use casement_resource::Run;

/// A feature and a host name, the reboot for both, and a service that needs it.
pub(super) fn features() -> NodeDocument {
    document(vec![
        file("config", r"C:\k\config", "x"),
        feature("Containers", true),
        hostname("win1"),
        with_after(reboot(), &["feature Containers", "hostname"]),
        with_after(
            service("containerd", Run::Running, &[], &[]),
            &["config", "reboot"],
        ),
    ])
}

impl Rig {
    /// Executes an order across reboots and kills; returns how many there were.
    pub(super) fn execute_to_end(&self, order: &crate::state::order::Order) -> (u32, Outcome) {
        for exits in 0..10 {
            if let Some((outcome, _)) = self.execute(order) {
                return (exits, outcome);
            }
            self.sim.set_faults(Faults::default());
        }
        panic!("the run does not finish");
    }
}

#[test]
fn run_resumes_after_a_single_reboot() {
    let mut rig = Rig::new(windows_host());
    let order = rig.order(Task::Converge(features()));
    assert_eq!(rig.execute_to_end(&order), (1, Outcome::Done));
    let world = rig.sim.world();
    assert_eq!((world.boot, world.hostname.as_str()), (2, "win1"));
    assert_eq!(world.features["containers"].state, WindowsFeatureFacts::On);
    assert_eq!(world.services["containerd"].state, ServiceState::Running);
    let events = rig.events(&order);
    let EventKind::Finished { tally, .. } = events.last().unwrap().kind else {
        panic!("the last event is not `Finished`");
    };
    assert_eq!((tally.changed, tally.in_sync), (5, 0));
    let (_, events) = rig.converge(&features());
    assert_eq!(changed(&events), Vec::<String>::new());
    assert_eq!(rig.sim.world().boot, 2);
}

#[test]
fn run_killed_at_any_point_reboots_once() {
    for kill_at in 1.. {
        let mut rig = Rig::new(windows_host());
        let order = rig.order(Task::Converge(features()));
        let kill_at_point = Faults {
            kill_at: Some(kill_at),
            ..Faults::default()
        };
        rig.sim.set_faults(kill_at_point);
        let (exits, outcome) = rig.execute_to_end(&order);
        assert_eq!(outcome, Outcome::Done, "killed at {kill_at}");
        assert_eq!(rig.sim.world().boot, 2, "killed at {kill_at}");
        // The kill and the reboot, or only the reboot.
        assert!(exits <= 2, "killed at {kill_at}: {exits}");
        if exits == 1 && kill_at > 40 {
            return;
        }
    }
}

#[test]
fn change_pending_after_a_reboot_fails_without_a_loop() {
    let mut rig = Rig::new(windows_host());
    rig.sim
        .modify_world(|world| world.stuck_feature = Some("containers".to_owned()));
    let order = rig.order(Task::Converge(features()));
    assert_eq!(rig.execute_to_end(&order), (1, Outcome::Failed));
    let failures = failed(&rig.events(&order));
    assert_eq!(failures["reboot"].code, Code::NotConverged);
    let found = failures["reboot"].found.clone().unwrap();
    assert!(found.contains("the feature Containers"), "{found}");
    // The next run does not reboot either.
    let (outcome, _) = rig.converge(&features());
    assert_eq!((outcome, rig.sim.world().boot), (Outcome::Failed, 2));
    rig.sim.modify_world(|world| {
        world.stuck_feature = None;
        world.reboot();
    });
    assert_eq!(rig.converge(&features()).0, Outcome::Done);
    // A later pending change causes a reboot again.
    rig.sim.modify_world(|world| {
        let feature = world.features.get_mut("containers");
        feature.unwrap().state = WindowsFeatureFacts::Off;
    });
    let order = rig.order(Task::Converge(features()));
    assert_eq!(rig.execute_to_end(&order), (1, Outcome::Done));
    assert_eq!(rig.sim.world().boot, 4);
}

#[test]
fn forbidden_reboot_requires_action() {
    let forbidden = || {
        let mut step = with_after(reboot(), &["feature Containers"]);
        if let Resource::Reboot(reboot) = &mut step.resource {
            reboot.allowed = false;
        }
        let runtime = service("containerd", Run::Running, &[], &[]);
        document(vec![
            feature("Containers", true),
            step,
            with_after(runtime, &["reboot"]),
        ])
    };
    let mut rig = Rig::new(windows_host());
    let (outcome, events) = rig.converge(&forbidden());
    assert_eq!((outcome, rig.sim.world().boot), (Outcome::Failed, 1));
    let failure = &failed(&events)["reboot"];
    assert_eq!(failure.code, Code::ActionRequired);
    assert!(
        failure.message.contains("Containers"),
        "{}",
        failure.message
    );
    assert!(!rig.sim.world().services.contains_key("containerd"));
    // The user reboots the host.
    rig.sim.modify_world(crate::sim::World::reboot);
    assert_eq!(rig.converge(&forbidden()).0, Outcome::Done);
}

#[test]
fn pending_changes_of_others_cause_no_reboot() {
    let mut rig = Rig::new(windows_host());
    rig.sim.modify_world(|world| {
        world.features.get_mut("containers").unwrap().state = WindowsFeatureFacts::On;
        world.features.get_mut("telnet").unwrap().state = WindowsFeatureFacts::OnAfterBoot;
        world.hostname = "win1".to_owned();
    });
    assert_eq!(rig.converge(&features()).0, Outcome::Done);
    assert_eq!(rig.sim.world().boot, 1);
}

#[test]
fn host_that_does_not_shut_down_times_out() {
    let mut rig = Rig::new(windows_host());
    rig.sim.set_faults(Faults {
        ignored: Some("begin_reboot".to_owned()),
        ..Faults::default()
    });
    let (outcome, events) = rig.converge(&features());
    assert_eq!(outcome, Outcome::Failed);
    assert_eq!(failed(&events)["reboot"].code, Code::TimedOut);
}

#[test]
fn unknown_feature_is_unsupported() {
    let mut rig = Rig::new(windows_host());
    let (_, events) = rig.converge(&document(vec![feature("Nonsense", true)]));
    let failure = &failed(&events)["feature Nonsense"];
    assert_eq!(failure.code, Code::Unsupported);
    assert!(
        failure.message.contains("`Nonsense`"),
        "{}",
        failure.message
    );
}

#[test]
fn existing_feature_survives_removal() {
    let mut rig = Rig::new(windows_host());
    let order = rig.order(Task::Converge(features()));
    rig.execute_to_end(&order);
    assert_eq!(rig.remove(), Outcome::Done);
    let state = rig.sim.world().features["containers"].state;
    assert_eq!(state, WindowsFeatureFacts::OffAfterBoot);

    let mut rig = Rig::new(windows_host());
    rig.sim.modify_world(|world| {
        let feature = world.features.get_mut("containers");
        feature.unwrap().state = WindowsFeatureFacts::On;
    });
    let order = rig.order(Task::Converge(features()));
    rig.execute_to_end(&order);
    assert_eq!(rig.remove(), Outcome::Done);
    let state = rig.sim.world().features["containers"].state;
    assert_eq!(state, WindowsFeatureFacts::On);
}

#[test]
fn domain_member_is_not_renamed() {
    let mut rig = Rig::new(windows_host());
    rig.sim
        .modify_world(|world| world.domain = Some("corp".to_owned()));
    let before = rig.sim.world();
    let (outcome, events) = rig.converge(&document(vec![hostname("win1")]));
    assert_eq!(outcome, Outcome::Failed);
    let failure = &failed(&events)["hostname"];
    assert_eq!(failure.code, Code::Foreign);
    assert!(failure.message.contains("`corp`"), "{}", failure.message);
    assert_eq!(rig.sim.world(), before);
    // Its current name is accepted.
    let (outcome, _) = rig.converge(&document(vec![hostname("win-3k2")]));
    assert_eq!(outcome, Outcome::Done);
}

#[test]
fn missing_update_requires_action() {
    let mut rig = Rig::new(windows_host());
    let wanted = |revision| document(vec![update(revision, None)]);
    assert_eq!(rig.converge(&wanted(681)).0, Outcome::Done);
    let before = rig.sim.world();
    let (outcome, events) = rig.converge(&wanted(4000));
    assert_eq!(outcome, Outcome::Failed);
    let failure = &failed(&events)["update"];
    assert_eq!(failure.code, Code::ActionRequired);
    assert_eq!(
        failure.expected.as_deref(),
        Some("10.0.20348.4000 or later")
    );
    assert_eq!(failure.found.as_deref(), Some("10.0.20348.3807"));
    assert_eq!(rig.sim.world(), before);
}

const PACKAGE: &str = r"C:\k\update.msu";

fn with_package() -> NodeDocument {
    document(vec![
        file("package", PACKAGE, "msu"),
        with_after(update(4000, Some(PACKAGE)), &["package"]),
        with_after(reboot(), &["update"]),
    ])
}

fn host_with_package() -> crate::sim::World {
    let mut world = windows_host();
    world.updates.insert(PACKAGE.to_owned(), 4000);
    world
}

#[test]
fn update_is_installed_once_across_its_reboot() {
    for kill_at in 1.. {
        let mut rig = Rig::new(host_with_package());
        let order = rig.order(Task::Converge(with_package()));
        rig.sim.set_faults(Faults {
            kill_at: Some(kill_at),
            ..Faults::default()
        });
        let (exits, outcome) = rig.execute_to_end(&order);
        assert_eq!(outcome, Outcome::Done, "killed at {kill_at}");
        let world = rig.sim.world();
        assert_eq!((world.boot, world.revision), (2, (4000, None)));
        let (_, events) = rig.converge(&with_package());
        assert_eq!(changed(&events), Vec::<String>::new());
        // Only the update stays.
        assert_eq!(rig.remove(), Outcome::Done);
        let mut wanted = host_with_package();
        wanted.reboot();
        wanted.revision = (4000, None);
        assert_eq!(rig.sim.world(), wanted, "killed at {kill_at}");
        if exits == 1 && kill_at > 20 {
            return;
        }
    }
}

#[test]
fn update_below_the_required_revision_fails_without_a_loop() {
    let mut rig = Rig::new(windows_host());
    rig.sim.modify_world(|world| {
        world.updates.insert(PACKAGE.to_owned(), 3900);
    });
    let order = rig.order(Task::Converge(with_package()));
    assert_eq!(rig.execute_to_end(&order).1, Outcome::Failed);
    assert_eq!(
        failed(&rig.events(&order))["update"].code,
        Code::NotConverged
    );
    assert_eq!(rig.converge(&with_package()).0, Outcome::Failed);
    assert_eq!(rig.sim.world().boot, 2);
}

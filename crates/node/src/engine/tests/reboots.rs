//! Reboots in the middle of a run.

use casement_resource::wire::{Outcome, What};
use casement_resource::{Code, NodeDocument, Resource, ServiceState, WindowsFeatureFacts};

use super::{Faults, Rig, Task, changed, document, failed, windows_host, with_after};
use crate::engine::documents::{feature, file, hostname, reboot, service, update};
use casement_resource::Run;

/// A feature, a name, the reboot that it needs, and what needs the feature.
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
    /// Carries an order out over as many boots and kills as it takes; says how
    /// many.
    pub(super) fn see_through(&self, order: &crate::state::order::Order) -> (u32, Outcome) {
        for ends in 0..10 {
            if let Some((outcome, _)) = self.carry_out(order) {
                return (ends, outcome);
            }
            self.sim.set_faults(Faults::default());
        }
        panic!("it goes on for ever");
    }
}

#[test]
fn a_run_goes_on_after_the_one_reboot_that_it_needs() {
    let mut rig = Rig::new(windows_host());
    let order = rig.order(Task::Converge(features()));
    assert_eq!(rig.see_through(&order), (1, Outcome::Done));
    let world = rig.sim.world();
    assert_eq!((world.boot, world.hostname.as_str()), (2, "win1"));
    assert_eq!(world.features["containers"].state, WindowsFeatureFacts::On);
    assert_eq!(world.services["containerd"].state, ServiceState::Running);
    let events = rig.events(&order);
    let What::Finished { tally, .. } = events.last().unwrap().what else {
        panic!("the last event is not the end");
    };
    assert_eq!((tally.changed, tally.right), (5, 0));
    let (_, events) = rig.converge(&features());
    assert_eq!(changed(&events), Vec::<String>::new());
    assert_eq!(rig.sim.world().boot, 2);
}

#[test]
fn killed_at_every_point_it_reboots_once() {
    for kill_at in 1.. {
        let mut rig = Rig::new(windows_host());
        let order = rig.order(Task::Converge(features()));
        let kill_at_point = Faults {
            kill_at: Some(kill_at),
            ..Faults::default()
        };
        rig.sim.set_faults(kill_at_point);
        let (ends, outcome) = rig.see_through(&order);
        assert_eq!(outcome, Outcome::Done, "killed at {kill_at}");
        assert_eq!(rig.sim.world().boot, 2, "killed at {kill_at}");
        // The first kill, and the boot; or the boot alone.
        assert!(ends <= 2, "killed at {kill_at}: {ends}");
        if ends == 1 && kill_at > 40 {
            return;
        }
    }
}

#[test]
fn what_still_waits_after_a_reboot_is_a_failure_and_no_loop() {
    let mut rig = Rig::new(windows_host());
    rig.sim
        .meddle(|world| world.stuck = Some("containers".to_owned()));
    let order = rig.order(Task::Converge(features()));
    assert_eq!(rig.see_through(&order), (1, Outcome::Failed));
    let failures = failed(&rig.events(&order));
    assert_eq!(failures["reboot"].code, Code::NotConverged);
    let found = failures["reboot"].found.clone().unwrap();
    assert!(found.contains("the feature Containers"), "{found}");
    // Nor does the next run: a person has to look.
    let (outcome, _) = rig.converge(&features());
    assert_eq!((outcome, rig.sim.world().boot), (Outcome::Failed, 2));
    rig.sim.meddle(|world| {
        world.stuck = None;
        world.reboot();
    });
    assert_eq!(rig.converge(&features()).0, Outcome::Done);
    // And what comes to wait later is worth a reboot again.
    rig.sim.meddle(|world| {
        let feature = world.features.get_mut("containers");
        feature.unwrap().state = WindowsFeatureFacts::Off;
    });
    let order = rig.order(Task::Converge(features()));
    assert_eq!(rig.see_through(&order), (1, Outcome::Done));
    assert_eq!(rig.sim.world().boot, 4);
}

#[test]
fn who_wants_no_reboot_is_told_that_one_is_needed() {
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
    assert_eq!(failure.code, Code::Needed);
    assert!(failure.what.contains("Containers"), "{}", failure.what);
    assert!(!rig.sim.world().services.contains_key("containerd"));
    // A person does it.
    rig.sim.meddle(crate::sim::World::reboot);
    assert_eq!(rig.converge(&forbidden()).0, Outcome::Done);
}

#[test]
fn what_others_left_waiting_is_no_reason_for_a_reboot() {
    let mut rig = Rig::new(windows_host());
    rig.sim.meddle(|world| {
        world.features.get_mut("containers").unwrap().state = WindowsFeatureFacts::On;
        world.features.get_mut("telnet").unwrap().state = WindowsFeatureFacts::OnAfterBoot;
        world.hostname = "win1".to_owned();
    });
    assert_eq!(rig.converge(&features()).0, Outcome::Done);
    assert_eq!(rig.sim.world().boot, 1);
}

#[test]
fn a_host_that_does_not_go_down_is_a_failure() {
    let mut rig = Rig::new(windows_host());
    rig.sim.set_faults(Faults {
        lying: Some("begin_reboot".to_owned()),
        ..Faults::default()
    });
    let (outcome, events) = rig.converge(&features());
    assert_eq!(outcome, Outcome::Failed);
    assert_eq!(failed(&events)["reboot"].code, Code::TimedOut);
}

#[test]
fn an_unknown_feature_is_refused_by_name() {
    let mut rig = Rig::new(windows_host());
    let (_, events) = rig.converge(&document(vec![feature("Nonsense", true)]));
    let failure = &failed(&events)["feature Nonsense"];
    assert_eq!(failure.code, Code::Unsupported);
    assert!(failure.what.contains("`Nonsense`"), "{}", failure.what);
}

#[test]
fn a_feature_that_was_there_stays_when_casement_goes() {
    let mut rig = Rig::new(windows_host());
    let order = rig.order(Task::Converge(features()));
    rig.see_through(&order);
    assert_eq!(rig.remove(), Outcome::Done);
    let state = rig.sim.world().features["containers"].state;
    assert_eq!(state, WindowsFeatureFacts::OffAfterBoot);

    let mut rig = Rig::new(windows_host());
    rig.sim.meddle(|world| {
        let feature = world.features.get_mut("containers");
        feature.unwrap().state = WindowsFeatureFacts::On;
    });
    let order = rig.order(Task::Converge(features()));
    rig.see_through(&order);
    assert_eq!(rig.remove(), Outcome::Done);
    let state = rig.sim.world().features["containers"].state;
    assert_eq!(state, WindowsFeatureFacts::On);
}

#[test]
fn a_member_of_a_domain_keeps_its_name() {
    let mut rig = Rig::new(windows_host());
    rig.sim
        .meddle(|world| world.domain = Some("corp".to_owned()));
    let before = rig.sim.world();
    let (outcome, events) = rig.converge(&document(vec![hostname("win1")]));
    assert_eq!(outcome, Outcome::Failed);
    let failure = &failed(&events)["hostname"];
    assert_eq!(failure.code, Code::Foreign);
    assert!(failure.what.contains("`corp`"), "{}", failure.what);
    assert_eq!(rig.sim.world(), before);
    // The name that it has is fine.
    let (outcome, _) = rig.converge(&document(vec![hostname("win-3k2")]));
    assert_eq!(outcome, Outcome::Done);
}

#[test]
fn an_update_below_the_floor_is_a_finding() {
    let mut rig = Rig::new(windows_host());
    let wanted = |revision| document(vec![update(revision, None)]);
    assert_eq!(rig.converge(&wanted(681)).0, Outcome::Done);
    let before = rig.sim.world();
    let (outcome, events) = rig.converge(&wanted(4000));
    assert_eq!(outcome, Outcome::Failed);
    let failure = &failed(&events)["update"];
    assert_eq!(failure.code, Code::Needed);
    assert_eq!(failure.wanted.as_deref(), Some("10.0.20348.4000 or later"));
    assert_eq!(failure.found.as_deref(), Some("10.0.20348.3807"));
    assert_eq!(rig.sim.world(), before);
}

const PACKAGE: &str = r"C:\k\update.msu";

/// An update with its package, and the reboot that it needs.
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
fn an_update_is_installed_once_over_the_reboot_that_it_needs() {
    for kill_at in 1.. {
        let mut rig = Rig::new(host_with_package());
        let order = rig.order(Task::Converge(with_package()));
        rig.sim.set_faults(Faults {
            kill_at: Some(kill_at),
            ..Faults::default()
        });
        let (ends, outcome) = rig.see_through(&order);
        assert_eq!(outcome, Outcome::Done, "killed at {kill_at}");
        let world = rig.sim.world();
        assert_eq!((world.boot, world.revision), (2, (4000, None)));
        let (_, events) = rig.converge(&with_package());
        assert_eq!(changed(&events), Vec::<String>::new());
        // The update stays, and nothing else does.
        assert_eq!(rig.remove(), Outcome::Done);
        let mut wanted = host_with_package();
        wanted.reboot();
        wanted.revision = (4000, None);
        assert_eq!(rig.sim.world(), wanted, "killed at {kill_at}");
        if ends == 1 && kill_at > 20 {
            return;
        }
    }
}

#[test]
fn an_update_that_brings_too_little_is_a_failure_and_no_loop() {
    let mut rig = Rig::new(windows_host());
    rig.sim.meddle(|world| {
        world.updates.insert(PACKAGE.to_owned(), 3900);
    });
    let order = rig.order(Task::Converge(with_package()));
    assert_eq!(rig.see_through(&order).1, Outcome::Failed);
    assert_eq!(
        failed(&rig.events(&order))["update"].code,
        Code::NotConverged
    );
    assert_eq!(rig.converge(&with_package()).0, Outcome::Failed);
    assert_eq!(rig.sim.world().boot, 2);
}

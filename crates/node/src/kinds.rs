//! What each kind of resource does with a platform: look, keep what was there,
//! change, undo. The comparison itself is pure and lives with the types.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use casement_resource::{
    Change, Code, Condition, ConditionFacts, Diff, Failure, PathError, Prior, Resource, Secret,
    SecretName, Sha256,
};

use crate::platform::{Platform, Result};
use crate::state::Layout;

mod adapter;
mod archive;
mod artifact;
mod check;
mod container_store;
mod defender;
mod directory;
mod dynamic_ports;
mod env;
mod feature;
mod file;
mod firewall;
mod forwarding;
mod hns;
mod hostname;
mod image;
mod join;
mod kernel_module;
mod kubeconfig;
mod line;
mod network_link;
mod package;
mod reboot;
mod registry;
mod route;
mod secret_file;
mod service;
mod swap;
mod symlink;
mod sysctl;
mod systemd_unit;
mod time_sync;
mod update;
mod wait;

/// Where something is looked at or changed.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The host.
    pub platform: &'a dyn Platform,
    /// The state folder.
    pub layout: &'a Layout,
    /// Whether this service runs with what is no longer there.
    pub stale: bool,
    /// The secrets that the step needs.
    pub secrets: &'a BTreeMap<SecretName, Secret>,
}

/// One kind of resource.
trait Kind {
    /// Compares what should be with what is.
    fn look(&self, at: &Place<'_>) -> Result<Diff>;

    /// What is there now, to be kept before the first change; fails if what is
    /// there is foreign and cannot be kept.
    fn prior(&self, at: &Place<'_>) -> Result<Prior>;

    /// What has to be kept besides an earlier prior, because the resource has
    /// grown since.
    fn extend(&self, _at: &Place<'_>, earlier: &Prior) -> Result<Prior> {
        Ok(earlier.clone())
    }

    /// Makes it so. `prior` is on disk; `earlier` is what it was to be before.
    fn change(&self, at: &Place<'_>, prior: &Prior, earlier: Option<&Resource>) -> Result<()>;

    /// Takes it back and restores what was there; doing it twice is fine.
    fn undo(&self, at: &Place<'_>, prior: &Prior) -> Result<()>;
}

fn kind(resource: &Resource) -> &dyn Kind {
    match resource {
        Resource::Directory(it) => it,
        Resource::File(it) => it,
        Resource::SecretFile(it) => it,
        Resource::Artifact(it) => it,
        Resource::Env(it) => it,
        Resource::PathEntry(it) => it,
        Resource::RegistryValue(it) => it,
        Resource::Service(it) => it,
        Resource::HnsNetwork(it) => it,
        Resource::HnsEndpoint(it) => it,
        Resource::SourceVip(it) => it,
        Resource::AdapterSettings(it) => it,
        Resource::Route(it) => it,
        Resource::Forwarding(it) => it,
        Resource::FirewallRule(it) => it,
        Resource::DynamicPorts(it) => it,
        Resource::DefenderExclusion(it) => it,
        Resource::WindowsFeature(it) => it,
        Resource::WindowsUpdate(it) => it,
        Resource::Reboot(it) => it,
        Resource::Hostname(it) => it,
        Resource::TimeSync(it) => it,
        Resource::Image(it) => it,
        Resource::ContainerStore(it) => it,
        Resource::Wait(it) => it,
        Resource::Join(it) => it,
        Resource::Kubeconfig(it) => it,
        Resource::Symlink(it) => it,
        Resource::Line(it) => it,
        Resource::Check(it) => it,
        Resource::Sysctl(it) => it,
        Resource::KernelModule(it) => it,
        Resource::Swap(it) => it,
        Resource::Package(it) => it,
        Resource::SystemdUnit(it) => it,
        Resource::NetworkLink(it) => it,
    }
}

/// Compares what should be with what is.
pub fn look(at: &Place<'_>, resource: &Resource) -> Result<Diff> {
    kind(resource).look(at)
}

/// What is there now, to be kept before the first change.
pub fn prior(at: &Place<'_>, resource: &Resource) -> Result<Prior> {
    kind(resource).prior(at)
}

/// What is to be kept, where an earlier state of the resource is recorded.
pub fn extend(at: &Place<'_>, resource: &Resource, earlier: &Prior) -> Result<Prior> {
    kind(resource).extend(at, earlier)
}

/// Makes it so.
pub fn change(
    at: &Place<'_>,
    resource: &Resource,
    prior: &Prior,
    earlier: Option<&Resource>,
) -> Result<()> {
    kind(resource).change(at, prior, earlier)
}

/// Takes it back.
pub fn undo(at: &Place<'_>, resource: &Resource, prior: &Prior) -> Result<()> {
    kind(resource).undo(at, prior)
}

/// The secrets without which a change cannot be made.
#[must_use]
pub fn secrets(resource: &Resource) -> Vec<SecretName> {
    match resource {
        Resource::Join(join) => vec![join.token.clone()],
        Resource::SecretFile(file) => file.secrets(),
        _ => Vec::new(),
    }
}

/// Whether a resource that is right has nothing to be taken back, so that its
/// record is not kept.
#[must_use]
pub fn leaves_nothing(resource: &Resource) -> bool {
    matches!(resource, Resource::Reboot(_))
}

/// Whether a resource is a thing that casement makes, and not a setting of the
/// host that others may have come to need meanwhile.
#[must_use]
pub fn is_thing(resource: &Resource) -> bool {
    matches!(
        resource,
        Resource::Directory(_)
            | Resource::File(_)
            | Resource::SecretFile(_)
            | Resource::Artifact(_)
            | Resource::ContainerStore(_)
            | Resource::Kubeconfig(_)
            | Resource::Symlink(_)
            | Resource::Env(_)
            | Resource::PathEntry(_)
            | Resource::RegistryValue(_)
            | Resource::Service(_)
            | Resource::FirewallRule(_)
            | Resource::DefenderExclusion(_)
            | Resource::HnsNetwork(_)
            | Resource::HnsEndpoint(_)
            | Resource::SourceVip(_)
            | Resource::Route(_)
            | Resource::NetworkLink(_)
            | Resource::Join(_)
    )
}

/// Whether one thing cannot go well once another is gone: a network gives its
/// adapter back, and what the adapter had must be known then.
#[must_use]
pub fn stands_on(one: &Resource, other: &Resource) -> bool {
    match (one, other) {
        (Resource::HnsNetwork(network), Resource::AdapterSettings(adapter)) => {
            network.adapter_address == adapter.address
        }
        _ => false,
    }
}

/// The condition under which whoever keeps a thing answers. The thing can be asked
/// for only then, so its keeper is the last to be stopped.
#[must_use]
pub fn keeper(resource: &Resource) -> Option<&Condition> {
    match resource {
        Resource::Image(image) => Some(image.store.ready()),
        Resource::ContainerStore(store) => Some(&store.ready),
        _ => None,
    }
}

/// Whether a thing that casement made takes along whatever its keeper has.
#[must_use]
pub fn takes_all_along(resource: &Resource, prior: &Prior) -> bool {
    let made = matches!(prior, Prior::Directory { access: None, .. });
    made && matches!(resource, Resource::ContainerStore(_))
}

/// Has the keeper of a thing let go of what is in it.
pub fn let_go(at: &Place<'_>, resource: &Resource) -> Result<()> {
    match resource {
        Resource::ContainerStore(store) => container_store::let_go(store, at),
        _ => Ok(()),
    }
}

/// Deletes what may still hold a secret after a kill.
pub fn sweep(at: &Place<'_>, resource: &Resource) -> Result<()> {
    match resource {
        Resource::Join(join) => join::sweep(join, at),
        _ => Ok(()),
    }
}

/// The blob that a resource is made from.
#[must_use]
pub fn blob(resource: &Resource) -> Option<Sha256> {
    match resource {
        Resource::Artifact(artifact) => Some(artifact.sha256),
        _ => None,
    }
}

/// A record of another kind than its resource: the records were tampered with.
fn wrong_prior(resource: &str, prior: &Prior) -> Failure {
    Failure::new(
        Code::Restore,
        format!("the record of {resource} holds something else"),
        "restore it by hand, then delete the record",
    )
    .values(
        resource,
        format!("{prior:?}").chars().take(40).collect::<String>(),
    )
}

/// A path that the document should not have had.
fn bad_path(error: PathError) -> Failure {
    Failure::new(Code::Protocol, error.to_string(), "correct the document")
}

/// What differs, in one line for each side: wanted, found.
pub fn both_sides(changes: &[Change]) -> (String, String) {
    let side = |value: fn(&Change) -> &Option<String>| {
        let parts = changes.iter().map(|change| {
            let value = value(change).as_deref().unwrap_or("nothing");
            format!("{}: {value}", change.field)
        });
        parts.collect::<Vec<_>>().join("; ")
    };
    (side(|change| &change.after), side(|change| &change.before))
}

/// Waits until a condition holds.
fn wait_for(at: &Place<'_>, condition: &Condition, limit: Duration) -> Result<()> {
    const STEP: Duration = Duration::from_millis(200);
    let started = Instant::now();
    let mut paused = Duration::ZERO;
    loop {
        let found = match at.platform.condition(condition)? {
            ConditionFacts::Holds => return Ok(()),
            ConditionFacts::NotYet(found) => found,
        };
        // A simulated host's pauses take no time.
        if started.elapsed().max(paused) >= limit {
            return Err(Failure::new(
                Code::TimedOut,
                format!("waited {} s in vain: {condition}", limit.as_secs()),
                "look at the log of the program that should bring it about",
            )
            .values(condition.to_string(), found));
        }
        at.platform.pause(STEP);
        paused += STEP;
    }
}

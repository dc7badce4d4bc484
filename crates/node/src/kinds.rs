//! How each kind of resource is observed, applied and undone on a platform. The
//! comparison itself is pure and lives in `casement-resource`.

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

#[derive(Clone, Copy)]
pub struct KindContext<'a> {
    pub platform: &'a dyn Platform,
    pub layout: &'a Layout,
    /// The service runs with outdated inputs and needs a restart.
    pub stale: bool,
    pub secrets: &'a BTreeMap<SecretName, Secret>,
}

trait Kind {
    /// Compares the desired state with the host.
    fn observe(&self, context: &KindContext<'_>) -> Result<Diff>;

    /// The current state, recorded before the first change. Fails if a foreign
    /// object exists that could not be restored.
    fn prior(&self, context: &KindContext<'_>) -> Result<Prior>;

    /// Extends a recorded prior state when the resource has grown since (new
    /// files of an artifact, new tags of an image).
    fn extend(&self, _context: &KindContext<'_>, previous: &Prior) -> Result<Prior> {
        Ok(previous.clone())
    }

    /// Applies the desired state. `prior` is on disk already; `previous` is the
    /// resource that was applied before.
    fn apply(
        &self,
        context: &KindContext<'_>,
        prior: &Prior,
        previous: Option<&Resource>,
    ) -> Result<()>;

    /// Removes the resource and restores the prior state. Idempotent.
    fn undo(&self, context: &KindContext<'_>, prior: &Prior) -> Result<()>;
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

pub fn observe(context: &KindContext<'_>, resource: &Resource) -> Result<Diff> {
    kind(resource).observe(context)
}

pub fn prior(context: &KindContext<'_>, resource: &Resource) -> Result<Prior> {
    kind(resource).prior(context)
}

pub fn extend(context: &KindContext<'_>, resource: &Resource, previous: &Prior) -> Result<Prior> {
    kind(resource).extend(context, previous)
}

pub fn apply(
    context: &KindContext<'_>,
    resource: &Resource,
    prior: &Prior,
    previous: Option<&Resource>,
) -> Result<()> {
    kind(resource).apply(context, prior, previous)
}

pub fn undo(context: &KindContext<'_>, resource: &Resource, prior: &Prior) -> Result<()> {
    kind(resource).undo(context, prior)
}

/// The secrets that applying the resource needs.
#[must_use]
pub fn secrets(resource: &Resource) -> Vec<SecretName> {
    match resource {
        Resource::Join(join) => vec![join.token.clone()],
        Resource::SecretFile(file) => file.secrets(),
        _ => Vec::new(),
    }
}

/// Whether a resource that is in sync has nothing to undo, so that its record is
/// dropped.
#[must_use]
pub fn needs_no_record(resource: &Resource) -> bool {
    matches!(resource, Resource::Reboot(_))
}

/// Whether a resource is an object that casement creates, and not a setting of
/// the host that others may rely on by now.
#[must_use]
pub fn is_object(resource: &Resource) -> bool {
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

/// Whether removing `one` needs `other` to exist still: deleting a network
/// restores its adapter, which needs the adapter's saved settings.
#[must_use]
pub fn needs_for_removal(one: &Resource, other: &Resource) -> bool {
    match (one, other) {
        (Resource::HnsNetwork(network), Resource::AdapterSettings(adapter)) => {
            network.adapter_address == adapter.address
        }
        _ => false,
    }
}

/// When the container runtime that owns a resource is ready. The resource can be
/// queried only then, so its runtime is stopped last.
#[must_use]
pub fn runtime_condition(resource: &Resource) -> Option<&Condition> {
    match resource {
        Resource::Image(image) => Some(image.store.ready()),
        Resource::ContainerStore(store) => Some(&store.ready),
        _ => None,
    }
}

/// Whether casement created the whole store, so that removing it removes everything
/// that the runtime has in it.
#[must_use]
pub fn owns_whole_store(resource: &Resource, prior: &Prior) -> bool {
    let created = matches!(prior, Prior::Directory { access: None, .. });
    created && matches!(resource, Resource::ContainerStore(_))
}

/// Has the container runtime delete what is in a store.
pub fn release(context: &KindContext<'_>, resource: &Resource) -> Result<()> {
    match resource {
        Resource::ContainerStore(store) => container_store::release(store, context),
        _ => Ok(()),
    }
}

/// Deletes files with secrets that a killed run may have left.
pub fn delete_leftover_secrets(context: &KindContext<'_>, resource: &Resource) -> Result<()> {
    match resource {
        Resource::Join(join) => join::delete_token_files(join, context),
        _ => Ok(()),
    }
}

#[must_use]
pub fn blob(resource: &Resource) -> Option<Sha256> {
    match resource {
        Resource::Artifact(artifact) => Some(artifact.sha256),
        _ => None,
    }
}

/// The record belongs to another kind of resource: the records were edited.
fn wrong_prior(resource: &str, prior: &Prior) -> Failure {
    Failure::new(
        Code::Restore,
        format!("the record of {resource} has the wrong type"),
        "restore the prior state manually, then delete the record",
    )
    .values(
        resource,
        format!("{prior:?}").chars().take(40).collect::<String>(),
    )
}

fn invalid_path(error: PathError) -> Failure {
    Failure::new(
        Code::Protocol,
        error.to_string(),
        "fix the path in the document",
    )
}

/// All differences in one line each: expected, found.
pub fn expected_and_found(changes: &[Change]) -> (String, String) {
    let side = |value: fn(&Change) -> &Option<String>| {
        let parts = changes.iter().map(|change| {
            let value = value(change).as_deref().unwrap_or("nothing");
            format!("{}: {value}", change.field)
        });
        parts.collect::<Vec<_>>().join("; ")
    };
    (side(|change| &change.after), side(|change| &change.before))
}

fn wait_for(context: &KindContext<'_>, condition: &Condition, timeout: Duration) -> Result<()> {
    const INTERVAL: Duration = Duration::from_millis(200);
    let started = Instant::now();
    let mut paused = Duration::ZERO;
    loop {
        let found = match context.platform.condition(condition)? {
            ConditionFacts::Holds => return Ok(()),
            ConditionFacts::NotYet(found) => found,
        };
        // Pauses on a simulated host take no time.
        if started.elapsed().max(paused) >= timeout {
            return Err(Failure::new(
                Code::TimedOut,
                format!("timed out after {} s: {condition}", timeout.as_secs()),
                "check the log of the program that provides it",
            )
            .values(condition.to_string(), found));
        }
        context.platform.pause(INTERVAL);
        paused += INTERVAL;
    }
}

//! Ways to hosts.

use casement_diag::FieldPath;
use casement_spec::{Access, HostAccess, HostBastion, SecretRef, SshCredential};

use super::Refusals;

const FILE: &str = "name a file: `key: ~/.ssh/id_ed25519`";
const SUDO: &str = "log in as root on Linux hosts that are `managed`";
const BASTION: &str = "reach hosts behind a bastion over SSH: leave out `access.winrm`";

/// What all hosts have.
pub(super) fn all(refusals: &mut Refusals<'_>, at: &FieldPath, access: &Access) {
    let ssh = at.field("ssh");
    credential(refusals, &ssh, &access.ssh.credential);
    refusals.field_if(ssh.field("sudo"), access.ssh.sudo.is_some(), SUDO);
    let both = access.bastion.is_some() && access.winrm.is_some();
    refusals.field_if(at.field("bastion"), both, BASTION);
}

/// What one host has.
pub(super) fn host(refusals: &mut Refusals<'_>, at: &FieldPath, access: &HostAccess) {
    let ssh = at.field("ssh");
    if let Some(given) = &access.ssh.credential {
        credential(refusals, &ssh, given);
    }
    refusals.field_if(ssh.field("sudo"), access.ssh.sudo.is_some(), SUDO);
    let through = matches!(access.bastion, Some(HostBastion::Through(_)));
    let both = through && access.winrm.is_some();
    refusals.field_if(at.field("bastion"), both, BASTION);
}

fn credential(refusals: &mut Refusals<'_>, at: &FieldPath, credential: &SshCredential) {
    if let SshCredential::Key {
        key: SecretRef::Prompt,
        ..
    } = credential
    {
        refusals.field(at.field("key").field("prompt"), None, FILE);
    }
}

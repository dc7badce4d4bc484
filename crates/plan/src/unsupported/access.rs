//! Unsupported access settings.

use casement_diag::FieldPath;
use casement_spec::{Access, HostAccess, HostBastion, SecretRef, SshCredential};

use super::Findings;

const FILE: &str = "use a file: `key: ~/.ssh/id_ed25519`";
const SUDO: &str = "log in as root on managed Linux hosts";
const BASTION: &str = "remove `access.winrm`; hosts behind a bastion are reached over SSH";

/// Of the cluster.
pub(super) fn all(found: &mut Findings<'_>, at: &FieldPath, access: &Access) {
    let ssh = at.field("ssh");
    credential(found, &ssh, &access.ssh.credential);
    found.field_if(ssh.field("sudo"), access.ssh.sudo.is_some(), SUDO);
    let both = access.bastion.is_some() && access.winrm.is_some();
    found.field_if(at.field("bastion"), both, BASTION);
}

pub(super) fn host(found: &mut Findings<'_>, at: &FieldPath, access: &HostAccess) {
    let ssh = at.field("ssh");
    if let Some(given) = &access.ssh.credential {
        credential(found, &ssh, given);
    }
    found.field_if(ssh.field("sudo"), access.ssh.sudo.is_some(), SUDO);
    let through = matches!(access.bastion, Some(HostBastion::Through(_)));
    let both = through && access.winrm.is_some();
    found.field_if(at.field("bastion"), both, BASTION);
}

fn credential(found: &mut Findings<'_>, at: &FieldPath, credential: &SshCredential) {
    if let SshCredential::Key {
        key: SecretRef::Prompt,
        ..
    } = credential
    {
        found.field(at.field("key").field("prompt"), None, FILE);
    }
}

//! `access`, for all hosts and for one.

use camino::Utf8PathBuf;
use casement_diag::Diagnostic;
use casement_spec::{Access, HostAccess, HostSsh, SecretRef, Ssh, SshCredential};

use super::if_given;
use crate::codes;
use crate::mapping::{Given, Mapping};
use crate::node::Data;
use crate::reader::{At, Reader};
use crate::shapes;

/// How hosts are reached when the document does not say.
pub(super) fn by_default() -> Access {
    Access::default()
}

/// For all hosts: what is not said has its default.
pub(super) fn access(reader: &mut Reader<'_>, at: &At<'_>) -> Option<Access> {
    host_access(reader, at).map(|access| filled(access.ssh))
}

fn filled(ssh: HostSsh) -> Access {
    let default = Ssh::default();
    Access {
        ssh: Ssh {
            user: ssh.user,
            port: ssh.port.unwrap_or(default.port),
            credential: ssh.credential.unwrap_or(default.credential),
            known_hosts: ssh.known_hosts.unwrap_or(default.known_hosts),
            sudo: ssh.sudo,
        },
        ..Access::default()
    }
}

/// For one host: what is not said is left open.
pub(super) fn host_access(reader: &mut Reader<'_>, at: &At<'_>) -> Option<HostAccess> {
    let mapping = Mapping::read(reader, at, &shapes::ACCESS)?;
    match mapping.get("ssh") {
        Given::Value(at) => Some(HostAccess {
            ssh: ssh(reader, &at)?,
            ..HostAccess::default()
        }),
        Given::Nothing => Some(HostAccess::default()),
    }
}

fn ssh(reader: &mut Reader<'_>, at: &At<'_>) -> Option<HostSsh> {
    let mapping = Mapping::read(reader, at, &shapes::SSH)?;
    let user = if_given(mapping.get("user"), |at| user(reader, &at));
    let port = if_given(mapping.get("port"), |at| reader.port(&at));
    let key = if_given(mapping.get("key"), |at| key(reader, &at));
    let known_hosts = if_given(mapping.get("knownHosts"), |at| reader.file(&at));
    Some(HostSsh {
        user: user?,
        port: port?,
        credential: key?.map(SshCredential::key),
        known_hosts: known_hosts?,
        sudo: None,
    })
}

/// An account; a domain may stand before it (`SHOP\admin`).
fn user(reader: &mut Reader<'_>, at: &At<'_>) -> Option<String> {
    let text = reader.text(at, "the name of an account")?;
    if text.is_empty() || text.contains(|c: char| c.is_control() || c.is_whitespace()) {
        let message = format!("{} is no name of an account", at.node.described());
        let finding = Diagnostic::error(at.path.clone(), message).code(codes::BAD_VALUE);
        reader.add(finding.help("an example is `Administrator`"));
        return None;
    }
    Some(text.to_owned())
}

/// A plain path means `{file: …}`.
fn key(reader: &mut Reader<'_>, at: &At<'_>) -> Option<SecretRef> {
    let path: Utf8PathBuf = if let Data::Mapping(_) = &at.node.data {
        let mapping = Mapping::read(reader, at, &shapes::SSH_KEY)?;
        match mapping.get("file") {
            Given::Value(at) => reader.file(&at)?,
            Given::Nothing => {
                if at.node.is_empty_collection() {
                    let how = "write `key: ~/.ssh/id_ed25519`".to_owned();
                    reader.wrong_type(at, "a file", Some(how));
                }
                return None;
            }
        }
    } else {
        reader.file(at)?
    };
    Some(SecretRef::File(path))
}

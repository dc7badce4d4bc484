//! `access`, for all hosts and for one.

use casement_diag::{Diagnostic, Part};
use casement_spec::{
    Access, Bastion, HostAccess, HostBastion, HostSsh, HostWinRm, Ssh, SshCredential, Sudo,
    WinRmAuth, WinRmTransport, defaults,
};

use super::{if_given, or_default, secret};
use crate::codes;
use crate::mapping::{Given, Mapping};
use crate::node::Data;
use crate::reader::{FieldNode, Reader};
use crate::shape::Shape;
use crate::shapes;

/// `spec.access`, with defaults filled in.
pub(super) fn access(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Access> {
    let mapping = Mapping::read(reader, at, &shapes::ACCESS)?;
    let ssh = or_default(
        mapping.get("ssh"),
        |at| ssh(reader, &at, &shapes::SSH),
        HostSsh::default,
    );
    let winrm = if_given(mapping.get("winrm"), |at| winrm(reader, &at));
    let bastion = if_given(mapping.get("bastion"), |at| bastion(reader, &at));
    Some(Access {
        ssh: filled(ssh?),
        winrm: winrm?.map(|winrm| winrm.merged_with(None)),
        bastion: bastion?,
    })
}

fn filled(ssh: HostSsh) -> Ssh {
    let default = Ssh::default();
    Ssh {
        user: ssh.user,
        port: ssh.port.unwrap_or(default.port),
        credential: ssh.credential.unwrap_or(default.credential),
        known_hosts: ssh.known_hosts.unwrap_or(default.known_hosts),
        sudo: ssh.sudo,
    }
}

/// Overrides of one host or hypervisor: only what is set.
pub(super) fn host_access(
    reader: &mut Reader<'_>,
    at: &FieldNode<'_>,
    shape: &'static Shape,
) -> Option<HostAccess> {
    let mapping = Mapping::read(reader, at, shape)?;
    let ssh = or_default(
        mapping.get("ssh"),
        |at| ssh(reader, &at, &shapes::HOST_SSH),
        HostSsh::default,
    );
    let winrm = if_given(mapping.get("winrm"), |at| winrm(reader, &at));
    let bastion = if_given(mapping.get("bastion"), |at| host_bastion(reader, &at));
    Some(HostAccess {
        ssh: ssh?,
        winrm: winrm?,
        bastion: bastion?,
    })
}

fn ssh(reader: &mut Reader<'_>, at: &FieldNode<'_>, shape: &'static Shape) -> Option<HostSsh> {
    let mapping = Mapping::read(reader, at, shape)?;
    let host = if_given(mapping.get("host"), |at| {
        reader.parse(&at, "an SSH host name", "windows01")
    });
    let user = if_given(mapping.get("user"), |at| account(reader, &at));
    let port = if_given(mapping.get("port"), |at| reader.port(&at));
    // On a host, a missing key means "as in `spec.access`".
    let has_default_key = std::ptr::eq(shape, &raw const shapes::SSH);
    let credential = credential(reader, &mapping, has_default_key);
    let known_hosts = if_given(mapping.get("knownHosts"), |at| reader.file(&at));
    let sudo = if_given(mapping.get("sudo"), |at| sudo(reader, &at));
    Some(HostSsh {
        host: host?,
        user: user?,
        port: port?,
        credential: credential?,
        known_hosts: known_hosts?,
        sudo: sudo?,
    })
}

/// A key with an optional passphrase, or a password. A passphrase alone is for
/// the default key, if there is one.
fn credential(
    reader: &mut Reader<'_>,
    mapping: &Mapping<'_>,
    has_default_key: bool,
) -> Option<Option<SshCredential>> {
    let key = if_given(mapping.get("key"), |at| {
        secret::path_or_reference(reader, &at)
    });
    let passphrase = if_given(mapping.get("passphrase"), |at| {
        secret::reference(reader, &at)
    });
    let password = if_given(mapping.get("password"), |at| secret::reference(reader, &at));
    if let Given::Value(password) = mapping.get("password") {
        for other in ["key", "passphrase"] {
            let Given::Value(at) = mapping.get(other) else {
                continue;
            };
            let message = format!("`{other}` and `password` cannot be used together");
            let finding = Diagnostic::error(password.path.clone(), message)
                .code(codes::EXCLUSIVE)
                .at(Part::Key)
                .here("and here")
                .label_at(at.path, Part::Key, "here");
            reader.add(finding.help("keep one of them and remove the other"));
            return None;
        }
    }
    let orphan = (mapping.get("passphrase"), mapping.get("key"));
    if let (Given::Value(at), Given::Absent) = orphan
        && !has_default_key
    {
        let message = "`passphrase` is set, but `key` is not";
        let finding = Diagnostic::error(at.path, message).code(codes::FIELD_DEPENDENCY);
        reader.add(
            finding
                .at(Part::Key)
                .help("add `key`, or remove `passphrase`"),
        );
        return None;
    }
    let (key, passphrase, password) = (key?, passphrase?, password?);
    if let Some(password) = password {
        return Some(Some(SshCredential::Password { password }));
    }
    if key.is_none() && passphrase.is_none() {
        return Some(None);
    }
    let key = key.unwrap_or_else(defaults::ssh_key);
    Some(Some(SshCredential::Key { key, passphrase }))
}

fn sudo(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Sudo> {
    let mapping = Mapping::read(reader, at, &shapes::SUDO)?;
    let password = secret::reference(reader, &mapping.required("password")?)?;
    Some(Sudo { password })
}

fn winrm(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<HostWinRm> {
    let mapping = Mapping::read(reader, at, &shapes::WINRM)?;
    let user = if_given(mapping.get("user"), |at| account(reader, &at));
    let domain = if_given(mapping.get("domain"), |at| {
        reader.parse(&at, "a domain", "shop.example")
    });
    let password = if_given(mapping.get("password"), |at| secret::reference(reader, &at));
    let transport = if_given(mapping.get("transport"), |at| {
        reader.named::<WinRmTransport>(&at, "WinRM transport")
    });
    let port = if_given(mapping.get("port"), |at| {
        let number = reader.number(&at, 1..=65535, 5986)?;
        u16::try_from(number).ok()
    });
    let auth = if_given(mapping.get("auth"), |at| {
        reader.named::<WinRmAuth>(&at, "WinRM authentication method")
    });
    let ca = if_given(mapping.get("ca"), |at| reader.file(&at));
    let fingerprint = if_given(mapping.get("fingerprint"), |at| {
        let example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        reader.parse(&at, "a fingerprint", example)
    });
    Some(HostWinRm {
        user: user?,
        domain: domain?,
        password: password?,
        transport: transport?,
        port: port?,
        auth: auth?,
        ca: ca?,
        fingerprint: fingerprint?,
    })
}

fn host_bastion(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<HostBastion> {
    match &at.node.data {
        Data::Scalar(scalar) if scalar.text == "none" => Some(HostBastion::None),
        _ => bastion(reader, at).map(|bastion| HostBastion::Through(Box::new(bastion))),
    }
}

fn bastion(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<Bastion> {
    let mapping = Mapping::read(reader, at, &shapes::BASTION)?;
    let address = mapping
        .required("address")
        .and_then(|at| reader.parse(&at, "an address or a host name", "10.3.0.9"));
    let user = if_given(mapping.get("user"), |at| account(reader, &at));
    let port = or_default(
        mapping.get("port"),
        |at| reader.port(&at),
        defaults::ssh_port,
    );
    let credential = credential(reader, &mapping, true);
    let known_hosts = or_default(
        mapping.get("knownHosts"),
        |at| reader.file(&at),
        defaults::known_hosts,
    );
    Some(Bastion {
        address: address?,
        user: user?,
        port: port?,
        credential: credential?.unwrap_or_else(|| SshCredential::key(defaults::ssh_key())),
        known_hosts: known_hosts?,
    })
}

/// A user name with an optional domain (`SHOP\admin`).
pub(super) fn account(reader: &mut Reader<'_>, at: &FieldNode<'_>) -> Option<String> {
    let text = reader.text(at, "a user name")?;
    if text.is_empty() || text.contains(|c: char| c.is_control() || c.is_whitespace()) {
        let message = format!("{} is not a valid user name", at.node.described());
        let finding = Diagnostic::error(at.path.clone(), message).code(codes::BAD_VALUE);
        reader.add(finding.help("use a value such as `Administrator`"));
        return None;
    }
    Some(text.to_owned())
}

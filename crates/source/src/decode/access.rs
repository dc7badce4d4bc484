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
use crate::reader::{At, Reader};
use crate::shape::Shape;
use crate::shapes;

/// For all hosts: what is not said has its default.
pub(super) fn access(reader: &mut Reader<'_>, at: &At<'_>) -> Option<Access> {
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
        winrm: winrm?.map(|winrm| winrm.over(None)),
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

/// For one host or hypervisor: what is not said is left open.
pub(super) fn host_access(
    reader: &mut Reader<'_>,
    at: &At<'_>,
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

fn ssh(reader: &mut Reader<'_>, at: &At<'_>, shape: &'static Shape) -> Option<HostSsh> {
    let mapping = Mapping::read(reader, at, shape)?;
    let host = if_given(mapping.get("host"), |at| {
        reader.parse(&at, "a name for SSH", "windows01")
    });
    let user = if_given(mapping.get("user"), |at| account(reader, &at));
    let port = if_given(mapping.get("port"), |at| reader.port(&at));
    // One host says what differs, and no key is no difference.
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

/// A key, perhaps with its passphrase, or a password. A passphrase alone opens
/// the default key, where there is one.
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
            let message = format!("`{other}` and `password` exclude each other");
            let finding = Diagnostic::error(password.path.clone(), message)
                .code(codes::EXCLUSIVE)
                .at(Part::Key)
                .here("and here")
                .label_at(at.path, Part::Key, "here");
            reader.add(finding.help("log in with one of them, and leave the other out"));
            return None;
        }
    }
    let lonely = (mapping.get("passphrase"), mapping.get("key"));
    if let (Given::Value(at), Given::Nothing) = lonely
        && !has_default_key
    {
        let message = "`passphrase` is there, but no `key` that it would open";
        let finding = Diagnostic::error(at.path, message).code(codes::LONELY_FIELD);
        reader.add(finding.at(Part::Key).help("add `key`, or leave it out"));
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

fn sudo(reader: &mut Reader<'_>, at: &At<'_>) -> Option<Sudo> {
    let mapping = Mapping::read(reader, at, &shapes::SUDO)?;
    let password = secret::reference(reader, &mapping.required("password")?)?;
    Some(Sudo { password })
}

fn winrm(reader: &mut Reader<'_>, at: &At<'_>) -> Option<HostWinRm> {
    let mapping = Mapping::read(reader, at, &shapes::WINRM)?;
    let user = if_given(mapping.get("user"), |at| account(reader, &at));
    let domain = if_given(mapping.get("domain"), |at| {
        reader.parse(&at, "a domain", "shop.example")
    });
    let password = if_given(mapping.get("password"), |at| secret::reference(reader, &at));
    let transport = if_given(mapping.get("transport"), |at| {
        reader.named::<WinRmTransport>(&at, "transport of WinRM")
    });
    let port = if_given(mapping.get("port"), |at| {
        let number = reader.number(&at, 1..=65535, 5986)?;
        u16::try_from(number).ok()
    });
    let auth = if_given(mapping.get("auth"), |at| {
        reader.named::<WinRmAuth>(&at, "authentication of WinRM")
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

fn host_bastion(reader: &mut Reader<'_>, at: &At<'_>) -> Option<HostBastion> {
    match &at.node.data {
        Data::Scalar(scalar) if scalar.text == "none" => Some(HostBastion::None),
        _ => bastion(reader, at).map(|bastion| HostBastion::Through(Box::new(bastion))),
    }
}

fn bastion(reader: &mut Reader<'_>, at: &At<'_>) -> Option<Bastion> {
    let mapping = Mapping::read(reader, at, &shapes::BASTION)?;
    let address = mapping
        .required("address")
        .and_then(|at| reader.parse(&at, "an address or a name", "10.3.0.9"));
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

/// An account; a domain may stand before it (`SHOP\admin`).
pub(super) fn account(reader: &mut Reader<'_>, at: &At<'_>) -> Option<String> {
    let text = reader.text(at, "the name of an account")?;
    if text.is_empty() || text.contains(|c: char| c.is_control() || c.is_whitespace()) {
        let message = format!("{} is no name of an account", at.node.described());
        let finding = Diagnostic::error(at.path.clone(), message).code(codes::BAD_VALUE);
        reader.add(finding.help("an example is `Administrator`"));
        return None;
    }
    Some(text.to_owned())
}

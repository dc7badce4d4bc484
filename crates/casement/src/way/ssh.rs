//! The way to a host over SSH: the key, an agent's key or the password; the host
//! keys; the hosts on the way.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use camino::Utf8Path;
use casement_diag::Problem;
use casement_remote::{
    Credential, Hop, HostKeyPolicy, NewKeys, RemoteError, Target, decode_key, load_certificate,
    load_key, load_locked_key, load_public_key,
};
use casement_spec::{Bastion, Cluster, Host, SecretRef, SshCredential};

use super::alias::{self, Alias, Jump};
use crate::controller::not_yet;
use crate::{secret, told};

/// What the logins of one run share: nobody is asked twice, no key is opened
/// twice, and a bastion has one connection.
#[derive(Default)]
pub struct Logins {
    /// What to do with host keys that are not known.
    pub host_keys: HostKeyPolicy,
    /// Host keys that were written down.
    pub new_keys: NewKeys,
    opened: BTreeMap<PathBuf, Credential>,
    passwords: BTreeMap<String, Credential>,
    hops: BTreeMap<String, Hop>,
}

impl Logins {
    /// The way to a host. What the cluster file says stands before what OpenSSH's
    /// configuration says about the host's name.
    pub fn to(&mut self, cluster: &Cluster, host: &Host) -> Result<Target, Problem> {
        let login = cluster.login(host);
        let address = host.address.to_string();
        let alias = alias_of(&address);
        let own = &host.access.ssh;
        let all = &cluster.spec.access.ssh;
        let named_user = own.user.is_some() || all.user.is_some();
        let user = alias.user.as_deref().filter(|_| !named_user);
        let user = user.unwrap_or(login.user);
        let credential = match &alias.key {
            Some(key) if own.credential.is_none() && is_usual_key(&all.credential) => {
                self.key(key, None)?
            }
            _ => self.credential(login.credential, user)?,
        };
        let known_hosts = match &alias.known_hosts {
            Some(file) if own.known_hosts.is_none() && is_usual(&all.known_hosts) => file.clone(),
            _ => login.known_hosts.as_std_path().to_owned(),
        };
        let place = alias.hostname.unwrap_or(address);
        let mut target = self.target(host.name.as_str(), &place, user, credential, known_hosts);
        target.port = match (alias.port, own.port, all.port) {
            (Some(port), None, 22) => port,
            _ => login.port,
        };
        target.known_as = alias.known_as;
        target.via = match cluster.bastion(host) {
            Some(bastion) => Some(self.bastion(bastion)?),
            None => self.jumps(&alias.jumps, &target)?,
        };
        Ok(target)
    }

    fn target(
        &self,
        name: &str,
        address: &str,
        user: &str,
        credential: Credential,
        known_hosts: PathBuf,
    ) -> Target {
        let mut target = Target::new(name, address, user, credential, known_hosts);
        target.host_keys = self.host_keys;
        target.new_keys = self.new_keys.clone();
        target
    }

    fn bastion(&mut self, bastion: &Bastion) -> Result<Hop, Problem> {
        let address = bastion.address.to_string();
        let name = format!("{}@{address}:{}", bastion.user, bastion.port);
        if let Some(hop) = self.hops.get(&name) {
            return Ok(hop.clone());
        }
        let credential = self.credential(&bastion.credential, &bastion.user)?;
        let known_hosts = bastion.known_hosts.as_std_path().to_owned();
        let mut target = self.target("bastion", &address, &bastion.user, credential, known_hosts);
        target.port = bastion.port;
        let hop = Hop::new(target);
        self.hops.insert(name, hop.clone());
        Ok(hop)
    }

    /// The hosts of `ProxyJump`, each behind the one before it.
    fn jumps(&mut self, jumps: &[Jump], behind: &Target) -> Result<Option<Hop>, Problem> {
        let mut via: Option<Hop> = None;
        let mut name = String::new();
        for jump in jumps {
            let alias = alias_of(&jump.name);
            let user = jump.user.clone().or(alias.user);
            let user = user.unwrap_or_else(|| behind.user.clone());
            let port = jump.port.or(alias.port).unwrap_or(22);
            let address = alias.hostname.unwrap_or_else(|| jump.name.clone());
            name = format!("{name}>{user}@{address}:{port}");
            if let Some(hop) = self.hops.get(&name) {
                via = Some(hop.clone());
                continue;
            }
            let credential = match &alias.key {
                Some(key) => self.key(key, None)?,
                None => behind.credential.clone(),
            };
            let known_hosts = alias.known_hosts;
            let known_hosts = known_hosts.unwrap_or_else(|| behind.known_hosts.clone());
            let mut target = self.target(&jump.name, &address, &user, credential, known_hosts);
            target.port = port;
            target.known_as = alias.known_as;
            target.via = via;
            let hop = Hop::new(target);
            self.hops.insert(name.clone(), hop.clone());
            via = Some(hop);
        }
        Ok(via)
    }

    fn credential(&mut self, written: &SshCredential, user: &str) -> Result<Credential, Problem> {
        match written {
            SshCredential::Key {
                key: SecretRef::File(path),
                passphrase,
            } => self.key(path.as_std_path(), passphrase.as_ref()),
            SshCredential::Key {
                key: key @ SecretRef::Env(name),
                ..
            } => {
                let text = secret::read(key, "access.ssh.key", "")?;
                // A file ends with an end of line, and readers of keys want it.
                let text = format!("{}\n", text.expose());
                let from = PathBuf::from(format!("${name}"));
                let key = decode_key(&text, &from).map_err(|error| told::remote(&error))?;
                Ok(key.into())
            }
            SshCredential::Key { .. } => Err(not_yet(
                "a key cannot be typed",
                "name its file: `access.ssh.key: ~/.ssh/id_ed25519`",
            )),
            SshCredential::Password { password } => self.password(password, user),
        }
    }

    fn password(&mut self, password: &SecretRef, user: &str) -> Result<Credential, Problem> {
        let asked = format!("{password:?} {user}");
        if let Some(known) = self.passwords.get(&asked) {
            return Ok(known.clone());
        }
        let question = format!("Password of {user} (SSH): ");
        let secret = secret::read(password, "access.ssh.password", &question)?;
        let credential = Credential::Password(secret);
        self.passwords.insert(asked, credential.clone());
        Ok(credential)
    }

    fn key(&mut self, path: &Path, passphrase: Option<&SecretRef>) -> Result<Credential, Problem> {
        if let Some(opened) = self.opened.get(path) {
            return Ok(opened.clone());
        }
        let opened = open(path, passphrase)?;
        self.opened.insert(path.to_owned(), opened.clone());
        Ok(opened)
    }
}

/// A key file, with its passphrase or through an agent where it takes one.
fn open(path: &Path, passphrase: Option<&SecretRef>) -> Result<Credential, Problem> {
    const FIELD: &str = "access.ssh.passphrase";
    let agent = std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from);
    let question = format!("Passphrase of {}: ", path.display());
    let key = match (load_key(path), passphrase, agent) {
        (Err(RemoteError::KeyEncrypted { .. }), Some(passphrase), _) => {
            let passphrase = secret::read(passphrase, FIELD, &question)?;
            load_locked_key(path, &passphrase)
        }
        // As OpenSSH does it: an agent holds the private half of what is named.
        (
            Err(RemoteError::KeyEncrypted { .. } | RemoteError::KeyUnreadable { .. }),
            _,
            Some(socket),
        ) if load_public_key(path).is_some() => {
            let only = load_public_key(path).map(Into::into);
            return Ok(Credential::Agent { socket, only });
        }
        (Err(RemoteError::KeyEncrypted { .. }), None, _) if std::io::stdin().is_terminal() => {
            let passphrase = secret::read(&SecretRef::Prompt, FIELD, &question)?;
            load_locked_key(path, &passphrase)
        }
        (Err(RemoteError::KeyFile { source, .. }), None, Some(socket))
            if source.kind() == std::io::ErrorKind::NotFound && ends_usually(path) =>
        {
            return Ok(Credential::Agent { socket, only: None });
        }
        (loaded, ..) => loaded,
    };
    let key = key.map_err(|error| told::remote(&error))?;
    Ok(Credential::Key {
        key: key.into(),
        certificate: load_certificate(path).map_err(|error| told::remote(&error))?,
    })
}

/// What is written about a name; an address has no other name.
fn alias_of(address: &str) -> Alias {
    match address.parse::<std::net::IpAddr>() {
        Ok(_) => Alias::default(),
        Err(_) => alias::of(address),
    }
}

fn is_usual_key(credential: &SshCredential) -> bool {
    match credential {
        SshCredential::Key {
            key: SecretRef::File(path),
            passphrase: None,
        } => ends_usually(path.as_std_path()),
        _ => false,
    }
}

/// Nobody has named a key: this is the one that is taken then.
fn ends_usually(path: &Path) -> bool {
    path.ends_with(".ssh/id_ed25519")
}

fn is_usual(known_hosts: &Utf8Path) -> bool {
    known_hosts.ends_with(".ssh/known_hosts")
}

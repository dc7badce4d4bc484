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
use casement_spec::{
    Bastion, Cluster, Host, HostBastion, OsFamily, SecretRef, SshCredential, defaults,
};

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
    aliases: BTreeMap<String, Alias>,
}

/// What the cluster file says of a login. What it does not say, OpenSSH's configuration
/// may.
pub struct Said<'a> {
    /// A name of OpenSSH's or DNS's, or an address.
    pub place: String,
    pub user: Option<&'a str>,
    pub usual_user: &'a str,
    pub port: Option<u16>,
    pub credential: Option<&'a SshCredential>,
    usual_credential: &'a SshCredential,
    pub known_hosts: Option<&'a Utf8Path>,
    usual_known_hosts: &'a Utf8Path,
}

impl<'a> Said<'a> {
    /// Of a host: its own word, then the cluster's.
    pub fn of_host(cluster: &'a Cluster, host: &'a Host) -> Self {
        let (own, all) = (&host.access.ssh, &cluster.spec.access.ssh);
        let credential = own.credential.as_ref().or(named_key(&all.credential));
        let known_hosts = own.known_hosts.as_deref().or(named(&all.known_hosts));
        Self {
            place: match &own.host {
                Some(name) => name.to_string(),
                None => host.address.to_string(),
            },
            user: own.user.as_deref().or(all.user.as_deref()),
            usual_user: defaults::user(host.os.family()),
            port: own.port.or(unusual(all.port)),
            credential,
            usual_credential: &all.credential,
            known_hosts,
            usual_known_hosts: &all.known_hosts,
        }
    }

    /// Of a bastion.
    pub fn of_bastion(bastion: &'a Bastion) -> Self {
        Self {
            place: bastion.address.to_string(),
            user: bastion.user.as_deref(),
            usual_user: defaults::user(OsFamily::Linux),
            port: unusual(bastion.port),
            credential: named_key(&bastion.credential),
            usual_credential: &bastion.credential,
            known_hosts: named(&bastion.known_hosts),
            usual_known_hosts: &bastion.known_hosts,
        }
    }
}

impl Logins {
    /// Asks about all hosts that there will be a way to.
    pub fn learn<'a>(&mut self, cluster: &Cluster, hosts: impl Iterator<Item = &'a Host>) {
        let places = hosts.map(|host| Said::of_host(cluster, host).place);
        let places: Vec<String> = places.collect();
        self.aliases.extend(alias::of_all(&places));
    }

    /// The way to a host.
    pub fn to(&mut self, cluster: &Cluster, host: &Host) -> Result<Target, Problem> {
        let said = Said::of_host(cluster, host);
        let mut target = self.target(host.name.as_str(), &said)?;
        target.via = match (cluster.bastion(host), &host.access.bastion) {
            (Some(bastion), _) => Some(self.bastion(bastion)?),
            (None, Some(HostBastion::None)) => None,
            (None, _) => self.between(&said.place, &target)?,
        };
        Ok(target)
    }

    fn bastion(&mut self, bastion: &Bastion) -> Result<Hop, Problem> {
        let said = Said::of_bastion(bastion);
        let mut target = self.target("bastion", &said)?;
        let name = format!("{}@{}:{}", target.user, target.address, target.port);
        if let Some(hop) = self.hops.get(&name) {
            return Ok(hop.clone());
        }
        target.via = self.between(&said.place, &target)?;
        let hop = Hop::new(target);
        self.hops.insert(name, hop.clone());
        Ok(hop)
    }

    /// What is at a place. What the cluster file says stands before what OpenSSH's
    /// configuration says.
    fn target(&mut self, name: &str, said: &Said<'_>) -> Result<Target, Problem> {
        let alias = self.alias(&said.place);
        let user = said.user.or(alias.user.as_deref());
        let user = user.unwrap_or(said.usual_user);
        let credential = match (said.credential, &alias.key) {
            (Some(named), _) => self.credential(named, user)?,
            (None, Some(key)) => self.key(key, None)?,
            (None, None) => self.credential(said.usual_credential, user)?,
        };
        let known_hosts = said.known_hosts.map(Utf8Path::as_std_path);
        let known_hosts = known_hosts.or(alias.known_hosts.as_deref());
        let known_hosts = known_hosts.unwrap_or(said.usual_known_hosts.as_std_path());
        let address = alias.hostname.as_deref().unwrap_or(&said.place);
        let mut target = Target::new(name, address, user, credential, known_hosts.to_owned());
        target.port = said.port.or(alias.port).unwrap_or_else(defaults::ssh_port);
        target.known_as = alias.known_as;
        Ok(self.judging(target))
    }

    /// A target whose host key is judged as in all of this run.
    fn judging(&self, target: Target) -> Target {
        Target {
            host_keys: self.host_keys,
            new_keys: self.new_keys.clone(),
            ..target
        }
    }

    /// What is written about a name or an address.
    fn alias(&mut self, place: &str) -> Alias {
        let known = self.aliases.entry(place.to_owned());
        known.or_insert_with(|| alias::of(place)).clone()
    }

    /// What stands between, where only OpenSSH's configuration says it.
    fn between(&mut self, place: &str, target: &Target) -> Result<Option<Hop>, Problem> {
        let alias = self.alias(place);
        if let Some(command) = alias.command {
            let what = format!("OpenSSH reaches {place} with a command that casement cannot use");
            let remedy = "write `ProxyJump` there, or name the host between in \
                          `access.bastion`; `bastion: none` where there is none";
            return Err(Problem::new("CAS-SSH-028", what, remedy).seen("ProxyCommand", command));
        }
        self.jumps(&alias.jumps, target)
    }

    /// The hosts of `ProxyJump`, each behind the one before it.
    fn jumps(&mut self, jumps: &[Jump], behind: &Target) -> Result<Option<Hop>, Problem> {
        let mut via: Option<Hop> = None;
        let mut name = String::new();
        for jump in jumps {
            let alias = self.alias(&jump.name);
            let user = jump.user.clone().or(alias.user);
            let user = user.unwrap_or_else(|| behind.user.clone());
            let port = jump.port.or(alias.port).unwrap_or_else(defaults::ssh_port);
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
            let mut target = Target::new(&jump.name, address, user, credential, known_hosts);
            target.port = port;
            target.known_as = alias.known_as;
            target.via = via;
            let hop = Hop::new(self.judging(target));
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
            if source.kind() == std::io::ErrorKind::NotFound && is_usual_key(path) =>
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

/// The usual port is what stands in a file that says nothing.
fn unusual(port: u16) -> Option<u16> {
    (port != defaults::ssh_port()).then_some(port)
}

/// A key that is not the usual one: that is what stands in a file that says nothing.
fn named_key(credential: &SshCredential) -> Option<&SshCredential> {
    let usual = match credential {
        SshCredential::Key {
            key: SecretRef::File(path),
            passphrase: None,
        } => is_usual_key(path.as_std_path()),
        _ => false,
    };
    (!usual).then_some(credential)
}

fn is_usual_key(path: &Path) -> bool {
    match defaults::ssh_key() {
        SecretRef::File(usual) => path == alias::expanded(usual.as_str()),
        _ => false,
    }
}

/// A file of host keys that is not the usual one.
fn named(known_hosts: &Utf8Path) -> Option<&Utf8Path> {
    let usual = alias::expanded(defaults::known_hosts().as_str());
    (known_hosts.as_std_path() != usual).then_some(known_hosts)
}

//! SSH endpoints: the key, an agent's key or the password; host keys; bastions and jump
//! hosts.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use camino::Utf8Path;
use casement_diag::Problem;
use casement_remote::{
    Credential, Hop, HostKeyPolicy, LoginError, NewKeys, Target, decode_key, load_certificate,
    load_encrypted_key, load_key, load_public_key,
};
use casement_spec::{
    Bastion, Cluster, Host, HostBastion, OsFamily, SecretRef, SshCredential, defaults,
};

use super::alias::{self, Alias, Jump};
use crate::fleet::unsupported;
use crate::secret;

/// Shared by the logins of one run: each secret is prompted for once, each key is loaded
/// once, and a bastion has one connection.
#[derive(Default)]
pub struct Logins {
    pub host_keys: HostKeyPolicy,
    /// Host keys that were added to known_hosts.
    pub new_keys: NewKeys,
    keys: BTreeMap<PathBuf, Credential>,
    passwords: BTreeMap<String, Credential>,
    hops: BTreeMap<String, Hop>,
    aliases: BTreeMap<String, Alias>,
}

/// The login settings of the cluster file. Where they are None, the OpenSSH configuration
/// applies, then the default.
pub struct LoginSettings<'a> {
    /// A name for OpenSSH or DNS, or an address.
    pub host: String,
    pub user: Option<&'a str>,
    pub default_user: &'a str,
    pub port: Option<u16>,
    pub credential: Option<&'a SshCredential>,
    default_credential: &'a SshCredential,
    pub known_hosts: Option<&'a Utf8Path>,
    default_known_hosts: &'a Utf8Path,
}

impl<'a> LoginSettings<'a> {
    /// Settings of the host override those of the cluster.
    pub fn of_host(cluster: &'a Cluster, host: &'a Host) -> Self {
        let (own, all) = (&host.access.ssh, &cluster.spec.access.ssh);
        let credential = own.credential.as_ref().or(non_default_key(&all.credential));
        let known_hosts = own
            .known_hosts
            .as_deref()
            .or(non_default_known_hosts(&all.known_hosts));
        Self {
            host: match &own.host {
                Some(name) => name.to_string(),
                None => host.address.to_string(),
            },
            user: own.user.as_deref().or(all.user.as_deref()),
            default_user: defaults::user(host.os.family()),
            port: own.port.or(non_default_port(all.port)),
            credential,
            default_credential: &all.credential,
            known_hosts,
            default_known_hosts: &all.known_hosts,
        }
    }

    pub fn of_bastion(bastion: &'a Bastion) -> Self {
        Self {
            host: bastion.address.to_string(),
            user: bastion.user.as_deref(),
            default_user: defaults::user(OsFamily::Linux),
            port: non_default_port(bastion.port),
            credential: non_default_key(&bastion.credential),
            default_credential: &bastion.credential,
            known_hosts: non_default_known_hosts(&bastion.known_hosts),
            default_known_hosts: &bastion.known_hosts,
        }
    }
}

impl Logins {
    /// Queries the OpenSSH configuration of all hosts at once.
    pub fn query_aliases<'a>(&mut self, cluster: &Cluster, hosts: impl Iterator<Item = &'a Host>) {
        let names = hosts.map(|host| LoginSettings::of_host(cluster, host).host);
        let names: Vec<String> = names.collect();
        self.aliases.extend(alias::of_all(&names));
    }

    pub fn to(&mut self, cluster: &Cluster, host: &Host) -> Result<Target, Problem> {
        let login = LoginSettings::of_host(cluster, host);
        let mut target = self.target(host.name.as_str(), &login)?;
        target.via = match (cluster.bastion(host), &host.access.bastion) {
            (Some(bastion), _) => Some(self.bastion(bastion)?),
            (None, Some(HostBastion::None)) => None,
            (None, _) => self.proxy(&login.host, &target)?,
        };
        Ok(target)
    }

    fn bastion(&mut self, bastion: &Bastion) -> Result<Hop, Problem> {
        let login = LoginSettings::of_bastion(bastion);
        let mut target = self.target("bastion", &login)?;
        let name = format!("{}@{}:{}", target.user, target.address, target.port);
        if let Some(hop) = self.hops.get(&name) {
            return Ok(hop.clone());
        }
        target.via = self.proxy(&login.host, &target)?;
        let hop = Hop::new(target);
        self.hops.insert(name, hop.clone());
        Ok(hop)
    }

    /// The cluster file takes precedence over the OpenSSH configuration.
    fn target(&mut self, name: &str, login: &LoginSettings<'_>) -> Result<Target, Problem> {
        let alias = self.alias(&login.host);
        let user = login.user.or(alias.user.as_deref());
        let user = user.unwrap_or(login.default_user);
        let credential = match (login.credential, &alias.key) {
            (Some(credential), _) => self.credential(credential, user)?,
            (None, Some(key)) => self.key(key, None)?,
            (None, None) => self.credential(login.default_credential, user)?,
        };
        let known_hosts = login.known_hosts.map(Utf8Path::as_std_path);
        let known_hosts = known_hosts.or(alias.known_hosts.as_deref());
        let known_hosts = known_hosts.unwrap_or(login.default_known_hosts.as_std_path());
        let address = alias.hostname.as_deref().unwrap_or(&login.host);
        let mut target = Target::new(name, address, user, credential, known_hosts.to_owned());
        target.port = login.port.or(alias.port).unwrap_or_else(defaults::ssh_port);
        target.host_key_alias = alias.known_as;
        Ok(self.with_host_keys(target))
    }

    /// Applies the host key policy of this run.
    fn with_host_keys(&self, target: Target) -> Target {
        Target {
            host_keys: self.host_keys,
            new_keys: self.new_keys.clone(),
            ..target
        }
    }

    fn alias(&mut self, name: &str) -> Alias {
        let entry = self.aliases.entry(name.to_owned());
        entry.or_insert_with(|| alias::of(name)).clone()
    }

    /// The jump hosts of the OpenSSH configuration.
    fn proxy(&mut self, name: &str, target: &Target) -> Result<Option<Hop>, Problem> {
        let alias = self.alias(name);
        if let Some(command) = alias.proxy_command {
            let what = format!(
                "the OpenSSH configuration of {name} has a `ProxyCommand`, which is not supported"
            );
            let help = "use `ProxyJump` instead, or set `access.bastion` in the cluster file; \
                        `bastion: none` for a direct connection";
            return Err(Problem::new("CAS-SSH-028", what, help).detail("ProxyCommand", command));
        }
        self.jumps(&alias.jumps, target)
    }

    /// The hosts of `ProxyJump`, each reached through the previous one.
    fn jumps(&mut self, jumps: &[Jump], destination: &Target) -> Result<Option<Hop>, Problem> {
        let mut via: Option<Hop> = None;
        let mut name = String::new();
        for jump in jumps {
            let alias = self.alias(&jump.name);
            let user = jump.user.clone().or(alias.user);
            let user = user.unwrap_or_else(|| destination.user.clone());
            let port = jump.port.or(alias.port).unwrap_or_else(defaults::ssh_port);
            let address = alias.hostname.unwrap_or_else(|| jump.name.clone());
            name = format!("{name}>{user}@{address}:{port}");
            if let Some(hop) = self.hops.get(&name) {
                via = Some(hop.clone());
                continue;
            }
            let credential = match &alias.key {
                Some(key) => self.key(key, None)?,
                None => destination.credential.clone(),
            };
            let known_hosts = alias.known_hosts;
            let known_hosts = known_hosts.unwrap_or_else(|| destination.known_hosts.clone());
            let mut target = Target::new(&jump.name, address, user, credential, known_hosts);
            target.port = port;
            target.host_key_alias = alias.known_as;
            target.via = via;
            let hop = Hop::new(self.with_host_keys(target));
            self.hops.insert(name.clone(), hop.clone());
            via = Some(hop);
        }
        Ok(via)
    }

    fn credential(&mut self, setting: &SshCredential, user: &str) -> Result<Credential, Problem> {
        match setting {
            SshCredential::Key {
                key: SecretRef::File(path),
                passphrase,
            } => self.key(path.as_std_path(), passphrase.as_ref()),
            SshCredential::Key {
                key: key @ SecretRef::Env(name),
                ..
            } => {
                let text = secret::read(key, "access.ssh.key", "")?;
                // The key parser requires a trailing newline.
                let text = format!("{}\n", text.expose());
                let source = PathBuf::from(format!("${name}"));
                let key = decode_key(&text, &source).map_err(|error| error.problem())?;
                Ok(key.into())
            }
            SshCredential::Key { .. } => Err(unsupported(
                "prompting for an SSH key is not supported",
                "set the path of the key file: `access.ssh.key: ~/.ssh/id_ed25519`",
            )),
            SshCredential::Password { password } => self.password(password, user),
        }
    }

    fn password(&mut self, password: &SecretRef, user: &str) -> Result<Credential, Problem> {
        let id = format!("{password:?} {user}");
        if let Some(known) = self.passwords.get(&id) {
            return Ok(known.clone());
        }
        let prompt = format!("Password of {user} (SSH): ");
        let secret = secret::read(password, "access.ssh.password", &prompt)?;
        let credential = Credential::Password(secret);
        self.passwords.insert(id, credential.clone());
        Ok(credential)
    }

    fn key(&mut self, path: &Path, passphrase: Option<&SecretRef>) -> Result<Credential, Problem> {
        if let Some(key) = self.keys.get(path) {
            return Ok(key.clone());
        }
        let key = load(path, passphrase)?;
        self.keys.insert(path.to_owned(), key.clone());
        Ok(key)
    }
}

/// Loads a key file; an encrypted one with its passphrase or through an SSH agent.
fn load(path: &Path, passphrase: Option<&SecretRef>) -> Result<Credential, Problem> {
    const FIELD: &str = "access.ssh.passphrase";
    let agent = std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from);
    let prompt = format!("Passphrase of {}: ", path.display());
    let key = match (load_key(path), passphrase, agent) {
        (Err(LoginError::KeyEncrypted { .. }), Some(passphrase), _) => {
            let passphrase = secret::read(passphrase, FIELD, &prompt)?;
            load_encrypted_key(path, &passphrase)
        }
        // As in OpenSSH: the agent has the private key for this public key.
        (Err(LoginError::KeyEncrypted { .. } | LoginError::InvalidKey { .. }), _, Some(socket))
            if load_public_key(path).is_some() =>
        {
            let only = load_public_key(path).map(Into::into);
            return Ok(Credential::Agent { socket, only });
        }
        (Err(LoginError::KeyEncrypted { .. }), None, _) if std::io::stdin().is_terminal() => {
            let passphrase = secret::read(&SecretRef::Prompt, FIELD, &prompt)?;
            load_encrypted_key(path, &passphrase)
        }
        (Err(LoginError::KeyFile { source, .. }), None, Some(socket))
            if source.kind() == std::io::ErrorKind::NotFound && is_default_key(path) =>
        {
            return Ok(Credential::Agent { socket, only: None });
        }
        (loaded, ..) => loaded,
    };
    let key = key.map_err(|error| error.problem())?;
    Ok(Credential::Key {
        key: key.into(),
        certificate: load_certificate(path).map_err(|error| error.problem())?,
    })
}

/// The default is also the value of a file without the field.
fn non_default_port(port: u16) -> Option<u16> {
    (port != defaults::ssh_port()).then_some(port)
}

/// The default is also the value of a file without the field.
fn non_default_key(credential: &SshCredential) -> Option<&SshCredential> {
    let is_default = match credential {
        SshCredential::Key {
            key: SecretRef::File(path),
            passphrase: None,
        } => is_default_key(path.as_std_path()),
        _ => false,
    };
    (!is_default).then_some(credential)
}

fn is_default_key(path: &Path) -> bool {
    match defaults::ssh_key() {
        SecretRef::File(default) => path == alias::expanded(default.as_str()),
        _ => false,
    }
}

fn non_default_known_hosts(known_hosts: &Utf8Path) -> Option<&Utf8Path> {
    let default = alias::expanded(defaults::known_hosts().as_str());
    (known_hosts.as_std_path() != default).then_some(known_hosts)
}

//! From what a cluster file says about a host to the way there, with the secrets
//! that it takes.

#[path = "endpoints/alias.rs"]
mod alias;
#[path = "endpoints/ssh.rs"]
mod ssh;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs as _};

use casement_diag::Problem;
use casement_remote::winrm::{
    Identity, KerberosError, Login, Protection, Ticket, Trust, WinRmError, WinRmTarget,
};
use casement_remote::{HostKeyPolicy, NewKeys, RemoteError, Way};
use casement_resource::{Secret, Sha256};
use casement_spec::{
    Cluster, Host, SecretRef, SshName, Way as Written, WinRm, WinRmAuth, WinRmTransport,
};

use crate::controller::not_yet;
use crate::{secret, told};
use ssh::Logins;
pub use ssh::Said;

/// Makes ways. A person is asked once for the password of an account, however
/// many hosts it is for.
#[derive(Default)]
pub struct Ways {
    asked: BTreeMap<String, Secret>,
    logins: Logins,
}

impl Ways {
    /// Makes ways that treat unknown host keys so.
    pub fn with_host_keys(host_keys: HostKeyPolicy) -> Self {
        let mut ways = Self::default();
        ways.logins.host_keys = host_keys;
        ways
    }

    /// Hears of host keys that were written down.
    pub fn new_keys(&self) -> NewKeys {
        self.logins.new_keys.clone()
    }

    /// The ways to hosts, which are all made at once.
    pub fn all(&mut self, cluster: &Cluster, hosts: &[&Host]) -> Result<Vec<Way>, Problem> {
        let over_ssh = |host: &&Host| matches!(cluster.way(host), Written::Ssh(_));
        let over_ssh = hosts.iter().copied().filter(over_ssh);
        self.logins.learn(cluster, over_ssh);
        hosts.iter().map(|host| self.to(cluster, host)).collect()
    }

    /// The way to a host.
    pub fn to(&mut self, cluster: &Cluster, host: &Host) -> Result<Way, Problem> {
        match cluster.way(host) {
            Written::Ssh(_) => self.logins.to(cluster, host).map(Way::from),
            Written::WinRm(_) if cluster.bastion(host).is_some() => Err(not_yet(
                "WinRM through a bastion is not supported yet",
                "reach the host over SSH, or without the bastion: `bastion: none`",
            )),
            Written::WinRm(winrm) => self.winrm(&winrm, host).map(Way::from),
        }
    }

    fn winrm(&mut self, written: &WinRm, host: &Host) -> Result<WinRmTarget, Problem> {
        let login = self.winrm_login(written, host)?;
        let (name, address) = (host.name.as_str(), host.address.to_string());
        let mut target = WinRmTarget::new(name, address, written.account(), login);
        target.port = written.port;
        target.protection = match (written.transport, &written.fingerprint, &written.ca) {
            (WinRmTransport::Http, ..) => Protection::Sealed,
            (WinRmTransport::Https, Some(pin), _) => {
                let pin: Sha256 = pin.as_str().parse().map_err(|_| {
                    let said = format!("`{pin}` is no SHA-256 fingerprint");
                    Problem::new("CAS-SPEC-013", said, "write 64 digits from 0 to f")
                })?;
                Protection::Tls(Trust::Pinned(pin))
            }
            (WinRmTransport::Https, None, Some(ca)) => {
                Protection::Tls(Trust::Signed(ca.as_std_path().to_owned()))
            }
            (WinRmTransport::Https, None, None) => Protection::Tls(Trust::System),
        };
        Ok(target)
    }

    /// A person is asked for a password only where nothing else logs in.
    fn winrm_login(&mut self, written: &WinRm, host: &Host) -> Result<Login, Problem> {
        let account = written.account();
        let kerberos = |identity, otherwise| {
            Login::Kerberos(Ticket {
                identity,
                host: name_in_domain(written, host),
                otherwise,
            })
        };
        let given = written.password != SecretRef::Prompt;
        match written.auth {
            WinRmAuth::Ntlm => self.password(written).map(Login::Ntlm),
            WinRmAuth::Basic => self.password(written).map(Login::Basic),
            WinRmAuth::Kerberos if given => {
                let password = self.password(written)?;
                Ok(kerberos(Identity::with_password(&account, password), None))
            }
            WinRmAuth::Kerberos => {
                let identity = Identity::cached(&account).map_err(no_ticket)?;
                Ok(kerberos(identity, None))
            }
            WinRmAuth::Negotiate => match Identity::cached(&account) {
                Ok(identity) => {
                    let otherwise = given.then(|| self.password(written)).transpose()?;
                    Ok(kerberos(identity, otherwise))
                }
                // Without a ticket there is nothing to tell: most hosts are in no domain.
                Err(_) => self.password(written).map(Login::Ntlm),
            },
        }
    }

    fn password(&mut self, written: &WinRm) -> Result<Secret, Problem> {
        let field = "access.winrm.password";
        if written.password != SecretRef::Prompt {
            return secret::read(&written.password, field, "");
        }
        if let Some(known) = self.asked.get(&written.user) {
            return Ok(known.clone());
        }
        let question = format!("Password of {} (WinRM): ", written.user);
        let password = secret::read(&written.password, field, &question)?;
        self.asked.insert(written.user.clone(), password.clone());
        Ok(password)
    }
}

/// The address of a host that a person names, as OpenSSH's configuration or else DNS
/// has it.
pub fn address_of(name: &str) -> Result<Ipv4Addr, Problem> {
    let unknown = |reason: &dyn Display| {
        let what = format!("`{name}` has no IPv4 address here");
        let remedy = "give the host's IPv4 address, and its name for SSH as `--ssh-host`";
        Problem::new("CAS-JOIN-024", what, remedy).seen("it says", reason)
    };
    let name: SshName = name.parse().map_err(|error| unknown(&error))?;
    let real = alias::of(name.as_str()).hostname;
    let real = real.as_deref().unwrap_or(name.as_str());
    let found = (real, 0)
        .to_socket_addrs()
        .map_err(|error| unknown(&error))?;
    let mut addresses = found.filter_map(|it| match it.ip() {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    });
    addresses
        .next()
        .ok_or_else(|| unknown(&"IPv6 addresses only"))
}

/// The last word of an `ssh` command: the account, unless OpenSSH knows one, and the
/// place.
pub fn at(said: &Said<'_>) -> String {
    let place = &said.place;
    let usual = || alias::of(place).user.is_none().then_some(said.usual_user);
    match said.user.or_else(usual) {
        Some(user) => format!("{user}@{place}"),
        None => place.clone(),
    }
}

/// What tickets for a host are for.
fn name_in_domain(written: &WinRm, host: &Host) -> String {
    let name = host.hostname.as_ref().unwrap_or(&host.name).as_str();
    match &written.domain {
        Some(domain) => format!("{name}.{domain}"),
        None => name.to_owned(),
    }
}

fn no_ticket(error: KerberosError) -> Problem {
    told::remote(&RemoteError::from(WinRmError::from(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIN: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    /// The way to the only Windows host of a file with these words on access.
    fn way(access: &str) -> Result<Way, Problem> {
        let folder = tempfile::tempdir().unwrap();
        let password = folder.path().join("password");
        std::fs::write(&password, "hunter2\n").unwrap();
        let access = access.replace("FILE", password.to_str().unwrap());
        let text = format!(
            "apiVersion: casement.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: shop}}\nspec:\n  \
             kubernetes: {{version: 1.36.3}}\n  existing: {{kubeconfig: ./admin.conf}}\n  network: {{mode: l3-routes}}\n  \
             hosts:\n    - {{name: windows01, address: 10.3.0.4, os: windows-2022}}\n  \
             access:\n    winrm: {access}\n"
        );
        let loaded = casement_source::load_bytes("cluster.yaml", text.as_bytes());
        let cluster = loaded.cluster.expect("the file is right");
        Ways::default().to(&cluster, &cluster.spec.hosts[0])
    }

    fn winrm(access: &str) -> WinRmTarget {
        match way(access) {
            Ok(Way::WinRm(target)) => target,
            Ok(Way::Ssh(_)) => panic!("over SSH"),
            Err(problem) => panic!("{problem}"),
        }
    }

    #[test]
    fn a_host_with_winrm_is_reached_over_winrm_as_the_file_says() {
        let target = winrm("{auth: ntlm, password: {file: FILE}}");
        assert_eq!(
            (target.name.as_str(), target.address.as_str()),
            ("windows01", "10.3.0.4")
        );
        assert_eq!((target.user.as_str(), target.port), ("Administrator", 5986));
        assert_eq!(target.protection, Protection::Tls(Trust::System));
        match target.login {
            Login::Ntlm(password) => assert_eq!(password.expose(), "hunter2"),
            other => panic!("{other:?}"),
        }
        let target = winrm("{user: 'SHOP\\anna', password: {file: FILE}, transport: http}");
        assert_eq!((target.user.as_str(), target.port), (r"SHOP\anna", 5985));
        assert_eq!(target.protection, Protection::Sealed);
    }

    #[test]
    fn a_pinned_certificate_stands_before_who_signed_it() {
        let signed = winrm("{password: {file: FILE}, ca: /etc/ca.pem, auth: basic}");
        let trust = Trust::Signed("/etc/ca.pem".into());
        assert_eq!(signed.protection, Protection::Tls(trust));
        assert!(matches!(signed.login, Login::Basic(_)));
        let access = format!("{{password: {{file: FILE}}, ca: /etc/ca.pem, fingerprint: {PIN}}}");
        let trust = Trust::Pinned(PIN.parse().unwrap());
        assert_eq!(winrm(&access).protection, Protection::Tls(trust));
    }

    #[test]
    fn with_kerberos_a_host_is_known_by_its_name_in_the_domain() {
        let ticket = |access: &str| match winrm(access).login {
            Login::Kerberos(ticket) => ticket,
            other => panic!("{other:?}"),
        };
        let access = "{user: anna, domain: shop.example, auth: kerberos, password: {file: FILE}}";
        let found = ticket(access);
        assert_eq!(found.host, "windows01.shop.example");
        assert!(found.otherwise.is_none(), "it is Kerberos or nothing");
        assert_eq!(
            format!("{:?}", found.identity),
            "Identity(anna@SHOP.EXAMPLE)"
        );
        let found = ticket("{auth: kerberos, password: {file: FILE}}");
        assert_eq!(found.host, "windows01");
    }

    #[test]
    fn a_missing_password_is_named() {
        let missing = way("{auth: ntlm, password: {file: /nowhere/password}}").unwrap_err();
        assert!(
            missing.to_string().contains("/nowhere/password"),
            "{missing}"
        );
    }
}

//! The endpoints of hosts: connection settings from the cluster file and the OpenSSH
//! configuration, with their secrets.

mod alias;
mod ssh;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs as _};

use casement_diag::Problem;
use casement_remote::winrm::{Identity, Login, Protection, Ticket, Trust, WinRmTarget};
use casement_remote::{HostEndpoint, HostKeyPolicy, NewKeys};
use casement_resource::{Secret, Sha256};
use casement_spec::{
    AccessMethod, Cluster, Host, SecretRef, SshName, WinRm, WinRmAuth, WinRmTransport,
};

use crate::fleet::unsupported;
use crate::secret;
pub use ssh::LoginSettings;
use ssh::Logins;

/// Resolves endpoints. Prompts once for the password of an account, however many hosts
/// use it.
#[derive(Default)]
pub struct HostEndpoints {
    prompted: BTreeMap<String, Secret>,
    logins: Logins,
}

impl HostEndpoints {
    pub fn with_host_keys(host_keys: HostKeyPolicy) -> Self {
        let mut endpoints = Self::default();
        endpoints.logins.host_keys = host_keys;
        endpoints
    }

    /// Host keys that were added to known_hosts.
    pub fn new_keys(&self) -> NewKeys {
        self.logins.new_keys.clone()
    }

    /// For several hosts; queries the OpenSSH configuration in parallel.
    pub fn all(
        &mut self,
        cluster: &Cluster,
        hosts: &[&Host],
    ) -> Result<Vec<HostEndpoint>, Problem> {
        let over_ssh = |host: &&Host| matches!(cluster.access_method(host), AccessMethod::Ssh(_));
        let over_ssh = hosts.iter().copied().filter(over_ssh);
        self.logins.query_aliases(cluster, over_ssh);
        hosts.iter().map(|host| self.to(cluster, host)).collect()
    }

    pub fn to(&mut self, cluster: &Cluster, host: &Host) -> Result<HostEndpoint, Problem> {
        match cluster.access_method(host) {
            AccessMethod::Ssh(_) => self.logins.to(cluster, host).map(HostEndpoint::from),
            AccessMethod::WinRm(_) if cluster.bastion(host).is_some() => Err(unsupported(
                "WinRM through a bastion is not supported yet",
                "use SSH for the host, or no bastion: `bastion: none`",
            )),
            AccessMethod::WinRm(winrm) => self.winrm(&winrm, host).map(HostEndpoint::from),
        }
    }

    fn winrm(&mut self, settings: &WinRm, host: &Host) -> Result<WinRmTarget, Problem> {
        let login = self.winrm_login(settings, host)?;
        let (name, address) = (host.name.as_str(), host.address.to_string());
        let mut target = WinRmTarget::new(name, address, settings.account(), login);
        target.port = settings.port;
        target.protection = match (settings.transport, &settings.fingerprint, &settings.ca) {
            (WinRmTransport::Http, ..) => Protection::Sealed,
            (WinRmTransport::Https, Some(pin), _) => {
                let pin: Sha256 = pin.as_str().parse().map_err(|_| {
                    let what = format!("`{pin}` is not a valid SHA-256 fingerprint");
                    Problem::new("CAS-SPEC-013", what, "use 64 hexadecimal digits")
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

    /// Prompts for a password only if nothing else is available.
    fn winrm_login(&mut self, settings: &WinRm, host: &Host) -> Result<Login, Problem> {
        let account = settings.account();
        let kerberos = |identity, fallback_password| {
            Login::Kerberos(Ticket {
                identity,
                host: domain_name(settings, host),
                fallback_password,
            })
        };
        let has_password = settings.password != SecretRef::Prompt;
        match settings.auth {
            WinRmAuth::Ntlm => self.password(settings).map(Login::Ntlm),
            WinRmAuth::Basic => self.password(settings).map(Login::Basic),
            WinRmAuth::Kerberos if has_password => {
                let password = self.password(settings)?;
                Ok(kerberos(Identity::with_password(&account, password), None))
            }
            WinRmAuth::Kerberos => {
                let identity = Identity::cached(&account).map_err(|error| error.problem())?;
                Ok(kerberos(identity, None))
            }
            WinRmAuth::Negotiate => match Identity::cached(&account) {
                Ok(identity) => {
                    let fallback_password =
                        has_password.then(|| self.password(settings)).transpose()?;
                    Ok(kerberos(identity, fallback_password))
                }
                // Not an error: most hosts are not in a domain.
                Err(_) => self.password(settings).map(Login::Ntlm),
            },
        }
    }

    fn password(&mut self, settings: &WinRm) -> Result<Secret, Problem> {
        let field = "access.winrm.password";
        if settings.password != SecretRef::Prompt {
            return secret::read(&settings.password, field, "");
        }
        if let Some(known) = self.prompted.get(&settings.user) {
            return Ok(known.clone());
        }
        let prompt = format!("Password of {} (WinRM): ", settings.user);
        let password = secret::read(&settings.password, field, &prompt)?;
        self.prompted
            .insert(settings.user.clone(), password.clone());
        Ok(password)
    }
}

/// Resolves a host name with the OpenSSH configuration, then DNS.
pub fn resolve_address(name: &str) -> Result<Ipv4Addr, Problem> {
    let failed = |reason: &dyn Display| {
        let what = format!("failed to resolve `{name}` to an IPv4 address");
        let help = "use the IPv4 address of the host, and its SSH name with `--ssh-host`";
        Problem::new("CAS-JOIN-024", what, help).detail("cause", reason)
    };
    let name: SshName = name.parse().map_err(|error| failed(&error))?;
    let host_name = alias::of(name.as_str()).hostname;
    let host_name = host_name.as_deref().unwrap_or(name.as_str());
    let found = (host_name, 0)
        .to_socket_addrs()
        .map_err(|error| failed(&error))?;
    let mut addresses = found.filter_map(|it| match it.ip() {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    });
    addresses
        .next()
        .ok_or_else(|| failed(&"it has only IPv6 addresses"))
}

/// The destination of an `ssh` command, without the user if the OpenSSH configuration has
/// one.
pub fn destination(login: &LoginSettings<'_>) -> String {
    let host = &login.host;
    let default = || alias::of(host).user.is_none().then_some(login.default_user);
    match login.user.or_else(default) {
        Some(user) => format!("{user}@{host}"),
        None => host.clone(),
    }
}

/// The host name in Kerberos tickets.
fn domain_name(settings: &WinRm, host: &Host) -> String {
    let name = host.hostname.as_ref().unwrap_or(&host.name).as_str();
    match &settings.domain {
        Some(domain) => format!("{name}.{domain}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIN: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    /// The endpoint of the host in a cluster file with these WinRM settings.
    fn endpoint(access: &str) -> Result<HostEndpoint, Problem> {
        let dir = tempfile::tempdir().unwrap();
        let password = dir.path().join("password");
        std::fs::write(&password, "hunter2\n").unwrap();
        let access = access.replace("FILE", password.to_str().unwrap());
        let text = format!(
            "apiVersion: casement.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: shop}}\nspec:\n  \
             kubernetes: {{version: 1.36.3}}\n  existing: {{kubeconfig: ./admin.conf}}\n  network: {{mode: l3-routes}}\n  \
             hosts:\n    - {{name: windows01, address: 10.3.0.4, os: windows-2022}}\n  \
             access:\n    winrm: {access}\n"
        );
        let loaded = casement_source::load_bytes("cluster.yaml", text.as_bytes());
        let cluster = loaded.cluster.expect("the file is valid");
        HostEndpoints::default().to(&cluster, &cluster.spec.hosts[0])
    }

    fn winrm(access: &str) -> WinRmTarget {
        match endpoint(access) {
            Ok(HostEndpoint::WinRm(target)) => target,
            Ok(HostEndpoint::Ssh(_)) => panic!("over SSH"),
            Err(problem) => panic!("{problem}"),
        }
    }

    #[test]
    fn winrm_settings_come_from_the_file() {
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
    fn pinned_certificate_takes_precedence_over_the_ca() {
        let signed = winrm("{password: {file: FILE}, ca: /etc/ca.pem, auth: basic}");
        let trust = Trust::Signed("/etc/ca.pem".into());
        assert_eq!(signed.protection, Protection::Tls(trust));
        assert!(matches!(signed.login, Login::Basic(_)));
        let access = format!("{{password: {{file: FILE}}, ca: /etc/ca.pem, fingerprint: {PIN}}}");
        let trust = Trust::Pinned(PIN.parse().unwrap());
        assert_eq!(winrm(&access).protection, Protection::Tls(trust));
    }

    #[test]
    fn kerberos_uses_the_host_name_in_the_domain() {
        let ticket = |access: &str| match winrm(access).login {
            Login::Kerberos(ticket) => ticket,
            other => panic!("{other:?}"),
        };
        let access = "{user: anna, domain: shop.example, auth: kerberos, password: {file: FILE}}";
        let found = ticket(access);
        assert_eq!(found.host, "windows01.shop.example");
        assert!(found.fallback_password.is_none(), "no fallback");
        assert_eq!(
            format!("{:?}", found.identity),
            "Identity(anna@SHOP.EXAMPLE)"
        );
        let found = ticket("{auth: kerberos, password: {file: FILE}}");
        assert_eq!(found.host, "windows01");
    }

    #[test]
    fn missing_password_file_is_named() {
        let missing = endpoint("{auth: ntlm, password: {file: /missing/password}}").unwrap_err();
        assert!(
            missing.to_string().contains("/missing/password"),
            "{missing}"
        );
    }
}

//! From what a cluster file says about a host to the way there, with the secrets
//! that it takes.

mod alias;
mod ssh;

use std::collections::BTreeMap;

use casement_diag::Problem;
use casement_remote::winrm::{Login, Protection, Trust, WinRmTarget};
use casement_remote::{HostKeyPolicy, NewKeys, Way};
use casement_resource::{Secret, Sha256};
use casement_spec::{Cluster, Host, SecretRef, Way as Written, WinRm, WinRmAuth, WinRmTransport};

use crate::controller::not_yet;
use crate::secret;
use ssh::Logins;

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
        let password = self.password(written)?;
        let address = host.address.to_string();
        let mut target =
            WinRmTarget::new(host.name.as_str(), address, written.user.as_str(), password);
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
        target.login = match written.auth {
            WinRmAuth::Ntlm => Login::Ntlm,
            WinRmAuth::Basic => Login::Basic,
            WinRmAuth::Kerberos => {
                return Err(not_yet(
                    "`access.winrm.auth: kerberos` is not supported yet",
                    "use `auth: ntlm`; where NTLM is off, reach the host over SSH",
                ));
            }
        };
        Ok(target)
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
        let target = winrm("{password: {file: FILE}}");
        assert_eq!(
            (target.name.as_str(), target.address.as_str()),
            ("windows01", "10.3.0.4")
        );
        assert_eq!((target.user.as_str(), target.port), ("Administrator", 5986));
        assert_eq!(target.password.expose(), "hunter2");
        assert_eq!(target.protection, Protection::Tls(Trust::System));
        assert_eq!(target.login, Login::Ntlm);
        let target = winrm("{user: 'SHOP\\anna', password: {file: FILE}, transport: http}");
        assert_eq!((target.user.as_str(), target.port), (r"SHOP\anna", 5985));
        assert_eq!(target.protection, Protection::Sealed);
    }

    #[test]
    fn a_pinned_certificate_stands_before_who_signed_it() {
        let signed = winrm("{password: {file: FILE}, ca: /etc/ca.pem, auth: basic}");
        let trust = Trust::Signed("/etc/ca.pem".into());
        assert_eq!(signed.protection, Protection::Tls(trust));
        assert_eq!(signed.login, Login::Basic);
        let access = format!("{{password: {{file: FILE}}, ca: /etc/ca.pem, fingerprint: {PIN}}}");
        let trust = Trust::Pinned(PIN.parse().unwrap());
        assert_eq!(winrm(&access).protection, Protection::Tls(trust));
    }

    #[test]
    fn kerberos_is_refused_and_a_missing_password_named() {
        let kerberos = way("{password: {file: FILE}, auth: kerberos}").unwrap_err();
        assert!(kerberos.to_string().contains("kerberos"), "{kerberos}");
        let missing = way("{password: {file: /nowhere/password}}").unwrap_err();
        assert!(
            missing.to_string().contains("/nowhere/password"),
            "{missing}"
        );
    }
}

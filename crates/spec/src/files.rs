//! Local files and directories named in the cluster document.

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    Access, Bastion, Cluster, HostAccess, HostBastion, Images, Machines, SecretRef, SshCredential,
    WindowsUpdate,
};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` in `{field}` starts with `~/`, but the home directory is unknown")]
pub struct NoHome {
    pub field: String,
    pub path: Utf8PathBuf,
}

type Files<'a> = Vec<(String, &'a mut Utf8PathBuf)>;

impl Cluster {
    /// Every local path in the document, with its field as written there
    /// (`spec.existing.kubeconfig`), so that a missing file can be reported with its
    /// line.
    pub fn files_mut(&mut self) -> Vec<(String, &mut Utf8PathBuf)> {
        let mut files = Files::new();
        let spec = &mut self.spec;
        if let Some(existing) = &mut spec.existing {
            let field = "spec.existing.kubeconfig".to_owned();
            files.push((field, &mut existing.kubeconfig));
        }
        all_access(&mut files, &mut spec.access);
        for (index, host) in spec.hosts.iter_mut().enumerate() {
            let prefix = format!("spec.hosts[{index}].access");
            host_access(&mut files, &prefix, &mut host.access);
        }
        for (index, update) in spec.windows.updates.iter_mut().enumerate() {
            if let WindowsUpdate::Package(path) = update {
                files.push((format!("spec.windows.updates[{index}]"), path));
            }
        }
        if let Some(account) = &mut spec.proxy.credentials {
            let field = "spec.proxy.credentials.password".to_owned();
            secret(&mut files, field, &mut account.password);
        }
        images(&mut files, &mut spec.images);
        let artifacts = &mut spec.artifacts;
        optional(&mut files, "spec.artifacts.cache", &mut artifacts.cache);
        files.push(("spec.artifacts.lock".to_owned(), &mut artifacts.lock));
        for (program, path) in &mut artifacts.overrides {
            files.push((format!("spec.artifacts.overrides.{program}"), path));
        }
        if let Some(machines) = &mut spec.machines {
            self::machines(&mut files, machines);
        }
        files
    }

    /// Makes every path absolute: relative paths start at `base` (the directory of
    /// the document), `~/` at `home`.
    ///
    /// # Errors
    /// A path starts with `~/` and there is no home; the other paths are resolved.
    pub fn resolve(&mut self, base: &Utf8Path, home: Option<&Utf8Path>) -> Result<(), NoHome> {
        let mut outcome = Ok(());
        for (field, path) in self.files_mut() {
            match expand(path, base, home) {
                Some(resolved) => *path = resolved,
                None if outcome.is_ok() => {
                    let path = path.clone();
                    outcome = Err(NoHome { field, path });
                }
                None => {}
            }
        }
        outcome
    }
}

fn secret<'a>(files: &mut Files<'a>, field: String, secret: &'a mut SecretRef) {
    files.extend(secret.file_mut().map(|path| (field, path)));
}

fn optional<'a>(files: &mut Files<'a>, field: &str, path: &'a mut Option<Utf8PathBuf>) {
    files.extend(path.as_mut().map(|path| (field.to_owned(), path)));
}

fn credential<'a>(files: &mut Files<'a>, prefix: &str, credential: &'a mut SshCredential) {
    for (name, value) in credential.secrets_mut() {
        secret(files, format!("{prefix}.{name}"), value);
    }
}

fn all_access<'a>(files: &mut Files<'a>, access: &'a mut Access) {
    let ssh = &mut access.ssh;
    credential(files, "spec.access.ssh", &mut ssh.credential);
    let known_hosts = "spec.access.ssh.knownHosts".to_owned();
    files.push((known_hosts, &mut ssh.known_hosts));
    if let Some(sudo) = &mut ssh.sudo {
        let field = "spec.access.ssh.sudo.password".to_owned();
        secret(files, field, &mut sudo.password);
    }
    if let Some(winrm) = &mut access.winrm {
        let field = "spec.access.winrm.password".to_owned();
        secret(files, field, &mut winrm.password);
        optional(files, "spec.access.winrm.ca", &mut winrm.ca);
    }
    if let Some(bastion) = &mut access.bastion {
        self::bastion(files, "spec.access.bastion", bastion);
    }
}

fn bastion<'a>(files: &mut Files<'a>, prefix: &str, bastion: &'a mut Bastion) {
    credential(files, prefix, &mut bastion.credential);
    files.push((format!("{prefix}.knownHosts"), &mut bastion.known_hosts));
}

fn host_access<'a>(files: &mut Files<'a>, prefix: &str, access: &'a mut HostAccess) {
    let ssh = &mut access.ssh;
    if let Some(given) = &mut ssh.credential {
        credential(files, &format!("{prefix}.ssh"), given);
    }
    let known_hosts = format!("{prefix}.ssh.knownHosts");
    optional(files, &known_hosts, &mut ssh.known_hosts);
    if let Some(sudo) = &mut ssh.sudo {
        secret(
            files,
            format!("{prefix}.ssh.sudo.password"),
            &mut sudo.password,
        );
    }
    if let Some(winrm) = &mut access.winrm {
        if let Some(password) = &mut winrm.password {
            secret(files, format!("{prefix}.winrm.password"), password);
        }
        optional(files, &format!("{prefix}.winrm.ca"), &mut winrm.ca);
    }
    if let Some(HostBastion::Through(through)) = &mut access.bastion {
        bastion(files, &format!("{prefix}.bastion"), through);
    }
}

fn images<'a>(files: &mut Files<'a>, images: &'a mut Images) {
    if let Some(account) = &mut images.credentials {
        let field = "spec.images.credentials.password".to_owned();
        secret(files, field, &mut account.password);
    }
    optional(files, "spec.images.ca", &mut images.ca);
}

fn machines<'a>(files: &mut Files<'a>, machines: &'a mut Machines) {
    let (kind, hypervisors) = match machines {
        Machines::Libvirt(libvirt) => ("libvirt", &mut libvirt.hypervisors),
        Machines::HyperV(hyperv) => ("hyperv", &mut hyperv.hypervisors),
        Machines::Azure(azure) => {
            if let Some(value) = &mut azure.client_secret {
                let field = "spec.machines.azure.clientSecret".to_owned();
                secret(files, field, value);
            }
            return;
        }
    };
    for (index, hypervisor) in hypervisors.iter_mut().enumerate() {
        let prefix = format!("spec.machines.{kind}.hypervisors[{index}].access");
        host_access(files, &prefix, &mut hypervisor.access);
    }
}

/// `None` if the path starts with `~/` and there is no home.
pub fn expand(path: &Utf8Path, base: &Utf8Path, home: Option<&Utf8Path>) -> Option<Utf8PathBuf> {
    if let Ok(below_home) = path.strip_prefix("~") {
        return home.map(|home| home.join(below_home));
    }
    let here = path.strip_prefix("./").unwrap_or(path);
    Some(base.join(here))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_document_or_home() {
        let expanded = |path: &str, home: Option<&'static str>| {
            let path = expand(path.into(), "/etc/shop".into(), home.map(Utf8Path::new));
            path.map(Utf8PathBuf::into_string)
        };
        let is = |text: &str| Some(text.to_owned());
        assert_eq!(expanded("./admin.conf", None), is("/etc/shop/admin.conf"));
        assert_eq!(expanded("../ca.crt", None), is("/etc/shop/../ca.crt"));
        assert_eq!(expanded("/a/b", None), is("/a/b"));
        assert_eq!(expanded("~/.ssh/id", Some("/root")), is("/root/.ssh/id"));
        assert_eq!(expanded("~/.ssh/id", None), None);
        assert_eq!(expanded("~x/id", None), is("/etc/shop/~x/id"));
    }
}

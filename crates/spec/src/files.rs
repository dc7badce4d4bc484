//! The files that a cluster's document names, on the machine that runs casement.

use camino::{Utf8Path, Utf8PathBuf};

use crate::{Cluster, SecretRef};

/// A path begins with `~/`, and nobody knows where home is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` in `{field}` begins with `~/`, and the home folder is not known")]
pub struct NoHome {
    /// The field, such as `spec.access.ssh.key`.
    pub field: String,
    /// What it says.
    pub path: Utf8PathBuf,
}

impl Cluster {
    /// Every file that the document names, with the field that names it.
    ///
    /// The field is written as in the document (`spec.existing.kubeconfig`), so
    /// that whoever finds a file missing can point at the line.
    pub fn files_mut(&mut self) -> Vec<(String, &mut Utf8PathBuf)> {
        let spec = &mut self.spec;
        let mut files = vec![(
            "spec.existing.kubeconfig".to_owned(),
            &mut spec.existing.kubeconfig,
        )];
        let ssh = &mut spec.access.ssh;
        if let SecretRef::File(path) = &mut ssh.key {
            files.push(("spec.access.ssh.key".to_owned(), path));
        }
        files.push((
            "spec.access.ssh.knownHosts".to_owned(),
            &mut ssh.known_hosts,
        ));
        for (index, host) in spec.hosts.iter_mut().enumerate() {
            let ssh = &mut host.access.ssh;
            if let Some(SecretRef::File(path)) = &mut ssh.key {
                files.push((format!("spec.hosts[{index}].access.ssh.key"), path));
            }
            if let Some(path) = &mut ssh.known_hosts {
                files.push((format!("spec.hosts[{index}].access.ssh.knownHosts"), path));
            }
        }
        if let Some(path) = &mut spec.images.ca {
            files.push(("spec.images.ca".to_owned(), path));
        }
        for (program, path) in &mut spec.artifacts.overrides {
            files.push((format!("spec.artifacts.overrides.{program}"), path));
        }
        files
    }

    /// Makes every path absolute: relative ones begin in `base` (the folder of
    /// the document), `~/` in `home`.
    ///
    /// # Errors
    /// When a path needs a home and there is none; the rest is resolved.
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

/// One path made absolute; `None` if it begins with `~/` and there is no home.
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
    fn paths_begin_in_the_documents_folder_or_at_home() {
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

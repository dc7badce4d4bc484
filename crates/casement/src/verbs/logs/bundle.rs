//! One archive with what is known about a host: what its agent collects, without
//! secrets.

use std::collections::BTreeMap;
use std::path::Path;

use casement_diag::Problem;
use casement_resource::Secret;
use casement_run::link::Link;
use casement_spec::Cluster;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::failure::CommandError;
use crate::{mask, output, told, whole_file};

/// Asks a host for everything, and writes the archive.
pub async fn write(
    link: &mut Link,
    cluster: &Cluster,
    path: &Path,
    known: &[Secret],
) -> Result<(), CommandError> {
    let mut parts = link
        .collect()
        .await
        .map_err(|error| told::problem(&error))?;
    let versions = format!(
        "casement {}\nKubernetes {}\n",
        env!("CARGO_PKG_VERSION"),
        cluster.spec.kubernetes.version
    );
    parts.insert("versions.txt".to_owned(), versions);
    pack(path, &parts, known)?;
    output::print(&format!(
        "{}: {} files, without secrets; look through it before you give it away\n",
        path.display(),
        parts.len()
    ))
}

fn pack(path: &Path, parts: &BTreeMap<String, String>, known: &[Secret]) -> Result<(), Problem> {
    let pack = || -> std::io::Result<()> {
        let packer = GzEncoder::new(Vec::new(), Compression::default());
        let mut archive = tar::Builder::new(packer);
        for (name, text) in parts {
            let text = mask::masked(text, known);
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o600);
            archive.append_data(&mut header, name, text.as_bytes())?;
        }
        let bytes = archive.into_inner()?.finish()?;
        whole_file::replace(path, &bytes)
    };
    pack().map_err(|error| {
        let what = format!("`{}` cannot be written", path.display());
        Problem::new("CAS-FILE-007", what, "name another place with --out").seen("it says", error)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_bundle_is_an_archive_without_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tar.gz");
        let parts = [
            ("logs/kubelet.log", "joined with hunter2\n"),
            ("versions.txt", "casement\n"),
        ];
        let parts = parts.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let secret = Secret::new("hunter2".to_owned());
        pack(&path, &BTreeMap::from(parts.clone()), &[secret]).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
        let mut found = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().display().to_string();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            found.push((name, text));
        }
        assert_eq!(found[0].1, "joined with ********\n");
        assert_eq!(found[1], parts[1]);
    }
}

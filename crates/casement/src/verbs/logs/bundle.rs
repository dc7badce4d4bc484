//! The support bundle: an archive of what the agent of a host collects, without secrets.

use std::collections::BTreeMap;
use std::path::Path;

use casement_diag::Problem;
use casement_resource::Secret;
use casement_run::agent_client::AgentClient;
use casement_spec::Cluster;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::failure::CommandError;
use crate::{atomic_file, errors, mask, output};

pub async fn write(
    client: &mut AgentClient,
    cluster: &Cluster,
    path: &Path,
    secrets: &[Secret],
) -> Result<(), CommandError> {
    let mut parts = client
        .collect()
        .await
        .map_err(|error| errors::problem(&error))?;
    let versions = format!(
        "casement {}\nKubernetes {}\n",
        env!("CARGO_PKG_VERSION"),
        cluster.spec.kubernetes.version
    );
    parts.insert("versions.txt".to_owned(), versions);
    pack(path, &parts, secrets)?;
    output::print(&format!(
        "Wrote {} with {}, without known secrets. Review it before you share it.\n",
        path.display(),
        output::count(parts.len(), "file")
    ))
}

fn pack(path: &Path, parts: &BTreeMap<String, String>, secrets: &[Secret]) -> Result<(), Problem> {
    let pack = || -> std::io::Result<()> {
        let packer = GzEncoder::new(Vec::new(), Compression::default());
        let mut archive = tar::Builder::new(packer);
        for (name, text) in parts {
            let text = mask::masked(text, secrets);
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o600);
            archive.append_data(&mut header, name, text.as_bytes())?;
        }
        let bytes = archive.into_inner()?.finish()?;
        atomic_file::replace(path, &bytes)
    };
    pack().map_err(|error| {
        let what = format!("failed to write `{}`", path.display());
        let help = "choose another file with `--out FILE`";
        Problem::new("CAS-FILE-007", what, help).detail("cause", error)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn bundle_has_no_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.tar.gz");
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

//! One archive with what is known about a host: logs, events, networks,
//! configurations, versions. What cannot be had is said in its place.

use std::path::Path;

use casement_diag::Problem;
use casement_remote::{
    Agent, AgentHome, Connection, HostOs, RemoteError, RemotePath, Transport as _,
};
use casement_resource::Secret;
use casement_spec::Cluster;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{mask, whole_file};

/// What casement's documents make services of.
const SERVICES: [&str; 5] = [
    "casement",
    "containerd",
    "flanneld",
    "kube-proxy",
    "kubelet",
];
/// Of each log so much: its end says what is wrong.
const MOST: usize = 4 << 20;

/// A file of the archive.
pub type Part = (String, String);

/// Asks a host for everything.
pub async fn collect(
    session: &Connection,
    agent: Agent,
    cluster: &Cluster,
) -> Result<Vec<Part>, RemoteError> {
    let os = agent.os;
    let versions = format!(
        "casement {}\nagent {}\nKubernetes {}\n",
        env!("CARGO_PKG_VERSION"),
        agent.hash,
        cluster.spec.kubernetes.version
    );
    let mut parts = vec![("versions.txt".to_owned(), versions)];
    let home = AgentHome::new(agent);
    for (name, verb) in [
        ("host.json", ["inspect"].as_slice()),
        ("observed.txt", &["observe", "-v"]),
    ] {
        let said = run(session, &home.line(verb)).await?;
        parts.push((name.to_owned(), said));
    }
    for service in SERVICES {
        let text = match os {
            HostOs::Windows => {
                let path = RemotePath::new(&format!(r"C:\var\log\{service}\{service}.log"));
                read(session, &path).await?.map(|bytes| last(&bytes))
            }
            HostOs::Linux => {
                let line = format!("journalctl -u {service} -n 5000 --no-pager -q");
                Some(run(session, &line).await?).filter(|text| !text.is_empty())
            }
        };
        parts.extend(text.map(|text| (format!("logs/{service}.log"), text)));
    }
    let state = match os {
        HostOs::Windows => r"C:\ProgramData\casement",
        HostOs::Linux => "/var/lib/casement",
    };
    for (folder, ending) in [("journal", ".jsonl"), ("state/kept", ".json")] {
        let place = folder
            .split('/')
            .fold(RemotePath::new(state), |path, name| path.join(name));
        parts.extend(folder_of(session, folder, &place, ending).await?);
    }
    Ok(parts)
}

/// The files of a folder; none over WinRM, which cannot list them.
async fn folder_of(
    session: &Connection,
    name: &str,
    place: &RemotePath,
    ending: &str,
) -> Result<Vec<Part>, RemoteError> {
    let Connection::Ssh(session) = session else {
        return Ok(Vec::new());
    };
    let sftp = session.sftp().await?;
    let mut parts = Vec::new();
    for file in sftp.list(place).await? {
        if file.ends_with(ending) {
            let bytes = sftp.read(&place.join(&file)).await?;
            parts.push((format!("{name}/{file}"), last(&bytes)));
        }
    }
    Ok(parts)
}

/// A file on the host; none if it is not there.
pub async fn read(session: &Connection, path: &RemotePath) -> Result<Option<Vec<u8>>, RemoteError> {
    match session {
        Connection::Ssh(session) => {
            let sftp = session.sftp().await?;
            match sftp.stat(path).await? {
                Some(_) => sftp.read(path).await.map(Some),
                None => Ok(None),
            }
        }
        Connection::WinRm(_) => {
            let process = session
                .start(&format!("type \"{}\"", path.native()))
                .await?;
            process.send_eof().await;
            let output = process.output().await?;
            Ok(Some(output.stdout).filter(|_| output.status == Some(0)))
        }
    }
}

/// What a command says, whatever it is.
async fn run(session: &Connection, line: &str) -> Result<String, RemoteError> {
    let process = session.start(line).await?;
    process.send_eof().await;
    let output = process.output().await?;
    let said = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&said).into_owned())
}

fn last(bytes: &[u8]) -> String {
    let start = bytes.len().saturating_sub(MOST);
    String::from_utf8_lossy(bytes.get(start..).unwrap_or_default()).into_owned()
}

/// Writes the archive, without secrets.
pub fn write(path: &Path, parts: &[Part], known: &[Secret]) -> Result<(), Problem> {
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
            (
                "logs/kubelet.log".to_owned(),
                "joined with hunter2\n".to_owned(),
            ),
            ("versions.txt".to_owned(), "casement\n".to_owned()),
        ];
        write(&path, &parts, &[Secret::new("hunter2".to_owned())]).unwrap();
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

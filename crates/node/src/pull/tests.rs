//! Pulls of a simulated host from a local HTTP server.

use std::fs;

use casement_resource::wire::PullProxy;
use casement_resource::{Blob, Secret, Sha256};

use super::*;
use crate::sim::Sim;
use mirror::Mirror;

#[path = "../../tests/shared/mirror.rs"]
mod mirror;

struct Host {
    dir: tempfile::TempDir,
    sim: Sim,
    mirror: Mirror,
    content: Vec<u8>,
}

impl Host {
    fn new(content: &[u8]) -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            sim: Sim::default(),
            mirror: Mirror::start(content),
            content: content.to_vec(),
        }
    }

    fn layout(&self) -> Layout {
        Layout::new(self.dir.path().to_owned())
    }

    fn request(&self, path: &str, members: &[&[u8]]) -> Pull {
        Pull {
            from: Secret::new(self.mirror.url(path)),
            proxy: PullProxy::Direct,
            download: Blob::of(&self.content),
            members: members.iter().map(|bytes| Blob::of(bytes)).collect(),
        }
    }

    /// Returns the result and the reported progress.
    fn pull(&self, path: &str, members: &[&[u8]]) -> (Result<()>, Vec<u64>) {
        let mut progress = Vec::new();
        let mut on_progress = |bytes| {
            progress.push(bytes);
            Ok(())
        };
        let request = self.request(path, members);
        let result = pull(&self.sim, &self.layout(), &request, &mut on_progress);
        (result, progress)
    }

    fn pull_error(&self, path: &str) -> Failure {
        self.pull(path, &[]).0.unwrap_err()
    }

    fn names(&self) -> Vec<String> {
        let dir = fs::read_dir(self.dir.path().join("blobs")).unwrap();
        let names = dir.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn part(&self) -> std::path::PathBuf {
        let blob = self.layout().blob(&Sha256::of(&self.content));
        std::path::PathBuf::from(format!("{}.part", blob.display()))
    }

    fn ranges(&self) -> Vec<Option<String>> {
        let requests = self.mirror.requests().into_iter();
        requests.map(|request| request.range).collect()
    }
}

fn archive(files: &[&[u8]]) -> Vec<u8> {
    let packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(packed);
    for (at, bytes) in files.iter().enumerate() {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        let name = format!("bin/{at}.exe");
        archive.append_data(&mut header, name, *bytes).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

#[test]
fn blob_is_downloaded_once_with_progress() {
    let host = Host::new(&vec![7; 3 << 20]);
    let (result, progress) = host.pull("/whole", &[]);
    result.unwrap();
    assert_eq!(progress.last(), Some(&(3 << 20)));
    assert!(progress.len() >= 3, "{progress:?}");
    let there = fs::read(host.layout().blob(&Sha256::of(&host.content))).unwrap();
    assert_eq!(there, host.content);
    assert_eq!(host.ranges(), [None]);
    host.pull("/whole", &[]).0.unwrap();
    assert_eq!(host.ranges(), [], "it is stored already");
}

#[test]
fn programs_are_extracted_by_content() {
    // Two have the same size, and one is not requested.
    let programs: [&[u8]; 3] = [b"one program", b"two program", b"another"];
    let host = Host::new(&archive(&programs));
    let requested = [programs[1], programs[0]];
    host.pull("/whole", &requested).0.unwrap();
    let mut names = requested.map(|bytes| Sha256::of(bytes).to_string());
    names.sort();
    assert_eq!(host.names(), names, "nothing else is stored");
    for bytes in requested {
        let there = fs::read(host.layout().blob(&Sha256::of(bytes))).unwrap();
        assert_eq!(there, bytes);
    }
    let failure = host.pull("/whole", &[b"not in it"]).0.unwrap_err();
    assert_eq!(failure.code, Code::BlobMismatch);
    assert_eq!(host.names(), names, "nothing else is stored");
}

#[test]
fn interrupted_download_is_resumed() {
    let host = Host::new(b"0123456789");
    host.pull("/breaks", &[]).0.unwrap();
    assert_eq!(host.ranges(), [None, Some("bytes=5-".to_owned())]);

    // A part from an earlier attempt is resumed as well.
    let host = Host::new(b"0123456789");
    host.layout().prepare(&host.sim).unwrap();
    fs::write(host.part(), b"0123").unwrap();
    host.pull("/whole", &[]).0.unwrap();
    assert_eq!(host.ranges(), [Some("bytes=4-".to_owned())]);

    // A server without range support starts over.
    let host = Host::new(b"0123456789");
    host.layout().prepare(&host.sim).unwrap();
    fs::write(host.part(), b"0123").unwrap();
    host.pull("/no-parts", &[]).0.unwrap();
    assert_eq!(host.names(), [Sha256::of(b"0123456789").to_string()]);
}

#[test]
fn complete_part_is_used_and_foreign_part_is_discarded() {
    let host = Host::new(b"0123456789");
    host.layout().prepare(&host.sim).unwrap();
    fs::write(host.part(), &host.content).unwrap();
    host.pull("/missing", &[]).0.unwrap();
    assert_eq!(host.ranges(), []);

    for partial in [b"other".as_slice(), b"9876543210", b"longer than it is"] {
        let host = Host::new(b"0123456789");
        host.layout().prepare(&host.sim).unwrap();
        fs::write(host.part(), partial).unwrap();
        host.pull("/whole", &[]).0.unwrap();
        assert_eq!(host.names(), [Sha256::of(b"0123456789").to_string()]);
    }
}

#[test]
fn repeated_disconnects_keep_the_partial_blob() {
    let content: Vec<u8> = (0..100).collect();
    let host = Host::new(&content);
    let failure = host.pull_error("/dies");
    assert_eq!(failure.code, Code::DownloadFailed);
    assert_eq!(host.ranges().len(), 4);
    // An upload resumes from there; the partial archive is useless and deleted.
    assert_eq!(fs::read(host.part()).unwrap(), content[..40]);
    assert!(host.pull("/dies", &[b"program"]).0.is_err());
    assert_eq!(host.names(), [] as [&str; 0]);
}

#[test]
fn wrong_content_is_never_stored() {
    let content: Vec<u8> = (0..100).collect();
    let host = Host::new(&content);
    let expected = format!("sha256 {}, 100 bytes", Sha256::of(&content));
    let flipped: Vec<u8> = content.iter().map(|byte| byte ^ 1).collect();
    for (path, found) in [
        (
            "/wrong",
            format!("sha256 {}, 100 bytes", Sha256::of(&flipped)),
        ),
        (
            "/short",
            format!("sha256 {}, 50 bytes", Sha256::of(&content[..50])),
        ),
        ("/long", "more than 100 bytes".to_owned()),
    ] {
        let failure = host.pull_error(path);
        assert_eq!(failure.code, Code::BlobMismatch, "{path}: {failure:?}");
        assert_eq!(
            failure.expected.as_deref(),
            Some(expected.as_str()),
            "{path}"
        );
        assert_eq!(failure.found.as_deref(), Some(found.as_str()), "{path}");
        assert!(failure.message.contains(path), "{failure:?}");
        assert_eq!(host.names(), [] as [&str; 0], "{path}");
    }
    host.pull("/whole", &[]).0.unwrap();
}

#[test]
fn unreachable_mirror_and_missing_file_have_different_codes() {
    let host = Host::new(b"x");
    let missing = host.pull_error("/missing");
    assert_eq!(missing.code, Code::DownloadFailed);
    assert_eq!(missing.found.as_deref(), Some("HTTP status 404"));
    let mut unreachable = host.request("/whole", &[]);
    unreachable.from = Secret::new("http://anna:geheim@127.0.0.1:1/x".to_owned());
    let result = pull(&host.sim, &host.layout(), &unreachable, &mut |_| Ok(()));
    let failure = result.unwrap_err();
    assert_eq!(failure.code, Code::MirrorUnreachable);
    assert!(failure.message.contains("anna:********@"), "{failure:?}");
    assert!(!format!("{failure:?}").contains("geheim"), "{failure:?}");
}

#[test]
fn credentials_for_mirror_and_proxy_are_used() {
    let host = Host::new(b"0123456789");
    assert_eq!(host.pull_error("/account").code, Code::DownloadFailed);
    let with = |path: &str| {
        let url = host.mirror.url(path);
        Secret::new(url.replace("http://", "http://anna:p%3Aw@"))
    };
    let mut request = host.request("/account", &[]);
    request.from = with("/account");
    pull(&host.sim, &host.layout(), &request, &mut |_| Ok(())).unwrap();

    let host = Host::new(b"0123456789");
    let mut request = host.request("", &[]);
    request.from = Secret::new("http://mirror.invalid/through".to_owned());
    request.proxy = PullProxy::At(Secret::new(
        host.mirror.url("").replace("http://", "http://anna:p%3Aw@"),
    ));
    pull(&host.sim, &host.layout(), &request, &mut |_| Ok(())).unwrap();
    let requests = host.mirror.requests();
    assert_eq!(requests[0].target, "http://mirror.invalid:80/through");
}

#[test]
fn disconnected_controller_cancels_the_download() {
    let host = Host::new(&vec![7; 3 << 20]);
    let mut on_progress = |_| Err(Failure::new(Code::Protocol, "gone", ""));
    let request = host.request("/whole", &[]);
    let result = pull(&host.sim, &host.layout(), &request, &mut on_progress);
    assert_eq!(result.unwrap_err().code, Code::Protocol);
    assert_eq!(host.ranges().len(), 1, "no retry");
    assert!(fs::metadata(host.part()).unwrap().len() >= 1 << 20);
}

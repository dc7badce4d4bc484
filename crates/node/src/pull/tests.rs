//! Pulls of a simulated host, from a server of this process.

use std::fs;

use casement_resource::wire::PullProxy;
use casement_resource::{Blob, Secret, Sha256};

use super::*;
use crate::sim::Sim;
use mirror::Mirror;

#[path = "../../tests/shared/mirror.rs"]
mod mirror;

struct Host {
    folder: tempfile::TempDir,
    sim: Sim,
    mirror: Mirror,
    content: Vec<u8>,
}

impl Host {
    fn new(content: &[u8]) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            sim: Sim::default(),
            mirror: Mirror::start(content),
            content: content.to_vec(),
        }
    }

    fn layout(&self) -> Layout {
        Layout::new(self.folder.path().to_owned())
    }

    fn wanted(&self, path: &str, members: &[&[u8]]) -> Pull {
        Pull {
            from: Secret::new(self.mirror.url(path)),
            proxy: PullProxy::Direct,
            download: Blob::of(&self.content),
            members: members.iter().map(|bytes| Blob::of(bytes)).collect(),
        }
    }

    /// What comes of it, and what was told on the way.
    fn pull(&self, path: &str, members: &[&[u8]]) -> (Result<()>, Vec<u64>) {
        let mut told = Vec::new();
        let mut tell = |bytes| {
            told.push(bytes);
            Ok(())
        };
        let wanted = self.wanted(path, members);
        let ended = pull(&self.sim, &self.layout(), &wanted, &mut tell);
        (ended, told)
    }

    fn refused(&self, path: &str) -> Failure {
        self.pull(path, &[]).0.unwrap_err()
    }

    fn names(&self) -> Vec<String> {
        let folder = fs::read_dir(self.folder.path().join("blobs")).unwrap();
        let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn part(&self) -> std::path::PathBuf {
        let place = self.layout().blob(&Sha256::of(&self.content));
        std::path::PathBuf::from(format!("{}.part", place.display()))
    }

    fn ranges(&self) -> Vec<Option<String>> {
        let asked = self.mirror.asked().into_iter();
        asked.map(|asked| asked.range).collect()
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
fn a_blob_is_fetched_once_and_how_far_it_is_is_told() {
    let host = Host::new(&vec![7; 3 << 20]);
    let (ended, told) = host.pull("/whole", &[]);
    ended.unwrap();
    assert_eq!(told.last(), Some(&(3 << 20)));
    assert!(told.len() >= 3, "{told:?}");
    let there = fs::read(host.layout().blob(&Sha256::of(&host.content))).unwrap();
    assert_eq!(there, host.content);
    assert_eq!(host.ranges(), [None]);
    host.pull("/whole", &[]).0.unwrap();
    assert_eq!(host.ranges(), [], "it is there");
}

#[test]
fn programs_are_taken_out_of_an_archive_by_what_they_hold() {
    // Two are of one size, and one is not wanted.
    let programs: [&[u8]; 3] = [b"one program", b"two program", b"another"];
    let host = Host::new(&archive(&programs));
    let wanted = [programs[1], programs[0]];
    host.pull("/whole", &wanted).0.unwrap();
    let mut names = wanted.map(|bytes| Sha256::of(bytes).to_string());
    names.sort();
    assert_eq!(host.names(), names, "and nothing else");
    for bytes in wanted {
        let there = fs::read(host.layout().blob(&Sha256::of(bytes))).unwrap();
        assert_eq!(there, bytes);
    }
    let failure = host.pull("/whole", &[b"not in it"]).0.unwrap_err();
    assert_eq!(failure.code, Code::BlobWrong);
    assert_eq!(host.names(), names, "and nothing else");
}

#[test]
fn what_breaks_off_is_gone_on_with() {
    let host = Host::new(b"0123456789");
    host.pull("/breaks", &[]).0.unwrap();
    assert_eq!(host.ranges(), [None, Some("bytes=5-".to_owned())]);

    // And so is what an earlier attempt left, whoever made it.
    let host = Host::new(b"0123456789");
    host.layout().prepare(&host.sim).unwrap();
    fs::write(host.part(), b"0123").unwrap();
    host.pull("/whole", &[]).0.unwrap();
    assert_eq!(host.ranges(), [Some("bytes=4-".to_owned())]);

    // A server that gives no parts begins anew.
    let host = Host::new(b"0123456789");
    host.layout().prepare(&host.sim).unwrap();
    fs::write(host.part(), b"0123").unwrap();
    host.pull("/no-parts", &[]).0.unwrap();
    assert_eq!(host.names(), [Sha256::of(b"0123456789").to_string()]);
}

#[test]
fn a_whole_remnant_is_enough_and_one_of_something_else_is_none() {
    let host = Host::new(b"0123456789");
    host.layout().prepare(&host.sim).unwrap();
    fs::write(host.part(), &host.content).unwrap();
    host.pull("/missing", &[]).0.unwrap();
    assert_eq!(host.ranges(), []);

    for remnant in [b"other".as_slice(), b"9876543210", b"longer than it is"] {
        let host = Host::new(b"0123456789");
        host.layout().prepare(&host.sim).unwrap();
        fs::write(host.part(), remnant).unwrap();
        host.pull("/whole", &[]).0.unwrap();
        assert_eq!(host.names(), [Sha256::of(b"0123456789").to_string()]);
    }
}

#[test]
fn a_server_that_dies_again_and_again_leaves_what_came() {
    let content: Vec<u8> = (0..100).collect();
    let host = Host::new(&content);
    let failure = host.refused("/dies");
    assert_eq!(failure.code, Code::NotFetched);
    assert_eq!(host.ranges().len(), 4);
    // What is sent goes on from there; what comes in an archive is sent without it.
    assert_eq!(fs::read(host.part()).unwrap(), content[..40]);
    assert!(host.pull("/dies", &[b"program"]).0.is_err());
    assert_eq!(host.names(), [] as [&str; 0]);
}

#[test]
fn what_is_not_the_blob_never_gets_its_name() {
    let content: Vec<u8> = (0..100).collect();
    let host = Host::new(&content);
    let wanted = format!("sha256 {}, 100 bytes", Sha256::of(&content));
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
        let failure = host.refused(path);
        assert_eq!(failure.code, Code::BlobWrong, "{path}: {failure:?}");
        assert_eq!(failure.wanted.as_deref(), Some(wanted.as_str()), "{path}");
        assert_eq!(failure.found.as_deref(), Some(found.as_str()), "{path}");
        assert!(failure.what.contains(path), "{failure:?}");
        assert_eq!(host.names(), [] as [&str; 0], "{path}");
    }
    host.pull("/whole", &[]).0.unwrap();
}

#[test]
fn a_mirror_that_is_not_there_is_told_from_one_that_lacks_a_file() {
    let host = Host::new(b"x");
    let missing = host.refused("/missing");
    assert_eq!(missing.code, Code::NotFetched);
    assert_eq!(missing.found.as_deref(), Some("it answers 404"));
    let mut nowhere = host.wanted("/whole", &[]);
    nowhere.from = Secret::new("http://anna:geheim@127.0.0.1:1/x".to_owned());
    let ended = pull(&host.sim, &host.layout(), &nowhere, &mut |_| Ok(()));
    let failure = ended.unwrap_err();
    assert_eq!(failure.code, Code::NoMirror);
    assert!(failure.what.contains("anna:********@"), "{failure:?}");
    assert!(!format!("{failure:?}").contains("geheim"), "{failure:?}");
}

#[test]
fn an_account_and_a_proxy_with_one_are_used() {
    let host = Host::new(b"0123456789");
    assert_eq!(host.refused("/account").code, Code::NotFetched);
    let with = |path: &str| {
        let url = host.mirror.url(path);
        Secret::new(url.replace("http://", "http://anna:p%3Aw@"))
    };
    let mut wanted = host.wanted("/account", &[]);
    wanted.from = with("/account");
    pull(&host.sim, &host.layout(), &wanted, &mut |_| Ok(())).unwrap();

    let host = Host::new(b"0123456789");
    let mut wanted = host.wanted("", &[]);
    wanted.from = Secret::new("http://mirror.invalid/through".to_owned());
    wanted.proxy = PullProxy::At(Secret::new(
        host.mirror.url("").replace("http://", "http://anna:p%3Aw@"),
    ));
    pull(&host.sim, &host.layout(), &wanted, &mut |_| Ok(())).unwrap();
    let asked = host.mirror.asked();
    assert_eq!(asked[0].target, "http://mirror.invalid:80/through");
}

#[test]
fn a_controller_that_has_gone_ends_it() {
    let host = Host::new(&vec![7; 3 << 20]);
    let mut tell = |_| Err(Failure::new(Code::Protocol, "gone", ""));
    let wanted = host.wanted("/whole", &[]);
    let ended = pull(&host.sim, &host.layout(), &wanted, &mut tell);
    assert_eq!(ended.unwrap_err().code, Code::Protocol);
    assert_eq!(host.ranges().len(), 1, "it is not tried again");
    assert!(fs::metadata(host.part()).unwrap().len() >= 1 << 20);
}

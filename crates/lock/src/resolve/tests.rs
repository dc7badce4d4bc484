use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;

use casement_catalog::{System, artifact};
use futures_util::FutureExt;

use super::*;

const KUBEADM: &str = "https://dl.k8s.io/v1.36.4/bin/windows/amd64/kubeadm.exe";

/// Files by location, and the locations requested.
#[derive(Default)]
struct FakeSource {
    files: BTreeMap<String, String>,
    requests: RefCell<Vec<String>>,
}

impl FakeSource {
    fn with(files: &[(&str, &str)]) -> Self {
        let owned = files
            .iter()
            .map(|(location, text)| ((*location).to_owned(), (*text).to_owned()));
        Self {
            files: owned.collect(),
            requests: RefCell::default(),
        }
    }

    fn find(&self, location: &FileLocation) -> Option<&String> {
        self.requests.borrow_mut().push(location.to_string());
        self.files.get(&location.to_string())
    }
}

impl ArtifactSource for FakeSource {
    type Error = Infallible;

    async fn text(&self, location: &FileLocation) -> Result<Option<String>, Infallible> {
        Ok(self.find(location).cloned())
    }

    async fn hash(&self, location: &FileLocation) -> Result<Option<Sha256>, Infallible> {
        Ok(self.find(location).map(|text| Sha256::of(text.as_bytes())))
    }
}

fn release(name: &str, version: &str) -> Requirement {
    let artifact = artifact(name, System::Windows).unwrap();
    Requirement::published(artifact, version.to_owned())
}

fn resolver<'a>(old: &'a Lock, update: bool) -> Resolver<'a> {
    Resolver {
        old,
        update,
        mirror: None,
        folder: "/etc/shop".into(),
    }
}

fn resolve(
    resolver: &Resolver<'_>,
    requirement: &Requirement,
    source: &FakeSource,
) -> Result<Resolved, ResolveError<Infallible>> {
    resolver
        .resolve(requirement, source)
        .now_or_never()
        .unwrap()
}

#[test]
fn hash_from_the_catalog_needs_no_request() {
    let (old, source) = (Lock::default(), FakeSource::default());
    let found = resolve(
        &resolver(&old, true),
        &release("kubelet", "1.36.4"),
        &source,
    )
    .unwrap();
    assert_eq!(found.change, Change::New);
    assert_eq!(found.entry.from, Origin::Catalog);
    assert!(!found.entry.unverified);
    assert!(found.entry.sha256.to_string().starts_with("dbb90c2e2028"));
    assert!(source.requests.borrow().is_empty());
}

#[test]
fn published_checksum_is_unverified() {
    let sums = format!("{KUBEADM}.sha256");
    let sum = Sha256::of(b"kubeadm");
    let source = FakeSource::with(&[(&sums, &sum.to_string()), (KUBEADM, "never read")]);
    let old = Lock::default();
    let entry = resolve(
        &resolver(&old, false),
        &release("kubeadm", "1.36.4"),
        &source,
    )
    .unwrap()
    .entry;
    assert_eq!((entry.sha256, entry.from), (sum, Origin::Mirror));
    assert!(entry.unverified);
    assert_eq!(entry.source, sums);
    assert_eq!(
        *source.requests.borrow(),
        [sums],
        "the download is not requested"
    );
}

#[test]
fn download_is_hashed_without_a_checksum_file() {
    let source = FakeSource::with(&[(KUBEADM, "kubeadm")]);
    let old = Lock::default();
    let found = resolve(
        &resolver(&old, false),
        &release("kubeadm", "1.36.4"),
        &source,
    );
    let entry = found.unwrap().entry;
    assert_eq!(
        (entry.sha256, entry.from),
        (Sha256::of(b"kubeadm"), Origin::Download)
    );
    assert!(entry.unverified);
}

#[test]
fn missing_download_or_invalid_checksum_file_is_an_error() {
    let old = Lock::default();
    let requirement = release("kubeadm", "1.36.4");
    let missing = resolve(&resolver(&old, false), &requirement, &FakeSource::default());
    assert!(
        matches!(missing, Err(ResolveError::Missing { location, .. }) if location.to_string() == KUBEADM)
    );
    let sums = format!("{KUBEADM}.sha256");
    let page = FakeSource::with(&[(&sums, "<html>sign in</html>"), (KUBEADM, "kubeadm")]);
    let wrong = resolve(&resolver(&old, false), &requirement, &page);
    assert!(matches!(wrong, Err(ResolveError::Sums { file, .. }) if file == "kubeadm.exe"));
}

#[test]
fn pinned_hash_is_kept_and_never_replaced() {
    let first = FakeSource::with(&[(KUBEADM, "kubeadm")]);
    let requirement = release("kubeadm", "1.36.4");
    let empty = Lock::default();
    let pinned = resolve(&resolver(&empty, false), &requirement, &first)
        .unwrap()
        .entry;
    let old = Lock::from_iter([pinned.clone()]);

    let other = FakeSource::with(&[(KUBEADM, "another kubeadm")]);
    let kept = resolve(&resolver(&old, false), &requirement, &other).unwrap();
    assert_eq!((kept.entry, kept.change), (pinned.clone(), Change::Kept));
    assert!(other.requests.borrow().is_empty());

    let swapped = resolve(&resolver(&old, true), &requirement, &other);
    assert!(matches!(
        swapped,
        Err(ResolveError::Changed { before, now, .. }) if before.0 == pinned.sha256 && now.0 != before.0
    ));
    let same = resolve(&resolver(&old, true), &requirement, &first).unwrap();
    assert_eq!(same.change, Change::Kept);
}

#[test]
fn another_version_is_resolved_again() {
    let source = FakeSource::with(&[(KUBEADM, "kubeadm")]);
    let mut before = resolve(
        &resolver(&Lock::default(), false),
        &release("kubeadm", "1.36.4"),
        &source,
    )
    .unwrap()
    .entry;
    before.content = Content::Published {
        version: "1.36.3".to_owned(),
        url: "https://dl.k8s.io/v1.36.3/bin/windows/amd64/kubeadm.exe".to_owned(),
    };
    let old = Lock::from_iter([before]);
    let found = resolve(
        &resolver(&old, false),
        &release("kubeadm", "1.36.4"),
        &source,
    )
    .unwrap();
    assert_eq!(found.change, Change::Changed);
    assert_eq!(found.entry.version(), Some("1.36.4"));
}

#[test]
fn pinned_hash_that_contradicts_the_catalog_is_rejected() {
    let requirement = release("kubelet", "1.36.4");
    let empty = Lock::default();
    let mut entry = resolve(
        &resolver(&empty, false),
        &requirement,
        &FakeSource::default(),
    )
    .unwrap()
    .entry;
    entry.sha256 = Sha256::of(b"forged");
    entry.from = Origin::Mirror;
    let old = Lock::from_iter([entry]);
    let found = resolve(&resolver(&old, false), &requirement, &FakeSource::default());
    assert!(matches!(
        found,
        Err(ResolveError::Changed { before, now, .. })
            if before.1 == Origin::Mirror && now.1 == Origin::Catalog
    ));
}

#[test]
fn accepted_hash_stays_accepted() {
    let source = FakeSource::with(&[(KUBEADM, "kubeadm")]);
    let requirement = release("kubeadm", "1.36.4");
    let empty = Lock::default();
    let mut entry = resolve(&resolver(&empty, false), &requirement, &source)
        .unwrap()
        .entry;
    entry.unverified = false;
    let old = Lock::from_iter([entry]);
    let found = resolve(&resolver(&old, true), &requirement, &source).unwrap();
    assert!(!found.entry.unverified);
}

#[test]
fn mirror_replaces_every_url() {
    let mirror: Mirror = "/srv/mirror".parse().unwrap();
    let location = "/srv/mirror/dl.k8s.io/v1.36.4/bin/windows/amd64/kubeadm.exe";
    let source = FakeSource::with(&[(location, "kubeadm")]);
    let old = Lock::default();
    let resolver = Resolver {
        mirror: Some(&mirror),
        ..resolver(&old, false)
    };
    let entry = resolve(&resolver, &release("kubeadm", "1.36.4"), &source)
        .unwrap()
        .entry;
    let url = KUBEADM.to_owned();
    let version = "1.36.4".to_owned();
    assert_eq!(entry.content, Content::Published { version, url });
    assert_eq!(entry.source, location);
}

#[test]
fn local_builds_are_always_hashed() {
    let requirement = Requirement {
        name: "kubelet".to_owned(),
        system: System::Windows,
        content: RequiredContent::Own("/etc/shop/windows/kubelet.exe".into()),
    };
    let location = "/etc/shop/windows/kubelet.exe";
    let empty = Lock::default();
    let one = resolve(
        &resolver(&empty, false),
        &requirement,
        &FakeSource::with(&[(location, "1")]),
    );
    let one = one.unwrap().entry;
    let path = "windows/kubelet.exe".into();
    assert_eq!(
        one.content,
        Content::Own { path },
        "relative to the lock file"
    );
    assert_eq!((one.from, one.unverified), (Origin::File, false));
    let old = Lock::from_iter([one]);
    let two = resolve(
        &resolver(&old, false),
        &requirement,
        &FakeSource::with(&[(location, "2")]),
    )
    .unwrap();
    assert_eq!(two.change, Change::Changed);
    let missing = resolve(&resolver(&old, false), &requirement, &FakeSource::default());
    assert!(matches!(missing, Err(ResolveError::Missing { .. })));
}

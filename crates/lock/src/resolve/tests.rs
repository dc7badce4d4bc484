use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;

use casement_catalog::{System, artifact};
use futures_util::FutureExt;

use super::*;

const KUBEADM: &str = "https://dl.k8s.io/v1.36.4/bin/windows/amd64/kubeadm.exe";

/// Files by place, and what was asked for.
#[derive(Default)]
struct Shelf {
    files: BTreeMap<String, String>,
    asked: RefCell<Vec<String>>,
}

impl Shelf {
    fn with(files: &[(&str, &str)]) -> Self {
        let owned = files
            .iter()
            .map(|(place, text)| ((*place).to_owned(), (*text).to_owned()));
        Self {
            files: owned.collect(),
            asked: RefCell::default(),
        }
    }

    fn find(&self, place: &Place) -> Option<&String> {
        self.asked.borrow_mut().push(place.to_string());
        self.files.get(&place.to_string())
    }
}

impl Sources for Shelf {
    type Error = Infallible;

    async fn text(&self, place: &Place) -> Result<Option<String>, Infallible> {
        Ok(self.find(place).cloned())
    }

    async fn hash(&self, place: &Place) -> Result<Option<Sha256>, Infallible> {
        Ok(self.find(place).map(|text| Sha256::of(text.as_bytes())))
    }
}

fn release(name: &str, version: &str) -> Wanted {
    let artifact = artifact(name, System::Windows).unwrap();
    Wanted::published(artifact, version.to_owned())
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
    wanted: &Wanted,
    shelf: &Shelf,
) -> Result<Resolved, ResolveError<Infallible>> {
    resolver.resolve(wanted, shelf).now_or_never().unwrap()
}

#[test]
fn what_the_catalog_knows_is_asked_of_nobody() {
    let (old, shelf) = (Lock::default(), Shelf::default());
    let found = resolve(&resolver(&old, true), &release("kubelet", "1.36.4"), &shelf).unwrap();
    assert_eq!(found.change, Change::New);
    assert_eq!(found.entry.from, Origin::Catalog);
    assert!(!found.entry.unverified);
    assert!(found.entry.sha256.to_string().starts_with("dbb90c2e2028"));
    assert!(shelf.asked.borrow().is_empty());
}

#[test]
fn a_published_sum_is_taken_and_marked_unverified() {
    let sums = format!("{KUBEADM}.sha256");
    let sum = Sha256::of(b"kubeadm");
    let shelf = Shelf::with(&[(&sums, &sum.to_string()), (KUBEADM, "never read")]);
    let old = Lock::default();
    let entry = resolve(
        &resolver(&old, false),
        &release("kubeadm", "1.36.4"),
        &shelf,
    )
    .unwrap()
    .entry;
    assert_eq!((entry.sha256, entry.from), (sum, Origin::Mirror));
    assert!(entry.unverified);
    assert_eq!(entry.source, sums);
    assert_eq!(*shelf.asked.borrow(), [sums], "the download is left alone");
}

#[test]
fn without_a_sum_the_download_is_hashed() {
    let shelf = Shelf::with(&[(KUBEADM, "kubeadm")]);
    let old = Lock::default();
    let found = resolve(
        &resolver(&old, false),
        &release("kubeadm", "1.36.4"),
        &shelf,
    );
    let entry = found.unwrap().entry;
    assert_eq!(
        (entry.sha256, entry.from),
        (Sha256::of(b"kubeadm"), Origin::Download)
    );
    assert!(entry.unverified);
}

#[test]
fn what_is_nowhere_or_makes_no_sense_is_an_error() {
    let old = Lock::default();
    let wanted = release("kubeadm", "1.36.4");
    let nowhere = resolve(&resolver(&old, false), &wanted, &Shelf::default());
    assert!(
        matches!(nowhere, Err(ResolveError::Missing { place, .. }) if place.to_string() == KUBEADM)
    );
    let sums = format!("{KUBEADM}.sha256");
    let page = Shelf::with(&[(&sums, "<html>sign in</html>"), (KUBEADM, "kubeadm")]);
    let wrong = resolve(&resolver(&old, false), &wanted, &page);
    assert!(matches!(wrong, Err(ResolveError::Sums { file, .. }) if file == "kubeadm.exe"));
}

#[test]
fn what_is_pinned_stays_until_an_update_and_is_never_swapped() {
    let first = Shelf::with(&[(KUBEADM, "kubeadm")]);
    let wanted = release("kubeadm", "1.36.4");
    let empty = Lock::default();
    let pinned = resolve(&resolver(&empty, false), &wanted, &first)
        .unwrap()
        .entry;
    let old = Lock::from_iter([pinned.clone()]);

    let other = Shelf::with(&[(KUBEADM, "somebody else's kubeadm")]);
    let kept = resolve(&resolver(&old, false), &wanted, &other).unwrap();
    assert_eq!((kept.entry, kept.change), (pinned.clone(), Change::Kept));
    assert!(other.asked.borrow().is_empty());

    let swapped = resolve(&resolver(&old, true), &wanted, &other);
    assert!(matches!(
        swapped,
        Err(ResolveError::Changed { before, now, .. }) if before.0 == pinned.sha256 && now.0 != before.0
    ));
    let same = resolve(&resolver(&old, true), &wanted, &first).unwrap();
    assert_eq!(same.change, Change::Kept);
}

#[test]
fn another_version_is_resolved_anew() {
    let shelf = Shelf::with(&[(KUBEADM, "kubeadm")]);
    let mut before = resolve(
        &resolver(&Lock::default(), false),
        &release("kubeadm", "1.36.4"),
        &shelf,
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
        &shelf,
    )
    .unwrap();
    assert_eq!(found.change, Change::Changed);
    assert_eq!(found.entry.version(), Some("1.36.4"));
}

#[test]
fn a_pinned_hash_that_the_catalog_contradicts_is_refused() {
    let wanted = release("kubelet", "1.36.4");
    let empty = Lock::default();
    let mut entry = resolve(&resolver(&empty, false), &wanted, &Shelf::default())
        .unwrap()
        .entry;
    entry.sha256 = Sha256::of(b"forged");
    entry.from = Origin::Mirror;
    let old = Lock::from_iter([entry]);
    let found = resolve(&resolver(&old, false), &wanted, &Shelf::default());
    assert!(matches!(
        found,
        Err(ResolveError::Changed { before, now, .. })
            if before.1 == Origin::Mirror && now.1 == Origin::Catalog
    ));
}

#[test]
fn what_a_person_accepted_stays_accepted() {
    let shelf = Shelf::with(&[(KUBEADM, "kubeadm")]);
    let wanted = release("kubeadm", "1.36.4");
    let empty = Lock::default();
    let mut entry = resolve(&resolver(&empty, false), &wanted, &shelf)
        .unwrap()
        .entry;
    entry.unverified = false;
    let old = Lock::from_iter([entry]);
    let found = resolve(&resolver(&old, true), &wanted, &shelf).unwrap();
    assert!(!found.entry.unverified);
}

#[test]
fn a_mirror_takes_the_place_of_every_address() {
    let mirror: Mirror = "/srv/mirror".parse().unwrap();
    let place = "/srv/mirror/dl.k8s.io/v1.36.4/bin/windows/amd64/kubeadm.exe";
    let shelf = Shelf::with(&[(place, "kubeadm")]);
    let old = Lock::default();
    let resolver = Resolver {
        mirror: Some(&mirror),
        ..resolver(&old, false)
    };
    let entry = resolve(&resolver, &release("kubeadm", "1.36.4"), &shelf)
        .unwrap()
        .entry;
    let url = KUBEADM.to_owned();
    let version = "1.36.4".to_owned();
    assert_eq!(entry.content, Content::Published { version, url });
    assert_eq!(entry.source, place);
}

#[test]
fn own_builds_are_hashed_each_time() {
    let wanted = Wanted {
        name: "kubelet".to_owned(),
        system: System::Windows,
        content: WantedContent::Own("/etc/shop/windows/kubelet.exe".into()),
    };
    let place = "/etc/shop/windows/kubelet.exe";
    let empty = Lock::default();
    let one = resolve(
        &resolver(&empty, false),
        &wanted,
        &Shelf::with(&[(place, "1")]),
    );
    let one = one.unwrap().entry;
    let path = "windows/kubelet.exe".into();
    assert_eq!(
        one.content,
        Content::Own { path },
        "the lock file can travel"
    );
    assert_eq!((one.from, one.unverified), (Origin::File, false));
    let old = Lock::from_iter([one]);
    let two = resolve(
        &resolver(&old, false),
        &wanted,
        &Shelf::with(&[(place, "2")]),
    )
    .unwrap();
    assert_eq!(two.change, Change::Changed);
    let gone = resolve(&resolver(&old, false), &wanted, &Shelf::default());
    assert!(matches!(gone, Err(ResolveError::Missing { .. })));
}

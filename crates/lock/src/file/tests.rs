use casement_resource::Sha256;

use super::*;
use crate::entry::Origin;

fn entry(name: &str, system: System, version: &str, from: Origin) -> Entry {
    Entry {
        name: name.to_owned(),
        system,
        content: Content::Published {
            version: version.to_owned(),
            url: format!("https://example.org/{version}/{name}"),
        },
        sha256: Sha256::of(name.as_bytes()),
        from,
        source: "a test".to_owned(),
        unverified: from.is_unverified(),
    }
}

fn own(name: &str, path: &str) -> Entry {
    Entry {
        content: Content::Own { path: path.into() },
        ..entry(name, System::Windows, "", Origin::File)
    }
}

#[test]
fn text_is_sorted_and_round_trips() {
    let lock = Lock::from_iter([
        entry("kubelet", System::Windows, "1.36.4", Origin::Catalog),
        entry("kubelet", System::Linux, "1.36.4", Origin::Mirror),
        own("containerd", "windows/containerd.exe"),
    ]);
    let text = lock.to_string();
    assert_eq!(text.parse(), Ok(lock));
    let fields = |name: &str| {
        let lines = text.lines();
        let values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
        values.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(fields("version")[0], "1");
    assert_eq!(
        fields("name"),
        ["\"containerd\"", "\"kubelet\"", "\"kubelet\""]
    );
    assert_eq!(
        fields("system"),
        ["\"windows\"", "\"linux\"", "\"windows\""]
    );
    assert_eq!(fields("unverified"), ["true"]);
    assert_eq!(fields("file"), ["\"windows/containerd.exe\""]);
}

#[test]
fn empty_lock_is_valid() {
    assert_eq!(Lock::default().to_string().parse(), Ok(Lock::default()));
}

#[test]
fn invalid_lock_file_is_rejected() {
    let code = |text: &str| text.parse::<Lock>().map_err(|error| error.problem().code);
    assert_eq!(
        code("version = 2\nnew-field = 3"),
        Err("CAS-LOCK-002".into())
    );
    assert_eq!(code(""), Err("CAS-LOCK-001".into()));
    assert_eq!(
        code("version = 1\nartefact = []"),
        Err("CAS-LOCK-001".into())
    );
    assert_eq!(code("\u{0}"), Err("CAS-LOCK-001".into()));
    let good = Lock::from_iter([entry("kubelet", System::Linux, "1.36.4", Origin::Catalog)]);
    let good = good.to_string();
    assert!(good.parse::<Lock>().is_ok());
    for (right, wrong) in [
        ("system = \"linux\"", "system = \"beos\""),
        ("from = \"catalog\"", "from = \"hearsay\""),
        ("version = \"1.36.4\"\n", ""),
        ("sha256 = \"", "sha256 = \"x"),
    ] {
        assert_eq!(
            code(&good.replace(right, wrong)),
            Err("CAS-LOCK-001".into()),
            "{wrong}"
        );
    }
    let (_, artifact) = good.split_once("[[artifact]]").unwrap();
    let twice = format!("{good}\n[[artifact]]{artifact}").parse::<Lock>();
    assert!(twice.unwrap_err().to_string().contains("duplicate"));
}

fn published(name: &str, version: &str) -> Requirement {
    let artifact = casement_catalog::artifact(name, System::Windows).unwrap();
    Requirement::published(artifact, version.to_owned())
}

#[test]
fn gaps_are_what_is_not_pinned_as_required() {
    let mut accepted = entry("flanneld", System::Windows, "0.28.9", Origin::Download);
    accepted.unverified = false;
    let lock = Lock::from_iter([
        entry("kubelet", System::Windows, "1.36.4", Origin::Catalog),
        entry("kubeadm", System::Windows, "1.36.4", Origin::Mirror),
        accepted,
        own("kube-proxy", "kube-proxy.exe"),
    ]);
    let gap = |requirement: Requirement| lock.gaps(&[requirement]).pop();
    assert_eq!(gap(published("kubelet", "1.36.4")), None);
    assert_eq!(
        gap(published("flanneld", "0.28.9")),
        None,
        "it was accepted"
    );
    assert!(matches!(
        gap(published("kubelet", "1.36.5")),
        Some(Gap::Mismatch { locked, required, .. }) if locked == "1.36.4" && required == "1.36.5"
    ));
    assert!(matches!(
        gap(published("kubeadm", "1.36.4")),
        Some(Gap::Unverified { .. })
    ));
    assert!(matches!(
        gap(published("crictl", "1.36.0")),
        Some(Gap::Missing { .. })
    ));
    assert!(matches!(
        gap(published("kube-proxy", "1.36.4")),
        Some(Gap::Mismatch { locked, .. }) if locked == "kube-proxy.exe"
    ));
}

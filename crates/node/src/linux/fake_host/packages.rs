//! Packages: dnf as a stand-in, apt for real.

use std::fs;
use std::process::Command;

use casement_resource::{Code, Package, PackageState, Prior, Resource};

use super::{Host, Secrets};
use crate::kinds;
use crate::platform::Packages;

fn package(state: PackageState) -> Resource {
    Resource::Package(Package {
        name: "casement-tried".parse().unwrap(),
        state,
    })
}

fn version(text: &str) -> PackageState {
    PackageState::Version(text.parse().unwrap())
}

/// Installed and taken back, pinned and taken back, removed and taken back;
/// on a host that offers 1.0-1 and 2.0-1, and has none.
fn come_and_go(host: &Host) {
    let any = package(PackageState::Installed);
    assert!(host.is_right(&package(PackageState::Absent)));
    let prior = host.make(&any);
    assert_eq!(prior, Prior::Package(None));
    assert!(host.is_right(&package(version("2.0-1"))));
    host.undo(&any, &prior);
    assert!(host.is_right(&package(PackageState::Absent)));

    host.make(&any);
    for wanted in [package(version("1.0-1")), package(PackageState::Absent)] {
        let prior = host.make(&wanted);
        assert_eq!(prior, Prior::Package(Some("2.0-1".parse().unwrap())));
        host.undo(&wanted, &prior);
        assert!(host.is_right(&package(version("2.0-1"))));
    }
}

/// With a stand-in for `rpm` and `dnf`.
#[test]
fn packages_by_dnf() {
    let host = Host::new();
    host.put(
        "etc/os-release",
        "ID=rocky\nID_LIKE=\"rhel centos fedora\"\n",
    );
    host.program(
        "rpm",
        r#"case "$*" in
           '--query --all --queryformat %{EVR}'*' casement-tried') cat "$ROOT/installed" || true ;;
           '--erase -- casement-tried') rm "$ROOT/installed" ;;
           *) exit 1 ;;
           esac"#,
    );
    host.program(
        "dnf",
        r#"case "$*" in
           '--assumeyes --quiet install -- casement-tried') echo 2.0-1 ;;
           '--assumeyes --quiet install -- casement-tried-'*) echo "${5#casement-tried-}" ;;
           *) exit 1 ;;
           esac >"$ROOT/installed""#,
    );
    come_and_go(&host);
}

/// Two versions of an empty package in a repository that is a folder.
fn repository(host: &Host) {
    for version in ["1.0-1", "2.0-1"] {
        let control = format!(
            "Package: casement-tried\nVersion: {version}\nArchitecture: all\n\
             Maintainer: nobody <nobody@invalid>\nDescription: tried\n"
        );
        host.put("made/DEBIAN/control", &control);
        let to = host.root().join(format!("repository/{version}.deb"));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let made = Command::new("dpkg-deb")
            .args(["--root-owner-group", "--build"])
            .args([host.root().join("made"), to.clone()])
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let size = fs::metadata(&to).unwrap().len();
        let hash = casement_resource::Sha256::of(&fs::read(&to).unwrap());
        let entry = format!("{control}Filename: ./{version}.deb\nSize: {size}\nSHA256: {hash}\n\n");
        let index = host.root().join("repository/Packages");
        let before = fs::read_to_string(&index).unwrap_or_default();
        fs::write(index, before + &entry).unwrap();
    }
}

/// The real apt and dpkg, on a root of their own: scripts of the same names
/// only tell them where it is.
#[test]
#[ignore = "needs apt and dpkg"]
fn packages_by_apt() {
    let host = Host::new();
    repository(&host);
    let root = host.root().display().to_string();
    host.put("etc/os-release", "ID=ubuntu\nID_LIKE=debian\n");
    host.put("var/lib/dpkg/status", "");
    host.put(
        "etc/apt/sources.list",
        &format!("deb [trusted=yes] file:{root}/repository ./\n"),
    );
    for folder in [
        "var/lib/dpkg/updates",
        "var/lib/dpkg/info",
        "var/lib/apt/lists/partial",
        "var/cache/apt/archives/partial",
        "etc/apt/preferences.d",
        "var/log/apt",
    ] {
        fs::create_dir_all(host.root().join(folder)).unwrap();
    }
    host.put(
        "apt.conf",
        &format!(
            "Dir \"{root}\";\nDir::State::status \"{root}/var/lib/dpkg/status\";\n\
             Dir::Bin::Methods \"/usr/lib/apt/methods\";\nDir::Bin::dpkg \"{root}/bin/dpkg\";\n\
             APT::Sandbox::User \"root\";\n"
        ),
    );
    host.program(
        "apt-get",
        r#"APT_CONFIG=$ROOT/apt.conf exec /usr/bin/apt-get "$@""#,
    );
    host.program(
        "dpkg",
        r#"exec /usr/bin/dpkg --root="$ROOT" --log=/dev/null "$@""#,
    );
    host.program(
        "dpkg-query",
        r#"exec /usr/bin/dpkg-query --admindir="$ROOT/var/lib/dpkg" "$@""#,
    );
    come_and_go(&host);

    // Nothing else goes with it.
    let status = host.get("var/lib/dpkg/status");
    let needing = "Package: needing\nStatus: install ok installed\nVersion: 1\nArchitecture: all\n\
                   Maintainer: nobody <nobody@invalid>\nDepends: casement-tried\nDescription: x\n";
    host.put("var/lib/dpkg/status", &format!("{status}\n{needing}"));
    let name = "casement-tried".parse().unwrap();
    assert!(host.linux.remove_package(&name).is_err());
    host.put("var/lib/dpkg/status", &status);

    // Cut off in the middle, as dpkg writes it down.
    let half = status.replace("install ok installed", "install ok half-configured");
    assert_ne!(half, status);
    host.put("var/lib/dpkg/status", &half);
    host.make(&package(PackageState::Installed));

    let unknown = "casement-unknown".parse().unwrap();
    let failure = host.linux.install_package(&unknown, None).unwrap_err();
    assert!(failure.found.unwrap().contains("casement-unknown"));
}

#[test]
fn a_system_of_another_family_is_named() {
    let host = Host::new();
    host.put("etc/os-release", "NAME=Arch\nID=arch\n");
    let secrets = Secrets::new();
    let wanted = package(PackageState::Installed);
    let failure = kinds::look(&host.place(&secrets), &wanted).unwrap_err();
    assert_eq!(failure.code, Code::Unsupported);
    assert_eq!(failure.found.as_deref(), Some("arch"));
}

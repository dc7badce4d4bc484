//! Packages: a fake dnf, the real apt.

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

/// Installs, pins and removes a package and restores the prior state each time, on a
/// host that offers 1.0-1 and 2.0-1 and has none installed.
fn assert_lifecycle(host: &Host) {
    let any = package(PackageState::Installed);
    assert!(host.in_sync(&package(PackageState::Absent)));
    let prior = host.apply(&any);
    assert_eq!(prior, Prior::Package(None));
    assert!(host.in_sync(&package(version("2.0-1"))));
    host.undo(&any, &prior);
    assert!(host.in_sync(&package(PackageState::Absent)));

    host.apply(&any);
    for resource in [package(version("1.0-1")), package(PackageState::Absent)] {
        let prior = host.apply(&resource);
        assert_eq!(prior, Prior::Package(Some("2.0-1".parse().unwrap())));
        host.undo(&resource, &prior);
        assert!(host.in_sync(&package(version("2.0-1"))));
    }
}

#[test]
fn packages_with_dnf() {
    let host = Host::new();
    host.write(
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
    assert_lifecycle(&host);
}

/// Two versions of an empty package in a local repository.
fn repository(host: &Host) {
    for version in ["1.0-1", "2.0-1"] {
        let control = format!(
            "Package: casement-tried\nVersion: {version}\nArchitecture: all\n\
             Maintainer: nobody <nobody@invalid>\nDescription: tried\n"
        );
        host.write("made/DEBIAN/control", &control);
        let to = host.root().join(format!("repository/{version}.deb"));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let built = Command::new("dpkg-deb")
            .args(["--root-owner-group", "--build"])
            .args([host.root().join("made"), to.clone()])
            .output()
            .unwrap();
        assert!(built.status.success(), "{built:?}");
        let size = fs::metadata(&to).unwrap().len();
        let hash = casement_resource::Sha256::of(&fs::read(&to).unwrap());
        let entry = format!("{control}Filename: ./{version}.deb\nSize: {size}\nSHA256: {hash}\n\n");
        let index = host.root().join("repository/Packages");
        let before = fs::read_to_string(&index).unwrap_or_default();
        fs::write(index, before + &entry).unwrap();
    }
}

/// The real apt and dpkg on a root of their own: scripts of the same names only pass its
/// path.
#[test]
#[ignore = "needs apt and dpkg"]
fn packages_with_apt() {
    let host = Host::new();
    repository(&host);
    let root = host.root().display().to_string();
    host.write("etc/os-release", "ID=ubuntu\nID_LIKE=debian\n");
    host.write("var/lib/dpkg/status", "");
    host.write(
        "etc/apt/sources.list",
        &format!("deb [trusted=yes] file:{root}/repository ./\n"),
    );
    for dir in [
        "var/lib/dpkg/updates",
        "var/lib/dpkg/info",
        "var/lib/apt/lists/partial",
        "var/cache/apt/archives/partial",
        "etc/apt/preferences.d",
        "var/log/apt",
    ] {
        fs::create_dir_all(host.root().join(dir)).unwrap();
    }
    host.write(
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
    assert_lifecycle(&host);

    // Dependents are not removed.
    let status = host.read("var/lib/dpkg/status");
    let dependent = "Package: dependent\nStatus: install ok installed\nVersion: 1\nArchitecture: all\n\
                   Maintainer: nobody <nobody@invalid>\nDepends: casement-tried\nDescription: x\n";
    host.write("var/lib/dpkg/status", &format!("{status}\n{dependent}"));
    let name = "casement-tried".parse().unwrap();
    assert!(host.linux.remove_package(&name).is_err());
    host.write("var/lib/dpkg/status", &status);

    // The dpkg status after an interruption.
    let interrupted = status.replace("install ok installed", "install ok half-configured");
    assert_ne!(interrupted, status);
    host.write("var/lib/dpkg/status", &interrupted);
    host.apply(&package(PackageState::Installed));

    let unknown = "casement-unknown".parse().unwrap();
    let failure = host.linux.install_package(&unknown, None).unwrap_err();
    assert!(failure.found.unwrap().contains("casement-unknown"));
}

#[test]
fn unsupported_distribution_is_named() {
    let host = Host::new();
    host.write("etc/os-release", "NAME=Arch\nID=arch\n");
    let secrets = Secrets::new();
    let resource = package(PackageState::Installed);
    let failure = kinds::observe(&host.context(&secrets), &resource).unwrap_err();
    assert_eq!(failure.code, Code::Unsupported);
    assert_eq!(failure.found.as_deref(), Some("arch"));
}

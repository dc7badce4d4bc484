//! Foreign objects on the host before casement. Many have the same names as objects of
//! the document.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use casement_resource::Sha256;

use crate::machine::Machine;

/// The address of the host, on a link that a foreign unit creates at each boot.
pub const ADDRESS: &str = "198.18.0.1";

const NETWORK: &str = "[Unit]\nDescription=their network\n\
    [Service]\nType=oneshot\nRemainAfterExit=yes\n\
    ExecStart=ip link add eth0 address 02:00:00:00:00:01 type veth \
    peer name peer0 address 02:00:00:00:00:03\n\
    ExecStart=ip address add 198.18.0.1/24 dev eth0\n\
    ExecStart=ip link set peer0 up\n\
    ExecStart=ip link set eth0 up\n\
    ExecStart=ip route add 10.1.0.0/16 via 198.18.0.9\n\
    ExecStart=ip link add theirs0 address 02:00:00:00:00:02 type bridge\n\
    [Install]\nWantedBy=multi-user.target\n";

fn sleeper(wanted_by: &str) -> String {
    format!(
        "[Unit]\nDescription=theirs\n[Service]\nExecStart=sleep infinity\n\
         [Install]\nWantedBy={wanted_by}\n"
    )
}

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Files with unusual modes and owners.
pub fn before_boot(machine: &Machine) {
    let root = machine.root();
    put(root, "etc/tried/notes.txt", "mine\n");
    put(root, "etc/tried/replaced.conf", "theirs\n");
    put(root, "etc/tried.conf", "key=theirs\nlast");
    put(root, "opt/tried/bin/tool", "#!/bin/sh\necho theirs\n");
    put(root, "opt/tried/theirs", "theirs\n");
    put(
        root,
        "etc/sysctl.d/10-theirs.conf",
        "net.ipv4.ip_forward = 0\n",
    );
    symlink("theirs", root.join("etc/tried-link")).unwrap();
    for (path, mode, owner) in [
        ("etc/tried", 0o751, 1234),
        ("etc/tried/replaced.conf", 0o640, 1234),
        ("etc/tried.conf", 0o604, 4321),
        ("opt/tried/bin/tool", 0o755, 1234),
    ] {
        // Set the mode last, since `chown` may clear bits of it.
        chown(root.join(path), Some(owner), Some(owner + 1)).unwrap();
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    // Folders for administrators only must not have another owner.
    chown(root.join("etc/tried"), Some(0), Some(1235)).unwrap();
    units(root);
    repository(root);
}

fn units(root: &Path) {
    put(root, "etc/systemd/system/theirs-network.service", NETWORK);
    for path in [
        "etc/systemd/system/theirs-on.service",
        "etc/systemd/system/theirs-off.service",
        "lib/systemd/system/theirs-loud.service",
    ] {
        put(root, path, &sleeper("multi-user.target"));
    }
    // Services with the same names as in the document: of the administrator, of a
    // package, and a masked one.
    let path = "etc/systemd/system/tried-plain.service";
    put(root, path, &sleeper("graphical.target"));
    fs::set_permissions(root.join(path), fs::Permissions::from_mode(0o640)).unwrap();
    put(
        root,
        "lib/systemd/system/tried-packaged.service",
        &sleeper("multi-user.target"),
    );
    let masked = root.join("etc/systemd/system/tried-masked.service");
    symlink("/dev/null", masked).unwrap();
    for (target, name) in [
        ("multi-user", "theirs-network"),
        ("multi-user", "theirs-on"),
        ("multi-user", "theirs-loud"),
        ("graphical", "tried-plain"),
    ] {
        let folder = root.join(format!("etc/systemd/system/{target}.target.wants"));
        fs::create_dir_all(&folder).unwrap();
        let own = format!("/etc/systemd/system/{name}.service");
        let unit = match root.join(&own[1..]).exists() {
            true => own,
            false => format!("/lib/systemd/system/{name}.service"),
        };
        symlink(unit, folder.join(format!("{name}.service"))).unwrap();
    }
}

/// A package repository in a folder of the host.
fn repository(root: &Path) {
    let mut index = String::new();
    for (name, version) in [
        ("tried-pinned", "1.0-1"),
        ("tried-pinned", "2.0-1"),
        ("tried-new", "1.0-1"),
        ("tried-gone", "1.0-1"),
    ] {
        let package = tempfile::tempdir().unwrap();
        let control = format!(
            "Package: {name}\nVersion: {version}\nArchitecture: all\n\
             Maintainer: nobody <nobody@invalid>\nDescription: tried\n"
        );
        put(package.path(), "DEBIAN/control", &control);
        put(
            package.path(),
            &format!("usr/share/{name}/version"),
            version,
        );
        let to = root.join(format!("srv/repository/{name}_{version}.deb"));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let status = Command::new("dpkg-deb")
            .args(["--root-owner-group", "--build"])
            .args([package.path(), &to])
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success());
        let bytes = fs::read(&to).unwrap();
        let (size, hash) = (bytes.len(), Sha256::of(&bytes));
        let file = format!("Filename: ./{name}_{version}.deb\nSize: {size}\nSHA256: {hash}\n");
        index += &format!("{control}{file}\n");
    }
    put(root, "srv/repository/Packages", &index);
    let source = "deb [trusted=yes] file:/srv/repository ./\n";
    put(root, "etc/apt/sources.list", source);
}

pub fn after_boot(machine: &Machine) {
    machine.inside(&["apt-get", "--quiet", "update"]);
    let packages = ["tried-pinned=1.0-1", "tried-gone"];
    let install = ["apt-get", "--yes", "--quiet", "install"];
    machine.inside(&[&install[..], &packages].concat());
}

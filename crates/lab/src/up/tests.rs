use super::*;
use crate::progress::done_line;

fn readme() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    fs::read_to_string(path).unwrap()
}

/// The README shows a first `lab up --hosts 2`. Only the durations may differ.
#[test]
fn readme_shows_the_progress_of_lab_up() {
    let options = LabOptions {
        kube: true,
        netns: false,
        windows_hosts: 2,
        release: WindowsRelease::Server2022,
    };
    let record = Record {
        name: "default".to_owned(),
        slot: 0,
        hosts: hosts(&options),
        binaries: None,
        windows: None,
        template: None,
    };
    let untimed = |line: &str| {
        let (line, time) = line.rsplit_once(' ').unwrap();
        assert!(time.contains(':'), "{line} {time}");
        line.to_owned()
    };
    let hosts = record.hosts.iter();
    let lines = hosts.map(|host| done_line(&describe(&record, host), Duration::ZERO));
    let mut printed: Vec<String> = lines.map(|line| untimed(&line)).collect();
    let readme = readme();
    let lines = readme.lines().filter(|line| line.starts_with("lab  "));
    let mut shown: Vec<String> = lines.map(untimed).collect();
    // In the order in which the hosts become ready.
    printed.sort();
    shown.sort();
    assert_eq!(shown, printed);
}

#[test]
fn readme_names_the_packages_of_the_lab() {
    // Part of every Debian, or installed with openssh-server.
    const INCLUDED: [&str; 7] = [
        "util-linux",
        "mount",
        "hostname",
        "bash",
        "dash",
        "procps",
        "openssh-client",
    ];
    let readme = readme();
    let line = readme
        .lines()
        .find_map(|line| line.trim().strip_prefix("apt-get install "));
    let named: Vec<&str> = line.unwrap().split(' ').collect();
    let programs = check::TOOLS
        .iter()
        .chain(&["wine", "x86_64-w64-mingw32-gcc"]);
    for package in programs.filter_map(|program| crate::command::package_of(program)) {
        for package in package
            .split(' ')
            .filter(|package| !INCLUDED.contains(package))
        {
            assert!(named.contains(&package), "{package} is not in {named:?}");
        }
    }
}

//! Random inventories: groups, children, ranges, variables, quoting.

mod ini;
mod values;
mod yaml;

use casement_source::import::TextFile;

use super::random::Random;

const GROUPS: [&str; 9] = [
    "kube-master",
    "kube_node",
    "node-windows",
    "etcd",
    "k8s-cluster",
    "bastion",
    "all",
    "g1",
    "z.last",
];
const NAMES: [&str; 14] = [
    "ansible_host",
    "ansible_user",
    "ip",
    "ansible_port",
    "kube_version",
    "kubernetes_node_hostname",
    "os",
    "x",
    "y",
    "z",
    "labels",
    "winrm_transport",
    "domain",
    "path",
];
const HOSTS: [&str; 16] = [
    "ubuntu01",
    "ubuntu02",
    "windows01",
    "win[01:03]",
    "w[1:9:4].shop.example",
    "db-[a:d]",
    "10.3.0.[4:6]",
    "node-1.example:2222",
    "r[1:2]n[01:02]",
    "[2001:db8::1]:22",
    "2001:db8::[a:c]",
    "x[y:B]",
    "host_1",
    "e[:2]",
    "g1",
    "p[01:02]:5986",
];
const BAD_HOSTS: [&str; 8] = [
    "a[1]",
    "a[1:]",
    "a[01:100]",
    "a[c:a]",
    "a[1:5:0]",
    "all:",
    "a[1:x]",
    "b|[1:2]",
];

/// An inventory, with or without `group_vars` and `host_vars`.
pub fn inventory(random: &mut Random, number: usize) -> Vec<TextFile> {
    let yaml = number % 2 == 1;
    let name = match (yaml, random.below(4)) {
        (_, 0) => "hosts",
        (true, 1) => "hosts.yaml",
        (true, _) => "hosts.yml",
        (false, 1) => "inventory.cfg",
        (false, _) => "hosts.ini",
    };
    let bad = random.one_in(12);
    let (name, text) = match (yaml, random.below(12)) {
        (true, 0) => ("hosts.json", yaml::json(random)),
        (true, _) => (name, yaml::inventory(random, bad)),
        (false, 0) => (name, ini::random_tokens(random)),
        (false, _) => (name, ini::inventory(random, bad)),
    };
    let mut files = vec![TextFile::new(name, text)];
    if random.one_in(2) {
        vars_files(random, &mut files);
    }
    files
}

fn host(random: &mut Random, bad: bool) -> &'static str {
    match bad && random.one_in(6) {
        true => random.pick(&BAD_HOSTS),
        false => random.pick(&HOSTS),
    }
}

/// `group_vars` and `host_vars`: files, directories, and both.
fn vars_files(random: &mut Random, files: &mut Vec<TextFile>) {
    let names = [
        "group_vars/all",
        "group_vars/etcd",
        "group_vars/node-windows",
        "group_vars/k8s-cluster",
        "host_vars/ubuntu01",
        "host_vars/win02",
        "group_vars/ungrouped",
        "host_vars/10.3.0.5",
        "group_vars/none",
    ];
    for name in names {
        if !random.one_in(3) {
            continue;
        }
        let below: &[&str] = match random.below(7) {
            0 => &[".yml"],
            1 => &[".yaml"],
            2 => &[".json", ".yml"],
            3 => &["/main.yml", "/b.yaml", "/a", ".yml"],
            4 => &[
                "/sub/a.yml",
                "/z.yml",
                "/.hidden.yml",
                "/old.yml~",
                "/notes.txt",
                "/d.d/x.yml",
            ],
            5 => &["/", ".yml"],
            _ => &[""],
        };
        for end in below {
            let text = match end {
                end if end.ends_with('/') => String::new(),
                end if end.ends_with(".json") => yaml::json_variables(random),
                _ => yaml::variables_file(random),
            };
            files.push(TextFile::new(format!("{name}{end}"), text));
        }
    }
}

//! Documents and hosts for tests.

use std::collections::BTreeMap;

use casement_resource::{
    Access, AdapterSettings, Condition, ContainerStore, DefenderExclusion, Directory, DynamicPorts,
    Effect, Env, Exclusion, File, FirewallRule, Forwarding, HnsEndpoint, HnsNetwork,
    HnsNetworkType, Hostname, Image, ImageSource, ImageStore, InterfaceRef, Join, Kubeconfig,
    NodeDocument, PathEntry, PendingChange, Protocol, Reboot, RegistryData, RegistryValue,
    Resource, Route, Run, SecretFile, Service, ServiceDefinition, SourceVip, Stage, StartType,
    Step, Taint, TextPart, TimeSync, UpdateFloor, Wait, WindowsFeature, WindowsUpdate,
};

mod host;
pub mod linux;

pub use host::{BASE, OLD, windows_host};

pub const ADDRESS: &str = "198.18.0.11";

pub fn step(id: &str, resource: Resource) -> Step {
    Step {
        id: id.parse().unwrap(),
        after: Vec::new(),
        disruptive: false,
        resource,
    }
}

pub fn directory(id: &str, path: &str) -> Step {
    let access = Access::AdministratorsOnly;
    step(
        id,
        Resource::Directory(Directory {
            path: path.parse().unwrap(),
            access,
        }),
    )
}

pub fn file(id: &str, path: &str, content: &str) -> Step {
    step(
        id,
        Resource::File(File {
            path: path.parse().unwrap(),
            content: content.into(),
            access: Access::AdministratorsOnly,
        }),
    )
}

/// A file with the secret `password` in it.
pub fn secret_file(id: &str, path: &str) -> Step {
    let password = "password".parse().unwrap();
    let mut file = SecretFile {
        path: path.parse().unwrap(),
        text: vec![
            TextPart::Plain("password = ".to_owned()),
            TextPart::Quoted(password),
        ],
        fingerprints: BTreeMap::new(),
    };
    let names = file.secrets().into_iter();
    file.fingerprints = names.map(|name| (name, "12ab".to_owned())).collect();
    step(id, Resource::SecretFile(file))
}

pub fn env(id: &str, name: &str, value: &str) -> Step {
    step(
        id,
        Resource::Env(Env {
            name: name.to_owned(),
            value: value.to_owned(),
        }),
    )
}

pub fn path_entry(id: &str, path: &str) -> Step {
    step(
        id,
        Resource::PathEntry(PathEntry {
            path: path.parse().unwrap(),
        }),
    )
}

pub fn registry(id: &str, key: &str, data: RegistryData) -> Step {
    let (key, name) = (key.to_owned(), "value".to_owned());
    step(
        id,
        Resource::RegistryValue(RegistryValue { key, name, data }),
    )
}

pub fn exclusion(exclusion: Exclusion) -> Step {
    step(
        &exclusion.to_string(),
        Resource::DefenderExclusion(DefenderExclusion { exclusion }),
    )
}

pub fn rule(name: &str, protocol: Protocol, port: u16) -> Step {
    step(
        &format!("firewall {name}"),
        Resource::FirewallRule(FirewallRule {
            name: name.to_owned(),
            protocol,
            port,
        }),
    )
}

pub fn feature(name: &str, present: bool) -> Step {
    step(
        &format!("feature {name}"),
        Resource::WindowsFeature(WindowsFeature {
            name: name.to_owned(),
            present,
        }),
    )
}

pub fn reboot() -> Step {
    step(
        "reboot",
        Resource::Reboot(Reboot {
            reason: "the feature Containers".to_owned(),
            waits: vec![
                PendingChange::Feature("Containers".to_owned()),
                PendingChange::Hostname,
                PendingChange::Update("KB5012637".to_owned()),
            ],
            allowed: true,
            timeout_seconds: 60,
            back_seconds: 600,
        }),
    )
}

/// An update that is part of build 20348 since `revision`.
pub fn update(revision: u32, package: Option<&str>) -> Step {
    step(
        "update",
        Resource::WindowsUpdate(WindowsUpdate {
            article: "KB5012637".to_owned(),
            floors: vec![UpdateFloor {
                build: 20348,
                revision,
            }],
            package: package.map(|path| path.parse().unwrap()),
            timeout_seconds: 60,
        }),
    )
}

pub fn hostname(name: &str) -> Step {
    let name = name.to_owned();
    step("hostname", Resource::Hostname(Hostname { name }))
}

pub fn time_sync(server: &str) -> Step {
    let servers = vec![server.to_owned()];
    step("time", Resource::TimeSync(TimeSync { servers }))
}

pub fn ports(protocol: Protocol, first: u16) -> Step {
    step(
        &format!("ports {protocol}"),
        Resource::DynamicPorts(DynamicPorts {
            protocol,
            first,
            count: 1000,
        }),
    )
}

/// An image of the service `containerd`, with one more tag.
pub fn image(name: &str) -> Step {
    let path = |text: &str| text.parse().unwrap();
    step(
        &format!("image {name}"),
        Resource::Image(Image {
            name: name.to_owned(),
            tags: vec![format!("{}:latest", name.rsplit_once(':').unwrap().0)],
            store: ImageStore::Containerd {
                ctr: path(r"C:\k\ctr.exe"),
                address: r"\\.\pipe\containerd".to_owned(),
                registries: path(r"C:\k\certs.d"),
                ready: Condition::NamedPipe(r"\\.\pipe\containerd".to_owned()),
            },
            source: ImageSource::Registry,
            check_build: true,
            try_out: ["cmd", "/c", "exit", "0"].map(str::to_owned).to_vec(),
            timeout_seconds: 60,
        }),
    )
}

/// The store of the service `containerd`.
pub fn container_store() -> Step {
    let path = |text: &str| text.parse().unwrap();
    step(
        "store",
        Resource::ContainerStore(ContainerStore {
            path: path(r"C:\ProgramData\containerd"),
            ctr: path(r"C:\k\ctr.exe"),
            address: r"\\.\pipe\containerd".to_owned(),
            ready: Condition::NamedPipe(r"\\.\pipe\containerd".to_owned()),
            layers: Some(path(
                r"C:\ProgramData\containerd\root\io.containerd.snapshotter.v1.windows\snapshots",
            )),
            timeout_seconds: 60,
        }),
    )
}

pub fn service(name: &str, run: Run, depends_on: &[&str], restart_on: &[&str]) -> Step {
    let pipe = Condition::NamedPipe(format!(r"\\.\pipe\{name}"));
    step(
        &format!("service {name}"),
        Resource::Service(Service {
            definition: ServiceDefinition {
                name: name.to_owned(),
                display_name: name.to_owned(),
                program: vec![format!(r"C:\k\{name}.exe")],
                environment: BTreeMap::new(),
                environment_file: None,
                flags_file: None,
                depends_on: depends_on.iter().map(|name| (*name).to_owned()).collect(),
                log_file: None,
                ready: Some(pipe),
                ready_seconds: 5,
                start: StartType::Automatic,
            },
            run,
            restart_on: restart_on.iter().map(|id| id.parse().unwrap()).collect(),
        }),
    )
}

pub fn join() -> Step {
    step(
        "join",
        Resource::Join(Join {
            api: casement_resource::KubeadmApi::default(),
            node_name: "win1".to_owned(),
            node_ip: ADDRESS.parse().unwrap(),
            api_server: "198.18.0.10:6443".to_owned(),
            ca_hashes: vec!["sha256:00".to_owned()],
            token: "token".parse().unwrap(),
            cri_socket: "npipe:////./pipe/containerd-containerd".to_owned(),
            taints: vec![Taint {
                key: "os".to_owned(),
                value: "windows".to_owned(),
                effect: Effect::NoSchedule,
            }],
            kubelet_arguments: BTreeMap::new(),
            patches: vec![casement_resource::Patch {
                file_name: "kubeletconfiguration0+merge.json".to_owned(),
                content: "{}".to_owned(),
            }],
            kubeadm: r"C:\k\kubeadm.exe".parse().unwrap(),
            kubernetes_dir: r"C:\etc\kubernetes".parse().unwrap(),
            kubelet_dir: r"C:\var\lib\kubelet".parse().unwrap(),
            timeout_seconds: 60,
        }),
    )
}

fn network() -> Vec<Step> {
    let host = InterfaceRef::Address(ADDRESS.parse().unwrap());
    let address = ADDRESS.parse().unwrap();
    vec![
        step(
            "adapter",
            Resource::AdapterSettings(AdapterSettings { address }),
        ),
        with_after(
            step(
                "network",
                Resource::HnsNetwork(HnsNetwork {
                    name: "cbr0".to_owned(),
                    network_type: HnsNetworkType::L2Bridge,
                    subnet: "10.244.1.0/24".parse().unwrap(),
                    gateway: "10.244.1.1".parse().unwrap(),
                    isolation: None,
                    adapter_address: ADDRESS.parse().unwrap(),
                }),
            ),
            &["adapter"],
        ),
        with_after(
            step(
                "endpoint",
                Resource::HnsEndpoint(HnsEndpoint {
                    name: "cbr0_ep".to_owned(),
                    network: "cbr0".to_owned(),
                    address: "10.244.1.2".parse().unwrap(),
                }),
            ),
            &["network"],
        ),
        with_after(
            step(
                "vip",
                Resource::SourceVip(SourceVip {
                    network: "cbr0".to_owned(),
                    address: "10.244.1.3".parse().unwrap(),
                }),
            ),
            &["network"],
        ),
        // The switch moves the address to another interface.
        with_after(
            step(
                "route",
                Resource::Route(Route {
                    destination: "10.244.2.0/24".parse().unwrap(),
                    next_hop: "198.18.0.12".parse().unwrap(),
                    interface: host.clone(),
                }),
            ),
            &["network"],
        ),
        with_after(
            step(
                "forwarding",
                Resource::Forwarding(Forwarding { interface: host }),
            ),
            &["network"],
        ),
    ]
}

/// `full` with a secret file, so that a run requests two secrets.
pub fn full_with_secret() -> NodeDocument {
    let mut steps = full().steps().to_vec();
    steps.push(secret_file("account", r"C:\k\new\account.toml"));
    document(steps)
}

/// All kinds except artifacts, reboots and secret files.
pub fn full() -> NodeDocument {
    let containerd = Condition::NamedPipe(r"\\.\pipe\containerd".to_owned());
    let mut steps = vec![
        directory("kubernetes", r"C:\etc\kubernetes"),
        directory("kubelet folder", r"C:\var\lib\kubelet"),
        directory("base", r"C:\k"),
        file("config", r"C:\k\new\config.toml", "version = 3"),
        file("hosts", r"C:\k\hosts", "replaced"),
        env("new variable", "New", "1"),
        env("old variable", "Old", "after"),
        path_entry("path", r"C:\k"),
        registry(
            "setting",
            r"SOFTWARE\casement\deep",
            RegistryData::Number(1),
        ),
        feature("telnet", true),
        hostname("win1"),
        time_sync("time.example"),
        ports(Protocol::Tcp, 34000),
        rule("Old rule", Protocol::Tcp, 8080),
        rule("casement kubelet", Protocol::Tcp, 10250),
        exclusion(Exclusion::Path(r"C:\k".to_owned())),
        exclusion(Exclusion::Process(r"C:\k\kubelet.exe".to_owned())),
        container_store(),
        with_after(
            service("containerd", Run::Running, &[], &["config"]),
            &["config"],
        ),
        file("ctr", r"C:\k\ctr.exe", "ctr"),
        with_after(image(BASE), &["service containerd", "ctr"]),
        with_after(
            service("kubelet", Run::Either, &["containerd"], &[]),
            &["service containerd"],
        ),
        with_after(join(), &["service kubelet", "kubernetes", "kubelet folder"]),
        with_after(
            step(
                "kubeconfig",
                Resource::Kubeconfig(Kubeconfig {
                    path: r"C:\etc\kubernetes\kube-proxy.conf".parse().unwrap(),
                    server: "https://198.18.0.10:6443".to_owned(),
                    ca: "PEM".to_owned(),
                    client_certificate: r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"
                        .parse()
                        .unwrap(),
                }),
            ),
            &["join"],
        ),
        with_after(
            service("kube-proxy", Run::Running, &[], &["kubeconfig"]),
            &["kubeconfig"],
        ),
        with_after(
            step(
                "wait",
                Resource::Wait(Wait {
                    condition: containerd,
                    timeout_seconds: 5,
                    help: None,
                }),
            ),
            &["kubernetes"],
        ),
    ];
    steps.extend(network());
    // Its condition is already met, so it would change nothing.
    steps.retain(|step| step.id.as_str() != "wait");
    document(steps)
}

pub fn document(steps: Vec<Step>) -> NodeDocument {
    NodeDocument::new("win1".to_owned(), Stage::Prepare, steps).unwrap()
}

pub fn with_after(mut step: Step, after: &[&str]) -> Step {
    step.after = after.iter().map(|id| id.parse().unwrap()).collect();
    step
}

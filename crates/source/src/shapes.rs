//! Every field of the document.

mod access;
mod machines;

use casement_spec::{
    CidrAllocation, DefenderPolicy, HostOs, ImageVerify, JoinMethod, Mtu, NetworkAgent,
    NetworkMode, Program, RebootPolicy, RepairPolicy, Role, RuntimeKind, Vni, WindowsComponents,
};

use crate::shape::{Kind, Shape, optional, required, words};

pub(crate) use access::{
    ACCESS, BASTION, HOST_ACCESS, HOST_SSH, HYPERVISOR_ACCESS, SECRET, SSH, SUDO, WINRM,
};
pub(crate) use machines::{AZURE, HYPERV, HYPERVISOR, LIBVIRT, MACHINES, SIZE};

/// All of them, to find where a misplaced field belongs.
pub(crate) static ALL: &[&Shape] = &[
    &DOCUMENT,
    &METADATA,
    &SPEC,
    &KUBERNETES,
    &EXISTING,
    &JOIN,
    &NETWORK,
    &HOST,
    &ACCESS,
    &HOST_ACCESS,
    &HYPERVISOR_ACCESS,
    &SSH,
    &HOST_SSH,
    &SUDO,
    &SECRET,
    &WINRM,
    &BASTION,
    &RUNTIME,
    &WINDOWS,
    &PROXY,
    &ARTIFACTS,
    &IMAGES,
    &ACCOUNT,
    &MACHINES,
    &LIBVIRT,
    &HYPERV,
    &HYPERVISOR,
    &SIZE,
    &AZURE,
];

pub(crate) static DOCUMENT: Shape = Shape {
    id: "document",
    place: "the document",
    fields: &[
        required(
            "apiVersion",
            Kind::Word(|| vec![casement_spec::API_VERSION]),
            "apiVersion: casement.dev/v1alpha1",
            "The version of this format.",
        ),
        required(
            "kind",
            Kind::Word(|| vec![casement_spec::KIND]),
            "kind: Cluster",
            "What the document describes.",
        ),
        required(
            "metadata",
            Kind::Mapping(&METADATA),
            "metadata: {name: shop}",
            "What the cluster is called.",
        ),
        required(
            "spec",
            Kind::Mapping(&SPEC),
            "spec:",
            "What the cluster should be.",
        ),
    ],
};

pub(crate) static METADATA: Shape = Shape {
    id: "metadata",
    place: "`metadata`",
    fields: &[required(
        "name",
        Kind::Text,
        "name: shop",
        "The cluster's name: lower-case letters, digits and `-`.",
    )],
};

pub(crate) static SPEC: Shape = Shape {
    id: "spec",
    place: "`spec`",
    fields: &[
        required(
            "kubernetes",
            Kind::Mapping(&KUBERNETES),
            "kubernetes: {version: 1.36.3}",
            "Kubernetes itself.",
        ),
        optional(
            "existing",
            Kind::Mapping(&EXISTING),
            "A control plane that runs already; leave it out to make one.",
        ),
        optional("join", Kind::Mapping(&JOIN), "How nodes join."),
        required(
            "network",
            Kind::Mapping(&NETWORK),
            "network: {mode: l3-routes}",
            "How pods on different hosts reach each other.",
        ),
        required(
            "hosts",
            Kind::List(&Kind::Mapping(&HOST)),
            "hosts:",
            "The hosts; at least one of them runs Windows.",
        ),
        optional(
            "access",
            Kind::Mapping(&ACCESS),
            "How hosts are reached, unless a host says otherwise.",
        ),
        optional(
            "runtime",
            Kind::Mapping(&RUNTIME),
            "What runs the containers.",
        ),
        optional(
            "windows",
            Kind::Mapping(&WINDOWS),
            "What is particular to Windows hosts.",
        ),
        optional("proxy", Kind::Mapping(&PROXY), "The proxy that hosts use."),
        optional(
            "artifacts",
            Kind::Mapping(&ARTIFACTS),
            "Where programs come from.",
        ),
        optional("images", Kind::Mapping(&IMAGES), "Where images come from."),
        optional(
            "machines",
            Kind::OneOf(&MACHINES),
            "Where the hosts' machines are made; leave it out where they are there.",
        ),
    ],
};

pub(crate) static KUBERNETES: Shape = Shape {
    id: "kubernetes",
    place: "`kubernetes`",
    fields: &[
        required(
            "version",
            Kind::Text,
            "version: 1.36.3",
            "The version that nodes run: 1.21 to 1.36, with three numbers.",
        ),
        optional(
            "podCidr",
            Kind::OneOrList(&Kind::Text),
            "Where pods get their addresses: an IPv4 network, or a list with an IPv6 one.",
        ),
        optional(
            "serviceCidr",
            Kind::OneOrList(&Kind::Text),
            "Where services get their addresses: an IPv4 network, or a list with an IPv6 one.",
        ),
        optional(
            "endpoint",
            Kind::Text,
            "The API server as nodes reach it: `host:port`.",
        ),
        optional("clusterDomain", Kind::Text, "What service names end with."),
        optional(
            "dnsIp",
            Kind::Text,
            "Where pods ask for names: an address of the service network.",
        ),
        optional(
            "featureGates",
            Kind::Own(&Kind::Boolean),
            "Feature gates, on or off.",
        ),
        optional(
            "cidrAllocation",
            Kind::Word(words::<CidrAllocation>),
            "Who gives each node its pod network: the controller manager, or `hosts[].podCidr`.",
        ),
    ],
};

pub(crate) static EXISTING: Shape = Shape {
    id: "existing",
    place: "`existing`",
    fields: &[required(
        "kubeconfig",
        Kind::Text,
        "kubeconfig: ./admin.conf",
        "The file with which to talk to the cluster.",
    )],
};

pub(crate) static JOIN: Shape = Shape {
    id: "join",
    place: "`join`",
    fields: &[optional(
        "method",
        Kind::Word(words::<JoinMethod>),
        "By what means: `kubeadm join`, or the kubelet's own TLS bootstrap.",
    )],
};

pub(crate) static NETWORK: Shape = Shape {
    id: "network",
    place: "`network`",
    fields: &[
        required(
            "mode",
            Kind::Word(words::<NetworkMode>),
            "mode: l3-routes",
            "VXLAN or routes, and whose.",
        ),
        optional(
            "agent",
            Kind::Word(words::<NetworkAgent>),
            "Whose daemon runs in the modes of flannel.",
        ),
        optional(
            "vni",
            Kind::Number(1, Vni::MOST),
            "The number of the VXLAN network; Windows takes none below 4096.",
        ),
        optional(
            "port",
            Kind::Number(1, 65535),
            "The UDP port of VXLAN; Windows takes 4789 only.",
        ),
        optional(
            "hnsNetwork",
            Kind::Text,
            "What the network is called on Windows hosts.",
        ),
        optional(
            "cniName",
            Kind::Text,
            "What the network is called in CNI on Linux hosts.",
        ),
        optional(
            "mtu",
            Kind::Number(Mtu::LEAST as u32, 65535),
            "The largest packet of pods, in bytes.",
        ),
        optional(
            "interface",
            Kind::Text,
            "The interface that carries pods; by default the one with the host's address.",
        ),
    ],
};

pub(crate) static HOST: Shape = Shape {
    id: "host",
    place: "`hosts[]`",
    fields: &[
        required(
            "name",
            Kind::Text,
            "name: windows01",
            "The host's name, and that of its Node; at most 15 characters on Windows.",
        ),
        required(
            "address",
            Kind::Text,
            "address: 10.3.0.4",
            "The IPv4 address at which the host is reached.",
        ),
        required(
            "os",
            Kind::Word(words::<HostOs>),
            "os: windows-2022",
            "What it runs; `windows` and `linux` mean: find out.",
        ),
        optional(
            "roles",
            Kind::List(&Kind::Word(words::<Role>)),
            "What it does in the cluster.",
        ),
        optional(
            "managed",
            Kind::Boolean,
            "Whether casement may change it; by default not for Linux hosts of an existing cluster.",
        ),
        optional(
            "hostname",
            Kind::Text,
            "What the machine shall call itself; by default it keeps its name.",
        ),
        optional(
            "interface",
            Kind::Text,
            "The interface that carries pods on this host.",
        ),
        optional(
            "access",
            Kind::Mapping(&HOST_ACCESS),
            "How this host is reached, where that differs from the others.",
        ),
        optional(
            "labels",
            Kind::Own(&Kind::Text),
            "Labels of the Node, beside those that Kubernetes sets.",
        ),
        optional(
            "taints",
            Kind::List(&Kind::Text),
            "All taints of the Node; a list given here replaces the default.",
        ),
        optional(
            "podCidr",
            Kind::OneOrList(&Kind::Text),
            "The network of this host's pods, with `cidrAllocation: hosts`.",
        ),
        optional(
            "kubeletArgs",
            Kind::Own(&Kind::Text),
            "Flags of the kubelet, without the dashes before them.",
        ),
        optional(
            "stateDir",
            Kind::Text,
            "The folder on the host where casement keeps its state.",
        ),
    ],
};

pub(crate) static RUNTIME: Shape = Shape {
    id: "runtime",
    place: "`runtime`",
    fields: &[
        optional(
            "kind",
            Kind::Word(words::<RuntimeKind>),
            "The container runtime.",
        ),
        optional(
            "version",
            Kind::Text,
            "Its version; by default one that fits Kubernetes.",
        ),
    ],
};

pub(crate) static WINDOWS: Shape = Shape {
    id: "windows",
    place: "`windows`",
    fields: &[
        optional("baseDir", Kind::Text, "Where programs are put."),
        optional(
            "components",
            Kind::Word(words::<WindowsComponents>),
            "Whether the node's programs are services or HostProcess containers.",
        ),
        optional(
            "reboot",
            Kind::Word(words::<RebootPolicy>),
            "What is done when a change needs a reboot.",
        ),
        optional(
            "repair",
            Kind::Word(words::<RepairPolicy>),
            "What is done about drift.",
        ),
        optional(
            "defender",
            Kind::Word(words::<DefenderPolicy>),
            "Whether the node's programs are excluded from Windows Defender.",
        ),
        optional(
            "updates",
            Kind::List(&Kind::Text),
            "Updates that hosts must have: `KB5012637`, or the path of an .msu file.",
        ),
        optional(
            "timeServers",
            Kind::List(&Kind::Text),
            "Where hosts get the time from.",
        ),
    ],
};

pub(crate) static PROXY: Shape = Shape {
    id: "proxy",
    place: "`proxy`",
    fields: &[
        optional("http", Kind::Text, "The proxy for `http://`."),
        optional("https", Kind::Text, "The proxy for `https://`."),
        optional(
            "credentials",
            Kind::Mapping(&ACCOUNT),
            "The account there; only together with `http` or `https`.",
        ),
        optional(
            "no",
            Kind::List(&Kind::Text),
            "Hosts, domains and networks without proxy, beside the cluster's own.",
        ),
    ],
};

pub(crate) static ARTIFACTS: Shape = Shape {
    id: "artifacts",
    place: "`artifacts`",
    fields: &[
        optional("mirror", Kind::Text, "Where all programs are fetched."),
        optional("cache", Kind::Text, "Where they are kept on this machine."),
        optional("lock", Kind::Text, "The file that pins them."),
        optional(
            "overrides",
            Kind::Known(words::<Program>, &Kind::Text),
            "Builds of one's own, as files.",
        ),
    ],
};

pub(crate) static IMAGES: Shape = Shape {
    id: "images",
    place: "`images`",
    fields: &[
        optional(
            "registry",
            Kind::Text,
            "The registry that serves all images: `host:port/path`.",
        ),
        optional(
            "credentials",
            Kind::Mapping(&ACCOUNT),
            "The account at that registry.",
        ),
        optional(
            "ca",
            Kind::Text,
            "Who signed the registry's certificate, as a PEM file.",
        ),
        optional(
            "pause",
            Kind::Text,
            "The image that holds a pod's network; by default one that fits Kubernetes.",
        ),
        optional(
            "prepull",
            Kind::List(&Kind::Text),
            "Images that are pulled before pods ask for them.",
        ),
        optional(
            "verify",
            Kind::Word(words::<ImageVerify>),
            "What is checked before an image is pulled to a Windows host.",
        ),
        optional(
            "overrides",
            Kind::Own(&Kind::Text),
            "Images that are used in the place of others.",
        ),
    ],
};

pub(crate) static ACCOUNT: Shape = Shape {
    id: "account",
    place: "`credentials`",
    fields: &[
        required("user", Kind::Text, "user: puller", "The account."),
        required(
            "password",
            Kind::OneOf(&SECRET),
            "password: {env: REGISTRY_PASSWORD}",
            "Where its password is.",
        ),
    ],
};

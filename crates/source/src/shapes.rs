//! All fields of the document.

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

/// All shapes, to find the right one for a misplaced field.
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
    title: "the document",
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
            "The kind of the document.",
        ),
        required(
            "metadata",
            Kind::Mapping(&METADATA),
            "metadata: {name: shop}",
            "Metadata of the cluster.",
        ),
        required(
            "spec",
            Kind::Mapping(&SPEC),
            "spec:",
            "The desired state of the cluster.",
        ),
    ],
};

pub(crate) static METADATA: Shape = Shape {
    id: "metadata",
    title: "`metadata`",
    fields: &[required(
        "name",
        Kind::Text,
        "name: shop",
        "Name of the cluster: lower-case letters, digits and `-`.",
    )],
};

pub(crate) static SPEC: Shape = Shape {
    id: "spec",
    title: "`spec`",
    fields: &[
        required(
            "kubernetes",
            Kind::Mapping(&KUBERNETES),
            "kubernetes: {version: 1.36.3}",
            "Kubernetes version and cluster-wide settings.",
        ),
        optional(
            "existing",
            Kind::Mapping(&EXISTING),
            "An existing control plane; omit it to create one.",
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
            "The hosts; at least one must run Windows.",
        ),
        optional(
            "access",
            Kind::Mapping(&ACCESS),
            "How to connect to hosts; hosts can override it.",
        ),
        optional("runtime", Kind::Mapping(&RUNTIME), "The container runtime."),
        optional(
            "windows",
            Kind::Mapping(&WINDOWS),
            "Settings of Windows hosts.",
        ),
        optional(
            "proxy",
            Kind::Mapping(&PROXY),
            "The HTTP proxy of the hosts.",
        ),
        optional(
            "artifacts",
            Kind::Mapping(&ARTIFACTS),
            "Where to download programs.",
        ),
        optional("images", Kind::Mapping(&IMAGES), "Where to pull images."),
        optional(
            "machines",
            Kind::OneOf(&MACHINES),
            "Where to create the machines of the hosts; omit it for existing machines.",
        ),
    ],
};

pub(crate) static KUBERNETES: Shape = Shape {
    id: "kubernetes",
    title: "`kubernetes`",
    fields: &[
        required(
            "version",
            Kind::Text,
            "version: 1.36.3",
            "Kubernetes version of the nodes: 1.21 to 1.36, with patch version.",
        ),
        optional(
            "podCidr",
            Kind::OneOrList(&Kind::Text),
            "Pod network: an IPv4 network, or for dual stack a list with an IPv6 network.",
        ),
        optional(
            "serviceCidr",
            Kind::OneOrList(&Kind::Text),
            "Service network: an IPv4 network, or for dual stack a list with an IPv6 network.",
        ),
        optional(
            "endpoint",
            Kind::Text,
            "Address of the API server for the nodes: `host:port`.",
        ),
        optional("clusterDomain", Kind::Text, "DNS domain of services."),
        optional(
            "dnsIp",
            Kind::Text,
            "Address of the cluster DNS, in the service network.",
        ),
        optional(
            "featureGates",
            Kind::UserKeys(&Kind::Boolean),
            "Feature gates to enable or disable.",
        ),
        optional(
            "cidrAllocation",
            Kind::Word(words::<CidrAllocation>),
            "What allocates pod networks to nodes: the controller manager, or `hosts[].podCidr`.",
        ),
    ],
};

pub(crate) static EXISTING: Shape = Shape {
    id: "existing",
    title: "`existing`",
    fields: &[required(
        "kubeconfig",
        Kind::Text,
        "kubeconfig: ./admin.conf",
        "Path of the kubeconfig file.",
    )],
};

pub(crate) static JOIN: Shape = Shape {
    id: "join",
    title: "`join`",
    fields: &[optional(
        "method",
        Kind::Word(words::<JoinMethod>),
        "How nodes join: `kubeadm join`, or TLS bootstrap by the kubelet.",
    )],
};

pub(crate) static NETWORK: Shape = Shape {
    id: "network",
    title: "`network`",
    fields: &[
        required(
            "mode",
            Kind::Word(words::<NetworkMode>),
            "mode: l3-routes",
            "The network mode.",
        ),
        optional(
            "agent",
            Kind::Word(words::<NetworkAgent>),
            "The network daemon in flannel modes.",
        ),
        optional(
            "vni",
            Kind::Number(1, Vni::MAX),
            "VXLAN network identifier; Windows requires 4096 or more.",
        ),
        optional(
            "port",
            Kind::Number(1, 65535),
            "UDP port of VXLAN; Windows requires 4789.",
        ),
        optional(
            "hnsNetwork",
            Kind::Text,
            "Name of the HNS network on Windows hosts.",
        ),
        optional(
            "cniName",
            Kind::Text,
            "Name of the CNI network on Linux hosts.",
        ),
        optional(
            "mtu",
            Kind::Number(Mtu::MIN as u32, 65535),
            "MTU of pod interfaces, in bytes.",
        ),
        optional(
            "interface",
            Kind::Text,
            "Interface for pod traffic; defaults to the one with the host address.",
        ),
    ],
};

pub(crate) static HOST: Shape = Shape {
    id: "host",
    title: "`hosts[]`",
    fields: &[
        required(
            "name",
            Kind::Text,
            "name: windows01",
            "Name of the host and its Node; at most 15 characters on Windows.",
        ),
        required(
            "address",
            Kind::Text,
            "address: 10.3.0.4",
            "IPv4 address of the host.",
        ),
        required(
            "os",
            Kind::Word(words::<HostOs>),
            "os: windows-2022",
            "Operating system; `windows` and `linux` detect the version.",
        ),
        optional(
            "roles",
            Kind::List(&Kind::Word(words::<Role>)),
            "Roles in the cluster.",
        ),
        optional(
            "managed",
            Kind::Boolean,
            "Whether casement changes the host; defaults to false for Linux hosts of an existing cluster.",
        ),
        optional(
            "hostname",
            Kind::Text,
            "Hostname to set on the machine; unchanged by default.",
        ),
        optional(
            "interface",
            Kind::Text,
            "Interface for pod traffic on this host.",
        ),
        optional(
            "access",
            Kind::Mapping(&HOST_ACCESS),
            "Connection settings of this host; they override `access`.",
        ),
        optional(
            "labels",
            Kind::UserKeys(&Kind::Text),
            "Additional labels of the Node.",
        ),
        optional(
            "taints",
            Kind::List(&Kind::Text),
            "Taints of the Node; they replace the default.",
        ),
        optional(
            "podCidr",
            Kind::OneOrList(&Kind::Text),
            "Pod network of this host, with `cidrAllocation: hosts`.",
        ),
        optional(
            "kubeletArgs",
            Kind::UserKeys(&Kind::Text),
            "Kubelet flags, without leading dashes.",
        ),
        optional(
            "stateDir",
            Kind::Text,
            "State directory of casement on the host.",
        ),
    ],
};

pub(crate) static RUNTIME: Shape = Shape {
    id: "runtime",
    title: "`runtime`",
    fields: &[
        optional(
            "kind",
            Kind::Word(words::<RuntimeKind>),
            "The container runtime.",
        ),
        optional(
            "version",
            Kind::Text,
            "Version of the runtime; the default matches the Kubernetes version.",
        ),
    ],
};

pub(crate) static WINDOWS: Shape = Shape {
    id: "windows",
    title: "`windows`",
    fields: &[
        optional("baseDir", Kind::Text, "Directory for programs."),
        optional(
            "components",
            Kind::Word(words::<WindowsComponents>),
            "Run node components as Windows services or as HostProcess containers.",
        ),
        optional(
            "reboot",
            Kind::Word(words::<RebootPolicy>),
            "What to do when a change requires a reboot.",
        ),
        optional(
            "repair",
            Kind::Word(words::<RepairPolicy>),
            "What to do about drift.",
        ),
        optional(
            "defender",
            Kind::Word(words::<DefenderPolicy>),
            "Whether to exclude node components from Windows Defender.",
        ),
        optional(
            "updates",
            Kind::List(&Kind::Text),
            "Required updates: `KB5012637`, or the path of an .msu file.",
        ),
        optional("timeServers", Kind::List(&Kind::Text), "NTP servers."),
    ],
};

pub(crate) static PROXY: Shape = Shape {
    id: "proxy",
    title: "`proxy`",
    fields: &[
        optional("http", Kind::Text, "Proxy for `http://`."),
        optional("https", Kind::Text, "Proxy for `https://`."),
        optional(
            "credentials",
            Kind::Mapping(&ACCOUNT),
            "Credentials for the proxy; requires `http` or `https`.",
        ),
        optional(
            "no",
            Kind::List(&Kind::Text),
            "Additional hosts, domains and networks to reach without the proxy.",
        ),
    ],
};

pub(crate) static ARTIFACTS: Shape = Shape {
    id: "artifacts",
    title: "`artifacts`",
    fields: &[
        optional(
            "mirror",
            Kind::Text,
            "Mirror to download all programs from.",
        ),
        optional("cache", Kind::Text, "Local cache directory."),
        optional("lock", Kind::Text, "Path of the lock file."),
        optional(
            "overrides",
            Kind::KnownKeys(words::<Program>, &Kind::Text),
            "Local files to use instead of downloads.",
        ),
    ],
};

pub(crate) static IMAGES: Shape = Shape {
    id: "images",
    title: "`images`",
    fields: &[
        optional(
            "registry",
            Kind::Text,
            "Registry to pull all images from: `host:port/path`.",
        ),
        optional(
            "credentials",
            Kind::Mapping(&ACCOUNT),
            "Credentials for the registry.",
        ),
        optional(
            "ca",
            Kind::Text,
            "CA certificate of the registry, as a PEM file.",
        ),
        optional(
            "pause",
            Kind::Text,
            "Pause image; the default matches the Kubernetes version.",
        ),
        optional(
            "prepull",
            Kind::List(&Kind::Text),
            "Images to pull in advance.",
        ),
        optional(
            "verify",
            Kind::Word(words::<ImageVerify>),
            "What to verify before pulling an image on Windows hosts.",
        ),
        optional(
            "overrides",
            Kind::UserKeys(&Kind::Text),
            "Replacements for images.",
        ),
    ],
};

pub(crate) static ACCOUNT: Shape = Shape {
    id: "account",
    title: "`credentials`",
    fields: &[
        required("user", Kind::Text, "user: puller", "User name."),
        required(
            "password",
            Kind::OneOf(&SECRET),
            "password: {env: REGISTRY_PASSWORD}",
            "Reference to the password.",
        ),
    ],
};

//! Every field of the document: what is needed, what may be, what comes later.

use crate::shape::{Shape, not_yet, not_yet_within, optional, required};

/// All of them, to find where a misplaced field belongs.
pub(crate) static ALL: &[&Shape] = &[
    &DOCUMENT,
    &METADATA,
    &SPEC,
    &KUBERNETES,
    &EXISTING,
    &NETWORK,
    &HOST,
    &ACCESS,
    &SSH,
    &WINDOWS,
    &IMAGES,
    &ARTIFACTS,
];

pub(crate) static DOCUMENT: Shape = Shape {
    place: "the document",
    fields: &[
        required("apiVersion", "apiVersion: casement.dev/v1alpha1"),
        required("kind", "kind: Cluster"),
        required("metadata", "metadata: {name: shop}"),
        required("spec", "spec:"),
    ],
};

pub(crate) static METADATA: Shape = Shape {
    place: "`metadata`",
    fields: &[required("name", "name: shop")],
};

pub(crate) static SPEC: Shape = Shape {
    place: "`spec`",
    fields: &[
        required("kubernetes", "kubernetes: {version: 1.36.3}"),
        // Required too, but its lack means something of its own.
        optional("existing"),
        required("network", "network: {mode: l3-routes}"),
        required("hosts", "hosts:"),
        optional("access"),
        optional("windows"),
        optional("images"),
        optional("artifacts"),
        not_yet_within("join", &JOIN),
        not_yet_within("runtime", &RUNTIME),
        not_yet("proxy", "leave it out: nothing goes through a proxy"),
        not_yet(
            "machines",
            "leave it out: `hosts` lists machines that are there already",
        ),
    ],
};

pub(crate) static KUBERNETES: Shape = Shape {
    place: "`kubernetes`",
    fields: &[
        required("version", "version: 1.36.3"),
        optional("podCidr"),
        optional("serviceCidr"),
        not_yet(
            "endpoint",
            "leave it out: it is taken from `existing.kubeconfig`",
        ),
        not_yet(
            "clusterDomain",
            "leave it out: it is taken from the cluster",
        ),
        not_yet("dnsIp", "leave it out: it is taken from the cluster"),
        not_yet("featureGates", "leave it out: the cluster's hold"),
        not_yet(
            "cidrAllocation",
            "leave it out: the cluster gives each node its pod network",
        ),
    ],
};

pub(crate) static EXISTING: Shape = Shape {
    place: "`existing`",
    fields: &[required("kubeconfig", "kubeconfig: ./admin.conf")],
};

pub(crate) static NETWORK: Shape = Shape {
    place: "`network`",
    fields: &[
        required("mode", "mode: l3-routes"),
        not_yet("agent", "leave it out: `l3-routes` needs no agent"),
        not_yet("vni", "leave it out: `l3-routes` has none"),
        not_yet("port", "leave it out: `l3-routes` has none"),
        not_yet("hnsNetwork", "leave it out: it is `cbr0`"),
        not_yet("cniName", "leave it out: it is `cbr0`"),
        not_yet("mtu", "leave it out: routed pods use the MTU of the host"),
        not_yet(
            "interface",
            "leave it out: it is the one that has the host's address",
        ),
    ],
};

pub(crate) static HOST: Shape = Shape {
    place: "`hosts[]`",
    fields: &[
        required("name", "name: windows01"),
        required("address", "address: 10.3.0.4"),
        required("os", "os: windows-2022"),
        optional("roles"),
        optional("managed"),
        optional("access"),
        optional("labels"),
        optional("taints"),
        not_yet(
            "hostname",
            "leave it out: the host keeps its own, the Node is called `name`",
        ),
        not_yet(
            "interface",
            "leave it out: it is the one that has the host's address",
        ),
        not_yet(
            "podCidr",
            "leave it out: the cluster gives each node its pod network",
        ),
        not_yet("kubeletArgs", "leave it out"),
        not_yet("stateDir", "leave it out: it is %ProgramData%\\casement"),
    ],
};

pub(crate) static ACCESS: Shape = Shape {
    place: "`access`",
    fields: &[
        optional("ssh"),
        not_yet("winrm", "reach Windows hosts over SSH: `access.ssh`"),
        not_yet("bastion", "leave it out: hosts are reached directly"),
    ],
};

pub(crate) static SSH: Shape = Shape {
    place: "`access.ssh`",
    fields: &[
        optional("user"),
        optional("port"),
        optional("key"),
        optional("knownHosts"),
        not_yet(
            "passphrase",
            "use a key without one: `key: ~/.ssh/id_ed25519`",
        ),
        not_yet("password", "log in with a key: `key: ~/.ssh/id_ed25519`"),
        not_yet("sudo", "log in as root on Linux hosts that are `managed`"),
    ],
};

pub(crate) static SSH_KEY: Shape = Shape {
    place: "`key`",
    fields: &[
        optional("file"),
        not_yet("env", "name a file: `key: ~/.ssh/id_ed25519`"),
        not_yet("prompt", "name a file: `key: ~/.ssh/id_ed25519`"),
    ],
};

pub(crate) static WINDOWS: Shape = Shape {
    place: "`windows`",
    fields: &[
        optional("baseDir"),
        not_yet("components", "leave it out: they run as services"),
        not_yet("reboot", "leave it out: nothing that is set up needs one"),
        not_yet("repair", "leave it out: `casement apply` repairs"),
        not_yet("defender", "leave it out: its settings are kept"),
        not_yet("updates", "leave it out: updates are not touched"),
        not_yet("timeServers", "leave it out: the clock is not touched"),
    ],
};

pub(crate) static IMAGES: Shape = Shape {
    place: "`images`",
    fields: &[
        optional("registry"),
        optional("ca"),
        not_yet("credentials", "use a registry that needs none"),
        not_yet("pause", "leave it out: casement chooses it"),
        not_yet(
            "prepull",
            "leave it out: images are pulled when they are needed",
        ),
        not_yet("verify", "leave it out"),
        not_yet("overrides", "leave it out: `registry` serves all images"),
    ],
};

pub(crate) static ARTIFACTS: Shape = Shape {
    place: "`artifacts`",
    fields: &[
        optional("overrides"),
        not_yet(
            "mirror",
            "name files: `overrides: {kubelet: ./kubelet.exe}`",
        ),
        not_yet("cache", "name files: `overrides: {kubelet: ./kubelet.exe}`"),
        not_yet("lock", "name files: `overrides: {kubelet: ./kubelet.exe}`"),
    ],
};

static JOIN: Shape = Shape {
    place: "`join`",
    fields: &[not_yet("method", "leave it out: nodes join with kubeadm")],
};

static RUNTIME: Shape = Shape {
    place: "`runtime`",
    fields: &[
        not_yet("kind", "leave it out: nodes run containerd"),
        not_yet(
            "version",
            "leave it out: it is that of `artifacts.overrides.containerd`",
        ),
    ],
};

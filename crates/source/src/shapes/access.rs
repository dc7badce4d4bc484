//! How hosts are reached.

use casement_spec::{WinRmAuth, WinRmTransport};

use crate::shape::{Field, Kind, Shape, optional, required, words};

pub(crate) static ACCESS: Shape = Shape {
    id: "access",
    place: "`access`",
    fields: &[
        optional("ssh", Kind::Mapping(&SSH), "Login over SSH."),
        optional(
            "winrm",
            Kind::Mapping(&WINRM),
            "Login over WinRM, for Windows hosts where SSH is not open.",
        ),
        optional(
            "bastion",
            Kind::Mapping(&BASTION),
            "The host through which all others are reached.",
        ),
    ],
};

pub(crate) static HOST_ACCESS: Shape = Shape {
    id: "hostAccess",
    place: "`hosts[].access`",
    fields: &[
        optional("ssh", Kind::Mapping(&HOST_SSH), "Login over SSH."),
        optional(
            "winrm",
            Kind::Mapping(&WINRM),
            "Login over WinRM, for a Windows host where SSH is not open.",
        ),
        optional("bastion", HOST_BASTION, "What stands between; or `none`."),
    ],
};

pub(crate) static HYPERVISOR_ACCESS: Shape = Shape {
    id: "hypervisorAccess",
    place: "`hypervisors[].access`",
    fields: HOST_ACCESS.fields,
};

const HOST_BASTION: Kind = Kind::Either(&Kind::Word(|| vec!["none"]), &Kind::Mapping(&BASTION));

/// A plain path means `{file: …}`.
const KEY: Kind = Kind::Either(&Kind::Text, &Kind::OneOf(&SECRET));

pub(crate) static SSH: Shape = Shape {
    id: "ssh",
    place: "`access.ssh`",
    fields: &[
        SSH_USER,
        SSH_PORT,
        SSH_KEY,
        SSH_PASSPHRASE,
        SSH_PASSWORD,
        SSH_KNOWN_HOSTS,
        SSH_SUDO,
    ],
};

pub(crate) static HOST_SSH: Shape = Shape {
    id: "hostSsh",
    place: "`hosts[].access.ssh`",
    fields: &[
        optional(
            "host",
            Kind::Text,
            "The host's name in OpenSSH's configuration, or in DNS; by default its address is asked for there.",
        ),
        SSH_USER,
        SSH_PORT,
        SSH_KEY,
        SSH_PASSPHRASE,
        SSH_PASSWORD,
        SSH_KNOWN_HOSTS,
        SSH_SUDO,
    ],
};

const SSH_USER: Field = optional(
    "user",
    Kind::Text,
    "The account; by default OpenSSH's configuration says it, or else it is Administrator on Windows, root on Linux.",
);
const SSH_PORT: Field = optional("port", Kind::Number(1, 65535), "The port.");
const SSH_KEY: Field = optional("key", KEY, "The private key: a path, or where it is.");
const SSH_PASSPHRASE: Field = optional(
    "passphrase",
    Kind::OneOf(&SECRET),
    "Where the key's passphrase is.",
);
const SSH_PASSWORD: Field = optional(
    "password",
    Kind::OneOf(&SECRET),
    "Where the password is, for a login without a key.",
);
const SSH_KNOWN_HOSTS: Field = optional(
    "knownHosts",
    Kind::Text,
    "The file with the hosts' keys, which are never taken on trust.",
);
const SSH_SUDO: Field = optional(
    "sudo",
    Kind::Mapping(&SUDO),
    "How one becomes root where sudo asks for a password.",
);

pub(crate) static SUDO: Shape = Shape {
    id: "sudo",
    place: "`access.ssh.sudo`",
    fields: &[required(
        "password",
        Kind::OneOf(&SECRET),
        "password: {env: SUDO_PASSWORD}",
        "Where the password is.",
    )],
};

pub(crate) static SECRET: Shape = Shape {
    id: "secret",
    place: "a secret",
    fields: &[
        optional("file", Kind::Text, "In this file on this machine."),
        optional("env", Kind::Text, "In this environment variable."),
        optional("prompt", Kind::Boolean, "A person types it: `true`."),
    ],
};

pub(crate) static WINRM: Shape = Shape {
    id: "winrm",
    place: "`access.winrm`",
    fields: &[
        optional("user", Kind::Text, "The account; by default Administrator."),
        optional(
            "domain",
            Kind::Text,
            "The domain that the hosts are in, and an account that names none.",
        ),
        optional(
            "password",
            Kind::OneOf(&SECRET),
            "Where its password is; by default a person is asked, unless there is a Kerberos ticket.",
        ),
        optional(
            "transport",
            Kind::Word(words::<WinRmTransport>),
            "With TLS or without.",
        ),
        optional(
            "port",
            Kind::Number(1, 65535),
            "The port; by default 5986 with TLS, 5985 without.",
        ),
        optional(
            "auth",
            Kind::Word(words::<WinRmAuth>),
            "How the login is proved; by default with a Kerberos ticket or else NTLM.",
        ),
        optional(
            "ca",
            Kind::Text,
            "Who signed the hosts' certificates, as a PEM file.",
        ),
        optional(
            "fingerprint",
            Kind::Text,
            "The SHA-256 hash of the one certificate that is taken, whoever signed it.",
        ),
    ],
};

pub(crate) static BASTION: Shape = Shape {
    id: "bastion",
    place: "`access.bastion`",
    fields: &[
        required(
            "address",
            Kind::Text,
            "address: 10.3.0.9",
            "The bastion's address, its name in OpenSSH's configuration, or in DNS.",
        ),
        optional(
            "user",
            Kind::Text,
            "The account; by default OpenSSH's configuration says it, or else it is root.",
        ),
        SSH_PORT,
        SSH_KEY,
        SSH_PASSPHRASE,
        SSH_PASSWORD,
        optional(
            "knownHosts",
            Kind::Text,
            "The file with the bastion's key, which is never taken on trust.",
        ),
    ],
};

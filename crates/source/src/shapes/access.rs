//! Connections to hosts.

use casement_spec::{WinRmAuth, WinRmTransport};

use crate::shape::{Field, Kind, Shape, optional, required, words};

pub(crate) static ACCESS: Shape = Shape {
    id: "access",
    title: "`access`",
    fields: &[
        optional("ssh", Kind::Mapping(&SSH), "Connect over SSH."),
        optional(
            "winrm",
            Kind::Mapping(&WINRM),
            "Connect over WinRM, for Windows hosts without SSH.",
        ),
        optional(
            "bastion",
            Kind::Mapping(&BASTION),
            "Jump host for all connections.",
        ),
    ],
};

pub(crate) static HOST_ACCESS: Shape = Shape {
    id: "hostAccess",
    title: "`hosts[].access`",
    fields: &[
        optional("ssh", Kind::Mapping(&HOST_SSH), "Connect over SSH."),
        optional(
            "winrm",
            Kind::Mapping(&WINRM),
            "Connect over WinRM, for a Windows host without SSH.",
        ),
        optional(
            "bastion",
            HOST_BASTION,
            "Jump host for this host, or `none`.",
        ),
    ],
};

pub(crate) static HYPERVISOR_ACCESS: Shape = Shape {
    id: "hypervisorAccess",
    title: "`hypervisors[].access`",
    fields: HOST_ACCESS.fields,
};

const HOST_BASTION: Kind = Kind::Either(&Kind::Word(|| vec!["none"]), &Kind::Mapping(&BASTION));

/// A plain path means `{file: …}`.
const KEY: Kind = Kind::Either(&Kind::Text, &Kind::OneOf(&SECRET));

pub(crate) static SSH: Shape = Shape {
    id: "ssh",
    title: "`access.ssh`",
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
    title: "`hosts[].access.ssh`",
    fields: &[
        optional(
            "host",
            Kind::Text,
            "Host name in the OpenSSH configuration or DNS; defaults to the address.",
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
    "User name; defaults to the OpenSSH configuration, otherwise Administrator on Windows and root on Linux.",
);
const SSH_PORT: Field = optional("port", Kind::Number(1, 65535), "Port.");
const SSH_KEY: Field = optional("key", KEY, "Private key: a path or a secret reference.");
const SSH_PASSPHRASE: Field = optional(
    "passphrase",
    Kind::OneOf(&SECRET),
    "Reference to the passphrase of the key.",
);
const SSH_PASSWORD: Field = optional(
    "password",
    Kind::OneOf(&SECRET),
    "Reference to the password, for authentication without a key.",
);
const SSH_KNOWN_HOSTS: Field = optional(
    "knownHosts",
    Kind::Text,
    "Path of the known_hosts file; unknown host keys are never accepted automatically.",
);
const SSH_SUDO: Field = optional(
    "sudo",
    Kind::Mapping(&SUDO),
    "Settings for sudo with a password.",
);

pub(crate) static SUDO: Shape = Shape {
    id: "sudo",
    title: "`access.ssh.sudo`",
    fields: &[required(
        "password",
        Kind::OneOf(&SECRET),
        "password: {env: SUDO_PASSWORD}",
        "Reference to the password.",
    )],
};

pub(crate) static SECRET: Shape = Shape {
    id: "secret",
    title: "a secret",
    fields: &[
        optional("file", Kind::Text, "Path of a local file with the secret."),
        optional("env", Kind::Text, "Environment variable with the secret."),
        optional("prompt", Kind::Boolean, "Prompt for the secret: `true`."),
    ],
};

pub(crate) static WINRM: Shape = Shape {
    id: "winrm",
    title: "`access.winrm`",
    fields: &[
        optional("user", Kind::Text, "User name; defaults to Administrator."),
        optional(
            "domain",
            Kind::Text,
            "Domain of the hosts, and of user names without a domain.",
        ),
        optional(
            "password",
            Kind::OneOf(&SECRET),
            "Reference to the password; by default casement prompts unless there is a Kerberos ticket.",
        ),
        optional(
            "transport",
            Kind::Word(words::<WinRmTransport>),
            "HTTPS or HTTP.",
        ),
        optional(
            "port",
            Kind::Number(1, 65535),
            "Port; defaults to 5986 for HTTPS and 5985 for HTTP.",
        ),
        optional(
            "auth",
            Kind::Word(words::<WinRmAuth>),
            "Authentication method; defaults to Kerberos if there is a ticket, otherwise NTLM.",
        ),
        optional(
            "ca",
            Kind::Text,
            "CA certificate of the hosts, as a PEM file.",
        ),
        optional(
            "fingerprint",
            Kind::Text,
            "SHA-256 fingerprint of the only accepted certificate, regardless of its issuer.",
        ),
    ],
};

pub(crate) static BASTION: Shape = Shape {
    id: "bastion",
    title: "`access.bastion`",
    fields: &[
        required(
            "address",
            Kind::Text,
            "address: 10.3.0.9",
            "Address of the bastion, or its name in the OpenSSH configuration or DNS.",
        ),
        optional(
            "user",
            Kind::Text,
            "User name; defaults to the OpenSSH configuration, otherwise root.",
        ),
        SSH_PORT,
        SSH_KEY,
        SSH_PASSPHRASE,
        SSH_PASSWORD,
        optional(
            "knownHosts",
            Kind::Text,
            "Path of the known_hosts file; an unknown key of the bastion is never accepted automatically.",
        ),
    ],
};

//! Connection settings. Secrets are only referenced, never copied.

use casement_spec::Named;
use casement_spec::WinRmAuth;

use super::hosts::DraftHost;
use super::roles;
use super::variables::{SourcedValue, Variables};
use crate::import::ansible::{Host, Value};
use crate::import::draft::{NoteKind, Notes};
use crate::import::yaml_writer::{YamlWriter, scalar};

/// A value as YAML and its source.
type Field = Option<(String, String)>;

/// Connection settings of one host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Login {
    winrm: bool,
    user: Field,
    port: Field,
    key: Field,
    password: Field,
    sudo: Field,
    transport: Field,
    auth: Field,
    ca: Field,
}

impl Login {
    pub(super) fn of<'i>(
        variables: &mut Variables<'i>,
        host: &'i Host,
        windows: bool,
        notes: &mut Notes,
    ) -> Self {
        let port = variables.of(
            host,
            &["ansible_port", "ansible_ssh_port", "ansible_winrm_port"],
        );
        let connection = variables.of(host, &["ansible_connection"]);
        let over_ssh = connection
            .as_ref()
            .is_some_and(|setting| setting.value.contains("ssh"));
        let winrm_port = port
            .as_ref()
            .is_some_and(|setting| ["5985", "5986"].contains(&setting.value.as_str()));
        let named =
            connection.is_some_and(|setting| ["winrm", "psrp"].contains(&setting.value.as_str()));
        let variable = variables
            .inventory
            .variables(host)
            .keys()
            .any(|name| name.starts_with("ansible_winrm_"));
        let winrm = windows && !over_ssh && (named || winrm_port || variable);
        let mut login = Self {
            winrm,
            user: text(variables.of(
                host,
                &["ansible_user", "ansible_ssh_user", "ansible_winrm_user"],
            )),
            port: port
                .filter(|setting| setting.value.parse::<u16>().is_ok_and(|port| port > 0))
                .map(|setting| (setting.value.clone(), setting.origin())),
            ..Self::default()
        };
        let passwords = [
            "ansible_password",
            "ansible_ssh_pass",
            "ansible_ssh_password",
            "ansible_winrm_password",
        ];
        login.password = secret(variables, host, &passwords, notes);
        if winrm {
            login.winrm(variables, host, notes);
        } else {
            let key = variables.of(
                host,
                &["ansible_ssh_private_key_file", "ansible_private_key_file"],
            );
            login.key = text(key);
            if login.key.is_some() {
                login.password = None;
            }
        }
        let become_passwords = [
            "ansible_become_password",
            "ansible_become_pass",
            "ansible_sudo_pass",
        ];
        let sudo = secret(variables, host, &become_passwords, notes);
        login.sudo = sudo.filter(|_| !windows);
        login
    }

    fn winrm<'i>(&mut self, variables: &mut Variables<'i>, host: &'i Host, notes: &mut Notes) {
        let scheme = variables.of(host, &["ansible_winrm_scheme"]);
        let plain = self.port.as_ref().is_some_and(|(port, _)| port == "5985");
        self.transport =
            match scheme.filter(|setting| ["http", "https"].contains(&setting.value.as_str())) {
                Some(setting) => Some((setting.value.clone(), setting.origin())),
                None if plain => Some(("http".to_owned(), "port 5985".to_owned())),
                None => None,
            };
        if let Some(setting) = variables.of(host, &["ansible_winrm_transport"]) {
            let first = setting.value.split(',').next().unwrap_or_default().trim();
            match WinRmAuth::from_name(first) {
                Some(auth) => self.auth = Some((auth.name().to_owned(), setting.origin())),
                None => {
                    let text = format!(
                        "`ansible_winrm_transport`: `{first}` is not supported; use NTLM, Kerberos or basic"
                    );
                    notes.not_imported(Some(&setting.location), text);
                }
            }
        }
        if let Some(setting) = variables.of(host, &["ansible_winrm_server_cert_validation"])
            && setting.value == "ignore"
        {
            let text = "`ansible_winrm_server_cert_validation`: certificates are always verified; set the CA as `access.winrm.ca`";
            notes.not_imported(Some(&setting.location), text);
        }
        self.ca = text(variables.of(host, &["ansible_winrm_ca_trust_path"]));
    }

    fn fields(&self) -> [(&'static str, &Field); 8] {
        [
            ("user", &self.user),
            ("port", &self.port),
            ("key", &self.key),
            ("password", &self.password),
            ("transport", &self.transport),
            ("auth", &self.auth),
            ("ca", &self.ca),
            ("sudo", &self.sudo),
        ]
    }

    /// Writes the fields that differ from the shared ones.
    pub(super) fn write(&self, yaml: &mut YamlWriter, shared: &SharedLogins) {
        let all = if self.winrm {
            &shared.winrm
        } else {
            &shared.ssh
        };
        let all = all.as_ref().map(Self::fields);
        let own: Vec<_> = self
            .fields()
            .into_iter()
            .enumerate()
            .filter(|(index, (_, field))| {
                let same = all
                    .as_ref()
                    .and_then(|all| all.get(*index))
                    .map(|(_, field)| value(field));
                field.is_some() && same != Some(value(field))
            })
            .collect();
        let named = self.winrm && shared.winrm.is_none();
        if own.is_empty() && !named {
            return;
        }
        yaml.open("access", "");
        yaml.open(if self.winrm { "winrm" } else { "ssh" }, "");
        for (_, (name, field)) in own {
            if let Some((value, origin)) = field {
                line(yaml, name, value, origin);
            }
        }
        yaml.close();
        yaml.close();
    }
}

fn line(yaml: &mut YamlWriter, name: &str, value: &str, origin: &str) {
    match name {
        "sudo" => yaml.raw("sudo", &format!("{{password: {value}}}"), origin),
        _ => yaml.raw(name, value, origin),
    }
}

fn value(field: &Field) -> Option<&str> {
    field.as_ref().map(|(value, _)| value.as_str())
}

fn text(setting: Option<SourcedValue>) -> Field {
    setting.map(|setting| (scalar(&setting.value), setting.origin()))
}

/// A reference to a secret; the secret itself is not copied.
fn secret<'i>(
    variables: &mut Variables<'i>,
    host: &'i Host,
    names: &[&'static str],
    notes: &mut Notes,
) -> Field {
    let mut found = None;
    for name in names {
        let Some(variable) = variables.variable(host, name) else {
            continue;
        };
        let location = &variable.location;
        let (value, reason) = match &variable.value {
            Value::Null => continue,
            Value::Text(text) => match environment(text) {
                Some(variable) => (format!("{{env: {variable}}}"), None),
                None if variable.value.is_template() => {
                    ("{prompt: true}".to_owned(), Some("is a template"))
                }
                None => ("{prompt: true}".to_owned(), Some("is in plain text")),
            },
            Value::Vault => (
                "{prompt: true}".to_owned(),
                Some("is encrypted with a vault password"),
            ),
            _ => ("{prompt: true}".to_owned(), Some("is in plain text")),
        };
        if let Some(reason) = reason {
            let text = format!(
                "`{name}` {reason}; casement prompts for it unless you set `{{file: …}}` or `{{env: …}}`"
            );
            notes.add(NoteKind::Secret, Some(location), text);
        }
        found.get_or_insert((value, format!("{name} at {location}")));
    }
    found
}

/// `{{ lookup('env', 'NAME') }}`.
fn environment(text: &str) -> Option<&str> {
    let call = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
    let inner = call.strip_prefix("lookup(")?.strip_suffix(')')?;
    let (kind, name) = inner.split_once(',')?;
    let bare = |text: &'_ str| -> Option<String> {
        let text = text.trim();
        let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        text.strip_prefix(quote)?
            .strip_suffix(quote)
            .map(str::to_owned)
    };
    (bare(kind)? == "env").then_some(())?;
    let name = name.trim().trim_matches(['\'', '"']);
    let word = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    word.then_some(name)
}

/// Settings that all SSH or all WinRM hosts share.
#[derive(Debug, Default)]
pub(super) struct SharedLogins {
    ssh: Option<Login>,
    winrm: Option<Login>,
}

impl SharedLogins {
    pub(super) fn new(hosts: &[DraftHost]) -> Self {
        let common = |winrm: bool| {
            let mut logins = hosts
                .iter()
                .map(|host| &host.login)
                .filter(|login| login.winrm == winrm);
            let mut common = logins.next()?.clone();
            for login in logins {
                let fields = [
                    (&mut common.user, &login.user),
                    (&mut common.port, &login.port),
                    (&mut common.key, &login.key),
                    (&mut common.password, &login.password),
                    (&mut common.sudo, &login.sudo),
                    (&mut common.transport, &login.transport),
                    (&mut common.auth, &login.auth),
                    (&mut common.ca, &login.ca),
                ];
                for (common, own) in fields {
                    if value(common) != value(own) {
                        *common = None;
                    }
                }
            }
            Some(common)
        };
        Self {
            ssh: common(false),
            winrm: common(true),
        }
    }
}

pub(super) fn write(
    yaml: &mut YamlWriter,
    shared: &SharedLogins,
    variables: &mut Variables<'_>,
    notes: &mut Notes,
) {
    let kinds = [("ssh", &shared.ssh), ("winrm", &shared.winrm)];
    let logins = kinds.iter().filter_map(|(kind, login)| {
        let login = login.as_ref()?;
        let any = login.fields().iter().any(|(_, field)| field.is_some());
        (any || *kind == "winrm").then_some((*kind, login))
    });
    let logins: Vec<_> = logins.collect();
    let bastion = bastion(variables, notes);
    if logins.is_empty() && bastion.is_none() {
        return;
    }
    yaml.blank();
    yaml.open("access", "");
    for (kind, login) in logins {
        yaml.open(kind, "");
        if kind == "winrm" {
            if login.user.is_none() {
                yaml.text(
                    "user",
                    "Administrator",
                    "not in the inventory, or differs between hosts",
                );
            }
            if login.password.is_none() {
                yaml.raw("password", "{prompt: true}", "not in the inventory");
            }
        }
        for (name, field) in login.fields() {
            if let Some((value, origin)) = field {
                line(yaml, name, value, origin);
            }
        }
        yaml.close();
    }
    if let Some(fields) = bastion {
        yaml.open("bastion", "");
        for (name, value, origin) in fields {
            line(yaml, name, &value, &origin);
        }
        yaml.close();
    }
    yaml.close();
}

/// The first host of the group `bastion`.
fn bastion(
    variables: &mut Variables<'_>,
    notes: &mut Notes,
) -> Option<Vec<(&'static str, String, String)>> {
    let inventory = variables.inventory;
    let mut hosts = inventory.hosts().iter().filter(|host| {
        roles::BASTION
            .iter()
            .any(|group| inventory.is_in(host, group))
    });
    let host = hosts.next()?;
    for other in hosts {
        let text = format!(
            "bastion `{}`: casement supports one bastion, `{}`",
            other.name, host.name
        );
        notes.not_imported(Some(&other.location), text);
    }
    let address = variables.of(host, &["ansible_host", "ansible_ssh_host"]);
    let (address, origin) = match address {
        Some(setting) => (setting.value.clone(), setting.origin()),
        None => (host.name.clone(), format!("host name at {}", host.location)),
    };
    let login = Login::of(variables, host, false, notes);
    let mut fields = vec![("address", scalar(&address), origin)];
    match &login.user {
        Some((user, origin)) => fields.push(("user", user.clone(), origin.clone())),
        None => fields.push(("user", "root".to_owned(), "not in the inventory".to_owned())),
    }
    for (name, field) in [
        ("port", &login.port),
        ("key", &login.key),
        ("password", &login.password),
    ] {
        if let Some((value, origin)) = field {
            fields.push((name, value.clone(), origin.clone()));
        }
    }
    Some(fields)
}

//! How hosts are reached. No secret gets in here: only where it is to come from.

use casement_spec::Named;
use casement_spec::WinRmAuth;

use super::hosts::Written;
use super::known::{Known, Said};
use super::roles;
use crate::import::ansible::{Host, Value};
use crate::import::draft::{NoteKind, Notes};
use crate::import::sheet::{Sheet, scalar};

/// A field as it is written, and where it came from.
type Field = Option<(String, String)>;

/// How one host is reached.
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
        known: &mut Known<'i>,
        host: &'i Host,
        windows: bool,
        notes: &mut Notes,
    ) -> Self {
        let port = known.of(
            host,
            &["ansible_port", "ansible_ssh_port", "ansible_winrm_port"],
        );
        let connection = known.of(host, &["ansible_connection"]);
        let over_ssh = connection
            .as_ref()
            .is_some_and(|said| said.value.contains("ssh"));
        let winrm_port = port
            .as_ref()
            .is_some_and(|said| ["5985", "5986"].contains(&said.value.as_str()));
        let named = connection.is_some_and(|said| ["winrm", "psrp"].contains(&said.value.as_str()));
        let variable = known
            .inventory
            .variables(host)
            .keys()
            .any(|name| name.starts_with("ansible_winrm_"));
        let winrm = windows && !over_ssh && (named || winrm_port || variable);
        let mut login = Self {
            winrm,
            user: text(known.of(
                host,
                &["ansible_user", "ansible_ssh_user", "ansible_winrm_user"],
            )),
            port: port
                .filter(|said| said.value.parse::<u16>().is_ok_and(|port| port > 0))
                .map(|said| (said.value.clone(), said.origin())),
            ..Self::default()
        };
        let passwords = [
            "ansible_password",
            "ansible_ssh_pass",
            "ansible_ssh_password",
            "ansible_winrm_password",
        ];
        login.password = secret(known, host, &passwords, notes);
        if winrm {
            login.winrm(known, host, notes);
        } else {
            let key = known.of(
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
        let sudo = secret(known, host, &become_passwords, notes);
        login.sudo = sudo.filter(|_| !windows);
        login
    }

    fn winrm<'i>(&mut self, known: &mut Known<'i>, host: &'i Host, notes: &mut Notes) {
        let scheme = known.of(host, &["ansible_winrm_scheme"]);
        let plain = self.port.as_ref().is_some_and(|(port, _)| port == "5985");
        self.transport =
            match scheme.filter(|said| ["http", "https"].contains(&said.value.as_str())) {
                Some(said) => Some((said.value.clone(), said.origin())),
                None if plain => Some(("http".to_owned(), "port 5985".to_owned())),
                None => None,
            };
        if let Some(said) = known.of(host, &["ansible_winrm_transport"]) {
            let first = said.value.split(',').next().unwrap_or_default().trim();
            match WinRmAuth::from_name(first) {
                Some(auth) => self.auth = Some((auth.name().to_owned(), said.origin())),
                None => {
                    let text = format!(
                        "`ansible_winrm_transport`: `{first}` is not spoken; NTLM, Kerberos and basic are"
                    );
                    notes.not_carried(Some(&said.place), text);
                }
            }
        }
        if let Some(said) = known.of(host, &["ansible_winrm_server_cert_validation"])
            && said.value == "ignore"
        {
            let text = "`ansible_winrm_server_cert_validation`: certificates are always checked; name who signed them as `access.winrm.ca`";
            notes.not_carried(Some(&said.place), text);
        }
        self.ca = text(known.of(host, &["ansible_winrm_ca_trust_path"]));
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

    /// What this host says beside what all of its kind say.
    pub(super) fn write(&self, sheet: &mut Sheet, shared: &Shared) {
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
        sheet.open("access", "");
        sheet.open(if self.winrm { "winrm" } else { "ssh" }, "");
        for (_, (name, field)) in own {
            if let Some((value, origin)) = field {
                line(sheet, name, value, origin);
            }
        }
        sheet.close();
        sheet.close();
    }
}

fn line(sheet: &mut Sheet, name: &str, value: &str, origin: &str) {
    match name {
        "sudo" => sheet.raw("sudo", &format!("{{password: {value}}}"), origin),
        _ => sheet.raw(name, value, origin),
    }
}

fn value(field: &Field) -> Option<&str> {
    field.as_ref().map(|(value, _)| value.as_str())
}

fn text(said: Option<Said>) -> Field {
    said.map(|said| (scalar(&said.value), said.origin()))
}

/// Where a secret is to come from. What it is never leaves the inventory.
fn secret<'i>(
    known: &mut Known<'i>,
    host: &'i Host,
    names: &[&'static str],
    notes: &mut Notes,
) -> Field {
    let mut found = None;
    for name in names {
        let Some(variable) = known.variable(host, name) else {
            continue;
        };
        let place = &variable.place;
        let (value, words) = match &variable.value {
            Value::Null => continue,
            Value::Text(text) => match environment(text) {
                Some(variable) => (format!("{{env: {variable}}}"), None),
                None if variable.value.is_template() => {
                    ("{prompt: true}".to_owned(), Some("is a template"))
                }
                None => (
                    "{prompt: true}".to_owned(),
                    Some("stands there in clear text"),
                ),
            },
            Value::Vault => (
                "{prompt: true}".to_owned(),
                Some("is encrypted with a vault password"),
            ),
            _ => (
                "{prompt: true}".to_owned(),
                Some("stands there in clear text"),
            ),
        };
        if let Some(words) = words {
            let text = format!(
                "`{name}` {words}; casement asks for it, or takes `{{file: …}}` or `{{env: …}}`"
            );
            notes.add(NoteKind::Secret, Some(place), text);
        }
        found.get_or_insert((value, format!("{name} at {place}")));
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

/// What all hosts of a kind say.
#[derive(Debug, Default)]
pub(super) struct Shared {
    ssh: Option<Login>,
    winrm: Option<Login>,
}

impl Shared {
    pub(super) fn of(hosts: &[Written]) -> Self {
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

pub(super) fn write(sheet: &mut Sheet, shared: &Shared, known: &mut Known<'_>, notes: &mut Notes) {
    let kinds = [("ssh", &shared.ssh), ("winrm", &shared.winrm)];
    let said = kinds.iter().filter_map(|(kind, login)| {
        let login = login.as_ref()?;
        let any = login.fields().iter().any(|(_, field)| field.is_some());
        (any || *kind == "winrm").then_some((*kind, login))
    });
    let said: Vec<_> = said.collect();
    let bastion = bastion(known, notes);
    if said.is_empty() && bastion.is_none() {
        return;
    }
    sheet.blank();
    sheet.open("access", "");
    for (kind, login) in said {
        sheet.open(kind, "");
        if kind == "winrm" {
            if login.user.is_none() {
                sheet.text(
                    "user",
                    "Administrator",
                    "not the same for all hosts, or not in the inventory",
                );
            }
            if login.password.is_none() {
                sheet.raw("password", "{prompt: true}", "not in the inventory");
            }
        }
        for (name, field) in login.fields() {
            if let Some((value, origin)) = field {
                line(sheet, name, value, origin);
            }
        }
        sheet.close();
    }
    if let Some(fields) = bastion {
        sheet.open("bastion", "");
        for (name, value, origin) in fields {
            line(sheet, name, &value, &origin);
        }
        sheet.close();
    }
    sheet.close();
}

/// The first host of the group `bastion`.
fn bastion(
    known: &mut Known<'_>,
    notes: &mut Notes,
) -> Option<Vec<(&'static str, String, String)>> {
    let inventory = known.inventory;
    let mut hosts = inventory.hosts().iter().filter(|host| {
        roles::BASTION
            .iter()
            .any(|group| inventory.is_in(host, group))
    });
    let host = hosts.next()?;
    for other in hosts {
        let text = format!(
            "the bastion `{}`: casement goes through one, `{}`",
            other.name, host.name
        );
        notes.not_carried(Some(&other.place), text);
    }
    let address = known.of(host, &["ansible_host", "ansible_ssh_host"]);
    let (address, origin) = match address {
        Some(said) => (said.value.clone(), said.origin()),
        None => (host.name.clone(), format!("its name at {}", host.place)),
    };
    let login = Login::of(known, host, false, notes);
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

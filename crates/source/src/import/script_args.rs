//! Converts the arguments of a setup script into a cluster file.
//!
//! `Windows-Setup-V1-21.ps1` joins a Windows Server 2019 host to an existing
//! cluster as a worker: Docker, and flannel in overlay mode on the network
//! `vxlan0`. Missing arguments get the defaults of the script, not of casement.

use casement_diag::Problem;
use casement_spec::{Cidr, InterfaceName, KubernetesVersion, Url, WindowsPath};

use super::codes;
use super::draft::{self, Draft, Notes};
use super::yaml_writer::YamlWriter;

struct Parameter {
    name: &'static str,
    default: &'static str,
    switch: bool,
}

const fn parameter(name: &'static str, default: &'static str) -> Parameter {
    Parameter {
        name,
        default,
        switch: false,
    }
}

const PARAMETERS: [Parameter; 13] = [
    parameter("BaseDir", r"C:\k"),
    parameter("ClusterCIDR", "10.244.0.0/16"),
    parameter("ServiceCIDR", "10.10.0.0/16"),
    parameter("InterfaceName", "Ethernet0"),
    parameter("Release", "1.21.5"),
    parameter("NanosServerImageTag", ""),
    parameter("ServerCoreImageTag", ""),
    parameter("webproxy", ""),
    parameter("GithubSDNRepository", ""),
    parameter("GithubSDNBranch", ""),
    parameter("DockerVersion", ""),
    parameter("Url", ""),
    Parameter {
        name: "Reset",
        default: "",
        switch: true,
    },
];

/// Converts the arguments of the script.
///
/// # Errors
/// If a parameter is unknown or a value is invalid.
pub fn from_script_args(arguments: &str) -> Result<Draft, Box<Problem>> {
    let given = parse_arguments(arguments)?;
    let mut notes = Notes::default();
    if given.iter().any(|(name, _)| *name == "Reset") {
        return Err(problem(
            "`-Reset` removes a host and cannot be converted",
            "-Reset",
            "run `casement reset HOST`",
        ));
    }
    let value = |name: &str| match given.iter().rev().find(|(known, _)| *known == name) {
        Some((_, value)) => (value.clone(), format!("-{name}")),
        None => {
            let known = PARAMETERS.iter().find(|parameter| parameter.name == name);
            let default = known.map_or("", |parameter| parameter.default);
            (default.to_owned(), "script default".to_owned())
        }
    };
    let checked = [
        check::<WindowsPath>("BaseDir", &value("BaseDir").0)?,
        check::<Cidr>("ClusterCIDR", &value("ClusterCIDR").0)?,
        check::<Cidr>("ServiceCIDR", &value("ServiceCIDR").0)?,
        check::<InterfaceName>("InterfaceName", &value("InterfaceName").0)?,
        check::<KubernetesVersion>("Release", &value("Release").0)?,
    ];
    debug_assert_eq!(checked.len(), 5);
    let proxy = Some(value("webproxy").0).filter(|proxy| !proxy.is_empty());
    if let Some(proxy) = proxy.as_deref() {
        check::<Url>("webproxy", proxy)?;
    }
    for (name, _) in &given {
        let reason = match *name {
            "NanosServerImageTag" | "ServerCoreImageTag" => {
                "casement selects images by the build of the host"
            }
            "GithubSDNRepository" | "GithubSDNBranch" | "Url" => {
                "casement does not run downloads without a hash"
            }
            "DockerVersion" => "the script does not use it",
            _ => continue,
        };
        notes.not_imported(None, format!("`-{name}`: {reason}"));
    }
    notes.assumed("the arguments have no host name and address: set to `windows01` and 192.0.2.10; change them");
    notes.assumed("the script supports only Windows Server 2019 with Docker: set to these");
    Ok(write(&value, proxy.as_deref(), notes))
}

fn write(value: &dyn Fn(&str) -> (String, String), proxy: Option<&str>, notes: Notes) -> Draft {
    let from = [
        "Created by `casement init` from the arguments of Windows-Setup-V1-21.ps1.".to_owned(),
        "Edit all lines marked CHANGE, then run `casement lint`.".to_owned(),
    ];
    let mut yaml = draft::begin("imported", "choose any name", &from);
    let field = |yaml: &mut YamlWriter, field: &str, name: &str| {
        let (value, origin) = value(name);
        yaml.text(field, &value, &origin);
    };
    yaml.open("kubernetes", "");
    field(&mut yaml, "version", "Release");
    field(&mut yaml, "podCidr", "ClusterCIDR");
    field(&mut yaml, "serviceCidr", "ServiceCIDR");
    yaml.close();
    yaml.blank();
    yaml.open("existing", "");
    yaml.text(
        "kubeconfig",
        "./admin.conf",
        "CHANGE: the script used a copy on the host",
    );
    yaml.close();
    yaml.blank();
    yaml.open("network", "");
    yaml.text("mode", "flannel-overlay", "set by the script");
    yaml.raw("vni", "4096", "from the guide of the script");
    yaml.raw("port", "4789", "");
    yaml.text("hnsNetwork", "vxlan0", "");
    yaml.text("cniName", "vxlan0", "");
    field(&mut yaml, "interface", "InterfaceName");
    yaml.close();
    yaml.blank();
    yaml.open("runtime", "");
    yaml.text("kind", "docker", "the only one supported by the script");
    yaml.close();
    yaml.blank();
    yaml.open("hosts", "");
    yaml.item();
    yaml.text("name", "windows01", "CHANGE: host name");
    yaml.text("address", "192.0.2.10", "CHANGE: host address");
    yaml.text("os", "windows-2019", "the only one supported by the script");
    yaml.list("roles", &["worker".to_owned()], "");
    yaml.close();
    yaml.close();
    yaml.blank();
    yaml.open("windows", "");
    field(&mut yaml, "baseDir", "BaseDir");
    yaml.close();
    if let Some(proxy) = proxy {
        yaml.blank();
        yaml.open("proxy", "");
        yaml.text("https", proxy, "-webproxy");
        yaml.close();
    }
    draft::end(yaml, notes)
}

fn problem(what: impl Into<String>, value: &str, help: impl Into<String>) -> Box<Problem> {
    let problem = Problem::new(codes::SCRIPT, what, help);
    Box::new(problem.detail("value", crate::node::clipped(value)))
}

fn check<T: std::str::FromStr>(name: &str, value: &str) -> Result<(), Box<Problem>>
where
    T::Err: std::fmt::Display,
{
    match value.parse::<T>() {
        Ok(_) => Ok(()),
        Err(error) => Err(problem(
            format!("`-{name}`: {error}"),
            value,
            "use a valid value",
        )),
    }
}

/// Parses names and values like PowerShell: names may be abbreviated if unambiguous;
/// a value without a name is for the first parameter that has no value yet.
fn parse_arguments(arguments: &str) -> Result<Vec<(&'static str, String)>, Box<Problem>> {
    let words = split_words(arguments)?;
    let mut given: Vec<(&'static str, String)> = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some((word, quoted)) = words.next() {
        let name = word.strip_prefix('-').filter(|_| !quoted);
        let Some(name) = name else {
            if word.to_ascii_lowercase().ends_with(".ps1") {
                continue;
            }
            let free = PARAMETERS.iter().find(|parameter| {
                !parameter.switch && given.iter().all(|(known, _)| *known != parameter.name)
            });
            let free = free.ok_or_else(|| {
                problem(
                    "there are more values than parameters",
                    &word,
                    "write each value as `-Name value`",
                )
            })?;
            given.push((free.name, word));
            continue;
        };
        let (name, value) = match name.split_once(':') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (name, None),
        };
        let parameter = find_parameter(name)?;
        let value = match value {
            Some(value) => value,
            None if parameter.switch => String::new(),
            None => {
                let next = words.next_if(|(next, quoted)| *quoted || !next.starts_with('-'));
                let missing = || {
                    problem(
                        format!("`-{}` has no value", parameter.name),
                        arguments,
                        "add the value after the name",
                    )
                };
                next.ok_or_else(missing)?.0
            }
        };
        given.push((parameter.name, value));
    }
    Ok(given)
}

fn find_parameter(name: &str) -> Result<&'static Parameter, Box<Problem>> {
    let lower = name.to_ascii_lowercase();
    let is = |parameter: &&Parameter| parameter.name.to_ascii_lowercase() == lower;
    if let Some(exact) = PARAMETERS.iter().find(is) {
        return Ok(exact);
    }
    let begins = |parameter: &&Parameter| parameter.name.to_ascii_lowercase().starts_with(&lower);
    let mut matching = PARAMETERS.iter().filter(begins);
    match (matching.next(), matching.next()) {
        (Some(one), None) if !lower.is_empty() => Ok(one),
        (Some(_), _) => Err(problem(
            format!("`-{name}` is ambiguous"),
            name,
            "write the full parameter name",
        )),
        (None, _) => {
            let names = PARAMETERS.iter().map(|parameter| parameter.name);
            let help = match crate::suggest::closest(name, names.clone()) {
                Some(better) => format!("did you mean `-{better}`?"),
                None => format!(
                    "use one of {}",
                    names
                        .map(|name| format!("`-{name}`"))
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
            };
            Err(problem(
                format!("the script has no parameter `-{name}`"),
                name,
                help,
            ))
        }
    }
}

/// Splits at spaces outside of quotes; `\` is not an escape character.
fn split_words(text: &str) -> Result<Vec<(String, bool)>, Box<Problem>> {
    let mut words = Vec::new();
    let mut word: Option<(String, bool)> = None;
    let mut quote = None;
    for c in text.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                let empty = word.is_none();
                let (_, quoted) = word.get_or_insert_default();
                *quoted |= empty;
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().0.push(c),
        }
    }
    words.extend(word);
    match quote {
        None => Ok(words),
        Some(_) => Err(problem(
            "a quoted string is not closed",
            text,
            "add the closing quote",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_arguments_get_script_defaults() {
        let text = from_script_args(r"-BaseDir D:\k -ClusterCIDR 10.32.0.0/16")
            .unwrap()
            .text;
        for line in [
            r"baseDir: D:\k",
            "podCidr: 10.32.0.0/16",
            "serviceCidr: 10.10.0.0/16",
            "interface: Ethernet0",
            "version: 1.21.5",
            "hnsNetwork: vxlan0",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn names_follow_powershell_rules() {
        let text = from_script_args("-rel:1.21.1 -INTERFACENAME 'Ethernet 2' -s 10.96.0.0/12");
        assert!(text.is_err(), "`-s` is ambiguous");
        let text = from_script_args(
            "setup.ps1 -rel:1.21.1 -INTERFACENAME 'Ethernet 2' -Servi 10.96.0.0/12",
        )
        .unwrap()
        .text;
        for line in [
            "version: 1.21.1",
            "interface: 'Ethernet 2'",
            "serviceCidr: 10.96.0.0/12",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn invalid_arguments_are_rejected() {
        for (arguments, expected) in [
            ("-ClusterCDR 1", "did you mean `-ClusterCIDR`?"),
            ("-Reset", "casement reset"),
            ("-ClusterCIDR", "has no value"),
            ("-ClusterCIDR ten", "-ClusterCIDR"),
            ("-BaseDir 'C:", "not closed"),
            // Like PowerShell: `true` becomes `BaseDir`.
            ("-Reset true", "casement reset"),
        ] {
            let problem = from_script_args(arguments).unwrap_err().to_string();
            assert!(problem.contains(expected), "{arguments}: {problem}");
        }
    }
}

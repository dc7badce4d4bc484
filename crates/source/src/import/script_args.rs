//! From the parameters of the one-script installer to a cluster file.
//!
//! `Windows-Setup-V1-21.ps1` makes one Windows Server 2019 host a worker of a
//! cluster that exists: flannel in overlay mode on a network called `vxlan0`,
//! Docker. What its parameters leave out has its own defaults, not casement's.

use casement_diag::Problem;
use casement_spec::{Cidr, InterfaceName, KubernetesVersion, Url, WindowsPath};

use super::codes;
use super::draft::{self, Draft, Notes};
use super::sheet::Sheet;

/// A parameter, its default, and whether it is a switch.
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

/// A cluster file with what the script was told.
///
/// # Errors
/// When the script has no such parameter, or a value is none.
pub fn from_script_args(arguments: &str) -> Result<Draft, Box<Problem>> {
    let given = given(arguments)?;
    let mut notes = Notes::default();
    if given.iter().any(|(name, _)| *name == "Reset") {
        return Err(wrong(
            "`-Reset` takes a host back",
            "-Reset",
            "that is `casement reset HOST`",
        ));
    }
    let value = |name: &str| match given.iter().rev().find(|(known, _)| *known == name) {
        Some((_, value)) => (value.clone(), format!("-{name}")),
        None => {
            let known = PARAMETERS.iter().find(|parameter| parameter.name == name);
            let default = known.map_or("", |parameter| parameter.default);
            (default.to_owned(), "the script's default".to_owned())
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
        let why = match *name {
            "NanosServerImageTag" | "ServerCoreImageTag" => {
                "casement takes the images that fit the host's build"
            }
            "GithubSDNRepository" | "GithubSDNBranch" | "Url" => {
                "casement runs nothing that is downloaded without a hash"
            }
            "DockerVersion" => "the script itself does not use it",
            _ => continue,
        };
        notes.not_carried(None, format!("`-{name}`: {why}"));
    }
    notes.assumed("the script runs on the host itself, so nothing says its name and address: `windows01` and 192.0.2.10 are written; change them");
    notes.assumed("the script is for Windows Server 2019 with Docker, so that is written");
    Ok(write(&value, proxy.as_deref(), notes))
}

fn write(value: &dyn Fn(&str) -> (String, String), proxy: Option<&str>, notes: Notes) -> Draft {
    let from = [
        "Made by `casement init` from the arguments of Windows-Setup-V1-21.ps1.".to_owned(),
        "Every line that says CHANGE needs a person; `casement lint` says what is out of date."
            .to_owned(),
    ];
    let mut sheet = draft::begin("imported", "any name will do", &from);
    let field = |sheet: &mut Sheet, field: &str, name: &str| {
        let (value, origin) = value(name);
        sheet.text(field, &value, &origin);
    };
    sheet.open("kubernetes", "");
    field(&mut sheet, "version", "Release");
    field(&mut sheet, "podCidr", "ClusterCIDR");
    field(&mut sheet, "serviceCidr", "ServiceCIDR");
    sheet.close();
    sheet.blank();
    sheet.open("existing", "");
    sheet.text(
        "kubeconfig",
        "./admin.conf",
        "CHANGE: the script had a copy on the host",
    );
    sheet.close();
    sheet.blank();
    sheet.open("network", "");
    sheet.text("mode", "flannel-overlay", "what the script sets up");
    sheet.raw("vni", "4096", "as its guide has it on Linux");
    sheet.raw("port", "4789", "");
    sheet.text("hnsNetwork", "vxlan0", "");
    sheet.text("cniName", "vxlan0", "");
    field(&mut sheet, "interface", "InterfaceName");
    sheet.close();
    sheet.blank();
    sheet.open("runtime", "");
    sheet.text("kind", "docker", "the only one that the script knows");
    sheet.close();
    sheet.blank();
    sheet.open("hosts", "");
    sheet.item();
    sheet.text("name", "windows01", "CHANGE: the host's name");
    sheet.text("address", "192.0.2.10", "CHANGE: the host's address");
    sheet.text("os", "windows-2019", "the only one that the script knows");
    sheet.list("roles", &["worker".to_owned()], "");
    sheet.close();
    sheet.close();
    sheet.blank();
    sheet.open("windows", "");
    field(&mut sheet, "baseDir", "BaseDir");
    sheet.close();
    if let Some(proxy) = proxy {
        sheet.blank();
        sheet.open("proxy", "");
        sheet.text("https", proxy, "-webproxy");
        sheet.close();
    }
    draft::end(sheet, notes)
}

fn wrong(what: impl Into<String>, seen: &str, remedy: impl Into<String>) -> Box<Problem> {
    let problem = Problem::new(codes::SCRIPT, what, remedy);
    Box::new(problem.seen("it says", crate::node::clipped(seen)))
}

fn check<T: std::str::FromStr>(name: &str, value: &str) -> Result<(), Box<Problem>>
where
    T::Err: std::fmt::Display,
{
    match value.parse::<T>() {
        Ok(_) => Ok(()),
        Err(error) => Err(wrong(
            format!("`-{name}`: {error}"),
            value,
            "give another value",
        )),
    }
}

/// Names and values. Names may be cut short where that is clear, as PowerShell
/// allows; a value without a name is the first parameter that has none yet.
fn given(arguments: &str) -> Result<Vec<(&'static str, String)>, Box<Problem>> {
    let words = words(arguments)?;
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
                wrong("there are more values than parameters", &word, "name each")
            })?;
            given.push((free.name, word));
            continue;
        };
        let (name, value) = match name.split_once(':') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (name, None),
        };
        let parameter = named(name)?;
        let value = match value {
            Some(value) => value,
            None if parameter.switch => String::new(),
            None => {
                let next = words.next_if(|(next, quoted)| *quoted || !next.starts_with('-'));
                let missing = || {
                    wrong(
                        format!("`-{}` lacks its value", parameter.name),
                        arguments,
                        "write it behind the name",
                    )
                };
                next.ok_or_else(missing)?.0
            }
        };
        given.push((parameter.name, value));
    }
    Ok(given)
}

fn named(name: &str) -> Result<&'static Parameter, Box<Problem>> {
    let lower = name.to_ascii_lowercase();
    let is = |parameter: &&Parameter| parameter.name.to_ascii_lowercase() == lower;
    if let Some(exact) = PARAMETERS.iter().find(is) {
        return Ok(exact);
    }
    let begins = |parameter: &&Parameter| parameter.name.to_ascii_lowercase().starts_with(&lower);
    let mut matching = PARAMETERS.iter().filter(begins);
    match (matching.next(), matching.next()) {
        (Some(one), None) if !lower.is_empty() => Ok(one),
        (Some(_), _) => Err(wrong(
            format!("`-{name}` may be more than one parameter"),
            name,
            "write the name out",
        )),
        (None, _) => {
            let names = PARAMETERS.iter().map(|parameter| parameter.name);
            let remedy = match crate::suggest::closest(name, names.clone()) {
                Some(better) => format!("did you mean `-{better}`?"),
                None => format!(
                    "it has {}",
                    names
                        .map(|name| format!("`-{name}`"))
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
            };
            Err(wrong(
                format!("the script has no parameter `-{name}`"),
                name,
                remedy,
            ))
        }
    }
}

/// Splits at spaces outside of quotes; `\` is only a sign in a path.
fn words(text: &str) -> Result<Vec<(String, bool)>, Box<Problem>> {
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
        Some(_) => Err(wrong(
            "a quote is opened and never closed",
            text,
            "close it",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_has_the_scripts_defaults() {
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
    fn names_are_read_as_powershell_reads_them() {
        let text = from_script_args("-rel:1.21.1 -INTERFACENAME 'Ethernet 2' -s 10.96.0.0/12");
        assert!(text.is_err(), "`-s` is two parameters");
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
    fn what_the_script_does_not_know_is_refused() {
        for (arguments, says) in [
            ("-ClusterCDR 1", "did you mean `-ClusterCIDR`?"),
            ("-Reset", "casement reset"),
            ("-ClusterCIDR", "lacks its value"),
            ("-ClusterCIDR ten", "-ClusterCIDR"),
            ("-BaseDir 'C:", "never closed"),
            // As it does to the script: the word becomes `BaseDir`.
            ("-Reset true", "casement reset"),
        ] {
            let problem = from_script_args(arguments).unwrap_err().to_string();
            assert!(problem.contains(says), "{arguments}: {problem}");
        }
    }
}

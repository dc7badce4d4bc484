//! systemd: units as text, and `systemctl` with machine-readable output.

use casement_resource::{Code, Failure, ServiceDefinition};

use super::system_root::SystemRoot;
use crate::platform::Result;

impl SystemRoot {
    /// Whether systemd is process 1 (sd_booted(3)).
    pub(super) fn has_systemd(&self) -> bool {
        self.path("run/systemd/system").is_dir()
    }

    pub(super) fn require_systemd(&self, name: &str) -> Result<()> {
        if self.has_systemd() {
            return Ok(());
        }
        Err(Failure::new(
            Code::Unsupported,
            format!("service `{name}` needs systemd as process 1"),
            "run the program by other means, and remove the step from the document",
        )
        .values("systemd as process 1", "no /run/systemd/system"))
    }

    pub(super) fn systemctl(&self, arguments: &[&str]) -> Result<String> {
        self.run_tool(&[&["systemctl", "--no-pager", "--no-ask-password"], arguments].concat())
    }

    pub(super) fn property(&self, unit: &str, name: &str) -> Result<String> {
        let text = self.systemctl(&["show", "--value", "--property", name, unit])?;
        Ok(text.trim().to_owned())
    }
}

pub(super) fn unit(definition: &ServiceDefinition) -> String {
    let mut lines = vec![
        "# Written by casement; changes are overwritten.".to_owned(),
        "[Unit]".to_owned(),
        format!("Description={}", definition.display_name.replace('\n', " ")),
    ];
    for service in &definition.depends_on {
        lines.push(format!("Requires={service}.service"));
        lines.push(format!("After={service}.service"));
    }
    lines.push("\n[Service]".to_owned());
    let mut program: Vec<_> = definition
        .program
        .iter()
        .map(|argument| quote(argument))
        .collect();
    if let Some(file) = &definition.flags_file {
        lines.push(format!("EnvironmentFile=-{file}"));
        program.push("$KUBELET_KUBEADM_ARGS".to_owned());
    }
    for (name, value) in &definition.environment {
        lines.push(format!("Environment={}", quote(&format!("{name}={value}"))));
    }
    if let Some(file) = &definition.environment_file {
        lines.push(format!("EnvironmentFile={file}"));
    }
    lines.push(format!("ExecStart={}", program.join(" ")));
    lines.push("Restart=always\nRestartSec=1".to_owned());
    if let Some(log) = &definition.log_file {
        lines.push(format!(
            "StandardOutput=append:{log}\nStandardError=inherit"
        ));
    }
    lines.push("\n[Install]\nWantedBy=multi-user.target\n".to_owned());
    lines.join("\n")
}

/// Quotes an argument literally, as systemd.syntax(7) describes.
fn quote(argument: &str) -> String {
    let mut text = String::from("\"");
    for character in argument.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            '%' | '$' => text.extend([character, character]),
            '\n' => text.push_str("\\n"),
            _ => text.push(character),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use casement_resource::StartType;

    use super::*;

    #[test]
    fn arguments_are_quoted_literally() {
        let definition = ServiceDefinition {
            name: "kubelet".to_owned(),
            display_name: "kubelet".to_owned(),
            program: vec![
                "/usr/bin/kubelet".to_owned(),
                "--x=$HOME %i \"y\"".to_owned(),
            ],
            environment: BTreeMap::from([("A".to_owned(), "b c".to_owned())]),
            environment_file: Some("/etc/containerd/proxy.env".parse().unwrap()),
            flags_file: Some("/var/lib/kubelet/kubeadm-flags.env".parse().unwrap()),
            depends_on: vec!["containerd".to_owned()],
            log_file: None,
            ready: None,
            ready_seconds: 1,
            start: StartType::Automatic,
        };
        let unit = unit(&definition);
        let start = r#"ExecStart="/usr/bin/kubelet" "--x=$$HOME %%i \"y\"" $KUBELET_KUBEADM_ARGS"#;
        assert!(unit.contains(start), "{unit}");
        assert!(unit.contains("Environment=\"A=b c\"\n"), "{unit}");
        assert!(unit.contains("After=containerd.service\n"), "{unit}");
        let file = "EnvironmentFile=/etc/containerd/proxy.env\n";
        assert!(unit.contains(file), "{unit}");
    }
}

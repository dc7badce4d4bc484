//! Read-only Linux hosts as `plan` and `apply` show them.

use std::fmt::Write as _;

use casement_run::read_only::ReadOnlyHost;

/// The host's drifted settings with both values and the commands that set them.
pub fn text(host: &ReadOnlyHost) -> String {
    let name = &host.host;
    if let Some(error) = &host.error {
        return format!("{name}  read only; failed to inspect it: {}\n", error.what);
    }
    if host.drifted.is_empty() {
        return format!("{name}  read only: in sync\n");
    }
    let mut text = format!("{name}  read only; run there as root:\n");
    for setting in &host.drifted {
        let found = setting.found.as_deref().unwrap_or("(not set)");
        let (name, expected) = (setting.name, setting.expected);
        let _ = writeln!(text, "  ! {name} is `{found}`, must be `{expected}`");
        for command in &setting.commands {
            let _ = writeln!(text, "      {command}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use casement_run::read_only::{Setting, commands};

    use super::*;

    #[test]
    fn drifted_setting_is_shown_with_both_values_and_commands() {
        let name = "net.bridge.bridge-nf-call-iptables";
        let host = ReadOnlyHost {
            host: "lin1".to_owned(),
            drifted: vec![Setting {
                name,
                found: None,
                expected: "1",
                commands: commands(name, "1", false),
            }],
            error: None,
        };
        let text = text(&host);
        for part in [
            "`(not set)`",
            "`1`",
            "modprobe br_netfilter",
            "sysctl -w net.bridge",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(commands("net.ipv4.ip_forward", "1", true).len(), 2);
    }
}

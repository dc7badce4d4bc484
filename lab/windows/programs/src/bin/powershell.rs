//! Replaces Wine's PowerShell, which does nothing and reports success: this one
//! fails, so that callers notice that nothing was run.
//!
//! The exception is reading the registry, in the two forms in which `kubeadm`
//! queries the Windows version; a join would otherwise fail only because of the
//! missing PowerShell:
//!
//! ```text
//! (Get-ItemProperty -Path 'HKLM:\…').Name
//! $props = Get-ItemProperty -Path 'HKLM:\…'; "$($props.Name).$($props.Other)"
//! ```

use std::process::exit;

fn main() {
    let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    match evaluate(&command, &registry::read) {
        Some(text) => println!("{text}"),
        None => {
            eprintln!("powershell: PowerShell is not available on lab hosts; nothing was run");
            exit(1);
        }
    }
}

/// Evaluates a command of either form; `read` takes a key and a value name.
fn evaluate(command: &str, read: &dyn Fn(&str, &str) -> Option<String>) -> Option<String> {
    let (before, rest) = command.split_once("Get-ItemProperty -Path 'HKLM:\\")?;
    let (key, rest) = rest.split_once('\'')?;
    match before {
        "(" => read(key, rest.strip_prefix(").")?),
        "$props = " => {
            let text = rest.strip_prefix("; \"")?.strip_suffix('"')?;
            interpolate(text, |name| read(key, name))
        }
        _ => None,
    }
}

/// Replaces each `$($props.Name)` with its value.
fn interpolate(text: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut parts = text.split("$($props.");
    let mut out = parts.next()?.to_owned();
    for part in parts {
        let (name, rest) = part.split_once(')')?;
        out += &value(name)?;
        out += rest;
    }
    Some(out)
}

#[cfg(windows)]
mod registry {
    #![allow(unsafe_code, reason = "a call of the Windows API")]

    use windows_sys::Win32::System::Registry::{
        HKEY_LOCAL_MACHINE, REG_DWORD, RRF_RT_REG_DWORD, RRF_RT_REG_SZ, RegGetValueW,
    };

    /// A DWORD or string below HKEY_LOCAL_MACHINE.
    pub fn read(key: &str, name: &str) -> Option<String> {
        let wide = |text: &str| text.encode_utf16().chain([0]).collect::<Vec<u16>>();
        let (key, name) = (wide(key), wide(name));
        let mut kind = 0;
        let mut data = [0_u16; 512];
        let mut size = u32::try_from(size_of_val(&data)).ok()?;
        // SAFETY: the strings are NUL-terminated, and `size` is the size of `data`.
        let result = unsafe {
            RegGetValueW(
                HKEY_LOCAL_MACHINE,
                key.as_ptr(),
                name.as_ptr(),
                RRF_RT_REG_DWORD | RRF_RT_REG_SZ,
                &mut kind,
                data.as_mut_ptr().cast(),
                &mut size,
            )
        };
        match (result, kind) {
            (0, REG_DWORD) => Some((u32::from(data[0]) | u32::from(data[1]) << 16).to_string()),
            (0, _) => {
                let text = data.split(|unit| *unit == 0).next()?;
                String::from_utf16(text).ok()
            }
            _ => None,
        }
    }
}

#[cfg(not(windows))]
mod registry {
    pub fn read(_key: &str, _name: &str) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(key: &str, name: &str) -> Option<String> {
        assert_eq!(key, r"SOFTWARE\A B");
        (name != "None").then(|| format!("<{name}>"))
    }

    #[test]
    fn kubeadm_queries_are_evaluated() {
        let one = r"(Get-ItemProperty -Path 'HKLM:\SOFTWARE\A B').Name";
        assert_eq!(evaluate(one, &read).as_deref(), Some("<Name>"));
        let two =
            r#"$props = Get-ItemProperty -Path 'HKLM:\SOFTWARE\A B'; "$($props.X).$($props.Y)""#;
        assert_eq!(evaluate(two, &read).as_deref(), Some("<X>.<Y>"));
    }

    #[test]
    fn other_commands_are_rejected() {
        for command in [
            "",
            "exit 0",
            "-Command Get-Service",
            r"(Get-ItemProperty -Path 'HKLM:\SOFTWARE\A B').None",
            r"Remove-Item x; (Get-ItemProperty -Path 'HKLM:\SOFTWARE\A B').Name",
        ] {
            assert_eq!(evaluate(command, &read), None, "{command}");
        }
    }
}

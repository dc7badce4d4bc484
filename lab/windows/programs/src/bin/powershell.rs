//! Stands where Wine has a PowerShell that does nothing and says that all went
//! well: whoever calls it here shall know that nothing was done.
//!
//! Reading the registry is the exception, in the two forms in which `kubeadm`
//! asks who this Windows is; a join would otherwise fail for want of a
//! PowerShell and of nothing else:
//!
//! ```text
//! (Get-ItemProperty -Path 'HKLM:\…').Name
//! $props = Get-ItemProperty -Path 'HKLM:\…'; "$($props.Name).$($props.Other)"
//! ```

use std::process::exit;

fn main() {
    let question = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    match answer(&question, &registry::read) {
        Some(text) => println!("{text}"),
        None => {
            eprintln!("powershell: there is no PowerShell on a lab host; nothing was run");
            exit(1);
        }
    }
}

/// The answer to a question of either form; `read` takes a key and a name.
fn answer(question: &str, read: &dyn Fn(&str, &str) -> Option<String>) -> Option<String> {
    let (before, rest) = question.split_once("Get-ItemProperty -Path 'HKLM:\\")?;
    let (key, rest) = rest.split_once('\'')?;
    match before {
        "(" => read(key, rest.strip_prefix(").")?),
        "$props = " => {
            let text = rest.strip_prefix("; \"")?.strip_suffix('"')?;
            filled(text, |name| read(key, name))
        }
        _ => None,
    }
}

/// Puts values in the place of `$($props.Name)`.
fn filled(text: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
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

    /// A number or a text below HKEY_LOCAL_MACHINE.
    pub fn read(key: &str, name: &str) -> Option<String> {
        let wide = |text: &str| text.encode_utf16().chain([0]).collect::<Vec<u16>>();
        let (key, name) = (wide(key), wide(name));
        let mut kind = 0;
        let mut data = [0_u16; 512];
        let mut size = u32::try_from(size_of_val(&data)).ok()?;
        // SAFETY: the strings end with zeros, and `size` is the size of `data`.
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
    /// There is no registry here.
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
    fn the_two_questions_of_kubeadm_are_answered() {
        let one = r"(Get-ItemProperty -Path 'HKLM:\SOFTWARE\A B').Name";
        assert_eq!(answer(one, &read).as_deref(), Some("<Name>"));
        let two =
            r#"$props = Get-ItemProperty -Path 'HKLM:\SOFTWARE\A B'; "$($props.X).$($props.Y)""#;
        assert_eq!(answer(two, &read).as_deref(), Some("<X>.<Y>"));
    }

    #[test]
    fn everything_else_is_refused() {
        for question in [
            "",
            "exit 0",
            "-Command Get-Service",
            r"(Get-ItemProperty -Path 'HKLM:\SOFTWARE\A B').None",
            r"Remove-Item x; (Get-ItemProperty -Path 'HKLM:\SOFTWARE\A B').Name",
        ] {
            assert_eq!(answer(question, &read), None, "{question}");
        }
    }
}

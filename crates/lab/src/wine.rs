//! Wine prefixes: creating the template and making a prefix look like Windows Server.

pub mod registry_file;
pub mod template;
pub mod windows;
pub mod windows_programs;

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command;
use crate::host::instance;
use crate::problem::{AtPath, Problem, Result};
use crate::wine::registry_file::{Data, RegistryFile};
use crate::wine::windows::WindowsRelease;

/// DLLs of the lab that replace Wine's. A star matches any directory.
const OVERRIDES: [&str; 7] = [
    "bcryptprimitives",
    "computenetwork",
    "hnetcfg",
    "iphlpapi",
    "pdh",
    "vmcompute",
    "*wbemprox",
];

/// The 64-bit loader: Debian's `wine` is a script that asks for the 32-bit part on
/// every start.
const LOADERS: [&str; 3] = ["/usr/lib/wine/wine64", "/usr/bin/wine64", "/usr/bin/wine"];
const SERVERS: [&str; 3] = [
    "/usr/lib/wine/wineserver64",
    "/usr/lib/wine/wineserver",
    "/usr/bin/wineserver",
];

pub fn loader() -> &'static str {
    first(LOADERS)
}

pub fn server() -> &'static str {
    first(SERVERS)
}

/// Both are necessary; see [`LOADERS`] for where they are looked for.
pub fn is_installed() -> bool {
    let exists = |path: &&str| Path::new(path).exists();
    LOADERS.iter().any(exists) && SERVERS.iter().any(exists)
}

fn first(candidates: [&'static str; 3]) -> &'static str {
    let found = candidates.iter().find(|path| Path::new(path).exists());
    found.copied().unwrap_or("wine")
}

pub fn environment(prefix: &Path) -> [(&'static str, std::ffi::OsString); 4] {
    [
        ("WINEPREFIX", prefix.into()),
        ("WINEDEBUG", "-all".into()),
        ("WINESERVER", server().into()),
        // No prompts for .NET and Gecko, no desktop menu entries.
        (
            "WINEDLLOVERRIDES",
            "mscoree,mshtml,winemenubuilder.exe=".into(),
        ),
    ]
}

pub fn command<S: AsRef<std::ffi::OsStr>>(
    program: &str,
    prefix: &Path,
    arguments: impl IntoIterator<Item = S>,
) -> Command {
    let mut command = command::command(program, arguments);
    command
        .envs(environment(prefix))
        .env_remove("DISPLAY")
        .current_dir(prefix);
    command
}

/// Creates a prefix with the lab's DLLs in an empty directory.
///
/// Runs in its own namespaces, where uid 0 is named `Administrator`.
pub fn make_template(prefix: &Path, windows: &Path) -> Result<()> {
    boot_until_services(prefix)?;
    let drives = prefix.join("dosdevices");
    for entry in fs::read_dir(&drives).at("read", &drives)?.flatten() {
        // Z: would be the Linux root.
        if entry.file_name() != "c:" {
            fs::remove_file(entry.path()).at("remove", &entry.path())?;
        }
    }
    install_dlls(&prefix.join("drive_c"), windows)?;
    edit(&prefix.join("user.reg"), |registry| {
        for dll in OVERRIDES {
            let native = Data::Text("native".into());
            registry.set(r"Software\Wine\DllOverrides", dll, &native);
        }
    })?;
    edit(&prefix.join("system.reg"), |registry| {
        add_defender_service(registry);
        add_ssh_firewall_rule(registry);
    })
}

/// On a busy machine Wine's service manager may not answer `wineboot` in time.
/// `wineboot` then succeeds, but the prefix has no services and therefore no network
/// devices and no disks. In that case it is updated again.
fn boot_until_services(prefix: &Path) -> Result<()> {
    let registry = prefix.join("system.reg");
    for mode in ["--init", "--update", "--update"] {
        command::run_detached(&mut command(loader(), prefix, ["wineboot", mode]))?;
        command::run(&mut command(server(), prefix, ["-w"]))?;
        let text = fs::read_to_string(&registry).at("read", &registry)?;
        if has_services(&text) {
            return Ok(());
        }
    }
    Err(Problem::new(
        "CAS-LAB-056",
        "Wine created a prefix without services in 3 attempts",
        "wait until the machine is less busy, then try again",
    ))
}

/// Whether the registry has nsiproxy, which Wine's network functions need.
fn has_services(registry: &str) -> bool {
    registry
        .to_ascii_lowercase()
        .contains(r"[system\\currentcontrolset\\services\\nsiproxy]")
}

/// Whether Wine's service manager is running on this host.
pub fn has_service_manager() -> bool {
    let lines = instance::all_processes()
        .into_iter()
        .filter_map(instance::command_line);
    let mut programs = lines.filter_map(|arguments| arguments.into_iter().next());
    programs.any(|program| program == r"C:\windows\system32\services.exe")
}

/// The firewall rule of the Windows OpenSSH server.
fn add_ssh_firewall_rule(registry: &mut RegistryFile) {
    let policy = r"System\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy";
    let rule =
        "v2.31|Active=TRUE|Dir=In|Protocol=6|Action=Allow|Name=OpenSSH SSH Server (sshd)|LPort=22|";
    registry.set(
        &format!(r"{policy}\FirewallRules"),
        "OpenSSH-Server-In-TCP",
        &Data::Text(rule.into()),
    );
}

/// A Defender service that programs can find; nothing scans.
fn add_defender_service(registry: &mut RegistryFile) {
    let name = Data::Text("Microsoft Defender Antivirus Service".into());
    let program = Data::Text(r"C:\lab\pause.exe".into());
    let values = [
        ("DisplayName", name),
        ("ImagePath", program),
        ("Type", Data::Number(0x10)),
        ("Start", Data::Number(3)),
        ("ErrorControl", Data::Number(1)),
    ];
    for (name, data) in &values {
        registry.set(r"System\CurrentControlSet\Services\WinDefend", name, data);
    }
}

fn install_dlls(drive_c: &Path, windows: &Path) -> Result<()> {
    let system32 = drive_c.join("windows/system32");
    // The lab's iphlpapi.dll forwards to Wine's under this name.
    let original = system32.join("iphlpapi.dll");
    let renamed = system32.join("iphlpw.dll");
    fs::rename(&original, &renamed).at("rename", &original)?;
    let copies = [
        (
            "bcryptprimitives.dll",
            "windows/system32/bcryptprimitives.dll",
        ),
        ("computenetwork.dll", "windows/system32/computenetwork.dll"),
        ("computenetwork.dll", "windows/system32/vmcompute.dll"),
        ("dismapi.dll", "windows/system32/dismapi.dll"),
        ("hnetcfg.dll", "windows/system32/hnetcfg.dll"),
        ("hnetcfg.dll", "windows/system32/wbem/wbemprox.dll"),
        ("iphlpapi.dll", "windows/system32/iphlpapi.dll"),
        ("pdh.dll", "windows/system32/pdh.dll"),
        ("cmdline.exe", "lab/cmdline.exe"),
        ("enter.exe", "lab/enter.exe"),
        ("hnscall.exe", "lab/hnscall.exe"),
        ("pause.exe", "lab/pause.exe"),
        (
            "powershell.exe",
            "windows/system32/WindowsPowerShell/v1.0/powershell.exe",
        ),
        ("web.exe", "lab/web.exe"),
    ];
    fs::create_dir_all(drive_c.join("lab")).at("create", &drive_c.join("lab"))?;
    for (from, to) in copies {
        let (from, to) = (windows.join(from), drive_c.join(to));
        fs::copy(&from, &to).at("read", &from)?;
    }
    Ok(())
}

/// Writes the Windows version, hardware ID and BootId into the registry of a prefix
/// that is not running.
pub fn identify(prefix: &Path, release: WindowsRelease, host: &str, boots: u32) -> Result<()> {
    let text = |value: &str| Data::Text(value.to_owned());
    let build = text(&release.build().to_string());
    let product = text(&format!("Windows Server {} Datacenter", release.year()));
    let current = r"Software\Microsoft\Windows NT\CurrentVersion";
    let prefetch =
        r"System\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters";
    let values = [
        (current, "CurrentBuild", build.clone()),
        (current, "CurrentBuildNumber", build),
        (current, "CurrentMajorVersionNumber", Data::Number(10)),
        (current, "CurrentMinorVersionNumber", Data::Number(0)),
        // Windows has 6.3 here, but Wine derives the reported version from it.
        (current, "CurrentVersion", text("10.0")),
        (current, "CSDVersion", text("")),
        (current, "DisplayVersion", text(release.display_version())),
        (current, "EditionID", text("ServerDatacenter")),
        (current, "InstallationType", text("Server Core")),
        (current, "ProductName", product),
        (current, "ReleaseId", text(release.display_version())),
        (current, "UBR", Data::Number(release.revision())),
        (
            r"System\CurrentControlSet\Control\ProductOptions",
            "ProductType",
            text("ServerNT"),
        ),
        (
            r"System\CurrentControlSet\Control\Windows",
            "CSDVersion",
            Data::Number(0),
        ),
        (
            r"System\HardwareConfig",
            "LastConfig",
            text(&hardware_id(host)),
        ),
        (prefetch, "BootId", Data::Number(boots)),
    ];
    edit(&prefix.join("system.reg"), |registry| {
        for (key, name, data) in &values {
            registry.set(key, name, data);
        }
    })
}

/// A GUID that is unique per host name and stable across boots.
fn hardware_id(host: &str) -> String {
    use sha2::{Digest, Sha256};
    let hash = Sha256::digest(format!("casement lab hardware {host}"));
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let (a, b, c, d, e) = (
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..32],
    );
    format!("{{{a}-{b}-{c}-{d}-{e}}}")
}

fn edit(path: &Path, change: impl FnOnce(&mut RegistryFile)) -> Result<()> {
    let text = fs::read_to_string(path).at("read", path)?;
    let mut registry = RegistryFile::parse(&text);
    change(&mut registry);
    fs::write(path, registry.to_string()).at("write", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_services_are_detected() {
        let complete = "[System\\\\CurrentControlSet\\\\Services\\\\nsiproxy] 1700000000\n";
        assert!(has_services(complete));
        let incomplete = "[System\\\\CurrentControlSet\\\\Control\\\\Class] 1700000000\n";
        assert!(!has_services(incomplete));
    }
}

//! The running kernel: values below `/proc/sys`, modules with `modprobe`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use casement_resource::{KernelModuleFacts, ModuleName, SysctlName};

use super::{Linux, system_failure};
use crate::platform::{Kernel, Result};

impl Kernel for Linux {
    fn sysctl(&self, name: &SysctlName) -> Result<Option<String>> {
        let text = read(&self.value_file(name))?;
        Ok(text.map(|text| text.trim_end().to_owned()))
    }

    fn set_sysctl(&self, name: &SysctlName, value: &str) -> Result<()> {
        let path = self.value_file(name);
        let write = || {
            // Not created: the kernel defines which values exist.
            let mut file = OpenOptions::new().write(true).truncate(true).open(&path)?;
            file.write_all(value.as_bytes())
        };
        write().map_err(|error| {
            system_failure(format!("`{name}` could not be set to `{value}`"), &error)
        })
    }

    fn kernel_module(&self, name: &ModuleName) -> Result<KernelModuleFacts> {
        let loaded = read(&self.root.path("proc/modules"))?;
        let users = loaded.as_deref().and_then(|text| use_count(text, name));
        Ok(match (users, loaded) {
            (Some(users), _) => KernelModuleFacts::Loaded { users },
            (None, _) if self.built_in(name)? => KernelModuleFacts::BuiltIn,
            (None, Some(_)) => KernelModuleFacts::Absent,
            // The file exists wherever modules can be loaded.
            (None, None) => KernelModuleFacts::Unknown,
        })
    }

    fn load_kernel_module(&self, name: &ModuleName) -> Result<()> {
        self.root
            .run_tool(&["modprobe", "--", name.as_str()])
            .map(drop)
    }

    /// Not by `modprobe --remove`, which also takes the unused ones that this
    /// one needed: they may have been there before.
    fn unload_kernel_module(&self, name: &ModuleName) -> Result<()> {
        self.root
            .run_tool(&["rmmod", "--", name.as_str()])
            .map(drop)
    }
}

impl Linux {
    fn value_file(&self, name: &SysctlName) -> PathBuf {
        self.root.path("proc/sys").join(name.proc_path())
    }

    /// A part of the kernel that has settings shows in `/sys/module`; the others
    /// are in a list that comes with the modules.
    fn built_in(&self, name: &ModuleName) -> Result<bool> {
        let name = normalize(name.as_str());
        if self.root.path("sys/module").join(&name).is_dir() {
            return Ok(true);
        }
        let release = rustix::system::uname();
        let release = release.release().to_string_lossy().into_owned();
        let list = self.root.path("lib/modules").join(release);
        let list = read(&list.join("modules.builtin"))?.unwrap_or_default();
        let stem = |line: &str| Path::new(line).file_stem()?.to_str().map(normalize);
        Ok(list.lines().any(|line| stem(line).as_ref() == Some(&name)))
    }
}

/// A module's use count in `/proc/modules` (name, size, use count, …); `None` if it is
/// not loaded.
fn use_count(modules: &str, name: &ModuleName) -> Option<u32> {
    let name = normalize(name.as_str());
    let line = modules.lines().find_map(|line| {
        let mut fields = line.split_whitespace();
        (fields.next()? == name).then(|| fields.nth(1))
    });
    // Kernels without unloading write `-`: treated as in use.
    line.map(|count| count.and_then(|count| count.parse().ok()).unwrap_or(1))
}

/// The kernel writes underscores only.
fn normalize(name: &str) -> String {
    name.replace('-', "_")
}

fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(system_failure(
            format!("failed to read `{}`", path.display()),
            &error,
        )),
    }
}

//! The running kernel: values below `/proc/sys`, modules by `modprobe`.

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
            // Never made: the kernel has the values that it has.
            let mut file = OpenOptions::new().write(true).truncate(true).open(&path)?;
            file.write_all(value.as_bytes())
        };
        write().map_err(|error| {
            system_failure(format!("`{name}` could not be set to `{value}`"), &error)
        })
    }

    fn kernel_module(&self, name: &ModuleName) -> Result<KernelModuleFacts> {
        let loaded = read(&self.ground.path("proc/modules"))?;
        let users = loaded.as_deref().and_then(|text| users(text, name));
        Ok(match (users, loaded) {
            (Some(users), _) => KernelModuleFacts::Loaded { users },
            (None, _) if self.built_in(name)? => KernelModuleFacts::BuiltIn,
            (None, Some(_)) => KernelModuleFacts::Absent,
            // The file is there wherever modules can be loaded.
            (None, None) => KernelModuleFacts::Unknown,
        })
    }

    fn load_kernel_module(&self, name: &ModuleName) -> Result<()> {
        self.ground
            .tool(&["modprobe", "--", name.as_str()])
            .map(drop)
    }

    /// Not by `modprobe --remove`, which also takes the unused ones that this
    /// one needed: they may have been there before.
    fn unload_kernel_module(&self, name: &ModuleName) -> Result<()> {
        self.ground.tool(&["rmmod", "--", name.as_str()]).map(drop)
    }
}

impl Linux {
    fn value_file(&self, name: &SysctlName) -> PathBuf {
        self.ground.path("proc/sys").join(name.place())
    }

    /// A part of the kernel that has settings shows in `/sys/module`; the others
    /// are in a list that comes with the modules.
    fn built_in(&self, name: &ModuleName) -> Result<bool> {
        let name = plain(name.as_str());
        if self.ground.path("sys/module").join(&name).is_dir() {
            return Ok(true);
        }
        let release = rustix::system::uname();
        let release = release.release().to_string_lossy().into_owned();
        let list = self.ground.path("lib/modules").join(release);
        let list = read(&list.join("modules.builtin"))?.unwrap_or_default();
        let stem = |line: &str| Path::new(line).file_stem()?.to_str().map(plain);
        Ok(list.lines().any(|line| stem(line).as_ref() == Some(&name)))
    }
}

/// How many things use a module, from `/proc/modules` (name, size, users, …);
/// none if it is not there.
fn users(modules: &str, name: &ModuleName) -> Option<u32> {
    let name = plain(name.as_str());
    let line = modules.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == name).then(|| words.nth(1))
    });
    // A kernel that cannot unload says `-`: nothing there is to be unloaded.
    line.map(|users| users.and_then(|users| users.parse().ok()).unwrap_or(1))
}

/// The kernel itself knows underscores only.
fn plain(name: &str) -> String {
    name.replace('-', "_")
}

fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(system_failure(
            format!("`{}` could not be read", path.display()),
            &error,
        )),
    }
}

//! The lab's Windows programs: DLLs that fill gaps in Wine, the HNS emulator and the
//! container shim.

use std::path::{Path, PathBuf};

use crate::command;
use crate::control_plane::binaries::killed_with_parent;
use crate::problem::{Problem, Result};
use crate::progress::LabProgress;

/// Environment variable with a directory of prebuilt programs.
pub const PREBUILT_DIR_VARIABLE: &str = "CASEMENT_LAB_WINDOWS";

pub const PROGRAMS: [&str; 13] = [
    "bcryptprimitives.dll",
    "computenetwork.dll",
    "dismapi.dll",
    "hnetcfg.dll",
    "iphlpapi.dll",
    "pdh.dll",
    "cmdline.exe",
    "containerd-shim-runhcs-v1.exe",
    "enter.exe",
    "hnscall.exe",
    "pause.exe",
    "powershell.exe",
    "web.exe",
];

/// Returns the directory of the programs. Builds them if casement runs from its
/// source tree, which is fast if nothing has changed.
pub fn ensure(cache: &Path, progress: &LabProgress) -> Result<PathBuf> {
    if let Some(dir) = std::env::var_os(PREBUILT_DIR_VARIABLE).map(PathBuf::from) {
        return check_complete(dir);
    }
    let installed = std::env::current_exe()
        .ok()
        .and_then(|program| Some(program.parent()?.join("windows")))
        .filter(|dir| dir.join(PROGRAMS[0]).exists());
    if let Some(dir) = installed {
        return check_complete(dir);
    }
    build(cache, progress)
}

fn build(cache: &Path, progress: &LabProgress) -> Result<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/build-windows");
    if !script.exists() {
        return Err(Problem::new(
            "CAS-LAB-053",
            "the lab's Windows programs were not found",
            format!(
                "run casement from its source tree, or set {PREBUILT_DIR_VARIABLE} to a directory \
                 built by `tools/build-windows`"
            ),
        ));
    }
    let dir = cache.join("windows");
    let note = if dir.exists() {
        ""
    } else {
        "first time only, about 2 min"
    };
    progress.step("building the lab's Windows programs", note, || {
        let mut build = killed_with_parent("bash");
        build.arg(&script).arg(&dir).arg("hosts");
        build.env("CARGO_TARGET_DIR", cache.join("windows-target"));
        command::run(&mut build).map_err(|problem| Problem {
            code: "CAS-LAB-054".into(),
            what: "failed to build the lab's Windows programs".to_owned(),
            help: "check the output; `tools/build-windows` runs the same build by hand".to_owned(),
            ..problem
        })
    })?;
    check_complete(dir)
}

fn check_complete(dir: PathBuf) -> Result<PathBuf> {
    let missing: Vec<&str> = PROGRAMS
        .into_iter()
        .filter(|name| !dir.join(name).exists())
        .collect();
    if missing.is_empty() {
        return Ok(dir);
    }
    Err(Problem::new(
        "CAS-LAB-053",
        format!("Windows programs are missing in `{}`", dir.display()),
        "build them with `tools/build-windows DIRECTORY`",
    )
    .detail("missing", missing.join(", ")))
}

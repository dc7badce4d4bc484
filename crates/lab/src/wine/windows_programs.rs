//! Our own Windows programs: the gap DLLs, the HNS emulator, the shim.

use std::path::{Path, PathBuf};

use crate::command;
use crate::control_plane::parts::killed_with_us;
use crate::problem::{Problem, Result};
use crate::progress::Progress;

/// Names a folder with ready-made programs, for those who build them elsewhere.
pub const FOLDER_VARIABLE: &str = "CASEMENT_LAB_WINDOWS";

/// Everything that must be there.
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

/// Where the programs are; builds them when this casement stands in its own
/// source tree, which is cheap when nothing changed.
pub fn ensure(cache: &Path, progress: &Progress) -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os(FOLDER_VARIABLE).map(PathBuf::from) {
        return complete(folder);
    }
    let beside = std::env::current_exe()
        .ok()
        .and_then(|program| Some(program.parent()?.join("windows")))
        .filter(|folder| folder.join(PROGRAMS[0]).exists());
    if let Some(folder) = beside {
        return complete(folder);
    }
    build(cache, progress)
}

fn build(cache: &Path, progress: &Progress) -> Result<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/build-windows");
    if !script.exists() {
        return Err(Problem::new(
            "CAS-LAB-053",
            "the lab's Windows programs are nowhere to be found",
            format!(
                "run casement from its source tree, or set {FOLDER_VARIABLE} to a folder \
                 made by `tools/build-windows`"
            ),
        ));
    }
    let folder = cache.join("windows");
    let note = if folder.exists() {
        ""
    } else {
        "once; about 2 min"
    };
    progress.step("Windows programs of the lab", note, || {
        let mut build = killed_with_us("bash");
        build.arg(&script).arg(&folder).arg("hosts");
        build.env("CARGO_TARGET_DIR", cache.join("windows-target"));
        command::run(&mut build).map_err(|problem| Problem {
            code: "CAS-LAB-054".into(),
            what: "the lab's Windows programs could not be built".to_owned(),
            remedy: "see what it says; `tools/build-windows` does the same by hand".to_owned(),
            ..problem
        })
    })?;
    complete(folder)
}

fn complete(folder: PathBuf) -> Result<PathBuf> {
    let missing: Vec<&str> = PROGRAMS
        .into_iter()
        .filter(|name| !folder.join(name).exists())
        .collect();
    if missing.is_empty() {
        return Ok(folder);
    }
    Err(Problem::new(
        "CAS-LAB-053",
        format!("Windows programs are missing in `{}`", folder.display()),
        "make them with `tools/build-windows FOLDER`",
    )
    .seen("missing", missing.join(", ")))
}
